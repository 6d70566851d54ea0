"""GatherElements: single elements picked by their index along one axis."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import rank_of
from ingot.ops.shapes import axis_of
from ingot.ops.tensor import places
from ingot.ops.tensor.follow import cells, followed, numbers, through
from ingot.ops.tensor.indices import from_front, places_of, require_places
from ingot.ops.tensor.moved import from_front as counted_from_front
from ingot.ops.tensor.moved import in_own_type, own_place
from ingot.ops.typesets import ALL, ALL_3, INDICES, types

T: TypeAlias = Annotated[Array, types("T", {11: ALL_3, 13: ALL})]
Tind: TypeAlias = Annotated[Array, types("Tind", INDICES)]


@operator("GatherElements", since=(11, 13))
def gather_elements(data: T, indices: Tind, /, *, axis: int = 0) -> T:
    """For each place of `indices`, the element of `data` at that place, moved along `axis` to the index there."""
    axis = _same_rank(data.ndim, indices.ndim, axis)
    require_places(data.shape, indices.shape, axis)
    return data[places_of(indices.shape, axis, from_front(indices, data.shape[axis], axis))]


@gather_elements.infer
def infer(data: Fact, indices: Fact, /, *, axis: int) -> Inferred:
    if data.rank is not None and indices.rank is not None:
        _same_rank(data.rank, indices.rank, axis)

    return followed(
        data.dtype, indices.shape, lambda: through(gather_elements, cells(data), numbers(indices), axis=axis)
    )


@gather_elements.lower
def lower(
    data: prim.Tensor, indices: prim.Tensor, /, *, axis: int, facts: tuple[Fact, ...], inferred: tuple[Fact, ...]
) -> prim.Tensor:
    axis = axis_of(axis, data.rank)
    at: list[prim.Tensor | int] = [own_place(indices.shape, data.shape, other) for other in range(data.rank)]
    at[axis] = counted_from_front(indices, data.shape[axis], facts[1])
    return prim.gather(in_own_type(data, inferred[0]), at, indices.shape)


@gather_elements.downgrade
def downgrade(op: Any, data: Value, indices: Value, /, *, axis: int, version: int) -> Any:
    """One Gather from the elements in a row, by the sum of the coordinates times how far apart they lie."""
    if version >= gather_elements.since[0]:
        raise UnsupportedError("it does not take this element type")
    rank = rank_of(data)
    axis = axis_of(axis, rank)
    sizes = [places.size(op, data, each) for each in range(rank)]
    at = places.from_front(op, indices, sizes[axis])
    if rank == 1:
        return op.Gather(data, at, axis=0)
    place: Any = None
    for each in range(rank):
        coordinate = at
        if each != axis:
            others = [other for other in range(rank) if other != each]
            coordinate = places.spread(op, places.counted(op, indices, each, version), others, version)
        term = places.scaled(op, coordinate, places.times(op, sizes[each + 1 :]))
        place = term if place is None else op.Add(place, term)
    return op.Gather(op.Reshape(data, [-1]), place, axis=0)


def _same_rank(data: int, indices: int, axis: int) -> int:
    if data != indices:
        raise ShapeError(f"data has {data} axes, indices have {indices}")
    return axis_of(axis, data)
