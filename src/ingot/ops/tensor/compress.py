"""Compress: the slices along an axis that a mask selects."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import InputError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import axis_of, require_rank
from ingot.ops.tensor.carriers import carried
from ingot.ops.tensor.follow import tensor
from ingot.ops.typesets import ALL, ALL_3, BOOL, types

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


@compress.downgrade
def downgrade(op: Any, x: Value, condition: Value, /, *, axis: int | None, version: int) -> Any:
    if version < compress.since[0]:
        raise UnsupportedError("how many slices a condition selects shows only when the model runs")
    return carried(op, lambda x: op.Compress(x, condition, axis=axis), x, supported=ALL_3, version=version)
