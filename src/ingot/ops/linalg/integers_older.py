"""Products of integers in versions whose products take floats alone, and bytes where nothing rounds yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.linalg.matmul import mat_mul
from ingot.ops.linalg.quantized import mat_mul_integer, qlinear_mat_mul
from ingot.ops.nn.through import cast
from ingot.ops.older import dtype_of, rank_of

_BOUND = np.float64(1024)
"""Beyond what any byte, moved by any zero point, needs."""

_NO_FRACTION = np.float64(1.5 * 2**52)
"""Added to a double and taken off again, it leaves the nearest whole number, ties to even."""


@mat_mul.downgrade
def downgrade(op: Any, a: Value, b: Value, /, *, version: int) -> Any:
    if not dtype_of(a).is_integer:
        raise UnsupportedError("bfloat16 came with version 13")
    return integer_product(op, a, b, rank_of(a), rank_of(b))


def integer_product(op: Any, a: Any, b: Any, rank_a: int, rank_b: int) -> Any:
    """A matrix product as sums of products of elements, which wrap around as it does; attributes say the axes."""
    left = op.Unsqueeze(a, axes=[rank_a] if rank_a > 1 else [0, 2])
    right = op.Unsqueeze(b, axes=[rank_b - 2] if rank_b > 1 else [0, 2])
    rank = max(rank_a, rank_b, 2) + 1
    summed = op.ReduceSum(op.Mul(left, right), axes=[rank - 2], keepdims=0)
    dropped = [rank - 3] * (rank_a == 1) + [rank - 2] * (rank_b == 1)
    return op.Squeeze(summed, axes=dropped) if dropped else summed


@mat_mul_integer.downgrade
def downgrade_integer(
    op: Any, a: Value, b: Value, a_zero_point: Value | None = None, b_zero_point: Value | None = None, /
) -> Any:
    return op.MatMul(
        centred(op, a, by_row(op, a_zero_point, rank_of(a)), DType.INT32), centred(op, b, b_zero_point, DType.INT32)
    )


@qlinear_mat_mul.downgrade
def downgrade_qlinear(
    op: Any,
    a: Value,
    a_scale: Value,
    a_zero_point: Value,
    b: Value,
    b_scale: Value,
    b_zero_point: Value,
    y_scale: Value,
    y_zero_point: Value,
    /,
    *,
    version: int,
) -> Any:
    scales = [cast(op, scale, dtype_of(scale), DType.FLOAT32) for scale in (a_scale, b_scale, y_scale)]
    for value in (a, b, y_zero_point):
        if dtype_of(value) not in (DType.INT8, DType.UINT8):
            raise UnsupportedError(f"'{value.name}' is of {dtype_of(value)}, which came with version 21")
    if version >= qlinear_mat_mul.since[0]:
        return op.QLinearMatMul(a, scales[0], a_zero_point, b, scales[1], b_zero_point, scales[2], y_zero_point)
    rank = rank_of(a)
    if rank < 2 or rank_of(b) < 2:
        raise UnsupportedError("a quantised product of vectors has no equivalent")
    left = centred(op, a, by_row(op, a_zero_point, rank), DType.FLOAT64)
    sums = op.MatMul(left, centred(op, b, b_zero_point, DType.FLOAT64))
    rows = op.Unsqueeze(scales[0], axes=[1]) if rank_of(a_scale) == 1 else scales[0]
    factor = op.Div(op.Mul(rows, scales[1]), scales[2])
    real = op.Mul(sums, op.Cast(factor, to=int(DType.FLOAT64)))
    return to_bytes(op, real, y_zero_point)


def centred(op: Any, x: Value, zero_point: Any, dtype: DType) -> Any:
    """Bytes less their zero point, if there is one, in a type that holds their products and their sums exactly."""
    wide = op.Cast(x, to=int(dtype))
    return wide if zero_point is None else op.Sub(wide, op.Cast(zero_point, to=int(dtype)))


def by_row(op: Any, zero_point: Value | None, rank: int) -> Any:
    """One zero point, or one for each row of a tensor of that rank, so that it broadcasts to it."""
    if zero_point is None or rank < 2 or rank_of(zero_point) != 1:
        return zero_point
    return op.Unsqueeze(zero_point, axes=[1])


def to_bytes(op: Any, real: Any, zero_point: Value) -> Any:
    """Doubles, in units of a scale, as bytes moved by the zero point: the nearest, ties to even, held in range."""
    dtype = dtype_of(zero_point)
    limits = np.iinfo(dtype.numpy)
    bounded = op.Min(op.Max(real, -_BOUND), _BOUND)
    whole = op.Sub(op.Add(bounded, _NO_FRACTION), _NO_FRACTION)
    moved = op.Add(whole, op.Cast(zero_point, to=int(DType.FLOAT64)))
    held = op.Min(op.Max(moved, np.float64(limits.min)), np.float64(limits.max))
    return op.Cast(held, to=int(dtype))
