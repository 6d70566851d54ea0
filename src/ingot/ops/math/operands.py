"""What the operands of one operator must have in common: an element type, and shapes that broadcast."""

from __future__ import annotations

from math import prod

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError
from ingot.ops import shapes
from ingot.ops.facts import Fact
from ingot.ops.limit import most_bytes, oversized


def require_fit(*arrays: Array) -> None:
    """ShapeError unless the arrays broadcast, InputError if what they broadcast to is out of proportion."""
    first = arrays[0].shape
    for x in arrays:
        if x.shape != first:
            break
    else:
        return
    if len(arrays) == 2 and _surely_fit(*arrays):
        return
    shape = shapes.broadcast(*(x.shape for x in arrays))
    count = prod(size for size in shape or () if isinstance(size, int))
    nbytes = count * max(x.dtype.itemsize for x in arrays)
    if nbytes > most_bytes():
        shown = " and ".join(str([*x.shape]) for x in arrays)
        message = f"shapes {shown} broadcast to {nbytes:,} bytes, more than the limit of {most_bytes():,}"
        raise oversized(message, nbytes)


def _surely_fit(a: Array, b: Array) -> bool:
    """Whether two arrays broadcast to what is in proportion, as far as a short look says."""
    for m, n in zip(a.shape[::-1], b.shape[::-1], strict=False):  # the longer one has its front to itself
        if m not in (n, 1) and n != 1:
            return False
    return a.size * b.size * max(a.itemsize, b.itemsize) <= most_bytes()


def require_alike(*arrays: Array) -> None:
    """The same, and InputError unless all are of one element type."""
    for x in arrays:
        if x.dtype != arrays[0].dtype:
            raise InputError(f"element types differ: {DType.of(arrays[0].dtype)} and {DType.of(x.dtype)}")
    require_fit(*arrays)


def require_divisors(a: Array, b: Array) -> None:
    """InputError if an integer would be divided by zero."""
    if a.dtype.kind in "iu" and a.size and not b.all():
        raise InputError(f"integers are divided by zero: {b.size - np.count_nonzero(b)} of {b.size} divisors are 0")


def common_dtype(*facts: Fact) -> DType | None:
    """The element type that operands share; None where no one's is known, CheckError where two differ."""
    common: DType | None = None
    for fact in facts:
        if fact.dtype is None:
            continue
        if common is not None and fact.dtype is not common:
            raise CheckError(f"element types differ: {common} and {fact.dtype}", hint="cast one of them")
        common = fact.dtype
    return common
