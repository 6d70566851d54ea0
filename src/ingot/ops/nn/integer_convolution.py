"""ConvInteger and QLinearConv: convolutions of bytes, exact, and scaled back to bytes."""

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
    are_held,
    centred,
    is_single,
    known,
    known_number,
    signed,
    single,
    sum_type,
)
from ingot.ops.nn.contraction import kernel_of
from ingot.ops.nn.convolution import convolved, convolved_in_primitives, per_channel, shape_of_result
from ingot.ops.nn.results import tensor
from ingot.ops.nn.sweeps import channels_first, channels_last, swept
from ingot.ops.nn.windows import Windows, windows
from ingot.ops.quantization.rounding import codes_in_primitives, to_codes
from ingot.ops.typesets import FLOAT32, INT8, INT32, UINT8, types
from ingot.prim.tensor import Constant

X8: TypeAlias = Annotated[Array, types("T1", INT8 | UINT8)]
W8: TypeAlias = Annotated[Array, types("T2", INT8 | UINT8)]
I32: TypeAlias = Annotated[Array, types("T3", INT32)]
Y8: TypeAlias = Annotated[Array, types("T3", INT8 | UINT8)]
Bias: TypeAlias = Annotated[Array, types("T4", INT32)]
Scale: TypeAlias = Annotated[Array, types("", FLOAT32)]


_EXACT_PRODUCTS = 2**24 // 255**2
"""As many products of bytes, each less a zero point, have sums that float32 holds exactly."""


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
    real = y * (scale / y_scale.reshape(()).astype(np.float64))
    return to_codes(real, y_zero_point.reshape(()), DType.of(y_zero_point.dtype))


@conv_integer.infer
def infer_conv_integer(x: Fact, w: Fact, /, *_: Fact, **attributes: object) -> Inferred:
    return tensor(DType.INT32, shape_of_result(x, w, None, **attributes))  # type: ignore[arg-type]


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
    return tensor(y_zero.dtype, shape_of_result(x, w, b, **attributes))  # type: ignore[arg-type]


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
    return channels_first(_byte_sums(x, w, x_zero_point, w_zero_point, group, DType.INT32, attributes))


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
        total = total + prim.cast(b, DType.FLOAT64)
    scales = [prim.cast(each, DType.FLOAT64) for each in (single(x_scale), _per_filter(w_scale, w), single(y_scale))]
    real = total * known(scales[0] * scales[1] / scales[2])
    return channels_first(codes_in_primitives(real, single(y_zero_point), y_zero_point.dtype))


def _byte_sums(
    x: prim.Tensor,
    w: prim.Tensor,
    x_zero: prim.Tensor | None,
    w_zero: prim.Tensor | None,
    group: int,
    dtype: DType,
    attributes: dict[str, Any],
) -> prim.Tensor:
    """The convolution of bytes less their zero points, with channels last; padding counts as the zero point of `x`."""
    kernel = kernel_of(w.shape, attributes.pop("kernel_shape"))
    moving = windows(x.rank - 2, kernel, **attributes)
    x_zero = None if x_zero is None else single(x_zero)
    points = None if w_zero is None else _per_filter(w_zero, w)
    seen = swept(x, moving, _filling(x_zero))
    filters, filter_points = signed(w, points)
    side = ByteSide(filters, tuple(range(1, w.rank)), filter_points)
    p, q = ByteSide(x, (), x_zero).points(), side.points()
    products = prim.count(w.shape[1:])
    if dtype is DType.INT64:
        weights = known(centred(w, None if points is None else _to_filters(points, w), DType.INT32))
        if isinstance(weights, Constant) and are_held(weights.array, tuple(range(1, w.rank))):
            dtype = DType.INT32
    if dtype is not DType.INT32 or (q is not None and _is_depthwise(w, group)):
        exact = isinstance(products, int) and products <= _EXACT_PRODUCTS
        wide = DType.FLOAT32 if exact and dtype is DType.INT32 else dtype
        less = known(centred(w, None if points is None else _to_filters(points, w), wide))
        total = convolved_in_primitives(centred(seen, x_zero, wide), less, group)
        return channels_last(prim.cast(total, dtype))
    total = channels_last(convolved_in_primitives(seen, filters, group, DType.INT32))
    if q is not None:
        total = total - q * _window_sums(x, x_zero, moving, group, w.shape[0])
    if p is not None:
        columns = prim.reshape(side.sums(), w.shape[:1])
        if q is not None:
            columns = known(columns - q * prim.cast(prim.size(products), DType.INT32))
        total = total - known(p * columns)
    return total


def _window_sums(x: prim.Tensor, zero: prim.Tensor | None, moving: Windows, group: int, filters: Dim) -> prim.Tensor:
    """The sums of windows over the channels that each filter sees: shape (batch, counts, 1 or filters).

    Channels are summed before windows are: elements of these overlap.
    """
    batch, channels, *sizes = x.shape
    if not isinstance(channels, int) or not isinstance(filters, int):
        raise prim.Refused("channels of unknown number")
    own = channels // group
    split = prim.reshape(prim.cast(x, DType.INT32), (batch, group, own, *sizes))
    images = prim.squeeze(prim.reduce_("add", split, [2]), [2])
    fill = _filling(None if zero is None else known(prim.cast(zero, DType.INT32) * own))
    kernel = range(x.rank - 1, 2 * x.rank - 3)
    summed = prim.squeeze(prim.reduce_("add", swept(images, moving, fill), kernel), kernel)
    if group == 1:
        return summed
    each = prim.expand(prim.unsqueeze(summed, [summed.rank]), (*summed.shape, filters // group))
    return prim.reshape(each, (*summed.shape[:-1], filters))


def _filling(zero: prim.Tensor | None) -> int | prim.Tensor:
    """What padding is: a number, or what a run computes."""
    if zero is None:
        return 0
    number = known_number(zero)
    return zero if number is None else number


def _is_depthwise(w: prim.Tensor, group: int) -> bool:
    return group > 1 and w.shape[1] == 1 and w.shape[0] == group


def _per_filter(values: prim.Tensor, w: prim.Tensor) -> prim.Tensor:
    """One value without axes, or one for each filter, as which an open size is taken."""
    return single(values) if is_single(values) else prim.assume_shape(values, w.shape[:1])


def _to_filters(values: prim.Tensor, w: prim.Tensor) -> prim.Tensor:
    """Such values, shaped to meet the filters."""
    return prim.reshape(values, (*values.shape, *(1,) * (w.rank - 1))) if values.rank else values


def _centred(x: Array, zero: Array | None, count: int, name: str) -> Array:
    """`x` less its zero point, or one of `count`, in float64, which holds every sum of such products exactly."""
    wide = x.astype(np.float64)
    if zero is None or zero.size == 1:
        return wide if zero is None else wide - zero.reshape(()).astype(np.float64)
    if zero.shape != (count,):
        several = f", or one for each of {count} filters" if count != 1 else ""
        raise InputError(f"{name} has shape {list(zero.shape)}, expected one value{several}")
    return np.asarray(wide - zero.reshape(-1, *(1,) * (x.ndim - 1)).astype(np.float64))
