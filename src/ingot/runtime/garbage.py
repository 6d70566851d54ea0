"""Garbage collection, paused while a model is compiled.

A compiler makes many objects and little garbage: collecting it over and over is a tenth of its time.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.Lock()
_paused = 0
"""How many threads compile; zero too where the program itself has switched collection off."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause automatic collection until the last of several threads is done, unless the program has switched it off."""
    global _paused
    with _LOCK:
        counts = _paused > 0 or gc.isenabled()
        if counts:
            _paused += 1
            gc.disable()
    try:
        yield
    finally:
        with _LOCK:
            if counts and _paused:
                _paused -= 1
                if not _paused:
                    gc.enable()


def _after_fork() -> None:
    """In a forked process nobody compiles."""
    global _LOCK, _paused
    _LOCK = threading.Lock()
    if _paused:
        _paused = 0
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
