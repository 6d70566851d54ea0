"""The thread pool: one for the process, so that concurrent sessions do not oversubscribe the processors."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from concurrent.futures import Future
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ingot.cache import kernels
from ingot.codegen.elf import LinkedCode, linkable
from ingot.codegen.executable_memory import Code
from ingot.codegen.job import MAX_THREADS, JobEntry, JobLayout
from ingot.runtime.keyboard import walk_until_interrupted
from ingot.runtime.processors import processors

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingot.schedule.target import Target

_Words: TypeAlias = "np.ndarray[Any, Any]"


class Job:
    """Steps that the thread pool walks, over and over, with one table of slots; by one thread where that is better."""

    def __init__(
        self, steps: _Words, slots: _Words, state: _Words, threads: int, *, is_interruptible: bool = False
    ) -> None:
        """`is_interruptible` jobs, which may take long, end where Ctrl-C is pressed."""
        self.is_interruptible = is_interruptible
        self.words = _aligned_words(JobLayout.ONE_THREAD_WORDS)
        self.address = int(self.words.ctypes.data)
        self._keep = steps, slots, state
        self.words[JobLayout.STEPS] = steps.ctypes.data
        self.words[JobLayout.STEP_COUNT] = len(steps)
        self.words[JobLayout.SLOTS] = slots.ctypes.data
        self.words[JobLayout.STATE] = state.ctypes.data
        self.threads = 1
        self.divide(threads)

    @property
    def state(self) -> _Words:
        return self._keep[2]

    @property
    def next_step(self) -> int:
        """The step that would have followed the last one, once the job has been walked."""
        return int(self.words[JobLayout.NEXT_STEP])

    def use(self, state: _Words) -> None:
        """Use another state, for errors and for stopping."""
        self._keep = (*self._keep[:2], state)
        self.words[JobLayout.STATE] = state.ctypes.data

    def divide(self, threads: int) -> None:
        """Have it walked by so many threads, if a step is worth sharing with the runtime scalars it has now."""
        self.words[JobLayout.THREADS] = threads
        self.threads = threads if threads > 1 and _native().is_shared(self.address) else 1


class ThreadPool:
    """Threads that take part in jobs. One job runs at a time; a caller that finds the pool busy works alone.

    Workers wait in native code. Where that cannot sleep, one that had nothing to do for a while comes back to Python,
    and parks there until the next job.
    """

    def __init__(self, most: int, native: Native | None = None) -> None:
        """A pool of at most `most` threads, the caller's own among them; the others start with the first job.

        `native` are the functions that they run, by default those for this processor and system.
        """
        self.most = min(most, MAX_THREADS)
        self._busy = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._job = _aligned_words(JobLayout.WORDS)
        self._address = int(self._job.ctypes.data)
        self._native = native or _native()
        self._jobs = 0
        self._parked = 0
        self._dismissed = False
        self._unpark = threading.Condition()

    def run(self, steps: _Words, slots: _Words, state: _Words, threads: int) -> int:
        """Walk steps, with as many threads as are wanted and free; the GIL is released meanwhile.

        Returns the index of the step that would have followed the last.
        """
        job = Job(steps, slots, state, threads)
        self.start(job)
        return job.next_step

    def start(self, job: Job) -> None:
        """Walk the steps of a job."""
        if job.is_interruptible:
            walk_until_interrupted(self._start, job, job.state)
        else:
            self._start(job)

    def _start(self, job: Job) -> None:
        if job.threads > 1 and self.most > 1 and self._busy.acquire(blocking=False):
            try:
                self._lead(job)
            finally:
                self._busy.release()
        else:
            self._native.walk(job.address)

    def dismiss(self) -> None:
        """End the workers, if they have nothing to do; jobs are walked by one thread from then on."""
        if self._threads and self._busy.acquire(timeout=1):
            self.most = 1
            self._dismissed = True
            self._native.dismiss(self._address)
            self._unpark_all()
            for thread in self._threads:
                thread.join(timeout=1)
            self._busy.release()

    def _lead(self, job: Job) -> None:
        threads = min(job.threads, self.most)
        while len(self._threads) < threads - 1:
            self._add()
        self._job[: JobLayout.ONE_THREAD_WORDS] = job.words
        self._job[JobLayout.THREADS] = threads
        self._jobs += 1
        if self._parked:
            self._unpark_all()
        self._native.lead(self._address)
        job.words[JobLayout.NEXT_STEP] = self._job[JobLayout.NEXT_STEP]

    def _add(self) -> None:
        number = len(self._threads) + 1
        thread = threading.Thread(target=self._work, args=(number,), daemon=True, name=f"ingot-{number}")
        thread.start()
        self._threads.append(thread)

    def _work(self, number: int) -> None:
        address, serve = self._address, self._native.serve
        while not self._dismissed:
            jobs = self._jobs
            serve(address, number)
            self._park(jobs)

    def _park(self, jobs: int) -> None:
        """Wait for a job after the first `jobs`.

        Either the caller that begins it sees that a worker is parked, or the parking worker sees that it has begun.
        """
        with self._unpark:
            self._parked += 1
            while self._jobs == jobs and not self._dismissed:
                self._unpark.wait()
            self._parked -= 1

    def _unpark_all(self) -> None:
        with self._unpark:
            self._unpark.notify_all()


class Native:
    """The native functions of the thread pool, callable."""

    def __init__(self, code: Code) -> None:
        on_job = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        question = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        on_job_and_thread = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
        self.owner = code.owner
        self.walk: Callable[[int], None] = on_job(code.entries[JobEntry.WALK])
        self.is_shared: Callable[[int], int] = question(code.entries[JobEntry.IS_SHARED])
        self.lead: Callable[[int], None] = on_job(code.entries[JobEntry.LEAD])
        self.serve: Callable[[int, int], None] = on_job_and_thread(code.entries[JobEntry.SERVE])
        self.dismiss: Callable[[int], None] = on_job(code.entries[JobEntry.DISMISS])
        self.run = code.entries[JobEntry.RUN]
        """The address of a function that is no function of C's: see `native_run`."""


