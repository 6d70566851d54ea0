"""The operations of networks: activations, convolutions, pools, normalisations, attention, encodings."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import keras

from ingot.builder import Var, op
from ingot.convert.keras.activations import ACTIVATIONS, relu
from ingot.convert.keras.conversion import Conversion, as_array, cast
from ingot.convert.keras.encoding import hot
from ingot.convert.keras.images import back, first, padding, tuple_of
from ingot.convert.keras.layers.attention import attended, positions
from ingot.convert.keras.layers.convolution import cropping, each_channel, outward
from ingot.convert.keras.layers.normalisation import by_root_mean_square, rows, to_length_one
from ingot.convert.keras.layers.pooling import adaptive, pooled
from ingot.convert.keras.operations.elementwise import operand_of, result_type
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank, shape
from ingot.errors import UnsupportedError

_OPTIONS = {
    "Celu": ("celu", "alpha"), "Elu": ("elu", "alpha"), "Gelu": ("gelu", "approximate"), "Glu": ("glu", "axis"),
    "HardShrink": ("hard_shrink", "threshold"), "HardSigmoid": ("hard_sigmoid",), "HardSilu": ("hard_silu",),
    "HardTanh": ("hard_tanh",), "LeakyRelu": ("leaky_relu", "negative_slope"), "LogSigmoid": ("log_sigmoid",),
    "LogSoftmax": ("log_softmax", "axis"), "Mish": ("mish",), "Relu": ("relu",), "Relu6": ("relu6",), "Selu": ("selu",),
    "Sigmoid": ("sigmoid",), "Silu": ("silu",), "SoftShrink": ("soft_shrink", "threshold"),
    "Softmax": ("softmax", "axis"), "Softplus": ("softplus",), "Softsign": ("softsign",),
    "SparsePlus": ("sparse_plus",), "SparseSigmoid": ("sparse_sigmoid",),
    "Sparsemax": ("sparsemax", "axis"), "Squareplus": ("squareplus", "b"),
    "TanhShrink": ("tanh_shrink",), "Threshold": ("threshold", "threshold", "default_value"),
}  # fmt: skip
"""Activations among the operations: their names, and the attributes that hold their options."""


@rule(*(f"ops.{name}" for name in _OPTIONS))
def activation(c: Conversion, operation: Any, x: Any) -> Var:
    name, *options = _OPTIONS[type(operation).__name__]
    named = {option: getattr(operation, option) for option in options}
    if name in ("softmax", "log_softmax") and named["axis"] is None:
        raise UnsupportedError("a softmax over all axes")
    return ACTIVATIONS[name](c, operand_of(c, x), **named)


@rule("ops.ReLU")
def rectified(c: Conversion, operation: Any, x: Any) -> Var:
    return relu(c, operand_of(c, x), operation.negative_slope, operation.max_value, operation.threshold)


def _format(operation: Any) -> str:
    return str(operation.data_format or keras.config.image_data_format())


@rule("ops.Conv", "ops.DepthwiseConv")
def convolved(c: Conversion, operation: Any, inputs: Any, kernel: Any) -> Var:
    weights = as_array(kernel) if not isinstance(kernel, Var) else None
    if weights is None:
        raise UnsupportedError("a convolution whose kernel is computed")
    x = operand_of(c, inputs)
    count = rank(x) - 2
    data_format = _format(operation)
    image = first(x, data_format)
    strides, dilations = tuple_of(operation.strides, count), tuple_of(operation.dilation_rate, count)
    channels = shape(image)[1]
    if not isinstance(channels, int):
        raise UnsupportedError("the number of channels is not known")
    if type(operation).__name__ == "Conv":
        groups, turned = channels // weights.shape[-2], outward(weights)
    else:
        groups, turned = channels, each_channel(weights)
    assert x.dtype is not None
    convolved_image = op.Conv(
        image,
        c.constant(turned.astype(x.dtype.numpy), "kernel"),
        strides=strides,
        dilations=dilations,
        group=groups,
        **padding(image, operation.padding, weights.shape[:count], strides, dilations),
    )
    return back(convolved_image, data_format)


@rule("ops.SeparableConv")
def separable(c: Conversion, operation: Any, inputs: Any, depthwise_kernel: Any, pointwise_kernel: Any) -> Var:
    plain = SimpleNamespace(
        strides=operation.strides,
        padding=operation.padding,
        data_format=operation.data_format,
        dilation_rate=operation.dilation_rate,
    )
    deep = convolved(c, type("DepthwiseConv", (), vars(plain))(), inputs, depthwise_kernel)
    point = {**vars(plain), "strides": 1, "padding": "valid", "dilation_rate": 1}
    return convolved(c, type("Conv", (), point)(), deep, pointwise_kernel)


@rule("ops.ConvTranspose")
def transposed(c: Conversion, operation: Any, inputs: Any, kernel: Any) -> Var:
    if isinstance(kernel, Var):
        raise UnsupportedError("a convolution whose kernel is computed")
    weights = as_array(kernel)
    x = operand_of(c, inputs)
    count = rank(x) - 2
    strides, dilations = tuple_of(operation.strides, count), tuple_of(operation.dilation_rate, count)
    assert x.dtype is not None
    convolved_image = op.ConvTranspose(
        first(x, _format(operation)),
        c.constant(outward(weights).astype(x.dtype.numpy), "kernel"),
        strides=strides,
        dilations=dilations,
        **cropping(weights.shape[:count], strides, operation.padding, operation.output_padding, dilations),
    )
    return back(convolved_image, _format(operation))


@rule("ops.MaxPool", "ops.AveragePool")
def pool(c: Conversion, operation: Any, inputs: Any) -> Var:
    mode = "max" if type(operation).__name__ == "MaxPool" else "average"
    x = c.operand(inputs)
    return pooled(x, mode, operation.pool_size, operation.strides, operation.padding, _format(operation))


@rule("ops.AdaptiveMaxPool", "ops.AdaptiveAveragePool")
def adaptive_pool(c: Conversion, operation: Any, inputs: Any) -> Var:
    mode = "max" if type(operation).__name__ == "AdaptiveMaxPool" else "average"
    return adaptive(c, c.operand(inputs), mode, operation.output_size, _format(operation))


@rule("ops.BatchNorm")
def normalised(
    c: Conversion, operation: Any, x: Any, mean: Any, variance: Any, offset: Any = None, scale: Any = None
) -> Var:
    value = operand_of(c, x)
    axis = operation.axis % rank(value)
    sizes = [-1 if place == axis else 1 for place in range(rank(value))]

    def beside(each: Any) -> Var:
        return op.Reshape(c.operand(each, result_type(c)), sizes)

    factor = op.Reciprocal(op.Sqrt(beside(variance) + c.number(operation.epsilon, value)))
    factor = factor if scale is None else factor * beside(scale)
    scaled = (value - beside(mean)) * factor
    return scaled if offset is None else scaled + beside(offset)


@rule("ops.LayerNorm")
def row_normalised(c: Conversion, operation: Any, x: Any, gamma: Any = None, beta: Any = None) -> Var:
    epsilon = keras.config.epsilon() if operation.epsilon is None else operation.epsilon
    scaled = rows(c, c.operand(x), gamma, beta, operation.axis, epsilon, rms=operation.rms_scaling)
    return cast(scaled, result_type(c))


@rule("ops.RMSNorm")
def root_mean_square(c: Conversion, operation: Any, x: Any, scale: Any = None) -> Var:
    epsilon = keras.config.epsilon() if operation.epsilon is None else operation.epsilon
    return cast(by_root_mean_square(c, c.operand(x), scale, operation.axis, epsilon), result_type(c))


@rule("ops.Normalize")
def unit(c: Conversion, operation: Any, x: Any) -> Var:
    epsilon = keras.config.epsilon() if operation.epsilon is None else operation.epsilon
    return to_length_one(c, operand_of(c, x), operation.axis, operation.order, epsilon)


@rule("ops.OneHot")
def one_hot(c: Conversion, operation: Any, x: Any) -> Var:
    return hot(c.operand(x), operation.num_classes, result_type(c), axis=operation.axis)


@rule("ops.MultiHot")
def multi_hot(c: Conversion, operation: Any, inputs: Any) -> Var:
    value = c.operand(inputs)
    one = hot(value, operation.num_classes, result_type(c), axis=operation.axis)
    return op.ReduceMax(one, [1 if rank(value) > 1 else 0], keepdims=0)


@rule("ops.DotProductAttention")
def attention(
    c: Conversion,
    operation: Any,
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: Any = None,
) -> Var:
    q, k, v = operand_of(c, query), operand_of(c, key), operand_of(c, value)
    if operation.attn_logits_soft_cap is not None:
        raise UnsupportedError("capped scores")
    size = shape(q)[-1]
    if scale is None:
        if not isinstance(size, int):
            raise UnsupportedError("the size of a head is not known")
        scale = 1 / math.sqrt(size)
    count, own = shape(q)[2], shape(k)[2]
    if isinstance(count, int) and isinstance(own, int) and count != own:
        k, v = (_for_each(x, count // own) for x in (k, v))
    seen = None if mask is None else c.operand(mask)
    if operation.is_causal:
        down, across = positions(q, k)
        causal = op.Unsqueeze(down >= across, [1])
        seen = causal if seen is None else op.And(cast(seen, "bool"), causal)
    return attended(c, q, k, v, seen, float(scale), None if bias is None else c.operand(bias))[0]


def _for_each(x: Var, count: int) -> Var:
    wide = op.Tile(op.Unsqueeze(x, [3]), [1, 1, 1, count, 1])
    return op.Reshape(wide, [0, 0, -1, int(shape(x)[-1])])  # type: ignore[arg-type]


@rule("ops.DepthToSpace", "ops.SpaceToDepth")
def depth(c: Conversion, operation: Any, x: Any) -> Var:
    """Blocks of an image as channels, and back, in the order of TensorFlow."""
    data_format = operation.data_format or "channels_last"
    image = first(c.operand(x), data_format)
    if type(operation).__name__ == "DepthToSpace":
        return back(op.DepthToSpace(image, blocksize=operation.block_size, mode="DCR"), data_format)
    return back(op.SpaceToDepth(image, blocksize=operation.block_size), data_format)
