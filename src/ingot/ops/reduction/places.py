"""ArgMax and ArgMin: where along one axis the largest and the smallest element is; NaN counts as either."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.ir.types import TensorType
from ingot.ops.define import Since, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.reduction.axes import without
from ingot.ops.shapes import axis_of
from ingot.ops.typesets import INT64, NUMERIC, NUMERIC_3, types

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
    if data.shape is None:
        return TensorType(DType.INT64)
    return TensorType(DType.INT64, without(data.shape, [axis_of(axis, len(data.shape))], keepdims))


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
    found = (np.argmax if largest else np.argmin)(x, axis=axis, keepdims=bool(keepdims))
    return np.asarray(size - 1 - found if last else found, np.int64)
