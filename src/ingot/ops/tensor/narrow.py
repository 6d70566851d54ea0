"""Element types of a byte or less in primitives: their numbers from their codes by a table, their codes by rounding."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType, from_codes
from ingot.ops.tensor.convert import convert
from ingot.prim.functions import CODES, FLOATING, INTEGERS

_NARROW = {dtype for dtype in (*FLOATING, *INTEGERS) if dtype.numpy.itemsize <= (4 if dtype in FLOATING else 2)}
"""Types whose numbers float32 has."""

_EXPONENTS = {DType.FLOAT32: (DType.INT32, 23, 127), DType.FLOAT64: (DType.INT64, 52, 1023)}
"""The integer type as wide, the bits of the mantissa, and the bias of the exponent."""


def numbers_of(codes: prim.Tensor) -> prim.Tensor:
    """What codes of a narrow type stand for: int8 for integers, float32 for floats."""
    dtype = codes.dtype
    table = np.arange(256, dtype=np.uint8).view(dtype.numpy).astype(np.int8 if dtype.is_integer else np.float32)
    return _looked_up(table, prim.cast(prim.bitcast(codes, DType.UINT8), DType.INT64))


def _looked_up(table: Array, places: prim.Tensor) -> prim.Tensor:
    return prim.gather(prim.constant(table), [places], places.shape, in_range=True)


def low_bits(x: prim.Tensor, to: DType) -> prim.Tensor:
    """Integers as those of a narrow type, which keep their low bits."""
    codes = from_codes(np.arange(1 << to.bits, dtype=np.uint8), to)
    return _looked_up(codes, prim.apply("and", prim.cast(x, DType.INT64), codes.size - 1))


def rounded(x: prim.Tensor, to: DType, *, saturate: bool, round_mode: str = "up") -> prim.Tensor:
    """Floats, and integers that float32 or float64 have, as the nearest of a narrow type of floats; see `convert`."""
    wide = prim.cast(x, DType.FLOAT32 if x.dtype in _NARROW and to is not DType.FLOAT8E8M0 else DType.FLOAT64)
    code = _scale(wide, saturate, round_mode) if to is DType.FLOAT8E8M0 else _code(wide, to, saturate)
    return prim.bitcast(prim.cast(code, DType.UINT8), to)


def _code(x: prim.Tensor, to: DType, saturate: bool) -> prim.Tensor:
    """The codes of a type with a sign, an exponent and a mantissa, of float32 or float64.

    With the exponent of a number, or the least that the type has, it is a whole number of steps, rounded to even; the
    code counts steps over all exponents, and a carry into the next exponent is one more.
    """
    limits = ml_dtypes.finfo(to.numpy)  # type: ignore[no-untyped-call]
    mantissa = int(limits.nmant)
    least = int(np.log2(float(limits.smallest_subnormal))) + mantissa
    whole, place, bias = _EXPONENTS[x.dtype]
    size = prim.apply("absolute", x)
    exponent = prim.apply("shift_right", prim.bitcast(size, whole), place) - bias
    exponent = prim.apply("maximum", exponent, least)
    factor = prim.bitcast(prim.apply("shift_left", (bias + mantissa) - exponent, place), x.dtype)
    steps = prim.cast(prim.apply("round", size * factor), whole)
    code = prim.cast((exponent - least) * (1 << mantissa) + steps, DType.INT32)
    sides = [_coded(code, to, side, saturate, size) for side in (1.0, -1.0)]
    is_negative = prim.apply("less", prim.bitcast(x, whole), 0)
    return prim.where(is_negative, sides[1], sides[0])


def _coded(code: prim.Tensor, to: DType, side: float, saturate: bool, size: prim.Tensor) -> prim.Tensor:
    """The codes of numbers of one sign: what has none of its own is as numpy converts it."""
    limits = ml_dtypes.finfo(to.numpy)  # type: ignore[no-untyped-call]
    values = np.copysign(np.array([np.inf, _HUGE, np.nan, 0, 1, float(limits.max)], np.float32), np.float32(side))
    infinite, over, not_a_number, zero, _, most = convert(values, to, saturate=saturate).view(np.uint8).tolist()
    sign = most & _SIGN[to] if side < 0 else 0
    number = prim.where(prim.apply("equal", code, 0), zero, prim.apply("or", code, sign))
    number = prim.where(prim.apply("less", most & ~sign, code), over, number)
    number = prim.where(prim.apply("equal", size, np.inf), infinite, number)
    return prim.where(prim.apply("is_nan", size), not_a_number, number)


_HUGE = 1e38
"""Finite, and more than any narrow type has."""

_SIGN = {dtype: 1 << (dtype.bits - 1) for dtype in CODES}


def _scale(x: prim.Tensor, saturate: bool, round_mode: str) -> prim.Tensor:
    """The codes of float8e8m0: exponents of powers of two, of float64; 255 is NaN, which negative numbers are too."""
    whole, place, bias = _EXPONENTS[DType.FLOAT64]
    bits = prim.bitcast(prim.apply("absolute", x), whole)
    code = prim.apply("shift_right", bits, place) - (bias - 127)
    if round_mode != "down":
        fraction = prim.apply("and", bits, (1 << place) - 1)
        least = 1 if round_mode == "up" else 1 << (place - 1)
        code = code + prim.cast(prim.apply("less_equal", least, fraction), whole)
    code = prim.where(prim.apply("equal", x, 0.0), -1, code)
    code = prim.where(prim.apply("equal", prim.apply("absolute", x), np.inf), 255, code)
    if saturate:
        code = prim.apply("minimum", prim.apply("maximum", code, 0), 254)
    else:
        is_outside = prim.apply("or", prim.apply("less", code, 0), prim.apply("less", 254, code))
        code = prim.where(is_outside, 255, code)
    is_none = prim.apply("or", prim.apply("is_nan", x), prim.apply("less", x, 0.0))
    return prim.where(is_none, 255, code)
