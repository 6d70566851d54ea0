"""Det: the determinants of square matrices."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError, UnsupportedError
from ingot.ir.types import Shape, TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.elimination import MOST_ROWS, determinants, stacked
from ingot.ops.nn.through import cast, through_float32
from ingot.ops.older import dtype_of, shape_of
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


@det.lower
def lower(x: prim.Tensor, /) -> prim.Tensor:
    result = determinants(stacked(prim.cast(x, DType.FLOAT64), MOST_ROWS))
    return prim.cast(prim.reshape(result, x.shape[:-2]), x.dtype)


@det.downgrade
def downgrade(op: Any, x: Value, /, *, version: int) -> Any:
    """Before there is an operator for it, as a sum of products, computed in float64 too."""
    if version >= det.since[0]:
        return through_float32(op, det, (x,), {}, version=version)
    *stack, _, size = shape_of(x)
    if not isinstance(size, int) or not 1 <= size <= 3:
        raise UnsupportedError(f"the determinants of matrices of {size} rows are not written out, only up to 3")
    wide = cast(op, x, dtype_of(x), DType.FLOAT64)
    rows = [op.Gather(wide, np.int64(i), axis=len(stack)) for i in range(size)]
    cells = [[op.Gather(row, np.int64(j), axis=len(stack)) for j in range(size)] for row in rows]
    return cast(op, _expanded(op, cells), DType.FLOAT64, dtype_of(x))


def _expanded(op: Any, cells: list[list[Any]]) -> Any:
    """The determinant of a matrix along its first row."""
    total = None
    for column, cell in enumerate(cells[0]):
        rest = [[*row[:column], *row[column + 1 :]] for row in cells[1:]]
        term = op.Mul(cell, _expanded(op, rest)) if rest else cell
        total = term if total is None else (op.Sub if column % 2 else op.Add)(total, term)
    return total


def _require_square(shape: Shape) -> None:
    if len(shape) < 2:
        raise ShapeError(f"x has {len(shape)} axes, a matrix has 2")
    rows, columns = shape[-2:]
    if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
        raise ShapeError(f"matrices of {rows} rows and {columns} columns have no determinant")
