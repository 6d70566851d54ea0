"""The four operations on numbers, elementwise with broadcasting; integers wrap around."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, lower_bound, maximum
from ingot.dtypes import Array
from ingot.ir.value import Value
from ingot.ops import shapes
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed
from ingot.ops.math.legacy import aligned
from ingot.ops.math.one_way import one_way
from ingot.ops.math.operands import common_dtype, require_alike, require_divisors
from ingot.ops.math.precision import narrowed
from ingot.ops.math.restated import in_type, is_unsigned, restated, wide_integer
from ingot.ops.older import constant_of, dtype_of
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


@add.lower
def lower_add(a: prim.Tensor, b: prim.Tensor, /) -> prim.Tensor:
    return a + b


@operator("Sub", since=(7, 13, 14))
def sub(a: T, b: T, /) -> T:
    """The difference."""
    require_alike(a, b)
    return narrowed(np.subtract(a, b), a.dtype)


@sub.infer
def infer_sub(a: Fact, b: Fact, /) -> Inferred:
    return followed(common_dtype(a, b), lambda x, y: x - y, a, b)


@sub.lower
def lower_sub(a: prim.Tensor, b: prim.Tensor, /) -> prim.Tensor:
    return a - b


@operator("Mul", since=(7, 13, 14))
def mul(a: T, b: T, /) -> T:
    """The product."""
    require_alike(a, b)
    return narrowed(np.multiply(a, b), a.dtype)


@mul.infer
def infer_mul(a: Fact, b: Fact, /) -> Inferred:
    return followed(common_dtype(a, b), lambda x, y: x * y, a, b)


@mul.lower
def lower_mul(a: prim.Tensor, b: prim.Tensor, /) -> prim.Tensor:
    return a * b


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


@div.lower
def lower_div(a: prim.Tensor, b: prim.Tensor, /) -> prim.Tensor:
    return a / b


def _quotient(x: Dim, y: Dim) -> Dim | None:
    """Of sizes, which are not negative, rounding down and towards zero are one; what is above -y gives 0 below 0."""
    if isinstance(x, int) and isinstance(y, int):
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    least = lower_bound(x)
    if isinstance(y, int) and y > 0 and least is not None and least > -y:
        return maximum(x, 0) // y
    return x // y if shapes.is_natural(x) and shapes.is_natural(y) else None


@add.downgrade
def downgrade_add(op: Any, a: Value, b: Value, /, *, version: int) -> Any:
    return _older(op, a, b, op.Add, op.Add, version)


@sub.downgrade
def downgrade_sub(op: Any, a: Value, b: Value, /, *, version: int) -> Any:
    def mirrored(b: Any, a: Any, **how: Any) -> Any:
        return op.Add(op.Neg(b), a, **how)

    return _older(op, a, b, op.Sub, None if is_unsigned(dtype_of(b)) else mirrored, version)


@mul.downgrade
def downgrade_mul(op: Any, a: Value, b: Value, /, *, version: int) -> Any:
    return _older(op, a, b, op.Mul, op.Mul, version)


@div.downgrade
def downgrade_div(op: Any, a: Value, b: Value, /, *, version: int) -> Any:
    one = constant_of(a)
    if version < _BROADCAST_SINCE and one is not None and one.shape == () and one == 1 and dtype_of(a).is_float:
        return op.Reciprocal(b)
    return _older(op, a, b, op.Div, None, version)


def _older(
    op: Any, a: Value, b: Value, compute: Callable[..., Any], mirrored: Callable[..., Any] | None, version: int
) -> Any:
    """Narrow integers in wide ones, whose low bits are the same; before version 7, broadcast in one direction."""
    if version < _BROADCAST_SINCE:
        return one_way(op, a, b, compute, mirrored)
    dtype = dtype_of(a)
    if dtype.is_integer and dtype.bits < 32:
        return in_type(op, wide_integer(dtype), compute, a, b)
    return compute(a, b)


_BROADCAST_SINCE = 7


@operator("Add", since=6)
def add_6(a: T6, b: T6, /, *, axis: int | None = None, broadcast: int = 0) -> T6:
    """The sum, where `b` is broadcast only if asked for."""
    raise superseded()


add_6.downgrade(restated("Add"))


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


sub_6.downgrade(restated("Sub"))


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


mul_6.downgrade(restated("Mul"))


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


div_6.downgrade(restated("Div"))


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
