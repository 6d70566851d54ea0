"""The four operations on numbers, elementwise with broadcasting; integers wrap around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.ir.value import Value
from ingot.ops import shapes
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed
from ingot.ops.math.legacy import aligned
from ingot.ops.math.operands import common_dtype, require_alike, require_divisors
from ingot.ops.math.precision import narrowed
from ingot.ops.typesets import FLOATS_3, NUMERIC, WIDE, WIDE_3, types

T: TypeAlias = Annotated[Array, types("T", {7: WIDE_3, 13: WIDE, 14: NUMERIC})]
T6: TypeAlias = Annotated[Array, types("T", WIDE_3)]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Add", since=(7, 13, 14))
def add(a: T, b: T, /) -> T:
    """The sum."""
    require_alike(a, b)
    return narrowed(np.add(a, b), a.dtype)


@add.infer
def infer_add(a: Fact, b: Fact, /) -> Inferred:
    return followed(common_dtype(a, b), lambda x, y: x + y, a, b)


@operator("Sub", since=(7, 13, 14))
def sub(a: T, b: T, /) -> T:
    """The difference."""
    require_alike(a, b)
    return narrowed(np.subtract(a, b), a.dtype)


@sub.infer
def infer_sub(a: Fact, b: Fact, /) -> Inferred:
    return followed(common_dtype(a, b), lambda x, y: x - y, a, b)


@operator("Mul", since=(7, 13, 14))
def mul(a: T, b: T, /) -> T:
    """The product."""
    require_alike(a, b)
    return narrowed(np.multiply(a, b), a.dtype)


@mul.infer
def infer_mul(a: Fact, b: Fact, /) -> Inferred:
    return followed(common_dtype(a, b), lambda x, y: x * y, a, b)


@operator("Div", since=(7, 13, 14))
def div(a: T, b: T, /) -> T:
    """The quotient; of integers, truncated towards zero, and InputError if a divisor is zero."""
    require_alike(a, b)
    require_divisors(a, b)
    if a.dtype.kind not in "iu":
        return narrowed(np.divide(a, b), a.dtype)
    quotient = np.floor_divide(a, b)
    inexact = np.multiply(quotient, b) != a
    return narrowed(quotient + (inexact & ((a < 0) != (b < 0))), a.dtype)


@div.infer
def infer_div(a: Fact, b: Fact, /) -> Inferred:
    return followed(common_dtype(a, b), _quotient, a, b)


def _quotient(x: Dim, y: Dim) -> Dim | None:
    """Of sizes, which are not negative, rounding down and towards zero are one."""
    if isinstance(x, int) and isinstance(y, int):
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return x // y if shapes.is_natural(x) and shapes.is_natural(y) else None


@operator("Add", since=6)
def add_6(a: T6, b: T6, /, *, axis: int | None = None, broadcast: int = 0) -> T6:
    """The sum, where `b` is broadcast only if asked for."""
    raise superseded()


@operator("Add", since=1)
def add_1(
    a: T1, b: T1, /, *, axis: int | None = None, broadcast: int = 0, consumed_inputs: Sequence[int] | None = None
) -> T1:
    """The same, of floats."""
    raise superseded()


@add_6.upgrade
@add_1.upgrade
def upgrade_add(op: Any, a: Value, b: Value, /, *, axis: int | None, broadcast: int, **_: object) -> Any:
    return op.Add(a, aligned(op, a, b, axis, broadcast))


@operator("Sub", since=6)
def sub_6(a: T6, b: T6, /, *, axis: int | None = None, broadcast: int = 0) -> T6:
    """The difference, where `b` is broadcast only if asked for."""
    raise superseded()


@operator("Sub", since=1)
def sub_1(
    a: T1, b: T1, /, *, axis: int | None = None, broadcast: int = 0, consumed_inputs: Sequence[int] | None = None
) -> T1:
    """The same, of floats."""
    raise superseded()


@sub_6.upgrade
@sub_1.upgrade
def upgrade_sub(op: Any, a: Value, b: Value, /, *, axis: int | None, broadcast: int, **_: object) -> Any:
    return op.Sub(a, aligned(op, a, b, axis, broadcast))


@operator("Mul", since=6)
def mul_6(a: T6, b: T6, /, *, axis: int | None = None, broadcast: int = 0) -> T6:
    """The product, where `b` is broadcast only if asked for."""
    raise superseded()


@operator("Mul", since=1)
def mul_1(
    a: T1, b: T1, /, *, axis: int | None = None, broadcast: int = 0, consumed_inputs: Sequence[int] | None = None
) -> T1:
    """The same, of floats."""
    raise superseded()


@mul_6.upgrade
@mul_1.upgrade
def upgrade_mul(op: Any, a: Value, b: Value, /, *, axis: int | None, broadcast: int, **_: object) -> Any:
    return op.Mul(a, aligned(op, a, b, axis, broadcast))


@operator("Div", since=6)
def div_6(a: T6, b: T6, /, *, axis: int | None = None, broadcast: int = 0) -> T6:
    """The quotient, where `b` is broadcast only if asked for."""
    raise superseded()


@operator("Div", since=1)
def div_1(
    a: T1, b: T1, /, *, axis: int | None = None, broadcast: int = 0, consumed_inputs: Sequence[int] | None = None
) -> T1:
    """The same, of floats."""
    raise superseded()


@div_6.upgrade
@div_1.upgrade
def upgrade_div(op: Any, a: Value, b: Value, /, *, axis: int | None, broadcast: int, **_: object) -> Any:
    return op.Div(a, aligned(op, a, b, axis, broadcast))
