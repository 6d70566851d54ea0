"""NonZero: where a tensor is not zero."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.tensor.computed import places_of
from ingot.ops.typesets import ALL, ALL_3, INT64, types
from ingot.prim.tensor import SizeReader

T: TypeAlias = Annotated[Array, types("T", {9: ALL_3, 13: ALL})]
Coordinates: TypeAlias = Annotated[Array, types("", INT64)]


@operator("NonZero", since=(9, 13))
def non_zero(x: T, /) -> Coordinates:
    """The coordinates of the elements that are not zero (or empty text), in order, a row for each axis of `x`."""
    if x.ndim == 0:
        return np.zeros((0, int(bool(x.item()))), np.int64)
    return np.stack(np.nonzero(x)).astype(np.int64)


@non_zero.infer
def infer(x: Fact, /) -> Inferred:
    return TensorType(DType.INT64, (x.rank, None))


@non_zero.lower
def lower(x: prim.Tensor, /, *, read: SizeReader) -> prim.Tensor:
    """The place of each in C order, taken apart into coordinates."""
    flags = x if x.dtype is DType.BOOL else prim.apply("not_equal", x, 0)
    places = places_of(prim.reshape(flags, (prim.count(x.shape),)), read)
    (many,) = places.shape
    if not x.rank:
        return prim.full(0, (0, many), DType.INT64)
    rows = []
    for axis, size in enumerate(x.shape):
        inner = places / prim.apply("maximum", prim.size(prim.count(x.shape[axis + 1 :])), 1)
        row = prim.apply("remainder", inner, prim.apply("maximum", prim.size(size), 1)) if axis else inner
        rows.append(prim.unsqueeze(row, [0]))
    return prim.concat(rows, 0)
