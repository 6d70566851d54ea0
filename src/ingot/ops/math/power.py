"""Pow: one tensor to the power of another, whose element type may differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed
from ingot.ops.math.legacy import aligned
from ingot.ops.math.one_way import one_way
from ingot.ops.math.operands import require_fit
from ingot.ops.math.precision import narrowed, truncated, widened
from ingot.ops.math.restated import held, in_type, number
from ingot.ops.older import constant_of, dtype_of, rank_of
from ingot.ops.typesets import FLOATS, FLOATS_3, INDICES, NUMERIC, NUMERIC_3, types
from ingot.prim.functions import ELEMENTS, INTEGERS, SIGNED

T: TypeAlias = Annotated[Array, types("T", {12: FLOATS_3 | INDICES, 13: FLOATS | INDICES})]
T1: TypeAlias = Annotated[Array, types("T1", {12: NUMERIC_3, 15: NUMERIC})]
T7: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Pow", since=(12, 13, 15))
def power(x: T, y: T1, /) -> T:
    """`x` to the power of `y`, in the element type of `x`.

    Whole powers of integers wrap around, and negative ones are truncated towards zero. InputError where the result is
    no integer of that type: zero to a negative power, a fractional power of a negative number or too large a one.
    """
    require_fit(x, y)
    if x.dtype.kind not in "iu":
        return narrowed(_real_power(widened(x), widened(y)), x.dtype)
    x, y = np.broadcast_arrays(x, y)
    if y.dtype.kind in "iu":
        return _whole_power(x, y)
    exponent = y.astype(np.float64)
    whole = (exponent == np.trunc(exponent)) & (np.abs(exponent) < 2.0**63)
    integer = _whole_power(x, np.where(whole, exponent, 1).astype(np.int64))
    fractional = truncated(np.where(whole, 0, np.power(x.astype(np.float64), exponent)), x.dtype)
    return np.where(whole, integer, fractional)


@power.infer
def infer_power(x: Fact, y: Fact, /) -> Inferred:
    return followed(x.dtype, _followed_power, x, y)


def _followed_power(x: object, y: object) -> int | None:
    return x**y if isinstance(x, int) and isinstance(y, int) and 0 <= y <= 64 else None


@power.lower
def lower(x: prim.Tensor, y: prim.Tensor, /, *, facts: tuple[Fact, ...]) -> prim.Tensor:
    if y.dtype not in ELEMENTS:
        raise prim.Refused(f"a power of {y.dtype}")
    shape = prim.broadcast(x.shape, y.shape)
    constant = facts[1].constant
    exponent = None if constant is None else constant.numpy()
    one = exponent.item() if exponent is not None and exponent.size == 1 else None
    if x.dtype in INTEGERS:
        if one is not None and 0 <= one < 2.0**63 and one == int(one):
            return prim.expand(_repeated(x, int(one)), shape)
        return _of_integers(x, y) if y.dtype in INTEGERS else _of_integers_by_floats(x, y)
    if one is not None and one in _FEW:
        return prim.expand(_FEW[one](x), shape)
    fits = exponent is not None and _is_exact(exponent, x.dtype.numpy)
    wide = x.dtype if fits else DType.of(np.promote_types(x.dtype.numpy, y.dtype.numpy))
    return prim.cast(prim.apply("power", prim.cast(x, wide), prim.cast(y, wide)), x.dtype)


def _of_integers(x: prim.Tensor, y: prim.Tensor) -> prim.Tensor:
    """Whole powers, which wrap around; zero to a negative power is an error of the run."""
    natural = prim.apply("power", x, _as_exponent(y, x.dtype))
    if y.dtype not in SIGNED:
        return natural
    is_negative = prim.apply("less", y, 0)
    unit = prim.where(prim.apply("equal", x, 1), prim.scalar(1, x.dtype), 0)
    if x.dtype in SIGNED:
        is_odd = prim.apply("equal", prim.apply("and", y, 1), 1)
        unit = prim.where(prim.apply("equal", x, -1), prim.where(is_odd, prim.scalar(-1, x.dtype), 1), unit)
    is_wrong = prim.apply("and", is_negative, prim.apply("equal", x, 0))
    return _checked(prim.where(is_negative, unit, natural), is_wrong)


def _as_exponent(y: prim.Tensor, dtype: DType) -> prim.Tensor:
    """Natural exponents in the type of a base, whose powers by them are the same; others become anything.

    Modulo 2^n, every odd number to the power of 2^(n-2) is one, and every even number to that of n or more is zero: of
    a large exponent count its low bits, and that it is large.
    """
    bits = 8 * dtype.numpy.itemsize
    if 8 * y.dtype.numpy.itemsize > bits:
        period = 1 << (bits - 2)
        low = prim.apply("or", prim.apply("and", y, period - 1), period)
        y = prim.where(prim.apply("less", y, 2 * period), y, low)
    return prim.cast(y, dtype)


def _of_integers_by_floats(x: prim.Tensor, y: prim.Tensor) -> prim.Tensor:
    """Whole powers as those of integers, others cut off; one that is no integer of the type is an error of the run."""
    exponent = prim.cast(y, DType.FLOAT64)
    is_whole = prim.apply("equal", exponent, prim.apply("truncate", exponent))
    is_whole = prim.apply("and", is_whole, prim.apply("less", prim.apply("absolute", exponent), 2.0**63))
    integer = _of_integers(x, prim.cast(prim.where(is_whole, exponent, 1.0), DType.INT64))
    fractional = prim.where(is_whole, 0.0, exponent)
    real = prim.apply("truncate", prim.apply("power", prim.cast(x, DType.FLOAT64), fractional))
    limits = np.iinfo(x.dtype.numpy)
    low, high = prim.apply("less_equal", float(limits.min), real), prim.apply("less", real, float(limits.max + 1))
    fits = prim.apply("and", low, high)
    fraction = prim.cast(prim.where(fits, real, 0.0), x.dtype)
    is_wrong = prim.apply("not", prim.apply("or", is_whole, fits))
    return _checked(prim.where(is_whole, integer, fraction), is_wrong)


def _checked(x: prim.Tensor, is_wrong: prim.Tensor) -> prim.Tensor:
    """Integers; where one is wrong it is divided by zero, which a kernel reports."""
    return x / prim.where(is_wrong, prim.scalar(0, x.dtype), 1)


def _is_exact(numbers: Array, dtype: np.dtype[Any]) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.array_equal(numbers.astype(dtype), numbers.astype(np.float64)))


def _repeated(x: prim.Tensor, times: int) -> prim.Tensor:
    """A natural power by squaring: integers wrap around."""
    result, square = prim.scalar(1, x.dtype), x
    for bit in reversed(f"{times:b}"):
        if bit == "1":
            result = result * square
        square = square * square
    return result


def _root(x: prim.Tensor) -> prim.Tensor:
    """Unlike the square root, of minus zero it is zero, and of minus infinity infinity."""
    return prim.where(prim.apply("equal", x, -math.inf), math.inf, prim.apply("sqrt", x + 0.0))


def _inverse_root(x: prim.Tensor) -> prim.Tensor:
    """Unlike one divided by the square root, of minus zero it is infinity, and of minus infinity zero."""
    return prim.where(prim.apply("equal", x, -math.inf), 0, 1 / prim.apply("sqrt", x + 0.0))


_FEW: dict[float, Callable[[prim.Tensor], prim.Tensor]] = {
    -1: lambda x: 1 / x,
    -0.5: _inverse_root,
    0: lambda x: prim.scalar(1, x.dtype),
    0.5: _root,
    1: lambda x: x,
    2: lambda x: x * x,
    3: lambda x: x * x * x,
}
"""Powers that take a few operations."""


def _real_power(x: Array, y: Array) -> Array:
    """The power as C defines it: numpy takes the square root for an exponent of 0.5, if there is only one exponent."""
    result: Array = np.asarray(np.power(x, y))
    if y.size != 1 or y.reshape(-1)[0] != 0.5:
        return result
    return np.asarray(np.where(np.isneginf(x), result.dtype.type(np.inf), result + result.dtype.type(0)))


def _whole_power(x: Array, y: Array) -> Array:
    negative = y < 0
    if (negative & (x == 0)).any():
        raise InputError(f"zero is raised to the power of {y[negative & (x == 0)].flat[0]}")
    # Modulo 2**64 signed and unsigned powers are one, and the low bits are those of the narrower type.
    exponent = np.where(negative, 0, y).astype(np.uint64)
    natural = np.power(x.astype(np.uint64), exponent).astype(x.dtype)
    odd = np.bitwise_and(y, y.dtype.type(1)) == 1
    unit = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0))
    return np.where(negative, unit.astype(x.dtype), natural)


@power.downgrade
def downgrade(op: Any, x: Value, y: Value, /, *, version: int) -> Any:
    dtype, exponent = dtype_of(x), constant_of(y)
    if version >= 13:
        return op.Pow(x, op.Cast(y, to=int(DType.FLOAT32)))
    if version >= 12 or (dtype.is_float and dtype_of(y) is dtype):
        return op.Pow(x, y)
    if dtype.is_integer:
        return _multiplied(op, x, exponent)
    same = None if exponent is None else held(exponent, dtype)
    return op.Pow(x, same) if same is not None else in_type(op, DType.FLOAT64, op.Pow, x, y)


def _multiplied(op: Any, x: Value, exponent: Array | None) -> Any:
    """A natural power of integers as products, which wrap around the same; UnsupportedError for any other."""
    if exponent is None or exponent.size != 1 or exponent.ndim > rank_of(x):
        raise UnsupportedError("integers have no powers but one that every run has and all elements share")
    times = float(exponent.reshape(()))
    if not 0 <= times < 2.0**63 or times != int(times):
        raise UnsupportedError(f"integers have no power of {times:g}")
    square: Any = x
    result: Any = op.Add(op.Mul(x, number(0, dtype_of(x))), number(1, dtype_of(x))) if times == 0 else None
    for bit in reversed(f"{int(times):b}"):
        if bit == "1":
            result = square if result is None else op.Mul(result, square)
        square = op.Mul(square, square)
    return op.Identity(x) if times == 1 else result


@operator("Pow", since=7)
def power_7(x: T7, y: T7, /) -> T7:
    """The same, of floats of one type."""
    raise superseded()


@power_7.upgrade
def upgrade_7(op: Any, x: Value, y: Value, /) -> Any:
    return op.Pow(x, y)


@power_7.downgrade
def downgrade_7(op: Any, x: Value, y: Value, /) -> Any:
    return one_way(op, x, y, op.Pow)


@operator("Pow", since=1)
def power_1(x: T7, y: T7, /, *, axis: int | None = None, broadcast: int = 0) -> T7:
    """The same, where `y` is broadcast only if asked for."""
    raise superseded()


@power_1.upgrade
def upgrade_1(op: Any, x: Value, y: Value, /, *, axis: int | None, broadcast: int) -> Any:
    return op.Pow(x, aligned(op, x, y, axis, broadcast))
