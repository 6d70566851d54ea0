"""QLinearAveragePool, QLinearGlobalAveragePool and QLinearReduceMean: means of bytes that stand for real numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ops.contrib.domain import BYTES, MICROSOFT, Scale, may_omit
from ingot.ops.contrib.meaning import meant, written
from ingot.ops.contrib.quantized_elements import codes, real
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.moments import mean_of
from ingot.ops.nn.pooling import average_pool
from ingot.ops.nn.precision import mean
from ingot.ops.shapes import axes_of
from ingot.ops.typesets import types

T: TypeAlias = Annotated[Array, types("T", BYTES)]


@operator("QLinearAveragePool", since=1, domain=MICROSOFT)
def qlinear_average_pool(
    x: T,
    x_scale: Scale,
    x_zero_point: T | None,
    y_scale: Scale,
    y_zero_point: T | None = None,
    /,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    channels_last: int = 0,
    count_include_pad: int = 0,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """The mean of each window of what `x` stands for, quantised again; channels come second, or last."""
    if x.ndim < 3:
        raise ShapeError(f"the input has {x.ndim} axes, expected at least 3")
    values = real(x, x_scale, x_zero_point)
    pooled = average_pool.evaluate(
        np.moveaxis(values, -1, 1) if channels_last else values,
        kernel_shape=kernel_shape,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        pads=pads,
        strides=strides,
    )
    return codes(np.moveaxis(pooled, 1, -1) if channels_last else pooled, y_scale, y_zero_point, x.dtype)


may_omit(qlinear_average_pool, "x_zero_point")


@qlinear_average_pool.infer
def infer_pool(x: Fact, /, *_: Fact, channels_last: int, **attributes: Any) -> Inferred:
    if x.dtype is None or x.shape is None:
        return None if x.dtype is None else TensorType(x.dtype)
    if len(x.shape) < 3:
        raise ShapeError(f"the input has {len(x.shape)} axes, expected at least 3")
    shape: Shape = (x.shape[0], x.shape[-1], *x.shape[1:-1]) if channels_last else x.shape
    pooled = average_pool.rules["infer"](Fact(TensorType(x.dtype, shape)), dilations=None, **attributes)
    result_shape = getattr(pooled, "shape", None)
    if result_shape is not None and channels_last:
        result_shape = (result_shape[0], *result_shape[2:], result_shape[1])
    return TensorType(x.dtype, result_shape)


@qlinear_average_pool.lower
def lower_pool(
    x: prim.Tensor,
    x_scale: prim.Tensor,
    x_zero_point: prim.Tensor | None,
    y_scale: prim.Tensor,
    y_zero_point: prim.Tensor | None = None,
    /,
    *,
    channels_last: int,
    **attributes: Any,
) -> prim.Tensor:
    values = meant(x, x_scale, x_zero_point)
    if channels_last:
        values = prim.permute(values, [0, x.rank - 1, *range(1, x.rank - 1)])
    y: prim.Tensor = average_pool.rules["lower"](values, dilations=None, **attributes)
    if channels_last:
        y = prim.permute(y, [0, *range(2, x.rank), 1])
    return written(y, y_scale, y_zero_point, x.dtype)


@operator("QLinearGlobalAveragePool", since=1, domain=MICROSOFT)
def qlinear_global_average_pool(
    x: T, x_scale: Scale, x_zero_point: T, y_scale: Scale, y_zero_point: T, /, *, channels_last: int = 0
) -> T:
    """The mean of each channel of what `x` stands for, quantised again; channels come second, or last."""
    axes = _spatial(x.ndim, channels_last)
    values = real(x, x_scale, x_zero_point)
    return codes(mean(values, axes), y_scale, y_zero_point, x.dtype)


@qlinear_global_average_pool.infer
def infer_global(x: Fact, /, *_: Fact, channels_last: int) -> Inferred:
    if x.dtype is None or x.shape is None:
        return None if x.dtype is None else TensorType(x.dtype)
    axes = _spatial(len(x.shape), channels_last)
    return TensorType(x.dtype, tuple(1 if axis in axes else size for axis, size in enumerate(x.shape)))


@qlinear_global_average_pool.lower
def lower_global(
    x: prim.Tensor,
    x_scale: prim.Tensor,
    x_zero_point: prim.Tensor,
    y_scale: prim.Tensor,
    y_zero_point: prim.Tensor,
    /,
    *,
    channels_last: int,
) -> prim.Tensor:
    average = mean_of(meant(x, x_scale, x_zero_point), _spatial(x.rank, channels_last))
    return written(average, y_scale, y_zero_point, x.dtype)


@operator("QLinearReduceMean", since=1, domain=MICROSOFT)
def qlinear_reduce_mean(
    data: T,
    data_scale: Scale,
    data_zero_point: T | None,
    reduced_scale: Scale,
    reduced_zero_point: T | None = None,
    /,
    *,
    axes: Sequence[int],
    keepdims: int,
) -> T:
    """The mean along `axes` of what `data` stands for, quantised again."""
    along = axes_of(axes, data.ndim)
    average = mean(real(data, data_scale, data_zero_point), along)
    quantised = codes(average, reduced_scale, reduced_zero_point, data.dtype)
    return quantised if keepdims else quantised.squeeze(along)


may_omit(qlinear_reduce_mean, "data_zero_point")


@qlinear_reduce_mean.infer
def infer_mean(data: Fact, /, *_: Fact, axes: Sequence[int], keepdims: int) -> Inferred:
    if data.dtype is None or data.shape is None:
        return None if data.dtype is None else TensorType(data.dtype)
    along = axes_of(axes, len(data.shape))
    shape = [1 if axis in along else size for axis, size in enumerate(data.shape) if keepdims or axis not in along]
    return TensorType(data.dtype, tuple(shape))


@qlinear_reduce_mean.lower
def lower_mean(
    data: prim.Tensor,
    data_scale: prim.Tensor,
    data_zero_point: prim.Tensor | None,
    reduced_scale: prim.Tensor,
    reduced_zero_point: prim.Tensor | None = None,
    /,
    *,
    axes: Sequence[int],
    keepdims: int,
) -> prim.Tensor:
    along = axes_of(axes, data.rank)
    average = mean_of(meant(data, data_scale, data_zero_point), along)
    y = written(average, reduced_scale, reduced_zero_point, data.dtype)
    return y if keepdims else prim.squeeze(y, along)


def _spatial(rank: int, channels_last: int) -> tuple[int, ...]:
    if rank < 3:
        raise ShapeError(f"the input has {rank} axes, expected at least 3")
    return tuple(range(1, rank - 1) if channels_last else range(2, rank))
