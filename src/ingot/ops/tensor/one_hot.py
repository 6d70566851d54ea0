"""OneHot: an index as a row that is on in one place."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.older import constant_of, dtype_of, rank_of
from ingot.ops.shapes import axis_of, is_natural, require_rank
from ingot.ops.tensor.carriers import carried
from ingot.ops.tensor.follow import scalar, tensor
from ingot.ops.tensor.moved import in_own_type, sizes_of
from ingot.ops.typesets import ALL, ALL_3, NUMERIC_3, types
from ingot.prim.functions import FLOATING

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


one_hot.sized_by("depth")


@one_hot.lower
def lower(
    indices: prim.Tensor, depth: prim.Tensor, values: prim.Tensor, /, *, axis: int, inferred: tuple[Fact, ...]
) -> prim.Tensor:
    """Refused where the depth may turn out to be negative."""
    shape = sizes_of(inferred[0])
    axis = axis_of(axis, indices.rank + 1)
    if not is_natural(shape[axis]):
        raise prim.Refused(f"a depth of {shape[axis]}, which may be negative")
    at = prim.unsqueeze(_whole_in_primitives(indices), [axis])
    places = prim.iota(shape, axis)
    on = prim.apply("or", prim.apply("equal", at, places), prim.apply("equal", at, places - prim.size(shape[axis])))
    off_value, on_value = (
        prim.reshape(prim.slice_(in_own_type(values, inferred[0]), (index,), (1,)), ()) for index in (0, 1)
    )
    return prim.where(on, on_value, off_value)


def _whole_in_primitives(indices: prim.Tensor) -> prim.Tensor:
    if indices.dtype in FLOATING:
        near = prim.apply("less", prim.apply("absolute", indices), 2.0**62)
        return prim.where(near, prim.cast(prim.where(near, indices, 0.0), DType.INT64), 1 << 62)
    if indices.dtype is DType.UINT64:
        indices = prim.apply("minimum", indices, 1 << 62)
    return prim.cast(indices, DType.INT64)


@one_hot.downgrade
def downgrade(op: Any, indices: Value, depth: Value, values: Value, /, *, axis: int, version: int) -> Any:
    if version < one_hot.since[0]:
        return op.Gather(values, _on(op, indices, _constant_depth(depth), axis), axis=0)
    return carried(
        op, lambda values: op.OneHot(indices, depth, values, axis=axis), values, supported=ALL_3, version=version
    )


def _on(op: Any, indices: Value, depth: int, axis: int) -> Any:
    """1 where a place is on, else 0."""
    if dtype_of(indices) is DType.UINT64:
        raise UnsupportedError(f"'{indices.name}' is uint64, which no comparison takes there")
    rank = rank_of(indices) + 1
    axis = axis_of(axis, rank)
    at = op.Unsqueeze(op.Cast(indices, to=int(DType.INT64)), axes=[axis])
    places = np.arange(depth, dtype=np.int64).reshape((-1,) + (1,) * (rank - 1 - axis))
    return op.Cast(op.Or(op.Equal(at, places), op.Equal(at, places - depth)), to=int(DType.INT64))


def _constant_depth(depth: Value) -> int:
    known = constant_of(depth)
    if known is None:
        raise UnsupportedError(f"'{depth.name}' is computed while the model runs, and nothing there counts to it")
    return int(known.reshape(-1)[0])


def _depth(depth: Fact) -> Dim | None:
    size = scalar(depth)
    if size is None and depth.constant is not None and depth.constant.is_loaded and depth.constant.size == 1:
        number = float(depth.constant.item())
        size = int(number) if abs(number) < 2**62 else None
    if isinstance(size, int) and size < 0:
        raise ShapeError(f"depth is {size}")
    return size


def _whole(indices: Array) -> Array:
    """Indices as int64; what no int64 holds is outside of every depth, and so is NaN."""
    if indices.dtype.kind == "f":
        wide = np.trunc(indices.astype(np.float64))
        return np.where(np.abs(wide) < 2.0**62, wide, 2.0**62).astype(np.int64)
    if indices.dtype == np.uint64:
        return np.minimum(indices, np.uint64(2**62)).astype(np.int64)
    return indices.astype(np.int64)
