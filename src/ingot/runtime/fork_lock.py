"""A lock that a fork cannot leave held for ever, and that a run which is ended does not wait for."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ingot.runtime.ended_work import POLL, Proceed


class ForkLock:
    """A lock for the threads of one process: in a forked process nobody holds it."""

    def __init__(self) -> None:
        self._locks: dict[int, threading.RLock] = {}

    @contextmanager
    def held(self, proceed: Proceed | None = None) -> Iterator[None]:
        """Hold the lock. `proceed` is called now and then while another thread does: what it raises ends the wait."""
        lock = self._locks.setdefault(os.getpid(), threading.RLock())  # one step, so that threads get the same
        if proceed is None:
            lock.acquire()
        else:
            while not lock.acquire(timeout=POLL):
                proceed()
        try:
            yield
        finally:
            lock.release()
