"""Worker processes for LLVM: several compile at a time, and this process need not load LLVM.

LLVM's binding for Python lets one thread in at a time. So it runs in worker processes, which are started on demand and
end when they have been idle for a while. Where none can be started, it runs in this process.
"""

from __future__ import annotations

import atexit
import marshal
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, PriorityQueue
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ingot.errors import CompileError

if TYPE_CHECKING:
    from ingot.codegen.llvm.make import Answer, Facts, Request

T = TypeVar("T")
Ask: TypeAlias = "Callable[[Request], Answer]"
"""Compiles a module; CompileError if LLVM refuses it."""

_MOST = 8
"""Worker processes at a time: code generation keeps no more of them busy."""

_WAITING = 2
"""Queued modules per worker from which on one more is started."""

_IDLE = 2.0
"""Seconds without work after which a worker ends."""

_PATIENCE = 2.0
"""Seconds that a worker may take to end."""

_ATTEMPTS = 2
"""Workers that may end on a module before it is assumed to be the cause."""

_PROGRAM = Path(__file__).with_name("make.py")


def most_workers(processors: int) -> int:
    """The most worker processes: `INGOT_WORKERS`, or one for each processor."""
    setting = os.environ.get("INGOT_WORKERS", "")
    return int(setting) if setting.isdecimal() else min(processors, _MOST)


class Workers:
    """A pool of worker processes; work is a function that gets an `Ask`."""

    def __init__(self, most: int) -> None:
        """At most `most` processes; zero means that LLVM runs in this process."""
        self.facts: Future[Facts] = Future()
        """What LLVM reports of this processor, once a worker has started."""
        self._most = most
        self._work: PriorityQueue[tuple[int, int, Callable[[Ask], None]]] = PriorityQueue()
        self._submitted = 0
        self._has_facts = False
        self._lock = threading.Lock()
        self._waiting = self._runners = 0
        self._processes: set[_Process] = set()
        self._has_ended = False

    def begin(self, count: int = 1) -> None:
        """Start workers in the background, until there are so many."""
        with self._lock, suppress(RuntimeError):  # about threads, of which a program that ends starts none
            while self._runners < max(1, min(count, self._most)):
                self._add()

    @property
    def has_begun(self) -> bool:
        """Whether a worker runs, or is being started."""
        return self._runners > 0

    def submit(self, work: Callable[[Ask], T], weight: int = 0) -> Future[T]:
        """Queue work; the heaviest in the queue is begun first."""
        done: Future[T] = Future()

        with self._lock:
            self._waiting += 1
            self._submitted += 1
            self._work.put((-weight, self._submitted, lambda ask: _settle(done, lambda: work(ask))))
            if not self._runners or (self._runners < self._most and self._waiting > _WAITING * self._runners):
                with suppress(RuntimeError):  # the program is about to end, and starts no threads
                    self._add()
            alone = not self._runners
        if alone:
            *_, run = self._work.get()
            self._waiting -= 1
            run(_asked_here)
        return done

    def end(self) -> None:
        """End all processes, and start no more."""
        with self._lock:
            self._has_ended = True
            self._most = 0
            processes = tuple(self._processes)
        for process in processes:
            process.end()

    def _add(self) -> None:
        threading.Thread(target=self._run, daemon=True, name="ingot-compile").start()
        self._runners += 1

    def _run(self) -> None:
        """Work off the queue until it has been empty for a while."""
        process = self._started()
        with self._lock:
            first, self._has_facts = not self._has_facts, True
        if first:  # who waits for them may submit work: not under the lock
            _settle(self.facts, lambda: _facts_here() if process is None else process.facts)

        def ask(request: Request) -> Answer:
            nonlocal process
            if process is None:
                return _asked_here(request)
            for _ in range(_ATTEMPTS):
                try:
                    return process.ask(request)
                except (EOFError, OSError):  # it was ended from outside; or by this text, as the next one will be
                    code = process.ended()
                    self._end(process)
                    process = self._started()
                    if process is None:
                        break
            raise CompileError(f"LLVM ended with code {code} on a kernel")

        try:
            while (work := self._next()) is not None:
                work(ask)
        finally:
            self._end(process)

    def _next(self) -> Callable[[Ask], None] | None:
        while True:
            try:
                *_, work = self._work.get(timeout=_IDLE)
            except Empty:
                with self._lock:
                    if self._waiting:
                        continue
                    self._runners -= 1
                    return None
            with self._lock:
                self._waiting -= 1
            return work

    def _started(self) -> _Process | None:
        """A new worker process; None where none can be started."""
        if not self._most or not _can_be_started():
            return None
        process = None
        try:
            process = _Process()
            with self._lock:  # from now on `end` ends it, though it may take a while to begin
                self._processes.add(process)
            process.wait_for_facts()
            if not self._has_ended:
                return process
        except (OSError, EOFError, ValueError, TypeError):
            self._most = 0
        self._end(process)
        return None

    def _end(self, process: _Process | None) -> None:
        if process is not None:
            process.end()
            with self._lock:
                self._processes.discard(process)


