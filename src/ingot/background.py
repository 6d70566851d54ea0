"""Compilation in the background, for a session that runs on the reference or on drafts of kernels meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait

from ingot.runtime.ended_work import POLL, Proceed

GRACE = 0.25
"""Seconds that a first run has to itself: two threads of Python are slower than one after the other."""


class Superseded(Exception):
    """Ends a run on the reference: the model is compiled."""


class Background:
    """Work in a thread of its own, begun after the first run or after a while; in a forked process, begun anew."""

    def __init__(self, work: Callable[[], None], is_awaited: bool = False) -> None:
        """Begin the work; a process waits at its end for what `is_awaited`."""
        self._work = work
        self._is_awaited = is_awaited
        self._begin()

    @property
    def done(self) -> bool:
        """Whether the work has ended, one way or the other; never blocks."""
        if self._process != os.getpid():  # the thread is in another process
            self._begin()
        return self._ended.done()

    def hurry(self) -> None:
        """Begin to work now: nobody else has anything to do."""
        self._waiting.set()

    def error(self) -> BaseException | None:
        """Why the work failed, once it has ended; None if it succeeded."""
        if not self.done:
            self.hurry()
        return self._ended.exception()

    def wait(self, proceed: Proceed | None) -> None:
        """Wait until the work has ended; what `proceed` raises ends the waiting."""
        while not self.done:
            self.hurry()
            wait([self._ended], None if proceed is None else POLL)
            if proceed is not None:
                proceed()

    def check(self) -> None:
        """Superseded if the work has ended well."""
        if self.done and self._ended.exception() is None:
            raise Superseded

    def _begin(self) -> None:
        self._process = os.getpid()
        self._waiting = threading.Event()
        self._ended: Future[None] = Future()
        arguments = self._waiting, self._ended
        daemon = not self._is_awaited
        threading.Thread(target=self._run, args=arguments, daemon=daemon, name="ingot-background").start()

    def _run(self, waiting: threading.Event, ended: Future[None]) -> None:
        waiting.wait(GRACE)
        try:
            self._work()
        except BaseException as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)
