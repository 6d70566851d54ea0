"""Work that takes longer than a run may wait: it is done in another thread, and given up when the run has to end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeAlias, TypeVar

T = TypeVar("T")

Proceed: TypeAlias = Callable[[], None]
"""Returns if there is reason to go on, and raises what ends the work."""

POLL = 0.01
"""Seconds between two questions whether a run has to end."""


def until_ended(work: Callable[[Proceed | None], T], proceed: Proceed | None) -> T:
    """What `work` returns or raises; or what `proceed` raises, as soon as it does.

    `work` is given a function to call between its parts, which raises once its result is not wanted any more.
    """
    if proceed is None:
        return work(None)
    result: Future[T] = Future()
    unwanted = threading.Event()

    def stop() -> None:
        if unwanted.is_set():
            raise Unwanted

    def run() -> None:
        try:
            result.set_result(work(stop))
        except BaseException as error:
            result.set_exception(error)

    proceed()
    threading.Thread(target=run, daemon=True, name="ingot-compile").start()
    while not wait([result], POLL).done:
        try:
            proceed()
        except BaseException:
            unwanted.set()
            raise
    return result.result()


class Unwanted(Exception):
    """The result of work is not wanted any more."""