class _Process:
    """One worker process."""

    def __init__(self) -> None:
        """Start it."""
        self._popen = subprocess.Popen(
            [sys.executable, *_flags(), str(_PROGRAM), str(_packages())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._requests, self._answers = self._popen.stdin, self._popen.stdout
        self.facts: Facts

    def wait_for_facts(self) -> None:
        """Wait until it answers; EOFError, OSError or ValueError if it ends instead."""
        self.facts = marshal.load(self._answers)

    def ask(self, request: Request) -> Answer:
        """The object file of a module; EOFError or OSError if the process has ended."""
        marshal.dump(request, self._requests)
        self._requests.flush()
        good, answer = marshal.load(self._answers)
        if not good:
            raise CompileError(f"LLVM refused a kernel: {answer}")
        return answer  # type: ignore[no-any-return]

    def ended(self) -> int:
        """The exit code of a process that ended by itself."""
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(_PATIENCE)
        return self.end()

    def end(self) -> int:
        """Kill it, which has nothing to lose; its exit code."""
        self._popen.kill()
        for stream in (self._requests, self._answers):
            with suppress(OSError):
                stream.close()
        return self._popen.wait()


def _can_be_started() -> bool:
    """Whether `sys.executable` is a Python that can be started once more: no program that embeds one."""
    name = os.path.basename(sys.executable or "").lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False) and _PROGRAM.is_file()


def _flags() -> Iterator[str]:
    """Options of the worker's Python: isolated, and with the bytecode cache of this one."""
    yield from ("-I", "-S")
    if sys.dont_write_bytecode:
        yield "-B"
    if sys.pycache_prefix is not None:
        yield f"-Xpycache_prefix={sys.pycache_prefix}"


def _packages() -> Path:
    """The folder that llvmlite is in; OSError if it is nowhere."""
    spec = find_spec("llvmlite")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("llvmlite")
    return Path(spec.origin).parents[1]


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    """Give a future the result of work, unless it was cancelled."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)


def _facts_here() -> Facts:
    from ingot.codegen.llvm.make import facts  # LLVM is not free to load

    return facts()


def _asked_here(request: Request) -> Answer:
    from ingot.codegen.llvm.make import object_code  # LLVM is not free to load

    try:
        return object_code(request)
    except RuntimeError as error:
        raise CompileError(f"LLVM refused a kernel: {error}") from None


_WORKERS: list[Workers] = []


def workers(processors: int | None = None) -> Workers:
    """The workers of this process; `processors` is how many it may use, if these are the first to be asked for."""
    if not _WORKERS:
        _WORKERS.append(Workers(most_workers(1 if processors is None else processors)))
    return _WORKERS[0]


def are_at_work() -> bool:
    """Whether a worker runs or has run."""
    return any(pool.facts.done() or pool.has_begun for pool in _WORKERS)


_OF_OTHERS: list[Workers] = []
"""Workers of the parent process after a fork: not to be ended here."""


def _after_fork() -> None:
    _OF_OTHERS.extend(_WORKERS)
    _WORKERS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _end() -> None:
    for pool in _WORKERS:
        pool.end()