THREAD_POOL = "thread pool"
"""The name of its code in the cache, and among kernels that were compiled ahead."""

_CODE: list[Future[Code]] = []
_LOCK = threading.Lock()


def provide(code: Code) -> None:
    """Use this code for the thread pool, unless it has code already."""
    if not _CODE:
        provided: Future[Code] = Future()
        provided.set_result(code)
        _CODE.append(provided)  # other threads may do so too: the first is used


def begin_thread_pool(target: Target) -> None:
    """Compile the code of the thread pool in the background, unless it has code or the target is another machine.

    The cache may have it, from another model.
    """
    from ingot.codegen.llvm.compile import code_later, load  # who has the code needs no compiler
    from ingot.codegen.llvm.host import host
    from ingot.codegen.llvm.templates import compiled_ahead

    if target != host():
        return
    with _LOCK:
        if _CODE:
            return
        key = kernels.key_of(THREAD_POOL, repr(target))
        entry = kernels.read(key) or compiled_ahead(THREAD_POOL, target)
        if entry is not None:
            provide(load(LinkedCode(entry.code, entry.entries), target))
            return

        from ingot.codegen.llvm.thread_pool import thread_pool_text

        def loaded(code: LinkedCode) -> Code:
            kernels.write(key, kernels.Entry(code.code, code.entries, ()))
            return load(code, target)

        _CODE.append(code_later(thread_pool_text(target), target, loaded))


def code() -> LinkedCode | None:
    """The code of the thread pool, to be stored in a plan file; None if it cannot be linked."""
    if _compiled().plain is not None:
        return _compiled().plain
    from ingot.codegen.llvm.compile import code_of
    from ingot.codegen.llvm.host import host
    from ingot.codegen.llvm.thread_pool import thread_pool_text

    return code_of(thread_pool_text(host()), host()) if linkable(host().triple) else None


def _compiled() -> Code:
    if not _CODE:
        from ingot.codegen.llvm.host import host  # who has the code needs no compiler

        begin_thread_pool(host())
    try:
        return _CODE[0].result()
    except BaseException:
        _CODE.clear()  # the next may have it
        raise


@cache
def _native() -> Native:
    return Native(_compiled())


def native_run_address() -> int:
    """The address of the function for native runs, which is never freed."""
    return _native().run


_POOL: list[ThreadPool] = []


def thread_pool() -> ThreadPool:
    """The thread pool of this process: as many threads as it may use processors."""
    if not _POOL:
        _POOL.append(ThreadPool(processors()))
    return _POOL[0]


def _after_fork() -> None:
    """In a forked process none of the threads is there, nor what another process was about to make."""
    global _LOCK
    _LOCK = threading.Lock()
    _POOL.clear()
    if _CODE and not _CODE[0].done():
        _CODE.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _end() -> None:
    """No thread may be in code whose memory is about to be given back."""
    for pool in _POOL:
        pool.dismiss()


def _aligned_words(count: int) -> _Words:
    """Zeros that begin at a cache line."""
    words = np.zeros(count + 8, np.int64)
    start = (-words.ctypes.data % 64) // 8
    return words[start : start + count]
