"""The largest result the reference makes: a product of small tensors can be larger than any memory."""

from __future__ import annotations

from math import prod

from ingot.errors import InputError
from ingot.ir.types import Shape
from ingot.ops.limit import MOST_BYTES


def refuse_oversized(shape: Shape, itemsize: int) -> None:
    """InputError if an array of this shape takes more than 16 GiB."""
    total = prod(size for size in shape if isinstance(size, int)) * itemsize
    if total > MOST_BYTES:
        raise InputError(
            f"the result would have shape {list(shape)} and take {total:,} bytes, more than {MOST_BYTES:,}"
        )
