"""Arithmetic on two operands of one element type, which broadcast."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert import elementary
from ingot.convert.elementary import floor_modulo, truncated
from ingot.convert.operands import cast, number, rank
from ingot.convert.tensorflow.operands import is_unsigned
from ingot.convert.tensorflow.rule import Site, rule
from ingot.convert.tensorflow.rules.joining import concatenated
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("Add", "AddV2")
def add(site: Site, x: Var, y: Var) -> Var:
    return concatenated([x, y]) if site.dtype is DType.STRING else op.Add(x, y)


@rule("MulNoNan")
def mul_no_nan(site: Site, x: Var, y: Var) -> Var:
    """Zero where `y` is, whatever `x` is."""
    zero = number(0, site.dtype)
    return op.Where(op.Equal(y, zero), zero, op.Mul(x, y))


@rule("TruncateDiv")
def truncate_div(site: Site, x: Var, y: Var) -> Var:
    return truncated(op.Div(x, y)) if site.dtype.is_float else op.Div(x, y)


@rule("DivNoNan")
def div_no_nan(site: Site, x: Var, y: Var) -> Var:
    """Zero where `y` is."""
    zero = number(0, site.dtype)
    nothing = op.Equal(y, zero)
    return op.Where(nothing, zero, op.Div(x, op.Where(nothing, number(1, site.dtype), y)))


@rule("FloorDiv")
def floor_div(site: Site, x: Var, y: Var) -> Var:
    if site.dtype.is_float:
        return op.Floor(op.Div(x, y))
    if is_unsigned(site.dtype):
        return op.Div(x, y)
    return op.Div(op.Sub(x, op.Mod(x, y)), y)


@rule("FloorMod")
def floor_mod(site: Site, x: Var, y: Var) -> Var:
    return floor_modulo(x, y, site.dtype)


@rule("Mod", "TruncateMod")
def truncate_mod(site: Site, x: Var, y: Var) -> Var:
    """The remainder with the sign of the dividend."""
    return op.Mod(x, y, fmod=1)


@rule("SquaredDifference")
def squared_difference(site: Site, x: Var, y: Var) -> Var:
    apart = op.Sub(x, y)
    return op.Mul(apart, apart)


@rule("AddN", "AccumulateNV2")
def add_n(site: Site, *parts: Var) -> Var:
    return reduce(op.Add, parts)


@rule("BiasAdd")
def bias_add(site: Site, x: Var, bias: Var, *, data_format: str = "NHWC") -> Var:
    if data_format == "NCHW" and rank(x) > 2:
        bias = op.Unsqueeze(bias, list(range(1, rank(x) - 1)))
    return op.Add(x, bias)


@rule("Xdivy")
def xdivy(site: Site, x: Var, y: Var) -> Var:
    return _unless_zero(site, x, op.Div(x, y))


@rule("Xlogy")
def xlogy(site: Site, x: Var, y: Var) -> Var:
    return _unless_zero(site, x, op.Mul(x, op.Log(y)))


@rule("Xlog1py")
def xlog1py(site: Site, x: Var, y: Var) -> Var:
    return _unless_zero(site, x, op.Mul(x, elementary.log1p(y, site.dtype)))


@rule("Atan2")
def atan2(site: Site, y: Var, x: Var) -> Var:
    return elementary.atan2(y, x, site.dtype)


@rule("LeftShift")
def left_shift(site: Site, x: Var, y: Var) -> Var:
    if is_unsigned(site.dtype):
        return op.BitShift(x, y, direction="LEFT")
    return op.Mul(x, _two_to(site, y))


@rule("RightShift")
def right_shift(site: Site, x: Var, y: Var) -> Var:
    """Signed numbers are divided and rounded down, which is what shifting their bits does."""
    if is_unsigned(site.dtype):
        return op.BitShift(x, y, direction="RIGHT")
    divisor = _two_to(site, y)
    return op.Div(op.Sub(x, op.Mod(x, divisor)), divisor)


@rule("Cross")
def cross(site: Site, x: Var, y: Var) -> Var:
    def turned(a: Var, by: int) -> Var:
        return op.Gather(a, np.array([(at + by) % 3 for at in range(3)]), axis=-1)

    return op.Sub(op.Mul(turned(x, 1), turned(y, 2)), op.Mul(turned(x, 2), turned(y, 1)))


def _unless_zero(site: Site, x: Var, otherwise: Var) -> Var:
    zero = number(0, site.dtype)
    return op.Where(op.Equal(x, zero), zero, otherwise)


def _two_to(site: Site, exponent: Var) -> Any:
    if site.dtype not in (DType.INT32, DType.INT64, DType.INT16, DType.INT8):
        raise UnsupportedError(f"shifts of {site.dtype}")
    wide = op.BitShift(np.array(1, np.uint64), cast(exponent, DType.UINT64), direction="LEFT")
    return cast(wide, site.dtype)
