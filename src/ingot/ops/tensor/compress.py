"""Compress: the slices along an axis that a mask selects."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, maximum
from ingot.dtypes import Array
from ingot.errors import InputError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import axis_of, require_rank
from ingot.ops.tensor.carriers import carried
from ingot.ops.tensor.computed import places_of
from ingot.ops.tensor.follow import tensor
from ingot.ops.tensor.moved import along, in_own_type
from ingot.ops.typesets import ALL, ALL_3, BOOL, types
from ingot.prim.tensor import Constant, SizeReader

T: TypeAlias = Annotated[Array, types("T", {9: ALL_3, 28: ALL})]
T1: TypeAlias = Annotated[Array, types("T1", BOOL)]


@operator("Compress", since=(9, 11, 28))
def compress(x: T, condition: T1, /, *, axis: int | None = None) -> T:
    """The slices of `x` along `axis`, or its elements in order if there is none, where `condition` is true.

    A condition shorter than the axis selects nothing beyond its end; InputError if it is longer.
    """
    if condition.ndim != 1:
        raise InputError(f"condition has {condition.ndim} axes, expected 1")
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_of(axis, x.ndim)
    if condition.size > x.shape[axis]:
        raise InputError(f"condition has {condition.size} elements for an axis of {x.shape[axis]}")
    return x.take(np.flatnonzero(condition), axis)


@compress.infer
def infer(x: Fact, condition: Fact, /, *, axis: int | None) -> Inferred:
    require_rank(condition, 1, "condition")
    count: Dim | None = None
    if condition.constant is not None and condition.constant.is_loaded:
        count = int(np.count_nonzero(condition.constant.numpy()))
    if axis is None:
        return tensor(x.dtype, (count,))
    if x.shape is None:
        return tensor(x.dtype, None)
    axis = axis_of(axis, len(x.shape))
    return tensor(x.dtype, (*x.shape[:axis], count, *x.shape[axis + 1 :]))


@compress.lower
def lower(
    x: prim.Tensor,
    condition: prim.Tensor,
    /,
    *,
    axis: int | None,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    x = in_own_type(x, inferred[0])
    if axis is None:
        x, axis = prim.reshape(x, (prim.count(x.shape),)), 0
    axis = axis_of(axis, x.rank)
    x = prim.assume_shape(
        x, tuple(maximum(size, condition.shape[0]) if each == axis else size for each, size in enumerate(x.shape))
    )
    if isinstance(condition, Constant):
        places = prim.constant(np.flatnonzero(condition.array))
    else:
        places = places_of(condition, read)
    shape = (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])
    at = [*range(axis), along(places, x.rank - axis - 1), *range(axis + 1, x.rank)]
    return prim.gather(x, at, shape, in_range=True)


@compress.downgrade
def downgrade(op: Any, x: Value, condition: Value, /, *, axis: int | None, version: int) -> Any:
    if version < compress.since[0]:
        raise UnsupportedError("how many slices a condition selects shows only when the model runs")
    return carried(op, lambda x: op.Compress(x, condition, axis=axis), x, supported=ALL_3, version=version)
