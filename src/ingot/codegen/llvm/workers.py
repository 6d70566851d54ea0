"""Processes that LLVM works in, beside this one: several at a time, and this one need not load it.

LLVM's binding for Python lets one thread in at a time. So it runs in processes of its own, which are started when they
are needed and end when they have had nothing to do for a while. Where none can be started, it runs in this process.
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
"""How a text becomes code; CompileError if LLVM refuses it."""

_MOST = 8
"""Processes at a time: what writes the texts keeps no more of them busy."""

_WAITING = 2
"""Texts that wait for each process before one more is started."""

_IDLE = 2.0
"""Seconds without work after which a process ends."""

_PATIENCE = 2.0
"""Seconds that it may take to end."""

_ATTEMPTS = 2
"""Processes that may end on a text before it is taken to be the cause."""

_PROGRAM = Path(__file__).with_name("make.py")


def most_workers(processors: int) -> int:
    """How many processes there may be: what `INGOT_WORKERS` says, or one for each processor."""
    setting = os.environ.get("INGOT_WORKERS", "")
    return int(setting) if setting.isdecimal() else min(processors, _MOST)


class Workers:
    """Processes that are given work, as functions of how to ask one of them."""

    def __init__(self, most: int) -> None:
        """At most so many; none at all means that LLVM runs in this process."""
        self.facts: Future[Facts] = Future()
        """What LLVM says of this processor, once there is somebody to say it."""
        self._most = most
        self._work: PriorityQueue[tuple[int, int, Callable[[Ask], None]]] = PriorityQueue()
        self._submitted = 0
        self._lock = threading.Lock()
        self._waiting = self._runners = 0
        self._processes: set[_Process] = set()

    def begin(self) -> None:
        """Have a process ready soon."""
        with self._lock, suppress(RuntimeError):  # about threads, of which a program that ends starts none
            if not self._runners:
                self._add()

    @property
    def has_begun(self) -> bool:
        """Whether a process is there, or will be soon."""
        return self._runners > 0

    def submit(self, work: Callable[[Ask], T], weight: int = 0) -> Future[T]:
        """Have work done that asks for code, beside other work; of what waits, the heaviest is begun first."""
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
        self._most = 0
        for process in tuple(self._processes):
            process.end()

    def _add(self) -> None:
        threading.Thread(target=self._run, daemon=True, name="ingot-compile").start()
        self._runners += 1

    def _run(self) -> None:
        """Do work until there has been none for a while."""
        process = self._started()
        with self._lock:
            if not self.facts.done():
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
                    self._processes.discard(process)
                    process = self._started()
                    if process is None:
                        break
            raise CompileError(f"LLVM ended with code {code} on a kernel")

        while (work := self._next()) is not None:
            work(ask)
        if process is not None:
            self._processes.discard(process)
            process.end()

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
        """A process; None where none can be started."""
        if not self._most or not _can_be_started():
            return None
        try:
            process = _Process()
        except (OSError, EOFError, ValueError, TypeError):
            self._most = 0
            return None
        self._processes.add(process)
        return process


class _Process:
    """One process that LLVM works in."""

    def __init__(self) -> None:
        """Start it, and wait until it answers."""
        self._popen = subprocess.Popen(
            [sys.executable, *_flags(), str(_PROGRAM), str(_packages())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._requests, self._answers = self._popen.stdin, self._popen.stdout
        try:
            self.facts: Facts = marshal.load(self._answers)
        except BaseException:
            self.end()
            raise

    def ask(self, request: Request) -> Answer:
        """The code of a text; EOFError or OSError if the process is no longer there."""
        marshal.dump(request, self._requests)
        self._requests.flush()
        good, answer = marshal.load(self._answers)
        if not good:
            raise CompileError(f"LLVM refused a kernel: {answer}")
        return answer  # type: ignore[no-any-return]

    def ended(self) -> int:
        """The code it has ended with by itself."""
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(_PATIENCE)
        return self.end()

    def end(self) -> int:
        """End it, which has nothing to lose; the code it ended with."""
        self._popen.kill()
        for stream in (self._requests, self._answers):
            with suppress(OSError):
                stream.close()
        return self._popen.wait()


def _can_be_started() -> bool:
    """Whether this is a Python that can be started once more: no program that has one inside."""
    name = os.path.basename(sys.executable or "").lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False) and _PROGRAM.is_file()


def _flags() -> Iterator[str]:
    """How Python is started: by itself, and with compiled modules where those of this one are."""
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
    """Whether there is somebody to ask, or was."""
    return any(pool.facts.done() or pool.has_begun for pool in _WORKERS)


_OF_OTHERS: list[Workers] = []
"""Workers of the process that this one was forked from: not to be ended here."""


def _after_fork() -> None:
    _OF_OTHERS.extend(_WORKERS)
    _WORKERS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _end() -> None:
    for pool in _WORKERS:
        pool.end()
