"""MatMulInteger and QLinearMatMul: matrix products of bytes, exact, and scaled back to bytes."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.byte_products import byte_product, exact_byte_product, is_single, known, single
from ingot.ops.linalg.limit import refuse_oversized
from ingot.ops.linalg.matmul import product_shape
from ingot.ops.quantization.granularity import check_pair
from ingot.ops.quantization.rounding import codes_in_primitives, to_codes
from ingot.ops.quantization.types import BYTES, CODES_19, REAL
from ingot.ops.typesets import FLOAT32, INT32, types

A8: TypeAlias = Annotated[Array, types("T1", BYTES)]
B8: TypeAlias = Annotated[Array, types("T2", BYTES)]
Sums: TypeAlias = Annotated[Array, types("T3", INT32)]
Scale: TypeAlias = Annotated[Array, types("TS", {10: FLOAT32, 21: REAL})]
A: TypeAlias = Annotated[Array, types("T1", {10: BYTES, 21: CODES_19})]
B: TypeAlias = Annotated[Array, types("T2", {10: BYTES, 21: CODES_19})]
Y: TypeAlias = Annotated[Array, types("T3", {10: BYTES, 21: CODES_19})]


@operator("MatMulInteger", since=10)
def mat_mul_integer(a: A8, b: B8, a_zero_point: A8 | None = None, b_zero_point: B8 | None = None, /) -> Sums:
    """The matrix product of `a` less its zero point, one or one for each row, and `b` less its, one or one for each
    column. Sums wrap around at 32 bits.
    """
    return _sums(a, b, a_zero_point, b_zero_point).astype(np.int64).astype(np.int32)


@mat_mul_integer.infer
def infer_mat_mul_integer(
    a: Fact, b: Fact, a_zero_point: Fact | None = None, b_zero_point: Fact | None = None, /
) -> Inferred:
    return TensorType(DType.INT32, product_shape(a.shape, b.shape))


@mat_mul_integer.lower
def lower_mat_mul_integer(
    a: prim.Tensor,
    b: prim.Tensor,
    a_zero_point: prim.Tensor | None = None,
    b_zero_point: prim.Tensor | None = None,
    /,
) -> prim.Tensor:
    return byte_product(a, b, *_zero_points(a, b, a_zero_point, b_zero_point))


@operator("QLinearMatMul", since=(10, 21))
def qlinear_mat_mul(
    a: A,
    a_scale: Scale,
    a_zero_point: A,
    b: B,
    b_scale: Scale,
    b_zero_point: B,
    y_scale: Scale,
    y_zero_point: Y,
    /,
) -> Y:
    """The matrix product of two quantised matrices, quantised again with the scale and zero point of `y`.

    Scales, and zero points, are one, or one for each row of `a` and column of `b`. Sums are exact; the factor
    `a_scale * b_scale / y_scale` is computed in float32, its product with a sum in float64 and rounded to even.
    """
    for scale, zero_point in ((a_scale, a_zero_point), (b_scale, b_zero_point), (y_scale, y_zero_point)):
        if scale.size != 1 and zero_point.size != 1:
            check_pair(scale.shape, zero_point.shape)
    sums = _sums(a, b, a_zero_point, b_zero_point)
    rows = _per_row(a_scale.astype(np.float32), a, "a_scale")
    columns = _per_column(b_scale.astype(np.float32), b, "b_scale")
    if b.ndim == 1 and rows.ndim:
        rows = rows[..., 0]
    if a.ndim == 1 and columns.ndim > 1:
        columns = columns[..., 0, :]
    steps = _fitting(y_scale.astype(np.float32), sums, "y_scale")
    real = sums * (rows * columns / steps).astype(np.float64)
    return to_codes(real, _fitting(y_zero_point, sums, "y_zero_point"), DType.of(y_zero_point.dtype))


@qlinear_mat_mul.infer
def infer_qlinear_mat_mul(
    a: Fact,
    a_scale: Fact,
    a_zero_point: Fact,
    b: Fact,
    b_scale: Fact,
    b_zero_point: Fact,
    y_scale: Fact,
    y_zero_point: Fact,
    /,
) -> Inferred:
    shape = product_shape(a.shape, b.shape)
    return None if y_zero_point.dtype is None else TensorType(y_zero_point.dtype, shape)


@qlinear_mat_mul.lower
def lower_qlinear_mat_mul(
    a: prim.Tensor,
    a_scale: prim.Tensor,
    a_zero_point: prim.Tensor,
    b: prim.Tensor,
    b_scale: prim.Tensor,
    b_zero_point: prim.Tensor,
    y_scale: prim.Tensor,
    y_zero_point: prim.Tensor,
    /,
) -> prim.Tensor:
    for scale, zero_point in ((a_scale, a_zero_point), (b_scale, b_zero_point), (y_scale, y_zero_point)):
        if scale.shape != zero_point.shape and not (is_single(scale) or is_single(zero_point)):
            raise prim.Refused("a scale and a zero point of different shapes")
    sums = exact_byte_product(a, b, *_zero_points(a, b, a_zero_point, b_zero_point))
    rows, columns = _row_values(a_scale, a), _column_values(b_scale, b)
    if b.rank == 1 and rows.rank:
        rows = prim.squeeze(rows, [rows.rank - 1])
    if a.rank == 1 and columns.rank > 1:
        columns = prim.squeeze(columns, [columns.rank - 2])
    factor = known(prim.cast(rows * columns / _one_or_all(y_scale, sums), DType.FLOAT64))
    real = prim.cast(sums, DType.FLOAT64) * factor
    return codes_in_primitives(real, _one_or_all(y_zero_point, sums), y_zero_point.dtype)


def _zero_points(
    a: prim.Tensor, b: prim.Tensor, a_zero: prim.Tensor | None, b_zero: prim.Tensor | None
) -> tuple[prim.Tensor | None, prim.Tensor | None]:
    """Zero points that broadcast to the factors."""
    return None if a_zero is None else _row_values(a_zero, a), None if b_zero is None else _column_values(b_zero, b)


def _row_values(values: prim.Tensor, a: prim.Tensor) -> prim.Tensor:
    if values.rank < 2 and is_single(values):
        return single(values)
    if values.rank == 1 and a.rank > 1:
        return prim.unsqueeze(prim.assume_shape(values, a.shape[-2:-1]), [1])
    return _broadcasting(values, (*a.shape[:-1], 1))


def _column_values(values: prim.Tensor, b: prim.Tensor) -> prim.Tensor:
    if values.rank < 2 and is_single(values):
        return single(values)
    if values.rank == 1 and b.rank > 1:
        return prim.assume_shape(values, b.shape[-1:])
    return _broadcasting(values, (*b.shape[:-2], 1, b.shape[-1]) if b.rank > 1 else (1,))


def _one_or_all(values: prim.Tensor, y: prim.Tensor) -> prim.Tensor:
    return single(values) if values.rank < 2 and is_single(values) else _broadcasting(values, y.shape)


def _broadcasting(values: prim.Tensor, shape: tuple[Dim, ...]) -> prim.Tensor:
    if values.rank != len(shape) or any(v not in (1, s) for v, s in zip(values.shape, shape, strict=True)):
        raise prim.Refused(f"scales of shape {list(map(str, values.shape))} for {list(map(str, shape))}")
    return values


def _sums(a: Array, b: Array, a_zero_point: Array | None, b_zero_point: Array | None) -> Array:
    """The sums of products in float64: those of bytes are exact up to 2**37 of them."""
    shape = product_shape(a.shape, b.shape)
    assert shape is not None
    refuse_oversized(shape, 8)
    left, right = a.astype(np.float64), b.astype(np.float64)
    if a_zero_point is not None:
        left = left - _per_row(a_zero_point, a, "a_zero_point").astype(np.float64)
    if b_zero_point is not None:
        right = right - _per_column(b_zero_point, b, "b_zero_point").astype(np.float64)
    return np.asarray(np.matmul(left, right))


def _per_row(values: Array, a: Array, name: str) -> Array:
    """One value, or one for each row of the matrices `a`, so that it broadcasts to them."""
    if values.size == 1 and values.ndim < 2:
        return values.reshape(())
    if values.ndim == 1 and a.ndim > 1 and values.size == a.shape[-2]:
        return values[:, np.newaxis]
    return _spread(values, (*a.shape[:-1], 1), name)


def _per_column(values: Array, b: Array, name: str) -> Array:
    """One value, or one for each column of the matrices `b`, so that it broadcasts to them."""
    if values.size == 1 and values.ndim < 2:
        return values.reshape(())
    if values.ndim == 1 and b.ndim > 1 and values.size == b.shape[-1]:
        return values
    return _spread(values, (*b.shape[:-2], 1, b.shape[-1]) if b.ndim > 1 else (1,), name)


def _fitting(values: Array, y: Array, name: str) -> Array:
    """One value, or as many as broadcast to the result."""
    return values.reshape(()) if values.size == 1 and values.ndim < 2 else _spread(values, y.shape, name)


def _spread(values: Array, shape: tuple[int, ...], name: str) -> Array:
    fits = values.ndim == len(shape) and all(v in (1, s) for v, s in zip(values.shape, shape, strict=True))
    if not fits:
        raise ShapeError(f"{name} has shape {list(values.shape)}, expected one element or shape {list(shape)}")
    return values
