"""ScatterND: slices put in by the first indices of several axes at once."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError, UnsupportedError
from ingot.ir.types import Shape, TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import rank_of, shape_of
from ingot.ops.shapes import unify
from ingot.ops.tensor import places
from ingot.ops.tensor.follow import cells, followed, numbers, tensor, through
from ingot.ops.tensor.indices import from_front
from ingot.ops.tensor.moved import along, coordinates
from ingot.ops.tensor.reduction import check_reduction, one_by_one, scattered, scattered_in_primitives
from ingot.ops.typesets import ALL, ALL_3, INT64, types

T: TypeAlias = Annotated[Array, types("T", ALL)]
T16: TypeAlias = Annotated[Array, types("T", {11: ALL_3, 13: ALL})]
Indices: TypeAlias = Annotated[Array, types("", INT64)]

_FAR = 2**31 - 1


@operator("ScatterND", since=18)
def scatter_nd(data: T, indices: Indices, updates: T, /, *, reduction: str = "none") -> T:
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
        result = data.copy()
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


@scatter_nd.lower
def lower(
    data: prim.Tensor,
    indices: prim.Tensor,
    updates: prim.Tensor,
    /,
    *,
    reduction: str,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    depth = indices.shape[-1]
    if not isinstance(depth, int):
        raise prim.Refused("coordinates of an unknown number of axes")
    updates = prim.assume_shape(updates, indices.shape[:-1] + data.shape[depth:])
    rest = range(indices.rank - 1, updates.rank)
    at = [along(each, len(rest)) for each in coordinates(indices, data.shape[:depth], facts[1])]
    return scattered_in_primitives(data, [*at, *rest], updates, reduction, inferred[0])


@scatter_nd.downgrade
def downgrade(op: Any, data: Value, indices: Value, updates: Value, /, *, reduction: str) -> Any:
    if reduction not in ("max", "min"):
        return op.ScatterND(data, indices, updates, reduction=None if reduction == "none" else reduction)
    return _one_by_one(op, data, indices, updates, reduction)


@operator("ScatterND", since=(11, 13, 16))
def scatter_nd_16(
    data: T16, indices: Indices, updates: T16, /, *, reduction: Annotated[str, Since(16)] = "none"
) -> T16:
    """The same without reductions `max` and `min`."""
    raise superseded()


@scatter_nd_16.upgrade
def upgrade_16(op: Any, data: Value, indices: Value, updates: Value, /, *, reduction: str) -> Any:
    return op.ScatterND(data, indices, updates, reduction=reduction)


@scatter_nd_16.downgrade
def downgrade_16(op: Any, data: Value, indices: Value, updates: Value, /, *, reduction: str, version: int) -> Any:
    if version < scatter_nd_16.since[0]:
        return _by_rows(op, data, indices, updates)
    if reduction == "none":
        raise UnsupportedError("it does not take this element type")
    return _one_by_one(op, data, indices, updates, reduction)


def _depth(indices: Value) -> int:
    depth = shape_of(indices)[-1]
    if not isinstance(depth, int) or not depth:
        raise UnsupportedError(f"how many coordinates '{indices.name}' holds is not known, or none")
    return depth


def _one_by_one(op: Any, data: Value, indices: Value, updates: Value, reduction: str) -> Any:
    depth = _depth(indices)
    at = op.Reshape(indices, [-1, depth])
    at.value.type = TensorType(DType.INT64, (None, depth))
    count = op.Shape(op.Squeeze(op.Slice(at, [0], [1], [1]), [1]))
    slices = op.Reshape(updates, op.Concat(count, op.Slice(op.Shape(data), [depth], [_FAR], [0]), axis=0), allowzero=1)
    return one_by_one(op, op.GatherND, op.ScatterND, (data, at.value, slices), axis=0, reduction=reduction)


def _by_rows(op: Any, data: Value, indices: Value, updates: Value) -> Any:
    """A Scatter of rows, the axes that the coordinates are for taken as one."""
    depth = _depth(indices)
    at = op.Reshape(places.flat_places(op, data, indices, depth), [-1])
    count = rank_of(indices) - 1
    new = places.rows(op, updates, count) if count else op.Unsqueeze(updates, axes=[0])
    others = rank_of(data) - depth
    if others:
        at = op.Expand(op.Unsqueeze(at, axes=list(range(1, 1 + others))), op.Shape(new))
    result = op.Scatter(places.rows(op, data, depth), at, new, axis=0)
    return result if depth == 1 else op.Reshape(result, op.Shape(data))


def _expected(data: Shape, indices: Shape) -> Shape:
    if not data or not indices:
        raise ShapeError("data and indices need an axis each")
    depth = indices[-1]
    assert isinstance(depth, int)
    if depth > len(data):
        raise ShapeError(f"coordinates of {depth}, data has {len(data)} axes")
    return indices[:-1] + data[depth:]
