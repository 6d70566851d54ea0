"""Equal, Less, Greater and their kin; NaN is neither equal to, nor less or greater than, anything."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math import following
from ingot.ops.math.elementwise import elementwise
from ingot.ops.math.following import followed, negated
from ingot.ops.math.legacy import aligned
from ingot.ops.math.one_way import one_way
from ingot.ops.math.operands import common_dtype, require_alike
from ingot.ops.math.restated import number
from ingot.ops.older import dtype_of
from ingot.ops.typesets import BOOL, FLOATS_3, INDICES, NUMERIC, NUMERIC_3, STRING, types

TEqual: TypeAlias = Annotated[
    Array,
    types("T", {7: INDICES | BOOL, 11: NUMERIC_3 | BOOL, 13: NUMERIC | BOOL, 19: NUMERIC | BOOL | STRING}),
]
T: TypeAlias = Annotated[Array, types("T", {7: FLOATS_3, 9: NUMERIC_3, 13: NUMERIC})]
T16: TypeAlias = Annotated[Array, types("T", {12: NUMERIC_3, 16: NUMERIC})]
T1: TypeAlias = Annotated[Array, types("T1", BOOL)]
TEqualOfOld: TypeAlias = Annotated[Array, types("T", INDICES | BOOL)]
TOfOld: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Equal", since=(7, 11, 13, 19))
def equal(a: TEqual, b: TEqual, /) -> T1:
    """Whether `a` and `b` are the same number, truth value or string."""
    require_alike(a, b)
    return np.asarray(np.equal(a, b), np.bool_)


@equal.infer
def infer_equal(a: Fact, b: Fact, /) -> Inferred:
    common_dtype(a, b)
    return followed(DType.BOOL, following.equal, a, b)


@operator("Less", since=(7, 9, 13))
def less(a: T, b: T, /) -> T1:
    """Whether `a` is below `b`."""
    require_alike(a, b)
    return np.asarray(np.less(a, b))


@less.infer
def infer_less(a: Fact, b: Fact, /) -> Inferred:
    common_dtype(a, b)
    return followed(DType.BOOL, following.less, a, b)


@operator("Greater", since=(7, 9, 13))
def greater(a: T, b: T, /) -> T1:
    """Whether `a` is above `b`."""
    require_alike(a, b)
    return np.asarray(np.greater(a, b))


@greater.infer
def infer_greater(a: Fact, b: Fact, /) -> Inferred:
    common_dtype(a, b)
    return followed(DType.BOOL, lambda x, y: following.less(y, x), a, b)


@operator("LessOrEqual", since=(12, 16))
def less_or_equal(a: T16, b: T16, /) -> T1:
    """Whether `a` is below `b` or equal to it."""
    require_alike(a, b)
    return np.asarray(np.less_equal(a, b))


@less_or_equal.infer
def infer_less_or_equal(a: Fact, b: Fact, /) -> Inferred:
    common_dtype(a, b)
    return followed(DType.BOOL, lambda x, y: negated(following.less(y, x)), a, b)


@operator("GreaterOrEqual", since=(12, 16))
def greater_or_equal(a: T16, b: T16, /) -> T1:
    """Whether `a` is above `b` or equal to it."""
    require_alike(a, b)
    return np.asarray(np.greater_equal(a, b))


@greater_or_equal.infer
def infer_greater_or_equal(a: Fact, b: Fact, /) -> Inferred:
    common_dtype(a, b)
    return followed(DType.BOOL, lambda x, y: negated(following.less(x, y)), a, b)


equal.lower(elementwise("equal"))
less.lower(elementwise("less"))
less_or_equal.lower(elementwise("less_equal"))


@greater.lower
def lower_greater(a: prim.Tensor, b: prim.Tensor, /) -> prim.Tensor:
    return prim.apply("less", b, a)


@greater_or_equal.lower
def lower_greater_or_equal(a: prim.Tensor, b: prim.Tensor, /) -> prim.Tensor:
    return prim.apply("less_equal", b, a)


@equal.downgrade
def downgrade_equal(op: Any, a: Value, b: Value, /, *, version: int) -> Any:
    dtype = dtype_of(a)
    if version < 7:
        return one_way(op, a, b, op.Equal, op.Equal)
    if version >= 11 or dtype is DType.STRING:
        return op.Equal(a, b)
    if dtype.is_float:
        differ = op.Or(op.Less(a, b), op.Greater(a, b))
        return op.And(op.Not(differ), op.And(is_number(op, a, dtype), is_number(op, b, dtype)))
    if dtype is DType.UINT64:
        (high, low), (other_high, other_low) = (_halves(op, x, DType.INT64) for x in (a, b))
        return op.And(op.Equal(high, other_high), op.Equal(low, other_low))
    wide = int(DType.INT64 if dtype is DType.UINT32 else DType.INT32)
    return op.Equal(op.Cast(a, to=wide), op.Cast(b, to=wide))


@less.downgrade
def downgrade_less(op: Any, a: Value, b: Value, /, *, version: int) -> Any:
    if version < 7:
        return one_way(op, a, b, op.Less, op.Greater)
    return op.Less(a, b) if version >= 9 else _below(op, a, b)


@greater.downgrade
def downgrade_greater(op: Any, a: Value, b: Value, /, *, version: int) -> Any:
    if version < 7:
        return one_way(op, a, b, op.Greater, op.Less)
    return op.Greater(a, b) if version >= 9 else _below(op, b, a)


@less_or_equal.downgrade
def downgrade_less_or_equal(op: Any, a: Value, b: Value, /, *, version: int) -> Any:
    return _or_equal(op, a, b, op.LessOrEqual, op.Less, op.Greater, version)


@greater_or_equal.downgrade
def downgrade_greater_or_equal(op: Any, a: Value, b: Value, /, *, version: int) -> Any:
    return _or_equal(op, a, b, op.GreaterOrEqual, op.Greater, op.Less, version)


def is_number(op: Any, x: Any, dtype: DType) -> Any:
    """Whether floats are not NaN, by comparisons that every version has: all numbers are below one or above zero."""
    return op.Or(op.Less(x, number(1, dtype)), op.Greater(x, number(0, dtype)))


def _or_equal(op: Any, a: Value, b: Value, say: Any, strictly: Any, opposite: Any, version: int) -> Any:
    if version >= 12:
        return say(*(op.Cast(x, to=int(DType.FLOAT32)) for x in (a, b)))
    if dtype_of(a).is_integer:
        return op.Not(opposite(a, b))
    return op.Or(strictly(a, b), op.Equal(a, b))


def _below(op: Any, a: Value, b: Value) -> Any:
    """Whether integers are below others, where only floats can be compared: long ones half by half."""
    if dtype_of(a).bits < 64:
        return op.Less(*(op.Cast(x, to=int(DType.FLOAT64)) for x in (a, b)))
    (high, low), (other_high, other_low) = (_halves(op, x, DType.FLOAT64) for x in (a, b))
    same = op.Not(op.Or(op.Less(high, other_high), op.Greater(high, other_high)))
    return op.Or(op.Less(high, other_high), op.And(same, op.Less(low, other_low)))


def _halves(op: Any, x: Value, dtype: DType) -> tuple[Any, Any]:
    """What a long integer is divided by 2**32, towards zero, and what that leaves, in a type that holds both."""
    half = number(2**32, dtype_of(x))
    high = op.Div(x, half)
    low = op.Sub(x, op.Mul(high, half))
    return op.Cast(high, to=int(dtype)), op.Cast(low, to=int(dtype))


@operator("Equal", since=1)
def equal_1(a: TEqualOfOld, b: TEqualOfOld, /, *, axis: int | None = None, broadcast: int = 0) -> T1:
    """The same, where `b` is broadcast only if asked for."""
    raise superseded()


@equal_1.upgrade
def upgrade_equal(op: Any, a: Value, b: Value, /, *, axis: int | None, broadcast: int) -> Any:
    return op.Equal(a, aligned(op, a, b, axis, broadcast))


@operator("Less", since=1)
def less_1(a: TOfOld, b: TOfOld, /, *, axis: int | None = None, broadcast: int = 0) -> T1:
    """The same, where `b` is broadcast only if asked for."""
    raise superseded()


@less_1.upgrade
def upgrade_less(op: Any, a: Value, b: Value, /, *, axis: int | None, broadcast: int) -> Any:
    return op.Less(a, aligned(op, a, b, axis, broadcast))


@operator("Greater", since=1)
def greater_1(a: TOfOld, b: TOfOld, /, *, axis: int | None = None, broadcast: int = 0) -> T1:
    """The same, where `b` is broadcast only if asked for."""
    raise superseded()


@greater_1.upgrade
def upgrade_greater(op: Any, a: Value, b: Value, /, *, axis: int | None, broadcast: int) -> Any:
    return op.Greater(a, aligned(op, a, b, axis, broadcast))
