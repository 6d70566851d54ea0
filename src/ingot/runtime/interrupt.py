"""Ending a run early: a cancel or a deadline sets the stop words of the runs that it is attached to."""

from __future__ import annotations

import os
import threading
from math import inf
from time import monotonic
from typing import Protocol

from ingot.dtypes import Array
from ingot.errors import IngotError, InputError


class Interrupted(IngotError):
    """A run ended early: its deadline passed, or it was cancelled."""


class Interrupt(Protocol):
    """Ends a run early. A run in progress is identified by its state, whose second word stops its kernels."""

    def attach(self, state: Array) -> None:
        """Stop the kernels of a run when it has to end, or at once if it should have ended already."""

    def detach(self, state: Array) -> None:
        """Leave the state of a run alone from now on."""

    def check(self) -> None:
        """Interrupted if the run has to end; always so once a stop word is set."""


class Cancel:
    """Passed to a run, ends it from another thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal may come while it is held, and its handler cancel
        self._cancelled = False
        self._states: dict[int, Array] = {}

    def cancel(self) -> None:
        """End the runs in progress that were given this, and those that will be."""
        with self._lock:
            self._cancelled = True
            for state in self._states.values():
                state[1] = 1

    @property
    def cancelled(self) -> bool:
        return self._cancelled

    def attach(self, state: Array) -> None:
        with self._lock:
            self._states[id(state)] = state
            if self._cancelled:
                state[1] = 1

    def detach(self, state: Array) -> None:
        with self._lock:
            self._states.pop(id(state), None)

    def check(self) -> None:
        if self._cancelled:
            raise Interrupted("the run was cancelled")


class Deadline:
    """Ends a run a number of seconds after this was created."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = monotonic() + seconds

    def attach(self, state: Array) -> None:
        _TIMER.attach(state, self._end)

    def detach(self, state: Array) -> None:
        _TIMER.detach(state)

    def check(self) -> None:
        if monotonic() >= self._end:
            raise Interrupted(f"the run took longer than {self._seconds} s")


class Either:
    """Two interrupts, of which the first to happen ends a run."""

    def __init__(self, first: Interrupt, second: Interrupt) -> None:
        self._both = first, second

    def attach(self, state: Array) -> None:
        for interrupt in self._both:
            interrupt.attach(state)

    def detach(self, state: Array) -> None:
        for interrupt in self._both:
            interrupt.detach(state)

    def check(self) -> None:
        for interrupt in self._both:
            interrupt.check()


def interrupt_of(deadline: float | None, cancel: Cancel | None) -> Interrupt | None:
    """The interrupt of a run that begins now; InputError if the deadline is no number of seconds."""
    if deadline is None:
        return cancel
    if not deadline >= 0:
        raise InputError(f"a deadline is a number of seconds, not {deadline}")
    return Deadline(deadline) if cancel is None else Either(cancel, Deadline(deadline))


class _Timer:
    """One thread for all deadlines of the process, started with the first; it sleeps until the next of them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ends: dict[int, tuple[float, Array]] = {}
        self._wakes = inf
        self._thread: threading.Thread | None = None

    def attach(self, state: Array, end: float) -> None:
        with self._changed:
            if self._thread is None:
                thread = threading.Thread(target=self._serve, daemon=True, name="ingot-deadlines")
                thread.start()  # which may fail: the next run tries again
                self._thread = thread
            self._ends[id(state)] = end, state
            if end < self._wakes:
                self._wakes = end
                self._changed.notify()

    def detach(self, state: Array) -> None:
        """The thread is not woken for it: it sleeps on until the end that there was."""
        with self._changed:
            self._ends.pop(id(state), None)

    def _serve(self) -> None:
        with self._changed:
            while True:
                now = monotonic()
                for end, state in self._ends.values():
                    if end <= now:
                        state[1] = 1
                self._wakes = min((end for end, _ in self._ends.values() if end > now), default=inf)
                self._changed.wait(None if self._wakes == inf else min(self._wakes - now, threading.TIMEOUT_MAX))


_TIMER = _Timer()


def _begin_anew() -> None:
    """In a forked process the thread is not there."""
    global _TIMER
    _TIMER = _Timer()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
