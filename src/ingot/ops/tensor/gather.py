"""Gather: slices along an axis, picked by index."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dataclass import dataclass
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
    """Known indices that are equally far apart make a slice, rows of such that are so windows: both are views."""
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
    grid = _grid(places, data.shape[axis])
    if grid is not None:
        return prim.reshape(_windows(data, axis, grid), shape)
    before = range(axis)
    behind = range(axis + places.rank, axis + places.rank + data.rank - axis - 1)
    return prim.gather(data, [*before, along(places, len(behind)), *behind], shape)


def _windows(data: prim.Tensor, axis: int, grid: _Grid) -> prim.Tensor:
    """The slices of `data` at the places of a grid, whose two axes are in the place of `axis`."""
    begins, sizes = [0] * data.rank, list(data.shape)
    begins[axis] = grid.first
    sizes[axis] = sum((count - 1) * step for count, step in zip(grid.counts, grid.steps, strict=True)) + 1
    reach = prim.slice_(data, begins, sizes, [1] * data.rank)
    long = int(grid.counts[1] > grid.counts[0])  # the axis along which windows begin: kernels run along long axes
    seen = prim.window(reach, [axis], [grid.counts[1 - long]], [grid.steps[long]], [grid.steps[1 - long]])
    order = list(range(data.rank))
    order.insert(axis + 1 - long, data.rank)
    return prim.permute(seen, order)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Places along two axes: a first one, and how many there are along each, so far apart."""

    first: int
    counts: tuple[int, int]
    steps: tuple[int, int]


def _grid(places: prim.Tensor, size: Dim) -> _Grid | None:
    """Known indices that grow steadily along two axes; None if they do not, or are outside of `size`."""
    if not isinstance(places, Constant) or not isinstance(size, int):
        return None
    array = places.array.reshape([count for count in places.array.shape if count != 1])
    if array.ndim != 2 or not array.size:
        return None
    first, steps = int(array[0, 0]), (int(array[1, 0] - array[0, 0]), int(array[0, 1] - array[0, 0]))
    steady = first + steps[0] * np.arange(array.shape[0])[:, None] + steps[1] * np.arange(array.shape[1])
    if min(steps) < 1 or first < 0 or steady[-1, -1] >= size or not np.array_equal(array, steady):
        return None
    return _Grid(first, (array.shape[0], array.shape[1]), steps)


def _run(places: prim.Tensor, size: Dim) -> tuple[int, int] | None:
    """The first of known indices and the distance between them, if it is always the same and none is outside."""
    if not isinstance(places, Constant) or not isinstance(size, int):
        return None
    array = places.array.reshape(-1)
    distances = np.unique(np.diff(array))
    if not array.size or array.min() < 0 or array.max() >= size or distances.size > 1 or 0 in distances:
        return None
    return int(array[0]), int(distances[0]) if distances.size else 1
