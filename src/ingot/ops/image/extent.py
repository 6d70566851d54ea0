"""How large a result may be: checked before any of it is allocated."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ingot.errors import InputError
from ingot.ops.limit import MOST_BYTES

_MOST_ADDRESSED = 2**62  # numpy refuses more even where a size of zero makes it nothing


def require_extent(shape: Sequence[int], itemsize: int) -> None:
    """InputError if a size is negative, or elements of `itemsize` bytes in this shape take more than 16 GiB."""
    if any(size < 0 for size in shape):
        raise InputError(f"the result would have shape {list(shape)}")
    taken = math.prod(size or 1 for size in shape) * itemsize
    if taken > (_MOST_ADDRESSED if 0 in shape else MOST_BYTES):
        raise InputError(f"a result of shape {list(shape)} would take {taken:,} bytes")
