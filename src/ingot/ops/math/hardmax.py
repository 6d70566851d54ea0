"""Hardmax: one at the first maximum along an axis, zero elsewhere."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.precision import widened
from ingot.ops.older import rank_of
from ingot.ops.reduction.places import place_of
from ingot.ops.shapes import axis_of
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS)]
T11: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Hardmax", since=13)
def hardmax(x: T, /, *, axis: int = -1) -> T:
    """One at the first place of the largest element along `axis`, zero at all others; NaN counts as largest."""
    axis = axis_of(axis, x.ndim)
    result = np.zeros(x.shape, x.dtype)
    if x.size:
        first = np.argmax(widened(x), axis, keepdims=True)
        np.put_along_axis(result, first, np.ones((), x.dtype), axis)
    return result


@hardmax.infer
def infer(x: Fact, /, *, axis: int) -> Inferred:
    if x.rank is not None:
        axis_of(axis, x.rank)
    return x.type


@hardmax.lower
def lower(x: prim.Tensor, /, *, axis: int) -> prim.Tensor:
    axis = axis_of(axis, x.rank)
    return prim.cast(prim.apply("equal", prim.iota(x.shape, axis), place_of(x, axis, "maximum")), x.dtype)


@hardmax.downgrade
def downgrade(op: Any, x: Value, /, *, axis: int) -> Any:
    rank = rank_of(x)
    axis = axis_of(axis, rank)
    if axis == rank - 1:
        return op.Hardmax(x, axis=axis)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]  # the old operator takes all axes from one on as one
    return op.Transpose(op.Hardmax(op.Transpose(x, perm=order), axis=rank - 1), perm=order)


@operator("Hardmax", since=(1, 11))
def hardmax_11(x: T11, /, *, axis: int = 1) -> T11:
    """The same over all axes from `axis` on, taken as one."""
    raise superseded()


@hardmax_11.upgrade
def upgrade(op: Any, x: Value, /, *, axis: int) -> Any:
    return op.Reshape(op.Hardmax(op.Flatten(x, axis=axis), axis=-1), op.Shape(x))
