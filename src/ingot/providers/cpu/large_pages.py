"""Memory in large pages also for constants that are smaller: several share one allocation.

Numpy asks Linux for large pages from 4 MB on. Streams of panels are read a fourth faster from these: the processor
prefetches no further than the end of a page.
"""

from __future__ import annotations

from threading import Lock
from weakref import ref

import numpy as np

from ingot.dtypes import Array

_CHUNK = 32 << 20
"""Bytes of an allocation that is shared. Linux takes memory for it as it is written."""

_LOCK = Lock()
_CURRENT: list[tuple[ref[Array], int]] = []
"""The allocation that has room left, while somebody uses it, and how much of it is used."""


def zeros(nbytes: int) -> Array:
    """So many bytes, all zero, which begin at a cache line if the memory they are in does."""
    if nbytes > _CHUNK // 4:
        return np.zeros(nbytes, np.uint8)
    with _LOCK:
        last, used = _CURRENT.pop() if _CURRENT else (None, 0)
        chunk = None if last is None else last()
        if chunk is None or used + nbytes > _CHUNK:
            chunk, used = np.zeros(_CHUNK, np.uint8), 0
        _CURRENT.append((ref(chunk), used + -(-nbytes // 64) * 64))
        return chunk[used : used + nbytes]
