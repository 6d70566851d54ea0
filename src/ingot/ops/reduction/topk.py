"""TopK: the largest or smallest few elements along one axis, with their places."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import axis_of
from ingot.ops.typesets import FLOATS_3, INT64, NUMERIC, NUMERIC_3, types

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
    if largest:
        backwards = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
        order = size - 1 - np.flip(backwards, axis)
    else:
        order = np.argsort(keys, axis=axis, kind="stable")
    indices = np.take(order, np.arange(many), axis=axis).astype(np.int64, copy=False)
    return np.take_along_axis(x, indices, axis=axis), indices


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


@operator("TopK", since=1)
def top_k_1(x: T1, /, *, k: int, axis: int = -1) -> tuple[T1, Indices]:
    """The largest, how many being an attribute."""
    raise superseded()


@top_k_1.upgrade
def upgrade(op: Any, x: Value, /, *, k: int, axis: int) -> Any:
    return op.TopK(x, [k], axis=axis, outputs=2)
