"""ArgMax and ArgMin: where along one axis the largest and the smallest element is; NaN counts as either."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import lower_bound
from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.reduction.axes import without
from ingot.ops.shapes import axis_of, require_flags
from ingot.ops.typesets import INT64, NUMERIC, NUMERIC_3, types
from ingot.prim.functions import FLOATING

T: TypeAlias = Annotated[Array, types("T", {1: NUMERIC_3, 13: NUMERIC})]
Indices: TypeAlias = Annotated[Array, types("", INT64)]
Last: TypeAlias = Annotated[int, Since(12)]


@operator("ArgMax", since=(1, 11, 12, 13))
def arg_max(data: T, /, *, axis: int = 0, keepdims: int = 1, select_last_index: Last = 0) -> Indices:
    """The index of the largest element along `axis`: the first of equal ones, or the last. InputError if none is."""
    return _place(data, axis, keepdims, select_last_index, largest=True)


@operator("ArgMin", since=(1, 11, 12, 13))
def arg_min(data: T, /, *, axis: int = 0, keepdims: int = 1, select_last_index: Last = 0) -> Indices:
    """The index of the smallest element along `axis`: the first of equal ones, or the last. InputError if none is."""
    return _place(data, axis, keepdims, select_last_index, largest=False)


@arg_max.infer
@arg_min.infer
def infer(data: Fact, /, *, axis: int, keepdims: int, select_last_index: int) -> Inferred:
    require_flags(keepdims=keepdims, select_last_index=select_last_index)
    if data.shape is None:
        return TensorType(DType.INT64)
    return TensorType(DType.INT64, without(data.shape, [axis_of(axis, len(data.shape))], keepdims))


@arg_max.lower
def lower_arg_max(data: prim.Tensor, /, *, axis: int, keepdims: int, select_last_index: int) -> prim.Tensor:
    return _lowered(data, axis, keepdims, select_last_index, "maximum")


@arg_min.lower
def lower_arg_min(data: prim.Tensor, /, *, axis: int, keepdims: int, select_last_index: int) -> prim.Tensor:
    return _lowered(data, axis, keepdims, select_last_index, "minimum")


def place_of(x: prim.Tensor, axis: int, extreme: str, *, last: bool = False) -> prim.Tensor:
    """The index of the "maximum" or "minimum" along an axis, which stays with size one; of none, one out of range."""
    best = prim.apply("equal", x, prim.reduce_(extreme, x, [axis]))
    if x.dtype in FLOATING:
        best = prim.apply("or", best, prim.apply("is_nan", x))
    size, at = x.shape[axis], prim.iota(x.shape, axis)
    if isinstance(size, int) and size < np.iinfo(np.int32).max:
        at = prim.cast(at, DType.INT32)  # twice as many in a vector
    places = prim.where(best, at, -1 if last else np.iinfo(at.dtype.numpy).max)
    return prim.cast(prim.reduce_("maximum" if last else "minimum", places, [axis]), DType.INT64)


def _lowered(data: prim.Tensor, axis: int, keepdims: int, last: int, extreme: str) -> prim.Tensor:
    axis = axis_of(axis, data.rank)
    size = data.shape[axis]
    place = place_of(data, axis, extreme, last=bool(last))
    if (lower_bound(size) or 0) < 1:  # that there is nothing to choose from is found as an index out of range
        place = prim.gather(prim.iota((size,), 0), [place], place.shape)
    return place if keepdims else prim.squeeze(place, [axis])


@arg_max.downgrade
def downgrade_arg_max(
    op: Any, data: Value, /, *, axis: int, keepdims: int, select_last_index: int, version: int
) -> Any:
    return _older(op, op.ArgMax, data, axis, keepdims, select_last_index, version)


@arg_min.downgrade
def downgrade_arg_min(
    op: Any, data: Value, /, *, axis: int, keepdims: int, select_last_index: int, version: int
) -> Any:
    return _older(op, op.ArgMin, data, axis, keepdims, select_last_index, version)


def _older(op: Any, say: Any, data: Value, axis: int, keepdims: int, last: int, version: int) -> Any:
    """The last of equal ones is the first from the other end."""
    if version >= 12 or not last:
        return say(data, axis=axis, keepdims=keepdims, select_last_index=last or None)
    flipped = op.Slice(data, [-1], [np.iinfo(np.int64).min], [axis], [-1])
    size = op.Gather(op.Shape(data), np.asarray(axis, np.int64), axis=0)
    most = op.Sub(size, np.asarray(1, np.int64))
    return op.Sub(most, say(flipped, axis=axis, keepdims=keepdims))


def _place(data: Array, axis: int, keepdims: int, last: int, *, largest: bool) -> Array:
    axis = axis_of(axis, data.ndim)
    size = data.shape[axis]
    if size == 0:
        shape = [int(s) for s in np.delete(data.shape, axis)]
        if 0 not in shape:
            raise InputError(f"axis {axis} of shape {list(data.shape)} has no elements to choose from")
        return np.zeros(np.insert(shape, axis, 1).tolist() if keepdims else shape, np.int64)
    x = data if data.dtype.kind in "iuf" else data.astype(np.float32)
    x = np.flip(x, axis) if last else x
    place = (np.argmax if largest else np.argmin)(x, axis=axis, keepdims=bool(keepdims))
    return np.asarray(size - 1 - place if last else place, np.int64)
