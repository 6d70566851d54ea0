"""How large a result may be: checked before any of it is allocated."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ingot.errors import InputError
from ingot.ops.limit import most_bytes, oversized

_MOST_ADDRESSED = 2**62  # numpy refuses more even where a size of zero makes it nothing


def require_extent(shape: Sequence[int], itemsize: int) -> None:
    """InputError if a size is negative, or elements of `itemsize` bytes in this shape take more than 16 GiB."""
    if any(size < 0 for size in shape):
        raise InputError(f"the result would have shape {list(shape)}")
    nbytes = math.prod(size or 1 for size in shape) * itemsize
    if 0 in shape and nbytes > _MOST_ADDRESSED:
        raise InputError(f"a result of shape {list(shape)} would take {nbytes:,} bytes")
    if 0 not in shape and nbytes > most_bytes():
        message = f"a result of shape {list(shape)} would take {nbytes:,} bytes, the most are {most_bytes():,}"
        raise oversized(message, nbytes)
