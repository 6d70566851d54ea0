"""The threads that run plans: one team for the process, so that sessions side by side do not crowd the processor."""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache
from typing import Any

import numpy as np

from ingot.codegen.link import Plain, linkable
from ingot.codegen.llvm.team import JOB_WORDS, team_text
from ingot.codegen.memory import Code

_NEXT = 28
"""The word of a job that says where it ended."""


class Job:
    """Steps to be walked, over and over, by threads that share a table of slots."""

    def __init__(
        self, steps: np.ndarray[Any, Any], slots: np.ndarray[Any, Any], state: np.ndarray[Any, Any], threads: int
    ) -> None:
        self.steps, self.slots, self.state, self.threads = steps, slots, state, threads
        self.words = _words()
        _fill(self.words, steps, slots, state, 1)
        self.address = int(self.words.ctypes.data)


class Team:
    """Threads that take part in jobs. One job runs at a time; who finds the team busy works alone."""

    def __init__(self, most: int) -> None:
        """A team of at most `most` threads, the caller's own among them; the others start with the first job."""
        self.most = most
        self._busy = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._job = _words()
        self._code = _native()

    def run(
        self, steps: np.ndarray[Any, Any], slots: np.ndarray[Any, Any], state: np.ndarray[Any, Any], threads: int
    ) -> int:
        """Walk steps, with as many threads as are wanted and at hand; the GIL is released meanwhile.

        Which step would have come after the last is returned.
        """
        if threads > 1 and self._busy.acquire(blocking=False):
            try:
                self._together(steps, slots, state, min(threads, self.most))
                return int(self._job[_NEXT])
            finally:
                self._busy.release()
        job = _words()
        _fill(job, steps, slots, state, 1)
        self._code.walk(job.ctypes.data, 0)
        return int(job[_NEXT])

    def start(self, job: Job) -> None:
        """Walk the steps of a job."""
        if job.threads > 1:
            self.run(job.steps, job.slots, job.state, job.threads)
        else:
            self._code.walk(job.address, 0)

    def _together(
        self, steps: np.ndarray[Any, Any], slots: np.ndarray[Any, Any], state: np.ndarray[Any, Any], threads: int
    ) -> None:
        while len(self._threads) < threads - 1:
            self._add()
        _fill(self._job, steps, slots, state, threads)
        self._code.begin(self._job.ctypes.data)
        self._code.walk(self._job.ctypes.data, 0)

    def _add(self) -> None:
        number = len(self._threads) + 1
        job, serve = self._job, self._code.serve
        ready = int(job[11])
        thread = threading.Thread(target=lambda: serve(job.ctypes.data, number), daemon=True, name=f"ingot-{number}")
        thread.start()
        while int(job[11]) == ready:
            os.sched_yield() if hasattr(os, "sched_yield") else None
        self._threads.append(thread)


class _Native:
    """The functions of a team, callable."""

    def __init__(self, code: Code) -> None:
        one = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        two = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
        self.owner = code.owner
        self.walk = two(code.address)
        self.serve = two(code.entries["serve"])
        self.begin = one(code.entries["begin"])


_CODE: list[Code] = []


def provide(code: Code) -> None:
    """Have teams use code that was made before, unless there is some."""
    if not _CODE:
        _CODE.append(code)


def code() -> Plain | None:
    """The code that teams run, to be kept; None if it is no plain code."""
    from ingot.codegen.llvm.compile import code_of
    from ingot.codegen.llvm.target import host

    if _CODE and _CODE[0].plain is not None:
        return _CODE[0].plain
    return code_of(team_text(host()), host()) if linkable(host().triple) else None


@cache
def _native() -> _Native:
    if not _CODE:
        from ingot.codegen.llvm.compile import code_of, load  # LLVM is not free to load
        from ingot.codegen.llvm.target import host

        _CODE.append(load(code_of(team_text(host()), host()), host()))
    return _Native(_CODE[0])


_TEAM: list[Team] = []


def team() -> Team:
    """The team of this process: as many threads as it may use processors."""
    if not _TEAM:
        _TEAM.append(Team(processors()))
    return _TEAM[0]


def processors() -> int:
    """How many processors this process may use: by its affinity, and by the quota of its control group."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:
        count = os.cpu_count() or 1
    return max(1, min(count, _quota() or count))


def _quota() -> int | None:
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            limit, period = file.read().split()
        return None if limit == "max" else max(1, -(-int(limit) // int(period)))
    except (OSError, ValueError):
        return None


def _forget() -> None:
    """In a forked process none of the threads is there."""
    _TEAM.clear()


os.register_at_fork(after_in_child=_forget)


def _words() -> np.ndarray[Any, Any]:
    room = np.zeros(JOB_WORDS + 8, np.int64)
    start = (-room.ctypes.data % 64) // 8
    return room[start : start + JOB_WORDS]


def _fill(
    job: np.ndarray[Any, Any],
    steps: np.ndarray[Any, Any],
    slots: np.ndarray[Any, Any],
    state: np.ndarray[Any, Any],
    threads: int,
) -> None:
    job[0], job[1], job[2], job[3], job[4] = (
        steps.ctypes.data, len(steps), slots.ctypes.data, state.ctypes.data, threads,
    )  # fmt: skip
