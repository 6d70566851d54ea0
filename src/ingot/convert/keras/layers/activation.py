"""Activations that are layers."""

from __future__ import annotations

from typing import Any

from ingot.builder import Var, op
from ingot.convert.keras.activations import ACTIVATIONS, relu, softmax
from ingot.convert.keras.conversion import Conversion, cast, name_of
from ingot.convert.keras.rule import rule
from ingot.dtypes import DType


@rule("Activation")
def activation(c: Conversion, layer: Any, x: Var) -> Var:
    return c.activation(layer.activation, x)


@rule("ReLU")
def rectified(c: Conversion, layer: Any, x: Var) -> Var:
    return relu(c, x, layer.negative_slope, layer.max_value, layer.threshold)


@rule("LeakyReLU")
def leaky(c: Conversion, layer: Any, x: Var) -> Var:
    return ACTIVATIONS["leaky_relu"](c, x, layer.negative_slope)


@rule("ELU")
def exponential(c: Conversion, layer: Any, x: Var) -> Var:
    return ACTIVATIONS["elu"](c, x, layer.alpha)


@rule("PReLU")
def parametric(c: Conversion, layer: Any, x: Var) -> Var:
    return op.PRelu(x, c.weight(layer.alpha, name_of(x.dtype)))


@rule("Softmax")
def soft(c: Conversion, layer: Any, x: Var, mask: Var | None = None) -> Var:
    """The softmax; what the mask leaves out is zero."""
    if mask is None:
        return softmax(c, x, layer.axis)
    counted = cast(mask, DType.BOOL)
    low = -3e4 if x.dtype is DType.FLOAT16 else -1e9
    weights = softmax(c, op.Where(counted, x, c.number(low, x)), layer.axis)
    return op.Where(counted, weights, c.number(0, weights))
