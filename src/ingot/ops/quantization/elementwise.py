"""Quantisation in plain arithmetic, for versions whose operators cannot express it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder.literals import as_value
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.older import constant_of, dtype_of, rank_of, shape_of
from ingot.ops.shapes import axis_of

FLOAT8S = (DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ)
SINCE = {
    **dict.fromkeys(FLOAT8S, 19),
    **dict.fromkeys((DType.INT4, DType.UINT4, DType.INT16, DType.UINT16), 21),
    DType.FLOAT4E2M1: 23,
    DType.FLOAT8E8M0: 24,
    **dict.fromkeys((DType.INT2, DType.UINT2), 25),
    **dict.fromkeys((DType.FLOAT6E2M3, DType.FLOAT6E3M2), 28),
}
"""The version that brought a type to quantisation; 16-bit integers are older, all others came with it."""

_ROUND_SINCE = 11


def is_single(values: Value) -> bool:
    """Whether there is one scale or zero point for all of a tensor; UnsupportedError if that is not known."""
    return shape_of(values) in ((), (1,))


def single(op: Any, values: Any) -> Any:
    """One scale or zero point as a scalar; None for none."""
    if values is None or rank_of(values) == 0:
        return values
    known = constant_of(values)
    return op.Reshape(values, np.zeros(0, np.int64)) if known is None else known.reshape(())


def widened(values: Value, dtype: DType, came: int) -> Value:
    """A constant in a wider type that has all its values; UnsupportedError for what is no constant."""
    known = constant_of(values)
    if known is None:
        raise UnsupportedError(
            f"{dtype_of(values)} came with version {came}, and '{values.name}' is no constant",
            hint="a constant would be widened",
        )
    return as_value(known.astype(np.float32).astype(dtype.numpy))


def dequantized(
    op: Any, x: Value, scale: Value, zero_point: Value | None, to: DType, *, axis: int, block_size: int
) -> Any:
    """`(x - zero_point) * scale` in float32, rounded to a type."""
    codes = dtype_of(x)
    if codes.is_integer and zero_point is not None:
        steps = op.Cast(differences(op, x, zero_point, axis=axis, block_size=block_size), to=int(DType.FLOAT32))
    else:
        steps = cast(op, x, codes, DType.FLOAT32)
        if zero_point is not None:
            points = cast(op, zero_point, codes, DType.FLOAT32)
            steps = op.Sub(steps, _beside(op, points, x, zero_point, axis, block_size))
    factors = cast(op, scale, dtype_of(scale), DType.FLOAT32)
    product = op.Mul(steps, _beside(op, factors, x, scale, axis, block_size))
    return cast(op, product, DType.FLOAT32, to)


def differences(op: Any, x: Value, zero_point: Value, *, axis: int, block_size: int) -> Any:
    """`x - zero_point` of integers in a type that has it."""
    wide = int(DType.INT64 if dtype_of(x) is DType.INT32 else DType.INT32)
    points = _beside(op, op.Cast(zero_point, to=wide), x, zero_point, axis, block_size)
    return op.Sub(op.Cast(x, to=wide), points)


def quantized(
    op: Any,
    x: Value,
    scale: Value,
    zero_point: Value | None,
    to: DType,
    *,
    inside: DType,
    axis: int,
    block_size: int,
    version: int,
) -> Any:
    """`x / scale` in a type, rounded, plus the zero point, held inside the range of an integer type."""
    wide = DType.FLOAT64 if inside is DType.FLOAT64 else DType.FLOAT32
    steps = cast(op, quotient(op, x, scale, inside=inside, axis=axis, block_size=block_size), inside, wide)
    whole = op.Round(steps) if version >= _ROUND_SINCE else _rounded(op, steps)
    whole = op.Where(op.IsNaN(whole), np.zeros((), wide.numpy), whole)
    if zero_point is not None:
        whole = op.Add(whole, _beside(op, op.Cast(zero_point, to=int(wide)), x, zero_point, axis, block_size))
    low, high = to.limits
    if version >= _ROUND_SINCE:
        held = op.Clip(whole, np.asarray(low, wide.numpy), np.asarray(high, wide.numpy))
    else:
        held = op.Clip(whole, min=float(low), max=float(high))
    return op.Cast(held, to=int(to))


def quotient(op: Any, x: Value, scale: Value, *, inside: DType, axis: int, block_size: int) -> Any:
    """`x / scale`, both in a type."""
    divisors = _beside(op, cast(op, scale, dtype_of(scale), inside), x, scale, axis, block_size)
    return op.Div(cast(op, x, dtype_of(x), inside), divisors)


def cast(op: Any, value: Any, source: DType, target: DType) -> Any:
    """A value in another type, if it is another."""
    return value if source is target else op.Cast(value, to=int(target))


def _beside(op: Any, values: Any, x: Value, like: Value, axis: int, block_size: int) -> Any:
    """Scales or zero points, of the shape of `like`, so that they broadcast to `x`."""
    if is_single(like):
        return values if rank_of(like) == 0 else op.Reshape(values, np.zeros(0, np.int64))
    shape = shape_of(x)
    axis = axis_of(axis, len(shape))
    if not block_size or rank_of(like) != len(shape):
        return op.Reshape(values, [-1 if i == axis else 1 for i in range(len(shape))])
    size = shape[axis]
    if isinstance(size, int):
        blocks: Any = np.arange(size) // block_size
    else:
        count = op.Gather(op.Shape(x), np.asarray(axis, np.int64))
        blocks = op.Div(op.Range(np.asarray(0), count, np.asarray(1)), np.asarray(block_size))
    return op.Gather(values, blocks, axis=axis)


def _rounded(op: Any, x: Any) -> Any:
    """float32s rounded to nearest, ties to even, where there is no Round: up where the part behind the point is over
    a half, or is one and the whole part odd. What is over the float32 before a half is a half or more.
    """
    below = op.Floor(x)
    behind = op.Sub(x, below)
    two, half = np.float32(2), np.float32(0.5)
    odd = op.Sub(below, op.Mul(op.Floor(op.Mul(below, half)), two))
    up = op.Greater(behind, op.Sub(half, op.Mul(odd, np.float32(2.0**-25))))
    return op.Add(below, op.Cast(up, to=int(DType.FLOAT32)))
