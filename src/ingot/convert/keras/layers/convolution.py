"""Convolutions: plain, depthwise, separable and transposed, of one to three axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, name_of
from ingot.convert.keras.images import back, first, padding, tuple_of
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank, shape
from ingot.dtypes import Array
from ingot.errors import UnsupportedError


@rule("BaseConv", "Conv1D")
def convolution(c: Conversion, layer: Any, x: Var) -> Var:
    count = len(layer.kernel_size)
    if rank(x) != count + 2:
        raise UnsupportedError(f"images of {count} axes in {rank(x) - count - 1} axes of batches")
    image = first(x, layer.data_format)
    convolved = op.Conv(
        image,
        c.weight(layer.kernel, name_of(x.dtype), change=outward, name="kernel"),
        _bias(c, layer, x),
        strides=list(layer.strides),
        dilations=list(layer.dilation_rate),
        group=layer.groups,
        **padding(image, layer.padding, layer.kernel_size, layer.strides, layer.dilation_rate),
    )
    return c.activation(layer.activation, back(convolved, layer.data_format))


@rule("BaseDepthwiseConv")
def depthwise(c: Conversion, layer: Any, x: Var) -> Var:
    image = first(x, layer.data_format)
    kernel = c.weight(layer.kernel, name_of(x.dtype), change=each_channel)
    convolved = _depthwise(c, layer, image, kernel, _bias(c, layer, x))
    return c.activation(layer.activation, back(convolved, layer.data_format))


@rule("BaseSeparableConv")
def separable(c: Conversion, layer: Any, x: Var) -> Var:
    image = first(x, layer.data_format)
    kernel = c.weight(layer.depthwise_kernel, name_of(x.dtype), change=each_channel)
    deep = _depthwise(c, layer, image, kernel, None)
    pointwise = c.weight(layer.pointwise_kernel, name_of(x.dtype), change=outward)
    convolved = op.Conv(deep, pointwise, _bias(c, layer, x))
    return c.activation(layer.activation, back(convolved, layer.data_format))


@rule("BaseConvTranspose")
def transposed(c: Conversion, layer: Any, x: Var) -> Var:
    image = first(x, layer.data_format)
    convolved = op.ConvTranspose(
        image,
        c.weight(layer.kernel, name_of(x.dtype), change=inward),
        _bias(c, layer, x),
        strides=list(layer.strides),
        dilations=list(layer.dilation_rate),
        **cropping(layer.kernel_size, layer.strides, layer.padding, layer.output_padding, layer.dilation_rate),
    )
    return c.activation(layer.activation, back(convolved, layer.data_format))


def outward(kernel: Array) -> Array:
    """A kernel of Keras, its channels last, in ONNX's order."""
    return kernel.transpose(kernel.ndim - 1, kernel.ndim - 2, *range(kernel.ndim - 2))


inward = outward
"""A transposed kernel has its own two last axes the other way round, and so has ONNX's."""


def each_channel(kernel: Array) -> Array:
    """A depthwise kernel as one of as many groups as there are channels."""
    *sizes, channels, multiplier = kernel.shape
    return outward(kernel.reshape(*sizes, 1, channels * multiplier))


def cropping(
    window: Sequence[int], strides: Sequence[int], mode: str, extra: Any, dilations: Sequence[int]
) -> dict[str, Any]:
    """The attributes that give the result of a transposed convolution the size that Keras gives it."""
    before, after, more = [], [], []
    extras = [None] * len(window) if extra is None else tuple_of(extra, len(window))
    for size, stride, dilation, output_padding in zip(window, strides, dilations, extras, strict=True):
        span = (size - 1) * dilation + 1
        if mode == "valid":
            left, right = 0, -(max(span, stride) - span if output_padding is None else output_padding)
        else:
            whole = stride + span - 2 if output_padding is None else span + span % 2 - 2 + output_padding
            overlap = min(whole // 2 + whole % 2, span - 1)
            left, right = span - 1 - overlap, span - 1 - (whole - overlap)
        before.append(left)
        after.append(max(right, 0))
        more.append(max(-right, 0))
    return {"pads": [*before, *after], "output_padding": more if any(more) else None}


def _depthwise(c: Conversion, layer: Any, image: Var, kernel: Var, bias: Var | None) -> Var:
    channels = shape(image)[1]
    count = len(layer.kernel_size)
    strides, dilations = tuple_of(layer.strides, count), tuple_of(layer.dilation_rate, count)
    if not isinstance(channels, int):
        raise UnsupportedError("the number of channels is not known")
    convolved: Var = op.Conv(
        image,
        kernel,
        bias,
        strides=strides,
        dilations=dilations,
        group=channels,
        **padding(image, layer.padding, layer.kernel_size, strides, dilations),
    )
    return convolved


def _bias(c: Conversion, layer: Any, x: Var) -> Var | None:
    return c.weight(layer.bias, name_of(x.dtype)) if layer.use_bias else None
