"""Operations of single elements, and of elements at the same place of two tensors."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np

from ingot.builder import Var, op
from ingot.convert import elementary
from ingot.convert.keras.conversion import Conversion, as_array, cast, name_of
from ingot.convert.keras.rule import rule
from ingot.dtypes import DType

_UNARY = {
    "Absolute": "Abs", "Abs": "Abs", "Fabs": "Abs", "Arccos": "Acos", "Arccosh": "Acosh", "Arcsin": "Asin",
    "Arcsinh": "Asinh", "Arctan": "Atan", "Arctanh": "Atanh", "Ceil": "Ceil", "Cos": "Cos", "Cosh": "Cosh",
    "Erf": "Erf", "Exp": "Exp", "Floor": "Floor", "Log": "Log", "Negative": "Neg", "Reciprocal": "Reciprocal",
    "Sign": "Sign", "Sin": "Sin", "Sinh": "Sinh", "Sqrt": "Sqrt", "Tan": "Tan", "Tanh": "Tanh",
}  # fmt: skip
"""Operations that are one operator, of numbers in the type of the result."""


@rule(*(f"ops.{name}" for name in _UNARY))
def unary(c: Conversion, operation: Any, x: Any) -> Var:
    return op[_UNARY[type(operation).__name__]](operand_of(c, x))


def operand_of(c: Conversion, x: Any) -> Var:
    """An operand in the type of the result."""
    return c.operand(x, result_type(c))


def result_type(c: Conversion, place: int = 0) -> str:
    """The element type that Keras gives a result."""
    name = c.results[place].dtype
    return str(name)


_BINARY = {
    "Add": "Add", "Subtract": "Sub", "Multiply": "Mul", "Divide": "Div", "TrueDivide": "Div", "Maximum": "Max",
    "Minimum": "Min", "Power": "Pow", "BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor",
}  # fmt: skip


@rule(*(f"ops.{name}" for name in _BINARY))
def binary(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    one, other = operand_of(c, x1), operand_of(c, x2)
    kind = _BINARY[type(operation).__name__]
    if one.dtype is DType.BOOL and kind in ("Add", "Max", "Mul", "Min"):
        return (op.Or if kind in ("Add", "Max") else op.And)(one, other)
    return op[kind](one, other)


_COMPARED = {
    "Equal": "Equal", "Greater": "Greater", "GreaterEqual": "GreaterOrEqual", "Less": "Less",
    "LessEqual": "LessOrEqual",
}  # fmt: skip


def together(c: Conversion, x1: Any, x2: Any) -> tuple[Var, Var]:
    """Two operands in the type in which Keras compares them."""
    kinds = [_kind(x) for x in (x1, x2)]
    if "string" in kinds:
        return c.operand(x1), c.operand(x2)
    dtype = keras.backend.result_type(*kinds)
    return c.operand(x1, dtype), c.operand(x2, dtype)


def _dtype(x: Var) -> DType:
    assert x.dtype is not None
    return x.dtype


def _kind(x: Any) -> Any:
    if isinstance(x, Var):
        return name_of(x.dtype) if x.dtype is not DType.STRING else "string"
    if isinstance(x, bool | int | float):
        return type(x) if not isinstance(x, bool) else "bool"
    if isinstance(x, str):
        return "string"
    return (
        str(getattr(x, "dtype", None) or as_array(x).dtype)
        .replace("<dtype: '", "")
        .replace("'>", "")
        .replace("torch.", "")
    )


@rule(*(f"ops.{name}" for name in _COMPARED))
def compared(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    one, other = together(c, x1, x2)
    kind = _COMPARED[type(operation).__name__]
    if one.dtype is DType.BOOL and kind != "Equal":
        one, other = cast(one, "int32"), cast(other, "int32")
    return op[kind](one, other)


@rule("ops.NotEqual")
def unequal(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    return op.Not(op.Equal(*together(c, x1, x2)))


@rule("ops.LogicalAnd", "ops.LogicalOr", "ops.LogicalXor")
def logical(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    kind = type(operation).__name__.removeprefix("Logical")
    return op[kind](_truth(c, x1), _truth(c, x2))


@rule("ops.LogicalNot")
def negated(c: Conversion, operation: Any, x: Any) -> Var:
    return op.Not(_truth(c, x))


def _truth(c: Conversion, x: Any) -> Var:
    return cast(c.operand(x), DType.BOOL)


@rule("ops.Where")
def where(c: Conversion, operation: Any, condition: Any, x1: Any, x2: Any) -> Var:
    return op.Where(_truth(c, condition), operand_of(c, x1), operand_of(c, x2))


@rule("ops.Square")
def square(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    return value * value


@rule("ops.Rsqrt")
def inverse_root(c: Conversion, operation: Any, x: Any) -> Var:
    return op.Reciprocal(op.Sqrt(operand_of(c, x)))


@rule("ops.Expm1")
def exp_less_one(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    return elementary.expm1(value, _dtype(value))


@rule("ops.Log1p", "ops.Log2", "ops.Log10")
def logarithm(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    match type(operation).__name__:
        case "Log1p":
            return elementary.log1p(value, _dtype(value))
        case "Log2":
            return op.Log(value) * c.number(1 / math.log(2), value)
    return op.Log(value) * c.number(1 / math.log(10), value)


@rule("ops.Exp2")
def power_of_two(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    return op.Pow(c.number(2, value), value)


@rule("ops.Logaddexp")
def log_of_sum(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    one, other = operand_of(c, x1), operand_of(c, x2)
    return op.Max(one, other) + op.Log(c.number(1, one) + op.Exp(op.Neg(op.Abs(one - other))))


@rule("ops.Hypot")
def hypotenuse(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    one, other = operand_of(c, x1), operand_of(c, x2)
    return op.Sqrt(one * one + other * other)


@rule("ops.Arctan2")
def angle(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    y, x = operand_of(c, x1), operand_of(c, x2)
    return elementary.atan2(y, x, _dtype(x))


@rule("ops.Mod", "ops.FloorDivide")
def divided(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    """Division towards minus infinity, and its remainder."""
    one, other = operand_of(c, x1), operand_of(c, x2)
    is_remainder = type(operation).__name__ == "Mod"
    return (elementary.floor_modulo if is_remainder else elementary.floor_divided)(one, other, _dtype(one))


@rule("ops.DivideNoNan")
def safe_division(c: Conversion, operation: Any, x1: Any, x2: Any) -> Var:
    one, other = operand_of(c, x1), operand_of(c, x2)
    zero = op.Equal(other, c.number(0, other))
    return op.Where(zero, c.number(0, one), one / op.Where(zero, c.number(1, other), other))


@rule("ops.Clip")
def clipped(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    low, high = (_bound(c, bound, value) for bound in (operation.x_min, operation.x_max))
    if all(bound.rank == 0 for bound in (low, high)):
        return op.Clip(value, low, high)
    return op.Min(op.Max(value, low), high)


def _bound(c: Conversion, bound: Any, like: Var) -> Var:
    return c.operand(bound, name_of(like.dtype))


@rule("ops.Round")
def rounded(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    if not operation.decimals:
        return op.Round(value)
    scale = c.number(10.0**operation.decimals, value)
    return op.Round(value * scale) / scale


@rule("ops.Trunc")
def truncated(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    return elementary.truncated(value)


@rule("ops.Cast", "ops.SaturateCast")
def converted(c: Conversion, operation: Any, x: Any) -> Var:
    return cast(c.operand(x), operation.dtype)


@rule("ops.ConvertToTensor", "ops.Array", "ops.Copy", "ops.StopGradient", "ops.View")
def unchanged(c: Conversion, operation: Any, x: Any) -> Var:
    return operand_of(c, x)


@rule("ops.Isnan", "ops.Isinf", "ops.Isfinite", "ops.Isposinf", "ops.Isneginf")
def tested(c: Conversion, operation: Any, x: Any) -> Var:
    value = c.operand(x)
    if value.dtype is None or not value.dtype.is_float:
        value = cast(value, "float32")
    match type(operation).__name__:
        case "Isnan":
            return op.IsNaN(value)
        case "Isinf":
            return op.IsInf(value)
        case "Isposinf":
            return op.IsInf(value, detect_negative=0)
        case "Isneginf":
            return op.IsInf(value, detect_positive=0)
    return op.Not(op.Or(op.IsNaN(value), op.IsInf(value)))


@rule("ops.Isclose")
def near(c: Conversion, operation: Any, x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Var:
    one, other = together(c, x1, x2)
    apart = op.Abs(one - other) <= c.number(atol, one) + c.number(rtol, one) * op.Abs(other)
    close = op.Or(apart, op.Equal(one, other))
    return op.Or(close, op.And(op.IsNaN(one), op.IsNaN(other))) if operation.equal_nan else close


@rule("ops.NanToNum")
def numbers_only(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    assert value.dtype is not None
    limits = np.finfo(value.dtype.numpy)
    high = limits.max if operation.posinf is None else operation.posinf
    low = limits.min if operation.neginf is None else operation.neginf
    value = op.Where(op.IsNaN(value), c.number(operation.nan, value), value)
    value = op.Where(op.IsInf(value, detect_negative=0), c.number(high, value), value)
    return op.Where(op.IsInf(value, detect_positive=0), c.number(low, value), value)


@rule("ops.Deg2rad", "ops.Rad2deg")
def degrees(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    factor = math.pi / 180 if type(operation).__name__ == "Deg2rad" else 180 / math.pi
    return value * c.number(factor, value)


@rule("ops.Erfc")
def complement(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    return c.number(1, value) - op.Erf(value)


@rule("ops.BitwiseNot", "ops.BitwiseInvert")
def bits_turned(c: Conversion, operation: Any, x: Any) -> Var:
    return op.BitwiseNot(operand_of(c, x))


@rule("ops.BitwiseLeftShift", "ops.LeftShift", "ops.BitwiseRightShift", "ops.RightShift")
def shifted(c: Conversion, operation: Any, x: Any, y: Any) -> Var:
    """Shifts as products with powers of two: ONNX shifts only unsigned numbers."""
    value, count = operand_of(c, x), operand_of(c, y)
    power = op.Cast(op.Pow(c.operand(2.0, "float64"), cast(count, "float64")), to=int(value.dtype or DType.INT32))
    if "Left" in type(operation).__name__:
        return value * power
    return op.Cast(op.Floor(cast(value, "float64") / cast(power, "float64")), to=int(value.dtype or DType.INT32))
