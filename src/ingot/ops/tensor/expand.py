"""Expand: a tensor repeated along axes of one element."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dims import Expr, upper_bound
from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.shapes import broadcast
from ingot.ops.tensor.follow import cells, followed, numbers, sizes, tensor, through
from ingot.ops.typesets import ALL, ALL_3, INT64, types

T: TypeAlias = Annotated[Array, types("T", {8: ALL_3, 13: ALL})]
Sizes: TypeAlias = Annotated[Array, types("", INT64)]


@operator("Expand", since=(8, 13))
def expand(x: T, shape: Sizes, /) -> T:
    """`x` broadcast with a tensor of `shape`: either may have the one that the other repeats."""
    if shape.ndim != 1:
        raise InputError(f"shape has {shape.ndim} axes, expected 1")
    wanted = [int(size) for size in shape]
    rank = max(x.ndim, len(wanted))
    pairs = zip((1,) * (rank - x.ndim) + x.shape, [1] * (rank - len(wanted)) + wanted, strict=True)
    result = []
    for have, want in pairs:
        if have != want and have != 1 and want != 1:
            raise ShapeError(f"shape {list(x.shape)} does not broadcast with {wanted}")
        result.append(have if want == 1 else want)
    return np.broadcast_to(x, affordable(result, x.dtype)).copy()


@expand.infer
def infer(x: Fact, shape: Fact, /) -> Inferred:
    wanted = sizes(shape)
    if wanted is None or x.shape is None:
        return tensor(x.dtype, None)
    if any(isinstance(size, int) and size < 0 for size in wanted):
        raise ShapeError(f"a size is negative: {wanted}")
    result = broadcast(x.shape, tuple(None if _never_a_size(size) else size for size in wanted))

    return followed(x.dtype, result, lambda: through(expand, cells(x), numbers(shape)))


def _never_a_size(dim: object) -> bool:
    return isinstance(dim, Expr) and (upper_bound(dim) or 0) < 0
