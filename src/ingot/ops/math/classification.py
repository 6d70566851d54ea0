"""IsNaN and IsInf: what kind of float it is."""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.comparison import is_number
from ingot.ops.math.elementwise import elementwise
from ingot.ops.math.precision import widened
from ingot.ops.math.restated import number
from ingot.ops.older import dtype_of
from ingot.ops.typesets import BOOL, FLOAT8, FLOAT32, FLOAT64, FLOATS, FLOATS_3, types

TInf: TypeAlias = Annotated[Array, types("T1", {10: FLOAT32 | FLOAT64, 20: FLOATS | FLOAT8})]
TNaN: TypeAlias = Annotated[Array, types("T1", {9: FLOATS_3, 13: FLOATS, 20: FLOATS | FLOAT8})]
T2: TypeAlias = Annotated[Array, types("T2", BOOL)]


@operator("IsNaN", since=(9, 13, 20))
def is_nan(x: TNaN, /) -> T2:
    """Whether it is not a number."""
    return np.asarray(np.isnan(widened(x)))


@operator("IsInf", since=(10, 20))
def is_inf(x: TInf, /, *, detect_negative: int = 1, detect_positive: int = 1) -> T2:
    """Whether it is an infinity, of a sign that is asked for; some float8 types have none."""
    wide = widened(x)
    infinite = np.zeros(x.shape, np.bool_)
    if detect_negative:
        infinite |= wide == -np.inf
    if detect_positive:
        infinite |= wide == np.inf
    return infinite


@is_nan.infer
@is_inf.infer
def infer(x: Fact, /, **_: int) -> Inferred:
    return TensorType(DType.BOOL, x.shape)


is_nan.lower(elementwise("is_nan"))


@is_inf.lower
def lower_is_inf(x: prim.Tensor, /, *, detect_negative: int, detect_positive: int) -> prim.Tensor:
    if detect_negative and detect_positive:
        return prim.apply("equal", prim.apply("absolute", x), math.inf)
    # Nothing is equal to NaN.
    return prim.apply("equal", x, -math.inf if detect_negative else math.inf if detect_positive else math.nan)


@is_nan.downgrade
def downgrade_is_nan(op: Any, x: Value, /, *, version: int) -> Any:
    if version >= 13:
        return op.IsNaN(op.Cast(x, to=int(DType.FLOAT32)))
    if version >= 9:
        return op.IsNaN(x)
    return op.Not(is_number(op, x, dtype_of(x)))


@is_inf.downgrade
def downgrade_is_inf(op: Any, x: Value, /, *, detect_negative: int, detect_positive: int, version: int) -> Any:
    if version >= 10:
        wide = op.Cast(x, to=int(DType.FLOAT32))
        return op.IsInf(wide, detect_negative=detect_negative, detect_positive=detect_positive)
    dtype = dtype_of(x)
    most = float(np.finfo(dtype.numpy).max)
    below, above = op.Less(x, number(-most, dtype)), op.Greater(x, number(most, dtype))
    if detect_negative and detect_positive:
        return op.Or(below, above)
    return below if detect_negative else above if detect_positive else op.And(below, above)
