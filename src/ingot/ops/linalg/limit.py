"""The largest result the reference makes: a product of small tensors can be larger than any memory."""

from __future__ import annotations

from math import prod

from ingot.ir.types import Shape
from ingot.ops.limit import most_bytes, oversized


def refuse_oversized(shape: Shape, itemsize: int) -> None:
    """InputError if an array of this shape takes more than 16 GiB."""
    total = prod(size for size in shape if isinstance(size, int)) * itemsize
    if total > most_bytes():
        message = f"the result would have shape {list(shape)} and take {total:,} bytes, more than {most_bytes():,}"
        raise oversized(message, total)
