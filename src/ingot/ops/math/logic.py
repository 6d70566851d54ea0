"""And, Or, Xor and Not of truth values."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.elementwise import elementwise
from ingot.ops.math.following import followed, negated
from ingot.ops.math.legacy import aligned
from ingot.ops.math.one_way import one_way
from ingot.ops.math.operands import require_alike
from ingot.ops.typesets import BOOL, types

T: TypeAlias = Annotated[Array, types("T", BOOL)]
T1: TypeAlias = Annotated[Array, types("T1", BOOL)]


@operator("And", since=7)
def and_(a: T, b: T, /) -> T1:
    """Whether both are true."""
    require_alike(a, b)
    return np.asarray(np.logical_and(a, b))


@and_.infer
def infer_and(a: Fact, b: Fact, /) -> Inferred:
    return followed(DType.BOOL, _both, a, b, with_unknown=True)


@operator("Or", since=7)
def or_(a: T, b: T, /) -> T1:
    """Whether one of them or both are true."""
    require_alike(a, b)
    return np.asarray(np.logical_or(a, b))


@or_.infer
def infer_or(a: Fact, b: Fact, /) -> Inferred:
    return followed(DType.BOOL, lambda x, y: negated(_both(negated(x), negated(y))), a, b, with_unknown=True)


@operator("Xor", since=7)
def xor(a: T, b: T, /) -> T1:
    """Whether one of them is true, but not both."""
    require_alike(a, b)
    return np.asarray(np.logical_xor(a, b))


@xor.infer
def infer_xor(a: Fact, b: Fact, /) -> Inferred:
    return followed(DType.BOOL, lambda x, y: int(x != y), a, b)


@operator("Not", since=1)
def not_(x: T, /) -> T:
    """Whether it is false."""
    return np.asarray(np.logical_not(x))


@not_.infer
def infer_not(x: Fact, /) -> Inferred:
    return followed(DType.BOOL, negated, x)


and_.lower(elementwise("and"))
or_.lower(elementwise("or"))
xor.lower(elementwise("xor"))
not_.lower(elementwise("not"))


def _both(x: Dim | None, y: Dim | None) -> Dim | None:
    if x == 0 or y == 0:
        return 0
    return 1 if x == 1 and y == 1 else None


@and_.downgrade
def downgrade_and(op: Any, a: Value, b: Value, /) -> Any:
    return one_way(op, a, b, op.And, op.And)


@operator("And", since=1)
def and_1(a: T, b: T, /, *, axis: int | None = None, broadcast: int = 0) -> T1:
    """The same, where `b` is broadcast only if asked for."""
    raise superseded()


@and_1.upgrade
def upgrade_and(op: Any, a: Value, b: Value, /, *, axis: int | None, broadcast: int) -> Any:
    return op.And(a, aligned(op, a, b, axis, broadcast))


@or_.downgrade
def downgrade_or(op: Any, a: Value, b: Value, /) -> Any:
    return one_way(op, a, b, op.Or, op.Or)


@operator("Or", since=1)
def or_1(a: T, b: T, /, *, axis: int | None = None, broadcast: int = 0) -> T1:
    """The same, where `b` is broadcast only if asked for."""
    raise superseded()


@or_1.upgrade
def upgrade_or(op: Any, a: Value, b: Value, /, *, axis: int | None, broadcast: int) -> Any:
    return op.Or(a, aligned(op, a, b, axis, broadcast))


@xor.downgrade
def downgrade_xor(op: Any, a: Value, b: Value, /) -> Any:
    return one_way(op, a, b, op.Xor, op.Xor)


@operator("Xor", since=1)
def xor_1(a: T, b: T, /, *, axis: int | None = None, broadcast: int = 0) -> T1:
    """The same, where `b` is broadcast only if asked for."""
    raise superseded()


@xor_1.upgrade
def upgrade_xor(op: Any, a: Value, b: Value, /, *, axis: int | None, broadcast: int) -> Any:
    return op.Xor(a, aligned(op, a, b, axis, broadcast))
