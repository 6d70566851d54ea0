"""ScatterND: slices put in by the first indices of several axes at once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ir.types import Shape
from ingot.ops.define import Since, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import unify
from ingot.ops.tensor.follow import cells, followed, numbers, tensor, through
from ingot.ops.tensor.indices import from_front
from ingot.ops.tensor.reduction import check_reduction, scattered
from ingot.ops.typesets import ALL, ALL_3, INT64, types

T: TypeAlias = Annotated[Array, types("T", {11: ALL_3, 13: ALL})]
Indices: TypeAlias = Annotated[Array, types("", INT64)]


@operator("ScatterND", since=(11, 13, 16, 18))
def scatter_nd(data: T, indices: Indices, updates: T, /, *, reduction: Annotated[str, Since(16)] = "none") -> T:
    """`data`, with a slice of `updates` put in at each of the coordinates along the last axis of `indices`.

    A `reduction` (add, mul, max, min) combines it with what is there. Without one, coordinates should not meet.
    """
    expected = _expected(data.shape, indices.shape)
    if updates.shape != expected:
        raise ShapeError(f"updates have shape {list(updates.shape)}, expected {list(expected)}")
    depth = indices.shape[-1]
    at = tuple(from_front(indices[..., axis], data.shape[axis], axis) for axis in range(depth))
    if depth == 0:  # each slice is the whole of `data`
        flat = updates.reshape(-1, *data.shape)
        result = data
        for update in flat:
            result = scattered(result, (...,), update, reduction)
        return result
    return scattered(data, at, updates, reduction)


@scatter_nd.infer
def infer(data: Fact, indices: Fact, updates: Fact, /, *, reduction: str) -> Inferred:
    check_reduction(reduction)
    if data.shape is not None and indices.shape and isinstance(indices.shape[-1], int) and updates.shape is not None:
        expected = _expected(data.shape, indices.shape)
        if len(expected) != len(updates.shape):
            raise ShapeError(f"updates have {len(updates.shape)} axes, expected {len(expected)}")
        for axis, (a, b) in enumerate(zip(expected, updates.shape, strict=True)):
            unify(a, b, f"sizes of axis {axis} of updates, expected and given,")

    if reduction != "none":
        return tensor(data.dtype, data.shape)
    return followed(data.dtype, data.shape, lambda: through(scatter_nd, cells(data), numbers(indices), cells(updates)))


def _expected(data: Shape, indices: Shape) -> Shape:
    if not data or not indices:
        raise ShapeError("data and indices need an axis each")
    depth = indices[-1]
    assert isinstance(depth, int)
    if depth > len(data):
        raise ShapeError(f"coordinates of {depth}, data has {len(data)} axes")
    return indices[:-1] + data[depth:]
