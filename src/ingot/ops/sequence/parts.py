"""Parts of one size of a tensor along an axis, in new memory."""

from __future__ import annotations

from math import prod

import numpy as np

from ingot.dtypes import Array

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}
"""Types that numpy copies as one, by their bytes: what is contiguous in a part and no longer is moved as such."""

_LINE = 256
"""Bytes that are read of a row before the next one: a few cache lines."""

_FEW = 4
"""Parts that are copied one by one."""


def even_parts(x: Array, axis: int, step: int, keepdims: bool = True) -> list[Array]:
    """The parts of `x` of `step` elements along `axis`, which divides it: contiguous, in new memory.

    Those of one element lose the axis unless `keepdims`.
    """
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    count = x.shape[axis] // step
    shape = (*before, step, *after) if keepdims else before + after
    if count <= _FEW:
        front = (slice(None),) * axis
        parts = [x[(*front, slice(start, start + step))].copy() for start in range(0, count * step, step)]
        return parts if keepdims else [part.reshape(shape) for part in parts]
    rows = prod(before)
    if rows == 1 or not x.size:
        return _listed(x.reshape(count, *shape).copy())
    along = x.reshape(rows, count, -1)
    width = along.shape[2] * x.itemsize
    if width in _WORDS and x.dtype != np.object_ and along.flags.c_contiguous:
        along = along.reshape(rows, -1).view(_WORDS[width]).reshape(rows, count, 1)
    moved: Array = np.empty((count, rows, along.shape[2]), along.dtype)
    block = max(1, _LINE // width)
    for first in range(0, count, block):
        moved[first : first + block] = along[:, first : first + block].swapaxes(0, 1)
    return _listed((moved if moved.dtype == x.dtype else moved.view(x.dtype)).reshape(count, *shape))


def _listed(parts: Array) -> list[Array]:
    """The parts along the first axis, each an array."""
    return list(parts) if parts.ndim > 1 else [parts[place, ...] for place in range(len(parts))]
