"""ScatterElements, once Scatter: single elements put in by their index along one axis."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import rank_of
from ingot.ops.shapes import axis_of, unify
from ingot.ops.tensor import places
from ingot.ops.tensor.follow import cells, followed, numbers, tensor, through
from ingot.ops.tensor.indices import from_front, places_of, require_places
from ingot.ops.tensor.moved import from_front as counted_from_front
from ingot.ops.tensor.moved import own_place
from ingot.ops.tensor.reduction import check_reduction, one_by_one, scattered, scattered_in_primitives
from ingot.ops.typesets import ALL, ALL_3, INDICES, types

T: TypeAlias = Annotated[Array, types("T", ALL)]
T16: TypeAlias = Annotated[Array, types("T", {11: ALL_3, 13: ALL})]
Tind: TypeAlias = Annotated[Array, types("Tind", INDICES)]
T9: TypeAlias = Annotated[Array, types("T", ALL_3)]


@operator("ScatterElements", since=18)
def scatter_elements(data: T, indices: Tind, updates: T, /, *, axis: int = 0, reduction: str = "none") -> T:
    """`data`, with each element of `updates` put in at its own place, moved along `axis` to the index there.

    A `reduction` (add, mul, max, min) combines it with what is there. Without one, indices should not meet.
    """
    axis = _check(data, indices, updates, axis)
    require_places(data.shape, indices.shape, axis)
    if indices.shape != updates.shape:
        raise ShapeError(f"indices have shape {list(indices.shape)}, updates {list(updates.shape)}")
    at = places_of(indices.shape, axis, from_front(indices, data.shape[axis], axis))
    return scattered(data, at, updates, reduction)


@scatter_elements.infer
def infer(data: Fact, indices: Fact, updates: Fact, /, *, axis: int, reduction: str) -> Inferred:
    check_reduction(reduction)
    if data.rank is not None and indices.rank is not None and updates.rank is not None:
        _check(data, indices, updates, axis)
        for a, b in zip(indices.shape or (), updates.shape or (), strict=True):
            unify(a, b, "sizes of indices and updates")

    if reduction != "none":
        return tensor(data.dtype, data.shape)
    return followed(
        data.dtype,
        data.shape,
        lambda: through(scatter_elements, cells(data), numbers(indices), cells(updates), axis=axis),
    )


@scatter_elements.lower
def lower(
    data: prim.Tensor,
    indices: prim.Tensor,
    updates: prim.Tensor,
    /,
    *,
    axis: int,
    reduction: str,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    updates = prim.assume_shape(updates, indices.shape)
    axis = axis_of(axis, data.rank)
    at: list[prim.Tensor | int] = [own_place(indices.shape, data.shape, other) for other in range(data.rank)]
    at[axis] = counted_from_front(indices, data.shape[axis], facts[1])
    return scattered_in_primitives(data, at, updates, reduction, inferred[0])


@scatter_elements.downgrade
def downgrade(op: Any, data: Value, indices: Value, updates: Value, /, *, axis: int, reduction: str) -> Any:
    if reduction not in ("max", "min"):
        stated = None if reduction == "none" else reduction
        return op.ScatterElements(data, indices, updates, axis=axis, reduction=stated)
    return _one_by_one(op, data, indices, updates, axis, reduction)


@operator("ScatterElements", since=(11, 13, 16))
def scatter_elements_16(
    data: T16, indices: Tind, updates: T16, /, *, axis: int = 0, reduction: Annotated[str, Since(16)] = "none"
) -> T16:
    """The same without reductions `max` and `min`."""
    raise superseded()


@scatter_elements_16.upgrade
def upgrade_16(op: Any, data: Value, indices: Value, updates: Value, /, *, axis: int, reduction: str) -> Any:
    return op.ScatterElements(data, indices, updates, axis=axis, reduction=reduction)


@scatter_elements_16.downgrade
def downgrade_16(
    op: Any, data: Value, indices: Value, updates: Value, /, *, axis: int, reduction: str, version: int
) -> Any:
    if version < scatter_elements_16.since[0]:
        axis = axis_of(axis, rank_of(data))
        return op.Scatter(data, places.from_front(op, indices, places.size(op, data, axis)), updates, axis=axis)
    if reduction == "none":
        raise UnsupportedError("it does not take this element type")
    return _one_by_one(op, data, indices, updates, axis, reduction)


def _one_by_one(op: Any, data: Value, indices: Value, updates: Value, axis: int, reduction: str) -> Any:
    return one_by_one(
        op,
        lambda there, at: op.GatherElements(there, at, axis=axis),
        lambda there, at, new: op.ScatterElements(there, at, new, axis=axis),
        (data, indices, updates),
        axis=axis_of(axis, rank_of(data)),
        reduction=reduction,
    )


@operator("Scatter", since=9)
def scatter_9(data: T9, indices: Tind, updates: T9, /, *, axis: int = 0) -> T9:
    """ScatterElements under its first name."""
    raise superseded()


@operator("Scatter", since=11, deprecated=True)
def scatter(data: T9, indices: Tind, updates: T9, /, *, axis: int = 0) -> T9:
    """ScatterElements under its first name, which files still use."""
    return np.asarray(scatter_elements.evaluate(data, indices, updates, axis=axis))


@scatter.infer
def infer_scatter(data: Fact, indices: Fact, updates: Fact, /, *, axis: int) -> Inferred:
    result: Inferred = infer(data, indices, updates, axis=axis, reduction="none")
    return result


@scatter_9.upgrade
@scatter.upgrade
def upgrade(op: Any, data: Value, indices: Value, updates: Value, /, *, axis: int) -> Any:
    return op.ScatterElements(data, indices, updates, axis=axis)


@scatter.downgrade
def downgrade_scatter(op: Any, data: Value, indices: Value, updates: Value, /, *, axis: int, version: int) -> Any:
    return downgrade_16(op, data, indices, updates, axis=axis, reduction="none", version=version)


def _check(data: Fact | Array, indices: Fact | Array, updates: Fact | Array, axis: int) -> int:
    """The axis from the front; ShapeError unless all three have the same number of axes."""
    ranks = [len(x.shape or ()) for x in (data, indices, updates)]
    if len(set(ranks)) > 1:
        raise ShapeError(f"data has {ranks[0]} axes, indices have {ranks[1]}, updates have {ranks[2]}")
    return axis_of(axis, ranks[0])
