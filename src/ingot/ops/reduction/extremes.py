"""ReduceMax and ReduceMin: the largest and the smallest element along axes; NaN, where there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import maximum, minimum
from ingot.dtypes import Array, DType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.older import dtype_of
from ingot.ops.reduction.axes import following, lowering, reduced_axes, with_fixed_axes
from ingot.ops.reduction.types import Axes
from ingot.ops.typesets import BOOL, INT8, UINT8, WIDE, WIDE_3, types

_BYTES = INT8 | UINT8
T: TypeAlias = Annotated[Array, types("T", {18: WIDE | _BYTES, 20: WIDE | _BYTES | BOOL})]
T13: TypeAlias = Annotated[Array, types("T", {1: WIDE_3, 12: WIDE_3 | _BYTES, 13: WIDE | _BYTES})]


@operator("ReduceMax", since=(18, 20))
def reduce_max(data: T, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> T:
    """The largest along `axes`; of nothing, minus infinity or the smallest number of the type. False is below True."""
    return _extreme(np.maximum, data, reduced_axes(data, axes, noop_with_empty_axes), keepdims)


@operator("ReduceMin", since=(18, 20))
def reduce_min(data: T, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> T:
    """The smallest along `axes`; of nothing, infinity or the largest number of the type. False is below True."""
    return _extreme(np.minimum, data, reduced_axes(data, axes, noop_with_empty_axes), keepdims)


reduce_max.infer(following(maximum))
reduce_min.infer(following(minimum))


@reduce_max.lower
@lowering
def lower_max(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    return prim.reduce_("or" if x.dtype is DType.BOOL else "maximum", x, axes)


@reduce_min.lower
@lowering
def lower_min(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    return prim.reduce_("and" if x.dtype is DType.BOOL else "minimum", x, axes)


@reduce_max.downgrade
def downgrade_max(op: Any, data: Value, axes: Value | None = None, /, *, version: int, **attributes: int) -> Any:
    return _older(op, "ReduceMax", data, axes, version, attributes)


@reduce_min.downgrade
def downgrade_min(op: Any, data: Value, axes: Value | None = None, /, *, version: int, **attributes: int) -> Any:
    return _older(op, "ReduceMin", data, axes, version, attributes)


def _older(op: Any, name: str, data: Value, axes: Value | None, version: int, attributes: dict[str, int]) -> Any:
    """Truth values as bytes; before version 18, with the axes as an attribute."""
    if version < 18:
        return with_fixed_axes(name, of_one_changes=False)(op, data, axes, **attributes)
    numbers = op.Cast(data, to=int(DType.UINT8))
    return op.Cast(op[name](numbers, axes, **attributes), to=int(DType.BOOL))


def _extreme(pick: np.ufunc, data: Array, axes: tuple[int, ...], keepdims: int) -> Array:
    x: Array = data if data.dtype.kind in "biuf" else data.astype(np.float32)
    largest = pick is np.minimum
    if x.dtype.kind == "b":
        start: Any = largest
    elif x.dtype.kind == "f":
        start = np.inf if largest else -np.inf
    else:
        start = np.iinfo(x.dtype).max if largest else np.iinfo(x.dtype).min
    return np.asarray(pick.reduce(x, axis=axes, keepdims=bool(keepdims), initial=start), data.dtype)


@operator("ReduceMax", since=(1, 11, 12, 13))
def reduce_max_13(data: T13, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> T13:
    """The largest along axes that are an attribute."""
    raise superseded()


@reduce_max_13.downgrade
def downgrade_max_13(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    return _bytes_as_floats(op, data, lambda x: op.ReduceMax(x, axes=axes, keepdims=keepdims))


@reduce_max_13.upgrade
def upgrade_reduce_max(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    return op.ReduceMax(data, list(axes) if axes else None, keepdims=keepdims)


@operator("ReduceMin", since=(1, 11, 12, 13))
def reduce_min_13(data: T13, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> T13:
    """The smallest along axes that are an attribute."""
    raise superseded()


@reduce_min_13.downgrade
def downgrade_min_13(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    return _bytes_as_floats(op, data, lambda x: op.ReduceMin(x, axes=axes, keepdims=keepdims))


def _bytes_as_floats(op: Any, data: Value, reduce: Callable[[Any], Any]) -> Any:
    """Other types as they are; the extreme of no bytes, an infinity as a float, is cut to their range."""
    dtype = dtype_of(data)
    if dtype not in (DType.INT8, DType.UINT8):
        return reduce(data)
    limits = np.iinfo(dtype.numpy)
    least, most = np.float32(limits.min), np.float32(limits.max)
    return op.Cast(op.Clip(reduce(op.Cast(data, to=int(DType.FLOAT32))), least, most), to=int(dtype))


@reduce_min_13.upgrade
def upgrade_reduce_min(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    return op.ReduceMin(data, list(axes) if axes else None, keepdims=keepdims)
