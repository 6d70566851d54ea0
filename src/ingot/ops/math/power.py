"""Pow: one tensor to the power of another, whose element type may differ."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed
from ingot.ops.math.legacy import aligned
from ingot.ops.math.operands import require_fit
from ingot.ops.math.precision import narrowed, truncated, widened
from ingot.ops.typesets import FLOATS, FLOATS_3, INDICES, NUMERIC, NUMERIC_3, types

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
        return narrowed(np.power(widened(x), widened(y)), x.dtype)
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


@operator("Pow", since=7)
def power_7(x: T7, y: T7, /) -> T7:
    """The same, of floats of one type."""
    raise superseded()


@power_7.upgrade
def upgrade_7(op: Any, x: Value, y: Value, /) -> Any:
    return op.Pow(x, y)


@operator("Pow", since=1)
def power_1(x: T7, y: T7, /, *, axis: int | None = None, broadcast: int = 0) -> T7:
    """The same, where `y` is broadcast only if asked for."""
    raise superseded()


@power_1.upgrade
def upgrade_1(op: Any, x: Value, y: Value, /, *, axis: int | None, broadcast: int) -> Any:
    return op.Pow(x, aligned(op, x, y, axis, broadcast))
