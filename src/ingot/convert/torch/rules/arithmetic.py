"""Arithmetic on two operands, brought to one element type as torch does."""

from __future__ import annotations

from typing import Any

from ingot.builder import Var, op
from ingot.convert import elementary
from ingot.convert.elementary import floor_divided, floor_modulo, is_negative, truncated
from ingot.convert.operands import cast, number
from ingot.convert.torch.operands import operand
from ingot.convert.torch.rule import Site, rule
from ingot.dtypes import DType


@rule("aten.add.Tensor", "aten.add.Scalar")
def add(site: Site, x: Any, y: Any, alpha: Any = 1) -> Var:
    return _sum("Add", site, x, y, alpha)


@rule("aten.sub.Tensor", "aten.sub.Scalar")
def sub(site: Site, x: Any, y: Any, alpha: Any = 1) -> Var:
    return _sum("Sub", site, x, y, alpha)


@rule("aten.rsub.Tensor", "aten.rsub.Scalar")
def rsub(site: Site, x: Any, y: Any, alpha: Any = 1) -> Var:
    return _sum("Sub", site, y, x, alpha)


@rule("aten.mul.Tensor", "aten.mul.Scalar")
def mul(site: Site, x: Any, y: Any) -> Var:
    if site.dtype is DType.BOOL:
        return op.And(operand(x, DType.BOOL), operand(y, DType.BOOL))
    return op.Mul(operand(x, site.dtype), operand(y, site.dtype))


@rule("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor")
def div(site: Site, x: Any, y: Any) -> Var:
    return op.Div(operand(x, site.dtype), operand(y, site.dtype))


@rule("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def div_mode(site: Site, x: Any, y: Any, *, rounding_mode: str | None = None) -> Var:
    a, b = operand(x, site.dtype), operand(y, site.dtype)
    if rounding_mode == "floor":
        return floor_divided(a, b, site.dtype)
    if rounding_mode == "trunc" and site.dtype.is_float:
        return truncated(op.Div(a, b))
    return op.Div(a, b)


@rule("aten.floor_divide.default", "aten.floor_divide.Scalar")
def floor_divide(site: Site, x: Any, y: Any) -> Var:
    return floor_divided(operand(x, site.dtype), operand(y, site.dtype), site.dtype)


@rule("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def remainder(site: Site, x: Any, y: Any) -> Var:
    return floor_modulo(operand(x, site.dtype), operand(y, site.dtype), site.dtype)


@rule("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(site: Site, x: Any, y: Any) -> Var:
    """The remainder with the sign of the dividend, as C has it."""
    return op.Mod(operand(x, site.dtype), operand(y, site.dtype), fmod=1)


@rule("aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar", "aten.pow.Scalar")
def power(site: Site, x: Any, y: Any) -> Var:
    if site.dtype.is_float and isinstance(y, int | float) and y in (0.5, 1, 2, -1):
        base = operand(x, site.dtype)
        match y:
            case 0.5:
                return op.Sqrt(base)
            case 1:
                return op.Identity(base)
            case 2:
                return op.Mul(base, base)
            case _:
                return op.Reciprocal(base)
    return op.Pow(operand(x, site.dtype), operand(y, site.dtype))


@rule("aten.maximum.default")
def maximum(site: Site, x: Any, y: Any) -> Var:
    return _extreme("Max", "Or", site, x, y)


@rule("aten.minimum.default")
def minimum(site: Site, x: Any, y: Any) -> Var:
    return _extreme("Min", "And", site, x, y)


@rule("aten.fmax.default")
def fmax(site: Site, x: Any, y: Any) -> Var:
    """The larger; a number where the other is none."""
    return _known_extreme("Max", "Or", site, x, y)


@rule("aten.fmin.default")
def fmin(site: Site, x: Any, y: Any) -> Var:
    return _known_extreme("Min", "And", site, x, y)


@rule("aten.ldexp.Tensor")
def ldexp(site: Site, x: Any, y: Any) -> Var:
    return op.Mul(operand(x, site.dtype), op.Pow(number(2, site.dtype), operand(y, site.dtype)))


@rule("aten.atan2.default")
def atan2(site: Site, y: Any, x: Any) -> Var:
    return elementary.atan2(operand(y, site.dtype), operand(x, site.dtype), site.dtype)


@rule("aten.copysign.Tensor", "aten.copysign.Scalar")
def copysign(site: Site, x: Any, y: Any) -> Var:
    size = op.Abs(operand(x, site.dtype))
    return op.Where(is_negative(operand(y, site.dtype), site.dtype), op.Neg(size), size)


@rule("aten.lerp.Tensor", "aten.lerp.Scalar")
def lerp(site: Site, start: Any, end: Any, weight: Any) -> Var:
    a, b, w = (operand(item, site.dtype) for item in (start, end, weight))
    return op.Add(a, op.Mul(w, op.Sub(b, a)))


@rule("aten.addcmul.default")
def addcmul(site: Site, x: Any, a: Any, b: Any, value: Any = 1) -> Var:
    product = op.Mul(operand(a, site.dtype), operand(b, site.dtype))
    return op.Add(operand(x, site.dtype), _scaled(product, value, site.dtype))


@rule("aten.addcdiv.default")
def addcdiv(site: Site, x: Any, a: Any, b: Any, value: Any = 1) -> Var:
    quotient = op.Div(operand(a, site.dtype), operand(b, site.dtype))
    return op.Add(operand(x, site.dtype), _scaled(quotient, value, site.dtype))


def _sum(op_type: str, site: Site, x: Any, y: Any, alpha: Any) -> Var:
    dtype = site.dtype
    if dtype is DType.BOOL:
        right = operand(y, dtype)
        return op.Or(operand(x, dtype), right if alpha else op.And(right, number(0, dtype)))
    return op[op_type](operand(x, dtype), _scaled(operand(y, dtype), alpha, dtype))


def _scaled(x: Any, factor: Any, dtype: DType) -> Any:
    plain = isinstance(factor, int | float) and factor == 1
    return x if plain else op.Mul(x, operand(factor, dtype))


def _extreme(op_type: str, logical: str, site: Site, x: Any, y: Any) -> Var:
    if site.dtype is DType.BOOL:
        return op[logical](operand(x, DType.BOOL), operand(y, DType.BOOL))
    return op[op_type](operand(x, site.dtype), operand(y, site.dtype))


def _known_extreme(op_type: str, logical: str, site: Site, x: Any, y: Any) -> Var:
    extreme = _extreme(op_type, logical, site, x, y)
    if not site.dtype.is_float:
        return extreme
    a, b = operand(x, site.dtype), operand(y, site.dtype)
    return op.Where(op.IsNaN(a), b, op.Where(op.IsNaN(b), a, extreme))


def as_bool(x: Any) -> Var:
    return cast(x, DType.BOOL) if isinstance(x, Var) else operand(x, DType.BOOL)
