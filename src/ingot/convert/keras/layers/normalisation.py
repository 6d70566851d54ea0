"""Normalisations: by statistics that were learned, of rows, of groups of channels, to unit length."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, as_array, cast, name_of
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank, shape
from ingot.errors import UnsupportedError
from ingot.passes.layout import channels_last


@rule("BatchNormalization")
def batch(c: Conversion, layer: Any, x: Var) -> Var:
    """Keras computes in float32 at least."""
    wide = cast(x, "float32") if name_of(x.dtype) in ("float16", "bfloat16") else x
    dtype = name_of(wide.dtype)
    count, axis = rank(x), layer.axis % rank(x)
    size = len(as_array(layer.moving_mean))
    scale = c.weight(layer.gamma, dtype) if layer.scale else c.constant(np.ones(size, dtype), "gamma")
    shift = c.weight(layer.beta, dtype) if layer.center else c.constant(np.zeros(size, dtype), "beta")
    mean, variance = c.weight(layer.moving_mean, dtype), c.weight(layer.moving_variance, dtype)
    if count == 2 or axis == 1:
        normalised = op.BatchNormalization(wide, scale, shift, mean, variance, epsilon=float(layer.epsilon))
    else:
        order = [0, axis, *(place for place in range(1, count) if place != axis)]
        turned = op.Transpose(wide, perm=order)
        normalised = op.BatchNormalization(turned, scale, shift, mean, variance, epsilon=float(layer.epsilon))
        undone = channels_last(count) if axis == count - 1 else np.argsort(order).tolist()
        normalised = op.Transpose(normalised, perm=list(undone))
    return cast(normalised, layer.compute_dtype)


@rule("LayerNormalization")
def layer_normalisation(c: Conversion, layer: Any, x: Var) -> Var:
    gamma = layer.gamma if layer.scale or layer.rms_scaling else None
    beta = layer.beta if layer.center and not layer.rms_scaling else None
    normalised = rows(c, x, gamma, beta, layer.axis, layer.epsilon, rms=layer.rms_scaling)
    return cast(normalised, layer.compute_dtype)


def rows(c: Conversion, x: Var, gamma: Any, beta: Any, axis: Any, epsilon: float, *, rms: bool = False) -> Var:
    """Rows with mean zero and variance one, scaled and shifted; with `rms` only divided by their deviation."""
    wide = cast(x, "float32") if name_of(x.dtype) in ("float16", "bfloat16") else x
    dtype, count = name_of(wide.dtype), rank(x)
    axes = sorted(place % count for place in (axis if isinstance(axis, list | tuple) else [axis]))
    last = axes == list(range(axes[0], count))
    if last and gamma is not None and not rms:
        return op.LayerNormalization(
            wide,
            c.operand(gamma, dtype),
            None if beta is None else c.operand(beta, dtype),
            axis=axes[0],
            epsilon=epsilon,
        )
    sizes = [shape(x)[place] if place in axes else 1 for place in range(count)]
    mean = op.ReduceMean(wide, axes, keepdims=1)
    apart = wide - mean
    variance = op.ReduceMean(apart * apart, axes, keepdims=1)
    scale = op.Reciprocal(op.Sqrt(variance + c.number(epsilon, wide)))
    normalised = (wide if rms else apart) * scale
    if gamma is not None:
        normalised = normalised * op.Reshape(c.operand(gamma, dtype), _known(sizes))
    return normalised if beta is None else normalised + op.Reshape(c.operand(beta, dtype), _known(sizes))


@rule("RMSNormalization")
def root_mean_square(c: Conversion, layer: Any, x: Var) -> Var:
    return by_root_mean_square(c, x, layer.scale, layer.axis, layer.epsilon)


def by_root_mean_square(c: Conversion, x: Var, scale: Any, axis: Any, epsilon: float) -> Var:
    wide = cast(x, "float32") if name_of(x.dtype) in ("float16", "bfloat16") else x
    dtype, count = name_of(wide.dtype), rank(x)
    axes = sorted(place % count for place in (axis if isinstance(axis, list | tuple) else [axis]))
    if axes == list(range(axes[0], count)) and scale is not None:
        normalised = op.RMSNormalization(wide, c.operand(scale, dtype), axis=axes[0], epsilon=epsilon)
    else:
        square = op.ReduceMean(wide * wide, axes, keepdims=1)
        normalised = wide * op.Reciprocal(op.Sqrt(square + c.number(epsilon, wide)))
        if scale is not None:
            sizes = [shape(x)[place] if place in axes else 1 for place in range(count)]
            normalised = normalised * op.Reshape(c.operand(scale, dtype), _known(sizes))
    return cast(normalised, name_of(x.dtype))


@rule("GroupNormalization")
def groups(c: Conversion, layer: Any, x: Var) -> Var:
    wide = cast(x, "float32") if name_of(x.dtype) in ("float16", "bfloat16") else x
    dtype, count = name_of(wide.dtype), rank(x)
    axis = layer.axis % count
    size = shape(x)[axis]
    if not isinstance(size, int):
        raise UnsupportedError("the number of channels is not known")
    order = [0, axis, *(place for place in range(1, count) if place != axis)]
    turned = op.Transpose(wide, perm=order) if order != sorted(order) else wide
    scale = c.weight(layer.gamma, dtype) if layer.scale else c.constant(np.ones(size, dtype), "gamma")
    shift = c.weight(layer.beta, dtype) if layer.center else c.constant(np.zeros(size, dtype), "beta")
    normalised = op.GroupNormalization(
        turned, scale, shift, num_groups=size if layer.groups == -1 else layer.groups, epsilon=float(layer.epsilon)
    )
    if order != sorted(order):
        normalised = op.Transpose(normalised, perm=list(np.argsort(order).tolist()))
    return cast(normalised, layer.compute_dtype)


@rule("UnitNormalization")
def unit(c: Conversion, layer: Any, x: Var) -> Var:
    return to_length_one(c, x, layer.axis, 2, 1e-12)


def to_length_one(c: Conversion, x: Var, axis: Any, order: Any, epsilon: float) -> Var:
    """Keras' `normalize`: the elements along some axes divided by their length."""
    axes = list(axis) if isinstance(axis, list | tuple) else list(range(rank(x))) if axis is None else [axis]
    if order == 2:
        squares = op.ReduceSum(x * x, axes, keepdims=1)
        return x * op.Reciprocal(op.Sqrt(op.Max(squares, c.number(epsilon * epsilon, x))))
    if order in (1, "1"):
        length = op.ReduceSum(op.Abs(x), axes, keepdims=1)
    elif order in (float("inf"), "inf"):
        length = op.ReduceMax(op.Abs(x), axes, keepdims=1)
    else:
        power = op.ReduceSum(op.Pow(op.Abs(x), c.number(order, x)), axes, keepdims=1)
        length = op.Pow(power, c.number(1 / order, x))
    return x / op.Max(length, c.number(epsilon, x))


@rule("SpectralNormalization")
def spectral(c: Conversion, layer: Any, x: Var) -> Var:
    """The weights were normalised while it was trained."""
    return cast(c.call(layer.layer, x), name_of(x.dtype))


def _known(sizes: list[Any]) -> np.ndarray[Any, Any]:
    if not all(isinstance(size, int) for size in sizes):
        raise UnsupportedError("the size of a normalised axis is not known")
    return np.array(sizes, np.int64)
