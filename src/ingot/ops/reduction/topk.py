"""TopK: the largest or smallest few elements along one axis, with their places."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, maximum
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import dtype_of, integers_of, rank_of
from ingot.ops.reduction.places import place_of
from ingot.ops.shapes import axis_of
from ingot.ops.typesets import FLOATS_3, INT64, NUMERIC, NUMERIC_3, types
from ingot.prim.functions import FLOATING

T: TypeAlias = Annotated[Array, types("T", {10: FLOATS_3, 11: NUMERIC_3, 24: NUMERIC})]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]
Indices: TypeAlias = Annotated[Array, types("I", INT64)]
Count: TypeAlias = Annotated[Array, types("", INT64)]


@operator("TopK", since=(10, 11, 24))
def top_k(
    x: T, k: Count, /, *, axis: int = -1, largest: Annotated[int, Since(11)] = 1, sorted: Annotated[int, Since(11)] = 1
) -> tuple[T, Indices]:
    """The `k` largest or smallest elements along `axis` and their indices, best first, then the lower index.

    NaN is above all numbers. The order is the same where none is asked for. InputError if there are fewer than `k`.
    """
    axis = axis_of(axis, x.ndim)
    if k.size != 1:
        raise ShapeError(f"k has {k.size} elements, expected 1")
    many, size = int(k.reshape(-1)[0]), x.shape[axis]
    if not 0 <= many <= size:
        raise InputError(f"k is {many}, axis {axis} has {size} elements")
    keys = x if x.dtype.kind in "iuf" else x.astype(np.float32)
    if 0 < _FEW * many <= size and keys.size >= _MANY and not (keys.dtype.kind == "f" and np.isnan(keys).any()):
        rows = np.moveaxis(keys, axis, -1)
        places = _places_of_few(np.ascontiguousarray(rows).reshape(-1, size), many, bool(largest))
        indices = np.ascontiguousarray(np.moveaxis(places.reshape(*rows.shape[:-1], many), -1, axis))
    else:
        order = _sorted_places(keys, axis, bool(largest))
        indices = np.take(order, np.arange(many), axis=axis).astype(np.int64, copy=False)
    return np.take_along_axis(x, indices, axis=axis), indices


_MANY = 1 << 13
"""Elements from which on the passes of a partition are worth their calls."""

_FEW = 4
"""How many times longer a row is than what is asked of it from which on it is partitioned instead of sorted."""


def _sorted_places(keys: Array, axis: int, largest: bool) -> Array:
    """The places of all elements along an axis, best first, then the lower."""
    if not largest:
        return np.argsort(keys, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
    places: Array = keys.shape[axis] - 1 - np.flip(backwards, axis)
    return places


def _places_of_few(rows: Array, many: int, largest: bool) -> Array:
    """The places of the `many` best elements of each row, none of which is NaN, best first, then the lower."""
    size = rows.shape[1]
    last = size - many if largest else many - 1
    worst = np.partition(rows, last, axis=1)[:, last, np.newaxis]  # that is chosen
    chosen = rows > worst if largest else rows < worst
    alike = rows == worst
    missing = many - np.count_nonzero(chosen, axis=1, keepdims=True)
    if (np.count_nonzero(alike, axis=1, keepdims=True) > missing).any():
        alike &= np.less_equal(np.cumsum(alike, axis=1, dtype=np.int64), missing)
    chosen |= alike
    places = np.flatnonzero(chosen).reshape(len(rows), many) % size
    best = _sorted_places(np.take_along_axis(rows, places, axis=1), 1, largest)
    return np.take_along_axis(places, best, axis=1)


@top_k.infer
def infer(x: Fact, k: Fact, /, *, axis: int, largest: int, sorted: int) -> tuple[Inferred, Inferred]:
    shape = x.shape
    if shape is not None:
        axis = axis_of(axis, len(shape))
        many: Dim | None = k.elements[0] if k.elements is not None and len(k.elements) == 1 else None
        size = shape[axis]
        if isinstance(many, int) and (many < 0 or (isinstance(size, int) and many > size)):
            raise ShapeError(f"k is {many}, axis {axis} has {'?' if size is None else size} elements")
        shape = (*shape[:axis], many, *shape[axis + 1 :])
    values = None if x.dtype is None else TensorType(x.dtype, shape)
    return values, TensorType(DType.INT64, shape)


top_k.sized_by("k")


@top_k.lower
def lower(
    x: prim.Tensor, k: prim.Tensor, /, *, axis: int, largest: int, sorted: int, facts: tuple[Fact, ...]
) -> tuple[prim.Tensor, prim.Tensor]:
    """Places in order along the last axis, and the elements there."""
    axis = axis_of(axis, x.rank)
    (many,), size = facts[1].elements or (None,), x.shape[axis]
    if many is None:
        raise prim.Refused("a statically unknown number of elements")
    if many == 1 and (largest or x.dtype not in FLOATING):  # of floats, NaN is the smallest to place_of too
        return _at(x, axis, place_of(x, axis, "maximum" if largest else "minimum"))
    x = prim.assume_shape(x, (*x.shape[:axis], maximum(size, many), *x.shape[axis + 1 :]))
    order = [*(each for each in range(x.rank) if each != axis), axis]
    places = prim.order(prim.permute(x, order), many, descending=bool(largest))
    return _at(x, axis, prim.permute(places, [order.index(each) for each in range(x.rank)]))


def _at(x: prim.Tensor, axis: int, places: prim.Tensor) -> tuple[prim.Tensor, prim.Tensor]:
    at = [places if each == axis else each for each in range(x.rank)]
    return prim.gather(x, at, places.shape, in_range=True), places


@top_k.downgrade
def downgrade(op: Any, x: Value, k: Value, /, *, axis: int, largest: int, sorted: int, version: int) -> Any:
    dtype = dtype_of(x)
    along = None if axis == -1 else axis_of(axis, rank_of(x))  # by default, and before 11 only then, the last
    if version < 10:
        return op.TopK(x, k=integers_of(k)[0], axis=along, outputs=2)
    if version >= 11:
        wide = op.Cast(x, to=int(DType.FLOAT32))
        values, places = op.TopK(wide, k, axis=axis, largest=largest, sorted=sorted, outputs=2)
        return op.Cast(values, to=int(dtype)), places
    if dtype.is_integer and dtype.bits > 32:
        raise UnsupportedError(f"{dtype} numbers cannot be put in order, and no float type holds them all")
    keys = op.Cast(x, to=int(DType.FLOAT64)) if dtype.is_integer else x
    values, places = op.TopK(keys if largest else op.Neg(keys), k, axis=along, outputs=2)
    values = values if largest else op.Neg(values)
    return op.Cast(values, to=int(dtype)) if dtype.is_integer else values, places


@operator("TopK", since=1)
def top_k_1(x: T1, /, *, k: int, axis: int = -1) -> tuple[T1, Indices]:
    """The largest, how many being an attribute."""
    raise superseded()


@top_k_1.upgrade
def upgrade(op: Any, x: Value, /, *, k: int, axis: int) -> Any:
    return op.TopK(x, [k], axis=axis, outputs=2)
