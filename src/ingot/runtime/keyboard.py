"""Ctrl-C in native loops: Python handles signals between its own instructions, so that somebody has to end the loop.

While the main thread walks a job with loops, the numbers of signals that arrive are written to a pipe, which a thread
reads: for SIGINT it sets the stop word of the run. The handler of the signal, which raises KeyboardInterrupt unless the
program has another, is called as soon as the job has ended.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

J = TypeVar("J")

_get_ident, _set_wakeup_fd = threading.get_ident, signal.set_wakeup_fd

_STOP = 1
"""The word of a state that stops kernels."""

_BY_KEYBOARD = 2
"""What it is set to here: a cancel or a deadline sets it to 1, also if that is what the handler of a signal calls."""


def walk_until_interrupted(walk: Callable[[J], None], job: J, state: Any) -> None:
    """Walk a job whose kernels look at `state`; where Ctrl-C is pressed and its handler returns, once more.

    Signals are left alone outside of the main thread, where Python never handles them.
    """
    if sys.platform == "win32" or _get_ident() != threading.main_thread().ident:
        walk(job)
        return
    watch = _WATCHES[0] if _WATCHES else _watch()
    watch.begin(state)
    try:
        walk(job)
    finally:
        watch.end()
    if state[_STOP] == _BY_KEYBOARD:
        state[_STOP] = 0
        walk(job)


class _Watch:
    """The pipe, and the thread that reads it."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._lock = threading.Lock()
        self._state: Any = None
        self._before = -1
        threading.Thread(target=self._serve, daemon=True, name="ingot-keyboard").start()

    def begin(self, state: Any) -> None:
        """Stop the run of this state at a SIGINT."""
        self._state = state
        before = _set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        if before != self._writer:  # or an exception came before the last one ended
            self._before = before

    def end(self) -> None:
        """Leave the state alone from now on."""
        _set_wakeup_fd(self._before, warn_on_full_buffer=False)
        with self._lock:
            self._state = None

    def _serve(self) -> None:
        while True:
            numbers = os.read(self._reader, 4096)
            if self._before != -1:
                self._pass_on(numbers)
            with self._lock:
                if self._state is not None and signal.SIGINT in numbers and not self._state[_STOP]:
                    self._state[_STOP] = _BY_KEYBOARD

    def _pass_on(self, numbers: bytes) -> None:
        """Tell whoever waited for signals before, such as an event loop."""
        try:
            os.write(self._before, numbers)
        except OSError:  # it is closed, or full: it has been woken then
            return


_WATCHES: list[_Watch] = []


def _watch() -> _Watch:
    _WATCHES.append(_Watch())
    return _WATCHES[0]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_WATCHES.clear)  # the thread is not there
