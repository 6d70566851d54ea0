"""What a result may cost: sizes are checked with Python's integers before anything is allocated."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import numpy as np
import numpy.typing as npt

from ingot.errors import InputError, UnsupportedError

MOST_BYTES = 2**34
"""Results of an operator that would be larger than this are refused."""

_MOST_AXES = 64  # numpy's own limit
_MOST_STRIDE = 2**62  # numpy multiplies the sizes of an empty array too, leaving out zeros


def affordable(sizes: Iterable[int], dtype: npt.DTypeLike) -> tuple[int, ...]:
    """`sizes` as a shape to allocate; InputError if one is negative or there are too many elements."""
    shape = tuple(int(size) for size in sizes)
    if any(size < 0 for size in shape):
        raise InputError(f"a size is negative: {list(shape)}")
    if len(shape) > _MOST_AXES:
        raise UnsupportedError(f"a result of {len(shape)} axes: the most are {_MOST_AXES}")
    width = np.dtype(dtype).itemsize
    if prod(shape) * width > MOST_BYTES:
        raise InputError(f"a result of shape {list(shape)} takes {prod(shape) * width:,} bytes, the most are 2**34")
    if prod(size for size in shape if size) * width > _MOST_STRIDE:
        raise InputError(f"a result of shape {list(shape)} is out of all proportion, though empty")
    return shape
