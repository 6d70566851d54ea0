"""GatherND: slices picked by the first indices of several axes at once."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ir.types import Shape
from ingot.ir.value import Value
from ingot.ops.define import Since, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.older import rank_of, shape_of
from ingot.ops.shapes import unify
from ingot.ops.tensor import places
from ingot.ops.tensor.follow import cells, followed, numbers, tensor, through
from ingot.ops.tensor.indices import from_front
from ingot.ops.tensor.moved import along, coordinates, in_own_type, sizes_of
from ingot.ops.typesets import ALL, ALL_3, INT64, types

T: TypeAlias = Annotated[Array, types("T", {11: ALL_3, 13: ALL})]
Indices: TypeAlias = Annotated[Array, types("", INT64)]


@operator("GatherND", since=(11, 12, 13))
def gather_nd(data: T, indices: Indices, /, *, batch_dims: Annotated[int, Since(12)] = 0) -> T:
    """Along its last axis `indices` holds coordinates; for each, the slice of `data` there.

    The first `batch_dims` axes are common to both: coordinates pick from the part of `data` at the same place.
    """
    shape = _result(data.shape, indices.shape, batch_dims)
    affordable(shape, data.dtype)  # type: ignore[arg-type]
    depth = indices.shape[-1]
    common = np.ix_(*map(np.arange, data.shape[:batch_dims])) if batch_dims else ()
    places = indices.shape[batch_dims:-1]
    at: list[Any] = [axis.reshape(axis.shape + (1,) * len(places)) for axis in common]
    for position in range(depth):
        axis = batch_dims + position
        at.append(from_front(indices[..., position], data.shape[axis], axis))
    index: tuple[Any, ...] = (*at, ...)
    slices: Array = data[index]
    if depth and slices.shape == shape:
        return slices
    return np.broadcast_to(slices, shape).copy()  # type: ignore[arg-type]


@gather_nd.infer
def infer(data: Fact, indices: Fact, /, *, batch_dims: int) -> Inferred:
    if data.shape is None or indices.shape is None or (indices.shape and not isinstance(indices.shape[-1], int)):
        return tensor(data.dtype, None)

    return followed(
        data.dtype,
        _result(data.shape, indices.shape, batch_dims),
        lambda: through(gather_nd, cells(data), numbers(indices), batch_dims=batch_dims),
    )


@gather_nd.lower
def lower(
    data: prim.Tensor, indices: prim.Tensor, /, *, batch_dims: int, facts: tuple[Fact, ...], inferred: tuple[Fact, ...]
) -> prim.Tensor:
    if data.shape[:batch_dims] != indices.shape[:batch_dims]:
        raise prim.Refused("common axes that are not known to be equal")
    depth = _known_depth(indices.shape)
    if depth == 0:
        between = range(batch_dims, indices.rank - 1)
        return prim.expand(prim.unsqueeze(in_own_type(data, inferred[0]), between), sizes_of(inferred[0]))
    rest = range(indices.rank - 1, indices.rank - 1 + data.rank - batch_dims - depth)
    within = data.shape[batch_dims : batch_dims + depth]
    picked = [along(each, len(rest)) for each in coordinates(indices, within, facts[1])]
    return prim.gather(in_own_type(data, inferred[0]), [*range(batch_dims), *picked, *rest], sizes_of(inferred[0]))


def _known_depth(indices: tuple[Dim, ...]) -> int:
    depth = indices[-1]
    if not isinstance(depth, int):
        raise prim.Refused(f"coordinates of {depth} axes")
    return depth


@gather_nd.downgrade
def downgrade(op: Any, data: Value, indices: Value, /, *, batch_dims: int, version: int) -> Any:
    depth = shape_of(indices)[-1]
    if version >= 12:
        raise UnsupportedError("it does not take this element type")
    if version >= gather_nd.since[0]:
        return op.GatherND(data, _with_common(op, data, indices, batch_dims, version))
    if not isinstance(depth, int) or not depth:
        raise UnsupportedError(f"how many coordinates '{indices.name}' holds is not known, or none")
    return op.Gather(places.rows(op, data, depth), places.flat_places(op, data, indices, depth), axis=0)


def _with_common(op: Any, data: Value, indices: Value, count: int, version: int) -> Any:
    """The coordinates with those of the common axes before them."""
    if not count:
        raise UnsupportedError("it does not take this element type")
    rank = rank_of(indices)
    wanted = op.Concat(op.Slice(op.Shape(indices), [0], [rank - 1], [0]), [1], axis=0)
    common = []
    for axis in range(count):
        others = [each for each in range(rank) if each != axis]
        common.append(op.Expand(places.spread(op, places.counted(op, data, axis, version), others, version), wanted))
    return op.Concat(*common, indices, axis=rank - 1)


def _result(data: Shape, indices: Shape, batch_dims: int) -> Shape:
    if not data or not indices:
        raise ShapeError("data and indices need an axis each")
    if not 0 <= batch_dims < min(len(data), len(indices)):
        raise CheckError(f"batch_dims is {batch_dims}, data has {len(data)} axes and indices have {len(indices)}")
    depth = indices[-1]
    if isinstance(depth, int) and batch_dims + depth > len(data):
        raise ShapeError(f"coordinates of {depth} after {batch_dims} common axes, data has {len(data)}")
    assert isinstance(depth, int)
    if not batch_dims:
        return indices[:-1] + data[depth:]
    common = tuple(
        unify(a, b, f"sizes of common axis {at}")
        for at, (a, b) in enumerate(zip(data[:batch_dims], indices[:batch_dims], strict=True))
    )
    return common + indices[batch_dims:-1] + data[batch_dims + depth :]
