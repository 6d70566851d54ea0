"""NonZero: where a tensor is not zero."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import ALL, ALL_3, INT64, types

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
