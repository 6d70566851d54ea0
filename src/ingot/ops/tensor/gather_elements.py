"""GatherElements: single elements picked by their index along one axis."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import axis_of
from ingot.ops.tensor.follow import cells, followed, numbers, through
from ingot.ops.tensor.indices import from_front
from ingot.ops.typesets import ALL, ALL_3, INDICES, types

T: TypeAlias = Annotated[Array, types("T", {11: ALL_3, 13: ALL})]
Tind: TypeAlias = Annotated[Array, types("Tind", INDICES)]


@operator("GatherElements", since=(11, 13))
def gather_elements(data: T, indices: Tind, /, *, axis: int = 0) -> T:
    """For each place of `indices`, the element of `data` at that place, moved along `axis` to the index there."""
    axis = _same_rank(data.ndim, indices.ndim, axis)
    for other, (most, size) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if other != axis and size > most:
            raise ShapeError(f"indices have {size} elements along axis {other}, data has {most}")
    picked = from_front(indices, data.shape[axis], axis)
    within = data[tuple(slice(size) if at != axis else slice(None) for at, size in enumerate(indices.shape))]
    return np.take_along_axis(within, picked, axis)


@gather_elements.infer
def infer(data: Fact, indices: Fact, /, *, axis: int) -> Inferred:
    if data.rank is not None and indices.rank is not None:
        _same_rank(data.rank, indices.rank, axis)

    return followed(
        data.dtype, indices.shape, lambda: through(gather_elements, cells(data), numbers(indices), axis=axis)
    )


def _same_rank(data: int, indices: int, axis: int) -> int:
    if data != indices:
        raise ShapeError(f"data has {data} axes, indices have {indices}")
    return axis_of(axis, data)
