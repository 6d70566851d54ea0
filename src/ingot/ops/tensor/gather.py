"""Gather: slices along an axis, picked by index."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from ingot.dtypes import Array
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.shapes import axis_of
from ingot.ops.tensor.follow import cells, followed, numbers, tensor, through
from ingot.ops.tensor.indices import from_front
from ingot.ops.typesets import ALL, ALL_3, INDICES, types

T: TypeAlias = Annotated[Array, types("T", {1: ALL_3, 13: ALL})]
Tind: TypeAlias = Annotated[Array, types("Tind", INDICES)]


@operator("Gather", since=(1, 11, 13))
def gather(data: T, indices: Tind, /, *, axis: int = 0) -> T:
    """The slices of `data` at `indices` along `axis`, which the axes of `indices` replace; InputError outside."""
    axis = axis_of(axis, data.ndim)
    picked = from_front(indices, data.shape[axis], axis)
    shape = affordable(data.shape[:axis] + indices.shape + data.shape[axis + 1 :], data.dtype)
    return data.take(picked.reshape(-1), axis).reshape(shape)


@gather.infer
def infer(data: Fact, indices: Fact, /, *, axis: int) -> Inferred:
    if data.shape is None:
        return tensor(data.dtype, None)
    at = axis_of(axis, len(data.shape))
    if indices.shape is None:
        return tensor(data.dtype, None)

    return followed(
        data.dtype,
        data.shape[:at] + indices.shape + data.shape[at + 1 :],
        lambda: through(gather, cells(data), numbers(indices), axis=axis),
    )
