"""Scratch memory: what each thread of a kernel has for itself."""

from __future__ import annotations

from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.schedule import threads
from ingot.schedule.target import Target

THREADS = symbol(threads.THREADS)
"""The number of threads of a session, as a named size: scratch buffers have a part for each."""

_MOST_VECTORS = 4
"""Vectors in a row of a panel, at most."""


def panel_width(dtype: DType, target: Target) -> int:
    """The most columns of a panel, for any tile of a target."""
    return _MOST_VECTORS * target.vector // dtype.numpy.itemsize
