"""Elements of one type as elements of another, each rounded once."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ingot.dtypes import Array, DType, from_codes
from ingot.errors import CheckError
from ingot.ops.tensor.literals import parsed, written

_FLOAT8 = (DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ)


def convert(x: Array, to: DType, *, saturate: bool = True, round_mode: str = "up") -> Array:
    """`x` in another element type.

    Integers keep their low bits. A float becomes an integer by truncation, first to int32 (to int64 for uint32 and
    wider ones), where it stops at the ends and NaN is zero; of that the low bits are kept. A float becomes a narrower
    float by rounding to the nearest, ties to even; beyond its range lies infinity, or the largest number where the type
    has none and, if `saturate`, in the 8-bit types. CheckError for complex numbers, InputError for text that is no
    number.
    """
    source = DType.of(x.dtype)
    if source.is_complex or to.is_complex:
        raise CheckError(f"{source} cannot be cast to {to}", hint="Cast takes no complex numbers")
    if round_mode not in ("up", "down", "nearest"):
        raise CheckError(f"round_mode is '{round_mode}', expected 'up', 'down' or 'nearest'")
    if source is to:
        return x
    flat = x.reshape(-1)  # of one axis, because numpy makes scalars of what has none
    with np.errstate(all="ignore"):
        if to is DType.STRING:
            result = written(_native(flat, source))
        else:
            numbers = parsed(flat, to) if source is DType.STRING else _native(flat, source)
            result = _converted(numbers, to, saturate, round_mode)
    return result.reshape(x.shape)


def element_type(number: int, attribute: str) -> DType:
    """The element type an attribute names by its number; CheckError if there is none."""
    try:
        dtype = DType(number)
    except ValueError:
        dtype = DType.UNDEFINED
    if dtype is DType.UNDEFINED:
        raise CheckError(f"{attribute} is {number}, which is no element type")
    return dtype


def _converted(numbers: Array, to: DType, saturate: bool, round_mode: str) -> Array:
    if to is DType.BOOL:
        return np.asarray(numbers != 0)
    if to.is_integer:
        return _as_integers(numbers, to)
    if to is DType.FLOAT8E8M0:
        return _as_scales(numbers, saturate, round_mode)
    return _as_floats(numbers, to, saturate)


def _native(x: Array, source: DType) -> Array:
    """The same numbers in a type of numpy's own."""
    if x.dtype.isbuiltin == 1:
        return x
    return x.astype(np.int8 if source.is_integer else np.float32)


def _as_integers(x: Array, to: DType) -> Array:
    whole = _truncated(x, to) if x.dtype.kind == "f" else x
    if to.bits < 8:
        return from_codes(whole.astype(np.uint8) & np.uint8((1 << to.bits) - 1), to)
    return whole.astype(to.numpy)


def _truncated(x: Array, to: DType) -> Array:
    wide = np.trunc(x.astype(np.float64))
    wide = np.where(np.isnan(wide), 0.0, wide)
    if to.bits <= 32 and to is not DType.UINT32:
        return wide.clip(-(2.0**31), 2.0**31 - 1).astype(np.int64)
    low = np.where(wide >= 2.0**63, 0, wide.clip(-(2.0**63), None)).astype(np.int64)
    if to is not DType.UINT64:
        return np.where(wide >= 2.0**63, np.int64(2**63 - 1), low)
    high = np.where(wide >= 2.0**64, 0, wide.clip(0, None)).astype(np.uint64)
    high = np.where(wide >= 2.0**64, np.uint64(2**64 - 1), high)
    return np.where(wide < 0, low.astype(np.uint64), high)


def _as_floats(x: Array, to: DType, saturate: bool) -> Array:
    if to in (DType.FLOAT32, DType.FLOAT64):
        return x.astype(to.numpy)
    if to is DType.FLOAT16:
        return (x if x.dtype.kind == "f" else x.astype(np.float64)).astype(np.float16)
    narrow = _float32_to_odd(_float64_to_odd(x))
    if to in _FLOAT8 and saturate:
        limit = np.float32(ml_dtypes.finfo(to.numpy).max)  # type: ignore[no-untyped-call]
        narrow = narrow.clip(-limit, limit)
    return narrow.astype(to.numpy)


def _as_scales(x: Array, saturate: bool, round_mode: str) -> Array:
    """Powers of two from 2**-127 to 2**127, coded by their exponent; 255 is NaN, which negative numbers become too."""
    wide = _float64_to_odd(x)
    fraction, exponent = np.frexp(wide)  # fraction in [0.5, 1)
    code: Array = exponent.astype(np.int32) + 126
    if round_mode != "down":
        code = code + (fraction > 0.5 if round_mode == "up" else fraction >= 0.75)
    code = np.where(wide == 0, -1, np.where(np.isinf(wide), 255, code))
    code = code.clip(0, 254) if saturate else np.where((code < 0) | (code > 254), 255, code)
    code = np.where(np.isnan(wide) | (wide < 0), 255, code)
    return code.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)


# Rounding to odd on the way keeps the last rounding right: what is inexact gets an odd last bit, so that it is never
# taken for a tie, as long as two bits more are left than the final type has.


def _float64_to_odd(x: Array) -> Array:
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return x.astype(np.float64)
    large = (x >> 53 != 0) & (x >> 53 != -1) if x.dtype.kind == "i" else x >> np.uint64(53) != 0
    eleven = x.dtype.type(11)
    odd = (x >> eleven) | ((x & x.dtype.type(2047)) != 0)
    return np.where(large, odd.astype(np.float64) * 2048.0, x.astype(np.float64))


def _float32_to_odd(x: Array) -> Array:
    near = x.astype(np.float32)
    back = near.astype(np.float64)
    inexact = (back != x) & np.isfinite(x)
    bits = near.view(np.uint32)
    bits = bits - (inexact & (np.abs(back) > np.abs(x))).astype(np.uint32)
    bits = bits | inexact.astype(np.uint32)
    return np.asarray(bits.view(np.float32))
