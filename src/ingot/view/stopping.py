"""Work that a page can stop: who waits for it is let go at once, the work itself ends where it next checks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from ingot.runtime.interrupt import Cancel, Interrupted

_GLANCE = 0.05
"""Seconds between two looks at whether it was stopped."""

T = TypeVar("T")


class Works:
    """What is under way for one tab, by name: a new work takes the place of the one before."""

    def __init__(self) -> None:
        self._cancels: dict[str, Cancel] = {}

    @property
    def names(self) -> list[str]:
        """What is under way."""
        return list(self._cancels)

    def stop(self, name: str) -> None:
        """Let go who waits for a work, if it is under way."""
        if (cancel := self._cancels.get(name)) is not None:
            cancel.cancel()

    def do(self, name: str, work: Callable[[Cancel], T]) -> T:
        """The result of a work, which is given what tells it to end; Interrupted once it is stopped."""
        self.stop(name)
        cancel = self._cancels[name] = Cancel()
        thread = _Thread(lambda: work(cancel))
        thread.start()
        try:
            while thread.is_alive() and not cancel.cancelled:
                thread.join(_GLANCE)
        finally:
            if self._cancels.get(name) is cancel:
                del self._cancels[name]
        if cancel.cancelled:
            raise Interrupted("stopped")
        return thread.result()


class _Thread(threading.Thread, Generic[T]):
    """Computes something, which may be an error."""

    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__(name="ingot-view-work", daemon=True)
        self._work = work
        self._results: list[T] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        """Compute it."""
        try:
            self._results.append(self._work())
        except BaseException as error:  # whoever waits raises it
            self._error = error

    def result(self) -> T:
        """What was computed; its error if there is one."""
        if self._error is not None:
            raise self._error
        return self._results[0]
