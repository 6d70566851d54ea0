"""Equal, Less, Greater and their kin; NaN is neither equal to, nor less or greater than, anything."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math import following
from ingot.ops.math.following import followed, negated
from ingot.ops.math.legacy import aligned
from ingot.ops.math.operands import common_dtype, require_alike
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
