"""From real numbers to the few that a narrow type has: nearest, ties to even, held inside its range."""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ops.tensor.narrow import low_bits, numbers_of, rounded
from ingot.prim.functions import CODES
from ingot.prim.magnitude import magnitude
from ingot.prim.tensor import Constant


def to_codes(real: Array, zero_point: Array | None, dtype: DType, saturate: bool = True) -> Array:
    """Numbers in units of the scale, moved by the zero point, as elements of a quantised type.

    Integers are rounded before the zero point is added; NaN is 0 there, and so the zero point. Floats are rounded
    after; beyond the largest they are the largest or, in a float8 without `saturate`, its infinity or NaN.
    """
    if dtype.is_integer:
        lowest, highest = dtype.limits
        whole = np.rint(real.astype(np.float64))
        whole = np.where(np.isnan(whole), 0.0, whole)
        moved = whole if zero_point is None else whole + zero_point.astype(np.float64)
        return np.asarray(np.clip(moved, lowest, highest)).astype(np.int32).astype(dtype.numpy)
    moved = real if zero_point is None else real.astype(np.float64) + zero_point.astype(np.float64)
    if saturate or dtype.bits < 8:
        most = _LARGEST[dtype]
        moved = np.clip(moved, -most, most)
    return single_rounding(np.asarray(moved)).astype(dtype.numpy)


def codes_in_primitives(
    real: prim.Tensor, zero_point: prim.Tensor | None, dtype: DType, saturate: bool = True
) -> prim.Tensor:
    """The same in primitives: of integers exact in float32, because what it rounds off lies beyond every range.

    Refused for types that primitives do not have.
    """
    if zero_point is not None and zero_point.dtype in CODES:
        zero_point = numbers_of(zero_point)
    if dtype in _LARGEST:
        moved = real if zero_point is None else prim.cast(real, DType.FLOAT64) + prim.cast(zero_point, DType.FLOAT64)
        if saturate or dtype.bits < 8:
            most = _LARGEST[dtype]
            moved = prim.apply("minimum", prim.apply("maximum", moved, -most), most)
        return rounded(moved, dtype, saturate=False)
    if dtype not in _WHOLE:
        raise prim.Refused(f"elements of {dtype}")
    lowest, highest = map(float, dtype.limits)
    function = "round_to_byte" if dtype in _BYTES and _is_small(real) else "round_within"
    if zero_point is None or (isinstance(zero_point, Constant) and not zero_point.array.any()):
        moved = prim.cast(prim.apply(function, real, lowest, highest), DType.INT32)
    else:
        limits = [_less(limit, zero_point, real.dtype) for limit in (lowest, highest)]
        near = prim.apply(function, real, *limits)
        moved = prim.cast(near, DType.INT32) + prim.cast(zero_point, DType.INT32)
    return low_bits(moved, dtype) if dtype in CODES else prim.cast(moved, dtype)


def _is_small(real: prim.Tensor) -> bool:
    """Whether all elements are numbers that int32 has room for, with a zero point."""
    size = magnitude(real)
    return size is not None and size < 2.0**30


def _less(limit: float, zero_point: prim.Tensor, dtype: DType) -> prim.Tensor:
    """A limit less a zero point, in a type of floats."""
    if isinstance(zero_point, Constant):
        return prim.constant((limit - zero_point.array.astype(np.float64)).astype(dtype.numpy))
    return limit - prim.cast(zero_point, dtype)


def quotient(x: prim.Tensor, scale: prim.Tensor) -> prim.Tensor:
    """`x / scale`, of a scale that broadcasts to it."""
    if scale.dtype is DType.FLOAT32 and isinstance(scale, Constant) and _is_normal(scale.array):
        return prim.apply("divide_by_normal", x, scale)
    return x / scale


def _is_normal(scale: Array) -> bool:
    """Whether scales are positive, and so far from the ends of float32 that quotients by them can be corrected."""
    return bool(((scale > 2.0**-100) & (scale < 2.0**100)).all())


def single_rounding(x: Array) -> Array:
    """Doubles as float32s that a second rounding, to a much narrower type, takes to where one would have.

    A float32 that is not exact gets an odd last bit: it is then no tie of the narrower type.
    """
    if x.dtype != np.float64:
        return x
    near = x.astype(np.float32)
    exact = near.astype(np.float64)
    inexact = np.isfinite(near) & (exact != x)
    bits = near.view(np.int32)
    even = inexact & ((bits & 1) == 0)
    away = np.abs(x) > np.abs(exact)
    odd = np.where(even, bits + np.where(away, 1, -1), bits)
    return odd.astype(np.int32).view(np.float32)


_BYTES = (DType.INT8, DType.UINT8)
_WHOLE = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT4, DType.UINT4, DType.INT2, DType.UINT2)
_LARGEST = {
    DType.FLOAT8E4M3FN: 448.0,
    DType.FLOAT8E4M3FNUZ: 240.0,
    DType.FLOAT8E5M2: 57344.0,
    DType.FLOAT8E5M2FNUZ: 57344.0,
    DType.FLOAT6E2M3: 7.5,
    DType.FLOAT6E3M2: 28.0,
    DType.FLOAT4E2M1: 6.0,
}
"""The largest finite number of each narrow float."""
