"""OneHot: an index as a row that is on in one place."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.shapes import axis_of, require_rank
from ingot.ops.tensor.follow import scalar, tensor
from ingot.ops.typesets import ALL, ALL_3, NUMERIC_3, types

T1: TypeAlias = Annotated[Array, types("T1", NUMERIC_3)]
T2: TypeAlias = Annotated[Array, types("T2", NUMERIC_3)]
T3: TypeAlias = Annotated[Array, types("T3", {9: ALL_3, 28: ALL})]


@operator("OneHot", since=(9, 11, 28))
def one_hot(indices: T1, depth: T2, values: T3, /, *, axis: int = -1) -> T3:
    """A new axis of `depth` elements: `values[1]` at the index, `values[0]` elsewhere.

    Negative indices count from the end; those outside are on nowhere.
    """
    if values.shape != (2,):
        raise ShapeError(f"values have shape {list(values.shape)}, expected [2]")
    if depth.size != 1 or depth.ndim > 1:
        raise ShapeError(f"depth has shape {list(depth.shape)}, expected one element")
    size = float(depth.reshape(-1)[0])
    if not 0 <= size < 2**40:
        raise InputError(f"depth is {size:g}")
    axis = axis_of(axis, indices.ndim + 1)
    count = int(size)
    shape = affordable((*indices.shape[:axis], count, *indices.shape[axis:]), values.dtype)
    at = np.expand_dims(_whole(indices), axis)
    places = np.arange(count, dtype=np.int64).reshape((count,) + (1,) * (indices.ndim - axis))
    on = (at == places) | (at == places - count)
    return np.asarray(np.where(on, values[1], values[0]), values.dtype).reshape(shape)


@one_hot.infer
def infer(indices: Fact, depth: Fact, values: Fact, /, *, axis: int) -> Inferred:
    require_rank(values, 1, "values")
    if values.shape is not None and isinstance(values.shape[0], int) and values.shape[0] != 2:
        raise ShapeError(f"values have {values.shape[0]} elements, expected 2")
    if indices.shape is None:
        return tensor(values.dtype, None)
    axis = axis_of(axis, len(indices.shape) + 1)
    return tensor(values.dtype, (*indices.shape[:axis], _depth(depth), *indices.shape[axis:]))


def _depth(depth: Fact) -> Dim | None:
    found = scalar(depth)
    if found is None and depth.constant is not None and depth.constant.is_loaded and depth.constant.size == 1:
        number = float(depth.constant.item())
        found = int(number) if abs(number) < 2**62 else None
    if isinstance(found, int) and found < 0:
        raise ShapeError(f"depth is {found}")
    return found


def _whole(indices: Array) -> Array:
    """Indices as int64; what no int64 holds is outside of every depth, and so is NaN."""
    if indices.dtype.kind == "f":
        wide = np.trunc(indices.astype(np.float64))
        return np.where(np.abs(wide) < 2.0**62, wide, 2.0**62).astype(np.int64)
    if indices.dtype == np.uint64:
        return np.minimum(indices, np.uint64(2**62)).astype(np.int64)
    return indices.astype(np.int64)
