"""Det: the determinants of square matrices."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {11: FLOATS_3, 22: FLOATS})]


@operator("Det", since=(11, 22))
def det(x: T, /) -> T:
    """The determinant of each matrix in the last two axes, computed in float64; that of an empty one is 1."""
    _require_square(x.shape)
    return np.asarray(np.linalg.det(x.astype(np.float64))).astype(x.dtype)


@det.infer
def infer(x: Fact, /) -> Inferred:
    if x.shape is not None:
        _require_square(x.shape)
    return None if x.dtype is None else TensorType(x.dtype, None if x.shape is None else x.shape[:-2])


def _require_square(shape: Shape) -> None:
    if len(shape) < 2:
        raise ShapeError(f"x has {len(shape)} axes, a matrix has 2")
    rows, columns = shape[-2:]
    if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
        raise ShapeError(f"matrices of {rows} rows and {columns} columns have no determinant")
