"""Elementary functions that ONNX has no operator for, exact where a plain formula loses digits or a quadrant."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import number
from ingot.dtypes import DType


def truncated(x: Any) -> Var:
    """Rounded towards zero; -0.5 becomes -0."""
    return op.Mul(op.Sign(x), op.Floor(op.Abs(x)))


def floor_divided(x: Any, y: Any, dtype: DType) -> Var:
    """The quotient rounded down, of integers without a way through floats."""
    quotient = op.Div(x, y)
    if dtype.is_float:
        return op.Floor(quotient)
    if dtype.numpy.kind == "u":
        return quotient
    rest = op.Sub(x, op.Mul(quotient, y))
    return op.Where(_signs_differ(rest, y, dtype), op.Sub(quotient, number(1, dtype)), quotient)


def floor_modulo(x: Any, y: Any, dtype: DType) -> Var:
    """The remainder with the sign of the divisor, as Python has it."""
    if not dtype.is_float:
        return op.Mod(x, y)
    rest = op.Mod(x, y, fmod=1)
    return op.Where(_signs_differ(rest, y, dtype), op.Add(rest, y), rest)


def expm1(x: Any, dtype: DType) -> Var:
    """exp(x) - 1 without cancellation near zero: 2 sinh(x/2) exp(x/2), and exp(x) - 1 where that overflows."""
    half = op.Mul(x, number(0.5, dtype))
    near = op.Mul(op.Mul(number(2, dtype), op.Sinh(half)), op.Exp(half))
    far = op.Sub(op.Exp(x), number(1, dtype))
    return op.Where(op.Less(op.Abs(x), number(1, dtype)), near, far)


def log1p(x: Any, dtype: DType) -> Var:
    """log(1 + x) without cancellation near zero: scaled by x / ((1 + x) - 1), which undoes the rounding of 1 + x."""
    one = number(1, dtype)
    above = op.Add(x, one)
    tiny = op.Equal(above, one)
    scaled = op.Mul(op.Log(above), op.Div(x, op.Where(tiny, one, op.Sub(above, one))))
    finite = op.And(op.Less(x, number(np.inf, dtype)), op.Greater(x, number(-1, dtype)))
    return op.Where(tiny, x, op.Where(finite, scaled, op.Log(above)))


def atan2(y: Any, x: Any, dtype: DType) -> Var:
    """The angle of the point (x, y) in all four quadrants, signed zeros and infinities included."""
    infinite = op.And(op.IsInf(x), op.IsInf(y))
    steep = op.Where(op.Equal(y, number(0, dtype)), op.Abs(y), op.Div(op.Abs(y), op.Abs(x)))
    angle = op.Atan(op.Where(infinite, number(1, dtype), steep))
    angle = op.Where(is_negative(x, dtype), op.Sub(number(np.pi, dtype), angle), angle)
    angle = op.Where(is_negative(y, dtype), op.Neg(angle), angle)
    return op.Where(op.Or(op.IsNaN(x), op.IsNaN(y)), op.Add(x, y), angle)


def is_negative(x: Any, dtype: DType) -> Var:
    """Whether the sign is set, a negative zero's too."""
    zero = number(0, dtype)
    if not dtype.is_float:
        return op.Less(x, zero)
    return op.Or(op.Less(x, zero), op.Less(op.Reciprocal(op.Where(op.Equal(x, zero), x, number(1, dtype))), zero))


def _signs_differ(rest: Var, y: Any, dtype: DType) -> Var:
    """Whether a remainder is not zero and has not the sign of the divisor."""
    zero = number(0, dtype)
    return op.And(op.Not(op.Equal(rest, zero)), op.Xor(op.Less(rest, zero), op.Less(y, zero)))
