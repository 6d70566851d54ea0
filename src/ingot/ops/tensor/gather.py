"""Gather: slices along an axis, picked by index."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.shapes import axis_of
from ingot.ops.tensor.follow import cells, followed, numbers, tensor, through
from ingot.ops.tensor.indices import from_front
from ingot.ops.tensor.moved import along, in_own_type, sizes_of
from ingot.ops.tensor.moved import from_front as counted_from_front
from ingot.ops.typesets import ALL, ALL_3, INDICES, types
from ingot.prim.tensor import Constant

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


@gather.lower
def lower(
    data: prim.Tensor, indices: prim.Tensor, /, *, axis: int, facts: tuple[Fact, ...], inferred: tuple[Fact, ...]
) -> prim.Tensor:
    """Indices that are known and equally far apart make a slice, which is a view."""
    data = in_own_type(data, inferred[0])
    shape = sizes_of(inferred[0])
    axis = axis_of(axis, data.rank)
    places = counted_from_front(indices, data.shape[axis], facts[1])
    run = _run(places, data.shape[axis])
    if run is not None:
        begins, steps = [0] * data.rank, [1] * data.rank
        begins[axis], steps[axis] = run
        sizes = (*data.shape[:axis], prim.count(places.shape), *data.shape[axis + 1 :])
        return prim.reshape(prim.slice_(data, begins, sizes, steps), shape)
    before = range(axis)
    behind = range(axis + places.rank, axis + places.rank + data.rank - axis - 1)
    return prim.gather(data, [*before, along(places, len(behind)), *behind], shape)


def _run(places: prim.Tensor, size: Dim) -> tuple[int, int] | None:
    """The first of known indices and the distance between them, if it is always the same and none is outside."""
    if not isinstance(places, Constant) or not isinstance(size, int):
        return None
    array = places.array.reshape(-1)
    distances = np.unique(np.diff(array))
    if not array.size or array.min() < 0 or array.max() >= size or distances.size > 1 or 0 in distances:
        return None
    return int(array[0]), int(distances[0]) if distances.size else 1
