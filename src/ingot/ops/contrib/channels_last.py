"""NhwcMaxPool, NhwcConv, NhwcFusedConv and QLinearConv: operators on images whose channels may be their last axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import BYTES, MICROSOFT, Scale
from ingot.ops.contrib.fused import fused_conv
from ingot.ops.define import Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.integer_convolution import qlinear_conv as standard_qlinear_conv
from ingot.ops.nn.pooling import max_pool
from ingot.ops.typesets import FLOATS_3, INT32, types

T: TypeAlias = Annotated[Array, types("T", BYTES)]
X8: TypeAlias = Annotated[Array, types("T1", BYTES)]
W8: TypeAlias = Annotated[Array, types("T2", BYTES)]
Y8: TypeAlias = Annotated[Array, types("T3", BYTES)]
TFloat: TypeAlias = Annotated[Array, types("T", FLOATS_3)]
Bias: TypeAlias = Annotated[Array, types("T4", INT32)]


@operator("NhwcMaxPool", since=1, domain=MICROSOFT)
def nhwc_max_pool(
    x: T,
    /,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    runtime: Runtime,
) -> T:
    """The greatest element of each window, channels last."""
    values, _ = max_pool.evaluate(
        _in_front(x),
        kernel_shape=kernel_shape,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
        dilations=dilations,
        pads=pads,
        strides=strides,
        runtime=runtime,
    )
    return np.moveaxis(values, 1, -1)


@nhwc_max_pool.infer
def infer_pool(x: Fact, /, **attributes: Any) -> Inferred:
    inferred = max_pool.rules["infer"](_fact_in_front(x), storage_order=0, **attributes)[0]
    return _behind(inferred)


@nhwc_max_pool.lower
def lower_pool(x: prim.Tensor, /, *, inferred: tuple[Fact, ...], **attributes: Any) -> prim.Tensor:
    y: prim.Tensor = max_pool.rules["lower"](_moved_to_front(x), storage_order=0, inferred=inferred, **attributes)
    return _moved_behind(y)


@operator("QLinearConv", since=1, domain=MICROSOFT)
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
    channels_last: int = 0,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Y8:
    """The convolution of the numbers that quantised tensors stand for, quantised again.

    Channels of `x` and of the result come second, or last; filters are (filters, channels, kernel) in both cases.
    """
    y = standard_qlinear_conv.evaluate(
        _in_front(x) if channels_last else x,
        x_scale,
        x_zero_point,
        w,
        w_scale,
        w_zero_point,
        y_scale,
        y_zero_point,
        b,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    return np.moveaxis(y, 1, -1) if channels_last else y


@qlinear_conv.infer
def infer_conv(x: Fact, /, *others: Fact, channels_last: int, **attributes: Any) -> Inferred:
    images = _fact_in_front(x) if channels_last else x
    inferred: Inferred = standard_qlinear_conv.rules["infer"](images, *others, **attributes)
    return _behind(inferred) if channels_last else inferred


@qlinear_conv.lower
def lower_conv(x: prim.Tensor, /, *others: prim.Tensor | None, channels_last: int, **attributes: Any) -> prim.Tensor:
    images = _moved_to_front(x) if channels_last else x
    y: prim.Tensor = standard_qlinear_conv.rules["lower"](images, *others, **attributes)
    return _moved_behind(y) if channels_last else y


@operator("NhwcConv", since=1, domain=MICROSOFT)
def nhwc_conv(
    x: TFloat,
    w: TFloat,
    b: TFloat | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> TFloat:
    """A convolution of images with channels last; filters are (filters, channels, kernel)."""
    named = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "kernel_shape": kernel_shape}
    return np.moveaxis(fused_conv.evaluate(_in_front(x), w, b, pads=pads, strides=strides, **named), 1, -1)


@operator("NhwcFusedConv", since=1, domain=MICROSOFT)
def nhwc_fused_conv(
    x: TFloat,
    w: TFloat,
    b: TFloat | None = None,
    z: TFloat | None = None,
    /,
    *,
    activation: str | None = None,
    activation_params: Sequence[float] | None = None,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> TFloat:
    """FusedConv of images with channels last, `z` among them."""
    named = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "kernel_shape": kernel_shape}
    added = None if z is None else _in_front(z)
    after = {"activation": activation, "activation_params": activation_params}
    return np.moveaxis(
        fused_conv.evaluate(_in_front(x), w, b, added, pads=pads, strides=strides, **named, **after), 1, -1
    )


@nhwc_conv.infer
@nhwc_fused_conv.infer
def infer_fused(x: Fact, w: Fact, b: Fact | None = None, z: Fact | None = None, /, **attributes: Any) -> Inferred:
    named = {"activation": None, "activation_params": None, **attributes}
    return _behind(fused_conv.rules["infer"](_fact_in_front(x), w, b, **named))


@nhwc_conv.lower
@nhwc_fused_conv.lower
def lower_fused(
    x: prim.Tensor,
    w: prim.Tensor,
    b: prim.Tensor | None = None,
    z: prim.Tensor | None = None,
    /,
    **attributes: Any,
) -> prim.Tensor:
    named = {"activation": None, "activation_params": None, **attributes}
    added = None if z is None else _moved_to_front(z)
    y: prim.Tensor = fused_conv.rules["lower"](_moved_to_front(x), w, b, added, **named)
    return _moved_behind(y)


def _in_front(x: Array) -> Array:
    if x.ndim < 3:
        raise ShapeError(f"x has {x.ndim} axes, expected at least 3")
    return np.moveaxis(x, -1, 1)


def _fact_in_front(x: Fact) -> Fact:
    if x.dtype is None or x.shape is None:
        return x
    if len(x.shape) < 3:
        raise ShapeError(f"x has {len(x.shape)} axes, expected at least 3")
    return Fact(TensorType(x.dtype, (x.shape[0], x.shape[-1], *x.shape[1:-1])))


def _behind(inferred: Inferred) -> Inferred:
    if not isinstance(inferred, TensorType) or inferred.shape is None:
        return inferred
    return TensorType(inferred.dtype, (inferred.shape[0], *inferred.shape[2:], inferred.shape[1]))


def _moved_to_front(x: prim.Tensor) -> prim.Tensor:
    return prim.permute(x, [0, x.rank - 1, *range(1, x.rank - 1)])


def _moved_behind(x: prim.Tensor) -> prim.Tensor:
    return prim.permute(x, [0, *range(2, x.rank), 1])
