"""The thread pool: one for the process, so that concurrent sessions do not oversubscribe the processors."""

from __future__ import annotations

import atexit
import os
import threading
from typing import Any, TypeAlias

import numpy as np

from ingot.codegen.job import MAX_THREADS, JobLayout
from ingot.runtime import pool_code
from ingot.runtime.keyboard import walk_until_interrupted
from ingot.runtime.pool_code import Native
from ingot.runtime.processors import processors

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
        self.threads = threads if threads > 1 and pool_code.native().is_shared(self.address) else 1


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
        self._native = native or pool_code.native()
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


_POOL: list[ThreadPool] = []
"""The pool in use, and after it the one of a draft of its code, whose threads end when they have nothing to do."""


def thread_pool() -> ThreadPool:
    """The thread pool of this process: as many threads as it may use processors."""
    if not _POOL:
        _POOL.append(ThreadPool(processors()))
    return _POOL[0]


def finish_thread_pool() -> None:
    """Wait for the final code of the pool, and use it from now on; CompileError if it cannot be compiled."""
    if pool_code.finish() and _POOL:
        _POOL.insert(0, ThreadPool(processors()))
        _POOL[1].dismiss()


def _after_fork() -> None:
    """In a forked process none of the threads is there."""
    _POOL.clear()


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
