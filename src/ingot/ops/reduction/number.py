"""How many elements there are, as a primitive: a number, or what a run makes of sizes that have names."""

from __future__ import annotations

from collections.abc import Sequence

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import DType


def number_of(sizes: Sequence[Dim], dtype: DType) -> prim.Tensor:
    """The product of sizes, as a tensor of `dtype` without axes."""
    number = prim.count(sizes)
    return prim.scalar(number, dtype) if isinstance(number, int) else prim.cast(prim.size(number), dtype)
