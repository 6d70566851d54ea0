"""A lock that a fork cannot leave held for ever, and that a run which is ended does not wait for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_POLL = 0.01
"""Seconds between two questions whether a run has to end."""


class ForkLock:
    """A lock for the threads of one process: in a forked process nobody holds it."""

    def __init__(self) -> None:
        self._locks: dict[int, threading.RLock] = {}

    @contextmanager
    def held(self, proceed: Callable[[], None] | None = None) -> Iterator[None]:
        """Hold the lock. `proceed` is called now and then while another thread does: what it raises ends the wait."""
        lock = self._locks.setdefault(os.getpid(), threading.RLock())  # one step, so that threads get the same
        if proceed is None:
            lock.acquire()
        else:
            while not lock.acquire(timeout=_POLL):
                proceed()
        try:
            yield
        finally:
            lock.release()
