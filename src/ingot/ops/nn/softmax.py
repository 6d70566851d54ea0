"""Softmax and its logarithm: exponentials along one axis, scaled to sum to one."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import widened
from ingot.ops.older import rank_of
from ingot.ops.shapes import axis_of
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS)]
T11: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Softmax", since=13)
def softmax(x: T, /, *, axis: int = -1) -> T:
    """`exp(x)` divided by its sum along `axis`; the largest element is taken off first, so that nothing overflows.

    Elements of 16 bits are rounded after every step, as the function that the standard gives for Softmax does, except
    a sum that is beyond their type: that of 70,000 equal elements in float16.
    """
    axis = axis_of(axis, x.ndim)
    if not x.size:
        return x
    values = widened(x)[0]

    def rounded(step: Array) -> Array:
        return step.astype(x.dtype).astype(values.dtype)

    with np.errstate(over="ignore"):
        exponentials = rounded(np.exp(rounded(values - values.max(axis, keepdims=True))))
        total = exponentials.sum(axis, keepdims=True)
        fitting = rounded(total)
    return np.asarray(exponentials / np.where(np.isinf(fitting), total, fitting), x.dtype)


@operator("LogSoftmax", since=13)
def log_softmax(x: T, /, *, axis: int = -1) -> T:
    """The logarithm of the softmax of `x`, found without ever taking the logarithm of a small quotient."""
    axis = axis_of(axis, x.ndim)
    if not x.size:
        return x
    values = widened(x)[0]
    shifted = values - values.max(axis, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis, keepdims=True)), x.dtype)


@softmax.infer
@log_softmax.infer
def infer(x: Fact, /, *, axis: int) -> Inferred:
    if x.rank is not None:
        axis_of(axis, x.rank)
    return x.type


@softmax.lower
def lower(x: prim.Tensor, /, *, axis: int, facts: tuple[Fact, ...]) -> prim.Tensor:
    axis = axis_of(axis, x.rank)
    dtype = facts[0].dtype
    x = prim.before_zero(x)  # the sign of a zero makes no difference to its exponential
    shifted = x - prim.reduce_("maximum", x, [axis])
    if dtype is None or dtype is x.dtype:
        exponentials = prim.apply("exp_nonpositive", shifted)
        return shares(exponentials, prim.reduce_("add", exponentials, [axis]))

    def rounded(step: prim.Tensor) -> prim.Tensor:
        return prim.cast(prim.cast(step, dtype), x.dtype)

    exponentials = rounded(prim.apply("exp", rounded(shifted)))
    total = prim.reduce_("add", exponentials, [axis])
    fitting = rounded(total)
    return exponentials / prim.where(prim.apply("equal", fitting, np.inf), total, fitting)


def shares(exponentials: prim.Tensor, total: prim.Tensor) -> prim.Tensor:
    """Exponentials, none above 1, divided by their total along an axis, which is at least 1.

    They are multiplied by its reciprocal: a division of a vector takes as long as ten products.
    """
    return exponentials * (1.0 / total)


@log_softmax.lower
def lower_log(x: prim.Tensor, /, *, axis: int) -> prim.Tensor:
    axis = axis_of(axis, x.rank)
    shifted = x - prim.reduce_("maximum", x, [axis])
    return shifted - prim.apply("log", prim.reduce_("add", prim.apply("exp_nonpositive", shifted), [axis]))


@softmax.downgrade
def downgrade(op: Any, x: Value, /, *, axis: int) -> Any:
    return by_last_axis(op, x, axis, op.Softmax)


@log_softmax.downgrade
def downgrade_log(op: Any, x: Value, /, *, axis: int) -> Any:
    return by_last_axis(op, x, axis, op.LogSoftmax)


def by_last_axis(op: Any, x: Any, axis: int, softmax: Any, rank: int | None = None) -> Any:
    """The old operators take all axes from one on as one, so the axis has to be the last."""
    rank = rank_of(x) if rank is None else rank
    axis = axis_of(axis, rank)
    if axis == rank - 1:
        return softmax(x, axis=axis)
    order = [*range(axis), *range(axis + 1, rank), axis]
    moved = softmax(op.Transpose(x, perm=order), axis=rank - 1)
    return op.Transpose(moved, perm=[order.index(each) for each in range(rank)])


@operator("Softmax", since=(1, 11))
def softmax_11(x: T11, /, *, axis: int = 1) -> T11:
    """The same over all axes from `axis` on, taken as one."""
    raise superseded()


@operator("LogSoftmax", since=(1, 11))
def log_softmax_11(x: T11, /, *, axis: int = 1) -> T11:
    """The same over all axes from `axis` on, taken as one."""
    raise superseded()


@softmax_11.upgrade
def upgrade(op: Any, x: Value, /, *, axis: int) -> Any:
    return op.Reshape(op.Softmax(op.Flatten(x, axis=axis), axis=-1), op.Shape(x))


@log_softmax_11.upgrade
def upgrade_log(op: Any, x: Value, /, *, axis: int) -> Any:
    return op.Reshape(op.LogSoftmax(op.Flatten(x, axis=axis), axis=-1), op.Shape(x))
