"""The threads that run plans: one team for the process, so that sessions side by side do not crowd the processor."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from concurrent.futures import Future
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.codegen.elf import LinkedCode, linkable
from ingot.codegen.executable_memory import Code
from ingot.codegen.llvm.team import ALONE_WORDS, DISMISS, JOB_WORDS, LEAD, MOST_THREADS, SERVE, SHARED, team_text

if TYPE_CHECKING:
    from ingot.schedule.target import Target


class Job:
    """Steps to be walked, over and over, by threads that share a table of slots: by one if none is worth sharing."""

    def __init__(
        self, steps: np.ndarray[Any, Any], slots: np.ndarray[Any, Any], state: np.ndarray[Any, Any], threads: int
    ) -> None:
        self.words = _words(ALONE_WORDS)
        self.address = int(self.words.ctypes.data)
        self._keep = steps, slots, state
        _fill(self.words, steps, slots, state, threads)
        self.threads = 1
        self.divide(threads)

    def use(self, state: np.ndarray[Any, Any]) -> None:
        """Have another word for errors and for stopping."""
        self._keep = (*self._keep[:2], state)
        self.words[_STATE] = state.ctypes.data

    def divide(self, threads: int) -> None:
        """Have it walked by so many threads, if the sizes that its steps are told now are worth it."""
        self.words[_THREADS] = threads
        self.threads = threads if threads > 1 and _native().shared(self.address) else 1


class Team:
    """Threads that take part in jobs. One job runs at a time; who finds the team busy works alone."""

    def __init__(self, most: int) -> None:
        """A team of at most `most` threads, the caller's own among them; the others start with the first job."""
        self.most = min(most, MOST_THREADS)
        self._busy = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._job = _words(JOB_WORDS)
        self._address = int(self._job.ctypes.data)
        self._code = _native()

    def run(
        self, steps: np.ndarray[Any, Any], slots: np.ndarray[Any, Any], state: np.ndarray[Any, Any], threads: int
    ) -> int:
        """Walk steps, with as many threads as are wanted and at hand; the GIL is released meanwhile.

        Which step would have come after the last is returned.
        """
        job = Job(steps, slots, state, threads)
        self.start(job)
        return int(job.words[_NEXT])

    def start(self, job: Job) -> None:
        """Walk the steps of a job."""
        if job.threads > 1 and self.most > 1 and self._busy.acquire(blocking=False):
            try:
                self._together(job)
            finally:
                self._busy.release()
        else:
            self._code.alone(job.address)

    def dismiss(self) -> None:
        """End the threads, if they have nothing to do; jobs are walked by one thread from then on."""
        if self._threads and self._busy.acquire(timeout=1):
            self.most = 1
            self._code.dismiss(self._address)
            for thread in self._threads:
                thread.join(timeout=1)
            self._busy.release()

    def _together(self, job: Job) -> None:
        threads = min(job.threads, self.most)
        while len(self._threads) < threads - 1:
            self._add()
        self._job[:ALONE_WORDS] = job.words
        self._job[_THREADS] = threads
        self._code.lead(self._address)
        job.words[_NEXT] = self._job[_NEXT]

    def _add(self) -> None:
        number = len(self._threads) + 1
        address, serve = self._address, self._code.serve
        thread = threading.Thread(target=lambda: serve(address, number), daemon=True, name=f"ingot-{number}")
        thread.start()
        self._threads.append(thread)


class _Native:
    """The functions of a team, callable."""

    def __init__(self, code: Code) -> None:
        one = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        asks = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        two = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
        self.owner = code.owner
        self.alone = one(code.address)
        self.shared = asks(code.entries[SHARED])
        self.lead = one(code.entries[LEAD])
        self.serve = two(code.entries[SERVE])
        self.dismiss = one(code.entries[DISMISS])


_CODE: list[Future[Code]] = []


def provide(code: Code) -> None:
    """Have teams use code that was made before, unless there is some."""
    if not _CODE:
        _CODE.append(Future())
        _CODE[0].set_result(code)


def begin_team(target: Target) -> None:
    """Have the code of teams made beside other work, unless there is some, or the target is another machine."""
    from ingot.codegen.llvm.compile import code_later, load  # who has the code needs no compiler
    from ingot.codegen.llvm.host import host

    if not _CODE and target == host():
        _CODE.append(code_later(team_text(target), target, lambda code: load(code, target)))


def code() -> LinkedCode | None:
    """The code that teams run, to be kept; None if it is no plain code."""
    if _made().plain is not None:
        return _made().plain
    from ingot.codegen.llvm.compile import code_of
    from ingot.codegen.llvm.host import host

    return code_of(team_text(host()), host()) if linkable(host().triple) else None


def _made() -> Code:
    if not _CODE:
        from ingot.codegen.llvm.host import host  # who has the code needs no compiler

        begin_team(host())
    try:
        return _CODE[0].result()
    except BaseException:
        _CODE.clear()  # the next may have it
        raise


@cache
def _native() -> _Native:
    return _Native(_made())


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
    """In a forked process none of the threads is there, nor what another process was about to make."""
    _TEAM.clear()
    if _CODE and not _CODE[0].done():
        _CODE.clear()


os.register_at_fork(after_in_child=_forget)


@atexit.register
def _end() -> None:
    """No thread may be in code whose memory is about to be given back."""
    for each in _TEAM:
        each.dismiss()


_STATE, _THREADS, _NEXT = 3, 4, 7
"""The words of a job that tell where its state is, how many threads it is for, and where it ended."""


def _words(count: int) -> np.ndarray[Any, Any]:
    room = np.zeros(count + 8, np.int64)
    start = (-room.ctypes.data % 64) // 8
    return room[start : start + count]


def _fill(
    job: np.ndarray[Any, Any],
    steps: np.ndarray[Any, Any],
    slots: np.ndarray[Any, Any],
    state: np.ndarray[Any, Any],
    threads: int,
) -> None:
    job[0], job[1], job[2], job[3], job[_THREADS] = (
        steps.ctypes.data, len(steps), slots.ctypes.data, state.ctypes.data, threads,
    )  # fmt: skip
