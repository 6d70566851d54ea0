"""Abs, Neg and Sign; the smallest signed integer has no opposite, and wraps around to itself."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, maximum
from ingot.dtypes import Array, DType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.elementwise import elementwise
from ingot.ops.math.following import followed, less
from ingot.ops.math.legacy import consuming
from ingot.ops.math.precision import narrowed
from ingot.ops.math.restated import number, restated
from ingot.ops.older import dtype_of
from ingot.ops.typesets import FLOATS, FLOATS_3, NUMERIC, NUMERIC_3, SIGNED, types
from ingot.prim.functions import UNSIGNED

T: TypeAlias = Annotated[Array, types("T", {6: NUMERIC_3, 13: NUMERIC})]
TSigned: TypeAlias = Annotated[Array, types("T", {6: FLOATS_3 | SIGNED, 13: FLOATS | SIGNED})]


@operator("Abs", since=(6, 13))
def absolute(x: T, /) -> T:
    """The distance from zero."""
    return narrowed(np.abs(x), x.dtype)


@absolute.infer
def infer_absolute(x: Fact, /) -> Inferred:
    return followed(x.dtype, lambda size: maximum(size, -size), x)


@operator("Neg", since=(6, 13))
def negative(x: TSigned, /) -> TSigned:
    """The opposite number."""
    return narrowed(np.negative(x), x.dtype)


@negative.infer
def infer_negative(x: Fact, /) -> Inferred:
    return followed(x.dtype, lambda size: -size, x)


@operator("Sign", since=(9, 13))
def sign(x: T, /) -> T:
    """1 for what is above zero, -1 for what is below, 0 for zero, NaN for NaN."""
    return narrowed(np.sign(x), x.dtype)


@sign.infer
def infer_sign(x: Fact, /) -> Inferred:
    return followed(x.dtype, _sign, x)


def _sign(size: Dim) -> Dim | None:
    if size == 0:
        return 0
    return 1 if less(0, size) == 1 else -1 if less(size, 0) == 1 else None


absolute.lower(elementwise("absolute"))
negative.lower(elementwise("negate"))


@sign.lower
def lower_sign(x: prim.Tensor, /) -> prim.Tensor:
    zero = prim.where(prim.apply("equal", x, 0), 0, x)  # or NaN
    not_above = prim.where(prim.apply("less", x, 0), -1, zero) if x.dtype not in UNSIGNED else zero
    return prim.where(prim.apply("less", 0, x), 1, not_above)


absolute.downgrade(restated("Abs"))
negative.downgrade(restated("Neg"))


@sign.downgrade
def downgrade_sign(op: Any, x: Value, /, *, version: int) -> Any:
    if version >= 9:
        return op.Sign(x)
    dtype = dtype_of(x)
    # Comparisons before version 9 take floats only. To round an integer to one keeps its sign.
    real = op.Cast(x, to=int(DType.FLOAT64)) if dtype.is_integer else x
    zero = number(0, DType.FLOAT64 if dtype.is_integer else dtype)
    wide = DType.INT64 if dtype.is_integer else dtype
    above, below = (op.Cast(truth, to=int(wide)) for truth in (op.Greater(real, zero), op.Less(real, zero)))
    sign = op.Sub(above, below)
    if dtype.is_integer:
        return op.Cast(sign, to=int(dtype))
    return op.Add(sign, op.Mul(op.Tanh(x), zero))  # which is zero, and NaN for NaN


absolute_1 = consuming("Abs")
negative_1 = consuming("Neg")
