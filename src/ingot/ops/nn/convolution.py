"""Convolutions over any number of spatial axes: of floats, of integers, and of integers that stand for floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.byte_products import (
    ByteSide,
    centred,
    held,
    is_single,
    known,
    known_number,
    signed,
    single,
    sum_type,
)
from ingot.ops.nn.contraction import contracted, fitting, kernel_of
from ingot.ops.nn.moments import along_channels
from ingot.ops.nn.precision import widened
from ingot.ops.nn.results import dim, require_size, tensor, vector_of
from ingot.ops.nn.sweeps import channels_first, swept
from ingot.ops.nn.windows import slide, spatial_rank, windows
from ingot.ops.shapes import require
from ingot.ops.typesets import FLOAT32, FLOATS, FLOATS_3, INT8, INT32, UINT8, types

T: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]
X8: TypeAlias = Annotated[Array, types("T1", INT8 | UINT8)]
W8: TypeAlias = Annotated[Array, types("T2", INT8 | UINT8)]
I32: TypeAlias = Annotated[Array, types("T3", INT32)]
Y8: TypeAlias = Annotated[Array, types("T3", INT8 | UINT8)]
Bias: TypeAlias = Annotated[Array, types("T4", INT32)]
Scale: TypeAlias = Annotated[Array, types("", FLOAT32)]


@operator("Conv", since=(1, 11, 22))
def conv(
    x: T,
    w: T,
    b: T | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """Each window of `x` times each filter of `w`, summed, plus the bias of the filter.

    With groups, filters and channels are dealt out to them in order, and a filter sees the channels of its group.
    """
    y = convolved(
        *widened(x, w),
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    return np.asarray(y if b is None else y + per_channel(b, y, "the bias"), x.dtype)


@operator("ConvInteger", since=10)
def conv_integer(
    x: X8,
    w: W8,
    x_zero_point: X8 | None = None,
    w_zero_point: W8 | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> I32:
    """The convolution of `x` and `w`, each less its zero point; padding counts as the zero point of `x`."""
    y = convolved(
        _centred(x, x_zero_point, 1, "x_zero_point"),
        _centred(w, w_zero_point, w.shape[0] if w.ndim else 1, "w_zero_point"),
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    return y.astype(np.int64).astype(np.int32)


@operator("QLinearConv", since=10)
def qlinear_conv(
    x: X8,
    x_scale: Scale,
    x_zero_point: X8,
    w: W8,
    w_scale: Scale,
    w_zero_point: W8,
    y_scale: Scale,
    y_zero_point: Y8,
    b: Bias | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Y8:
    """The convolution of the numbers that quantised tensors stand for, quantised again.

    Exact in integers up to the last step: scaling, rounding half to even, saturating.
    """
    y = convolved(
        _centred(x, x_zero_point, 1, "x_zero_point"),
        _centred(w, w_zero_point, w.shape[0] if w.ndim else 1, "w_zero_point"),
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    if b is not None:
        y = y + per_channel(b, y, "the bias")
    for name, one in (("x_scale", x_scale), ("y_scale", y_scale), ("y_zero_point", y_zero_point)):
        if one.size != 1:
            raise InputError(f"{name} has {one.size} elements, expected one")
    channels = w_scale if w_scale.size == 1 else per_channel(w_scale, y, "w_scale")
    scale = x_scale.reshape(()).astype(np.float64) * channels.reshape(channels.shape if channels.ndim > 1 else ())
    steps = np.rint(y * (scale / y_scale.reshape(()).astype(np.float64))) + y_zero_point.reshape(()).astype(np.float64)
    limits = np.iinfo(y_zero_point.dtype)
    cut: Array = np.nan_to_num(np.clip(steps, limits.min, limits.max))
    return cut.astype(y_zero_point.dtype)


@conv.infer
def infer_conv(x: Fact, w: Fact, b: Fact | None = None, /, **attributes: object) -> Inferred:
    return tensor(x.dtype or w.dtype, _shape(x, w, b, **attributes))  # type: ignore[arg-type]


@conv.lower
def lower_conv(
    x: prim.Tensor,
    w: prim.Tensor,
    b: prim.Tensor | None = None,
    /,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> prim.Tensor:
    moving = windows(
        x.rank - 2,
        kernel_of(w.shape, kernel_shape),
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
    )
    y = convolved_in_primitives(swept(x, moving), w, group)
    return y if b is None else y + along_channels(b, x.rank)


def convolved_in_primitives(seen: prim.Tensor, w: prim.Tensor, group: int, sums: DType | None = None) -> prim.Tensor:
    """Windows (batch, counts, kernel, channels) times filters (filters, own channels, kernel); channels first.

    `sums` is the type of sums, where it is not that of the elements (`prim.contract`).
    """
    rank = w.rank - 2
    counts, kernel = "uvwxyz"[:rank], "ijklmp"[:rank]
    if rank > len("uvwxyz"):
        raise prim.Refused(f"windows over {rank} axes")
    if group == 1:
        y = prim.contract(seen, w, f"n{counts}{kernel}c,oc{kernel}->n{counts}o", sums)
        return channels_first(y)
    filters, own = w.shape[0], w.shape[1]
    if not isinstance(filters, int):
        raise prim.Refused("filters of unknown number")
    split = prim.reshape(seen, (*seen.shape[:-1], group, own))
    grouped = prim.reshape(w, (group, filters // group, *w.shape[1:]))
    if own == 1 and filters == group:
        single = prim.squeeze(grouped, [1, 2])
        y = prim.contract(seen, single, f"n{counts}{kernel}g,g{kernel}->n{counts}g", sums)
        return channels_first(y)
    y = prim.contract(split, grouped, f"n{counts}{kernel}gc,goc{kernel}->n{counts}go", sums)
    return channels_first(prim.reshape(y, (*seen.shape[: rank + 1], filters)))


@conv_integer.infer
def infer_conv_integer(x: Fact, w: Fact, /, *_: Fact, **attributes: object) -> Inferred:
    return tensor(DType.INT32, _shape(x, w, None, **attributes))  # type: ignore[arg-type]


@qlinear_conv.infer
def infer_qlinear_conv(
    x: Fact,
    x_scale: Fact,
    x_zero: Fact,
    w: Fact,
    w_scale: Fact,
    w_zero: Fact,
    y_scale: Fact,
    y_zero: Fact,
    b: Fact | None = None,
    /,
    **attributes: object,
) -> Inferred:
    return tensor(y_zero.dtype, _shape(x, w, b, **attributes))  # type: ignore[arg-type]


@conv_integer.lower
def lower_conv_integer(
    x: prim.Tensor,
    w: prim.Tensor,
    x_zero_point: prim.Tensor | None = None,
    w_zero_point: prim.Tensor | None = None,
    /,
    *,
    group: int,
    **attributes: Any,
) -> prim.Tensor:
    return _byte_sums(x, w, x_zero_point, w_zero_point, group, DType.INT32, attributes)


@qlinear_conv.lower
def lower_qlinear_conv(
    x: prim.Tensor,
    x_scale: prim.Tensor,
    x_zero_point: prim.Tensor,
    w: prim.Tensor,
    w_scale: prim.Tensor,
    w_zero_point: prim.Tensor,
    y_scale: prim.Tensor,
    y_zero_point: prim.Tensor,
    b: prim.Tensor | None = None,
    /,
    *,
    group: int,
    **attributes: Any,
) -> prim.Tensor:
    sums = _byte_sums(x, w, x_zero_point, w_zero_point, group, sum_type(prim.count(w.shape[1:])), attributes)
    total = prim.cast(sums, DType.FLOAT64)
    if b is not None:
        total = total + prim.cast(along_channels(b, x.rank), DType.FLOAT64)
    scales = [prim.cast(each, DType.FLOAT64) for each in (single(x_scale), _per_filter(w_scale, w), single(y_scale))]
    factor = scales[0] * scales[1] / scales[2]
    if factor.rank:
        factor = along_channels(prim.reshape(factor, w.shape[:1]), x.rank)
    steps = prim.apply("round", total * factor) + prim.cast(single(y_zero_point), DType.FLOAT64)
    return held(prim.where(prim.apply("is_nan", steps), 0, steps), y_zero_point.dtype)


def _byte_sums(
    x: prim.Tensor,
    w: prim.Tensor,
    x_zero: prim.Tensor | None,
    w_zero: prim.Tensor | None,
    group: int,
    dtype: DType,
    attributes: dict[str, Any],
) -> prim.Tensor:
    """The convolution of bytes less their zero points; padding is put around the bytes where these are known."""
    kernel = kernel_of(w.shape, attributes.pop("kernel_shape"))
    moving = windows(x.rank - 2, kernel, **attributes)
    x_zero = None if x_zero is None else single(x_zero)
    fill = known_number(x_zero)
    points = None if w_zero is None else _per_filter(w_zero, w)
    if dtype is DType.INT32 and (fill is not None or not moving.is_padded):
        signed_w, points_less = signed(w, points)
        filters = ByteSide(signed_w, tuple(range(1, w.rank)), points_less)
        if filters.points() is None:
            total = convolved_in_primitives(swept(x, moving, fill or 0), filters.x, group, DType.INT32)
            point = ByteSide(x, (), x_zero).points()
            if point is None:
                return total
            return total - known(point * along_channels(prim.reshape(filters.sums(), w.shape[:1]), x.rank))
    if fill is None:
        seen = swept(centred(x, x_zero, dtype), moving)
    else:
        seen = centred(swept(x, moving, fill), x_zero, dtype)
    return convolved_in_primitives(seen, centred(w, points, dtype), group)


def _per_filter(values: prim.Tensor, w: prim.Tensor) -> prim.Tensor:
    """One value without axes, or one for each filter, shaped to meet the filters."""
    if is_single(values):
        return single(values)
    if values.shape != w.shape[:1]:
        raise prim.Refused(f"{list(map(str, values.shape))} values for {w.shape[0]} filters")
    return prim.reshape(values, (*values.shape, *(1,) * (w.rank - 1)))


def convolved(
    x: Array,
    w: Array,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """The convolution in the type of `x` and `w`, which is one."""
    rank = spatial_rank("x", x.ndim)
    fitting(x.shape, w.shape, group)
    kernel = kernel_of(w.shape, kernel_shape)
    moving = windows(rank, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    return contracted(slide(x, moving.over(x.shape[2:]), 0), w, group)


def per_channel(values: Array, y: Array, name: str) -> Array:
    """One value for each channel of `y`, shaped to meet it; InputError if there are more or fewer."""
    if values.shape != (y.shape[1],):
        raise InputError(f"{name} has shape {list(values.shape)}, expected one value for each of {y.shape[1]} channels")
    return values.reshape(-1, *(1,) * (y.ndim - 2)).astype(y.dtype, copy=False)


def _centred(x: Array, zero: Array | None, count: int, name: str) -> Array:
    """`x` less its zero point, or one of `count`, in float64, which holds every sum of such products exactly."""
    wide = x.astype(np.float64)
    if zero is None or zero.size == 1:
        return wide if zero is None else wide - zero.reshape(()).astype(np.float64)
    if zero.shape != (count,):
        several = f", or one for each of {count} filters" if count != 1 else ""
        raise InputError(f"{name} has shape {list(zero.shape)}, expected one value{several}")
    return np.asarray(wide - zero.reshape(-1, *(1,) * (x.ndim - 1)).astype(np.float64))


def _shape(
    x: Fact,
    w: Fact,
    b: Fact | None,
    /,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Sequence[Dim | None] | None:
    rank = x.rank if x.rank is not None else w.rank
    if rank is None:
        return None
    spatial = spatial_rank("x" if x.rank is not None else "w", rank)
    require(group >= 1, f"group is {group}")
    if x.shape is not None and w.shape is not None:
        fitting(x.shape, w.shape, group)
    channels = dim(w.shape, 0)
    vector_of(b, channels, "the bias")
    kernel = kernel_of(w.shape, kernel_shape) if w.shape is not None else kernel_shape or None
    moving = windows(spatial, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    require_size(w, 0, channels, "w")
    return dim(x.shape, 0), channels, *moving.counts(x.shape[2:] if x.shape is not None else (None,) * spatial)
