"""Functions of one operand, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ingot.builder import Var, op
from ingot.convert import elementary
from ingot.convert.elementary import truncated
from ingot.convert.operands import cast, number
from ingot.convert.torch.operands import operand
from ingot.convert.torch.rule import Rule, Site, rule
from ingot.dtypes import DType

_OF_FLOATS = {
    "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh",
    "cos": "Cos", "cosh": "Cosh", "sin": "Sin", "sinh": "Sinh", "tan": "Tan", "tanh": "Tanh", "exp": "Exp",
    "log": "Log", "sqrt": "Sqrt", "sigmoid": "Sigmoid", "erf": "Erf", "reciprocal": "Reciprocal",
}  # fmt: skip
"""Functions whose result is a float, also of integers."""

_WHOLE = {"ceil": "Ceil", "floor": "Floor", "round": "Round"}
"""Functions that leave integers as they are."""


def _of_floats(op_type: str) -> Any:
    return lambda site, x: op[op_type](cast(x, site.dtype))


def _whole(op_type: str) -> Any:
    return lambda site, x: op[op_type](x) if site.dtype.is_float else op.Identity(x)


of_floats = {name: Rule((f"aten.{name}.default",), _of_floats(op_type)) for name, op_type in _OF_FLOATS.items()}
whole = {name: Rule((f"aten.{name}.default",), _whole(op_type)) for name, op_type in _WHOLE.items()}


@rule("aten.round.decimals")
def round_decimals(site: Site, x: Var, *, decimals: int) -> Var:
    if not site.dtype.is_float:
        return op.Identity(x)
    scale = number(10.0 ** abs(decimals), site.dtype)
    if decimals < 0:
        return op.Mul(op.Round(op.Div(x, scale)), scale)
    return op.Div(op.Round(op.Mul(x, scale)), scale)


@rule("aten.trunc.default", "aten.fix.default")
def trunc(site: Site, x: Var) -> Var:
    return truncated(x) if site.dtype.is_float else op.Identity(x)


@rule("aten.frac.default")
def frac(site: Site, x: Var) -> Var:
    return op.Sub(x, truncated(x))


@rule("aten.abs.default")
def absolute(site: Site, x: Var) -> Var:
    return op.Identity(x) if site.dtype is DType.BOOL else op.Abs(x)


@rule("aten.neg.default")
def neg(site: Site, x: Var) -> Var:
    if site.dtype in (DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64):
        return op.Sub(number(0, site.dtype), x)
    return op.Neg(x)


@rule("aten.sign.default", "aten.sgn.default")
def sign(site: Site, x: Var) -> Var:
    if site.dtype is DType.BOOL:
        return op.Identity(x)
    signs = op.Sign(x)
    if not site.dtype.is_float:
        return signs
    return op.Where(op.IsNaN(x), number(0, site.dtype), signs)  # torch has it so


@rule("aten.expm1.default")
def expm1(site: Site, x: Var) -> Var:
    return elementary.expm1(cast(x, site.dtype), site.dtype)


@rule("aten.log1p.default")
def log1p(site: Site, x: Var) -> Var:
    return elementary.log1p(cast(x, site.dtype), site.dtype)


@rule("aten.exp2.default")
def exp2(site: Site, x: Var) -> Var:
    return op.Pow(number(2, site.dtype), cast(x, site.dtype))


@rule("aten.log2.default")
def log2(site: Site, x: Var) -> Var:
    return _log(site, x, 2.0)


@rule("aten.log10.default")
def log10(site: Site, x: Var) -> Var:
    return _log(site, x, 10.0)


@rule("aten.rsqrt.default")
def rsqrt(site: Site, x: Var) -> Var:
    return op.Reciprocal(op.Sqrt(cast(x, site.dtype)))


@rule("aten.square.default")
def square(site: Site, x: Var) -> Var:
    return op.Mul(x, x)


@rule("aten.erfc.default")
def erfc(site: Site, x: Var) -> Var:
    return op.Sub(number(1, site.dtype), op.Erf(cast(x, site.dtype)))


@rule("aten.deg2rad.default")
def deg2rad(site: Site, x: Var) -> Var:
    return op.Mul(cast(x, site.dtype), number(np.pi / 180, site.dtype))


@rule("aten.rad2deg.default")
def rad2deg(site: Site, x: Var) -> Var:
    return op.Mul(cast(x, site.dtype), number(180 / np.pi, site.dtype))


@rule("aten.isnan.default")
def isnan(site: Site, x: Var) -> Var:
    return op.IsNaN(x) if _floats(x) else op.Not(op.Equal(x, x))


@rule("aten.isinf.default")
def isinf(site: Site, x: Var) -> Var:
    return _isinf(x) if _floats(x) else op.Not(op.Equal(x, x))


@rule("aten.isfinite.default")
def isfinite(site: Site, x: Var) -> Var:
    return op.Not(op.Or(op.IsNaN(x), _isinf(x))) if _floats(x) else op.Equal(x, x)


@rule("aten.isposinf.default")
def isposinf(site: Site, x: Var) -> Var:
    return _isinf(x, detect_negative=0) if _floats(x) else op.Not(op.Equal(x, x))


@rule("aten.isneginf.default")
def isneginf(site: Site, x: Var) -> Var:
    return _isinf(x, detect_positive=0) if _floats(x) else op.Not(op.Equal(x, x))


@rule("aten.angle.default")
def angle(site: Site, x: Var) -> Var:
    """Of real numbers: half a turn below zero."""
    x = cast(x, site.dtype)
    turned = op.Where(op.Less(x, number(0, site.dtype)), number(np.pi, site.dtype), number(0, site.dtype))
    return op.Where(op.IsNaN(x), x, turned)


@rule("aten.signbit.default")
def signbit(site: Site, x: Var) -> Var:
    assert x.dtype is not None
    zero = number(0, x.dtype)
    if not _floats(x):
        return op.Less(x, zero)
    return op.Or(op.Less(x, zero), op.And(op.Equal(x, zero), op.Less(op.Reciprocal(x), zero)))


@rule("aten.nan_to_num.default")
def nan_to_num(site: Site, x: Var, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Var:
    if not site.dtype.is_float:
        return op.Identity(x)
    limits = torch.finfo(site.result.dtype)
    high = number(limits.max if posinf is None else posinf, site.dtype)
    low = number(limits.min if neginf is None else neginf, site.dtype)
    filled = op.Where(op.IsNaN(x), number(0 if nan is None else nan, site.dtype), x)
    filled = op.Where(_isinf(x, detect_negative=0), high, filled)
    return op.Where(_isinf(x, detect_positive=0), low, filled)


@rule("aten._to_copy.default", "prims.convert_element_type.default", "aten.to.dtype")
def to_copy(site: Site, x: Var, *_: Any, **__: Any) -> Var:
    return cast(x, site.dtype)


@rule(
    "aten.clone.default", "aten.alias.default", "aten.detach.default", "aten.lift_fresh_copy.default",
    "aten.contiguous.default", "aten.positive.default", "aten._conj.default", "aten.conj_physical.default",
    "aten.resolve_conj.default", "aten.detach_.default", "aten.lift_fresh.default", "aten.real.default",
)  # fmt: skip
def same(site: Site, x: Var, **_: Any) -> Var:
    return x


@rule("aten.dropout.default", "aten.native_dropout.default")
def dropout(site: Site, x: Var, p: float, train: bool | None) -> Any:
    outputs = isinstance(site.result, tuple | list)
    if train is not None and not train:
        all_true = op.Expand(np.array(True), op.Shape(x)) if outputs else None
        return (x, all_true) if outputs else x
    if p == 1:  # ONNX keeps at least a little
        assert x.dtype is not None
        gone, none = (op.Expand(each, op.Shape(x)) for each in (number(0, x.dtype), np.array(False)))
        return (gone, none) if outputs else gone
    dropped, mask = op.Dropout(x, number(p, DType.FLOAT32), np.array(True), outputs=2)
    return (dropped, mask) if outputs else dropped


@rule("aten.clamp.default", "aten.clamp.Tensor", "aten.clip.default")
def clamp(site: Site, x: Var, low: Any = None, high: Any = None) -> Var:
    """Between two bounds; the upper wins where they cross, and what is not a number stays so."""
    if site.dtype is DType.BOOL:
        clamped = cast(x, DType.BOOL)
        clamped = clamped if low is None else op.Or(clamped, operand(low, DType.BOOL))
        return clamped if high is None else op.And(clamped, operand(high, DType.BOOL))
    clamped = cast(x, site.dtype)
    if low is not None:
        clamped = op.Max(clamped, operand(low, site.dtype))
    return clamped if high is None else op.Min(clamped, operand(high, site.dtype))


@rule("aten.clamp_min.default", "aten.clamp_min.Tensor")
def clamp_min(site: Site, x: Var, low: Any) -> Var:
    clamped: Var = clamp(site, x, low)
    return clamped


@rule("aten.clamp_max.default", "aten.clamp_max.Tensor")
def clamp_max(site: Site, x: Var, high: Any) -> Var:
    clamped: Var = clamp(site, x, None, high)
    return clamped


def _floats(x: Var) -> bool:
    return x.dtype is not None and x.dtype.is_float


def _isinf(x: Var, *, detect_negative: int | None = None, detect_positive: int | None = None) -> Var:
    return op.IsInf(x, detect_negative=detect_negative, detect_positive=detect_positive)


def _log(site: Site, x: Var, base: float) -> Var:
    return op.Mul(op.Log(cast(x, site.dtype)), number(1 / np.log(base), site.dtype))
