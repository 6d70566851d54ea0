"""How many elements there are, as a primitive: a number, or what a run makes of sizes that have names."""

from __future__ import annotations

from collections.abc import Sequence

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import DType


def number_of(sizes: Sequence[Dim], dtype: DType) -> prim.Tensor:
    """The product of sizes, as a tensor of `dtype` without axes."""
    number = prim.count(sizes)
    if isinstance(number, int):
        return prim.scalar(number, dtype)
    last = prim.slice_(prim.iota((number + 1,), 0), [number], [1])  # an index is the one number that sizes become
    return prim.cast(prim.squeeze(last, [0]), dtype)
