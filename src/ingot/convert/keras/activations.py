"""Activations, by the names that Keras has for them, with their options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.builder import Var, op

if TYPE_CHECKING:
    from ingot.convert.keras.conversion import Conversion


def relu(
    c: Conversion, x: Var, negative_slope: float = 0.0, max_value: float | None = None, threshold: float = 0.0
) -> Var:
    """Keras' ReLU with its options: below the threshold a slope, above the maximum level."""
    if threshold == 0 and max_value is None:
        return op.LeakyRelu(x, alpha=float(negative_slope)) if negative_slope else op.Relu(x)
    if threshold:
        above = op.Where(x > c.number(threshold, x), x, c.number(0, x))
    else:
        above = op.Relu(x)
    if max_value is not None:
        above = op.Clip(above, c.number(0, x), c.number(max_value, x))
    if not negative_slope:
        return above
    return above - c.number(negative_slope, x) * op.Relu(c.number(threshold, x) - x)


def hard_sigmoid(c: Conversion, x: Var) -> Var:
    return op.HardSigmoid(x, alpha=1 / 6, beta=0.5)


def silu(c: Conversion, x: Var) -> Var:
    return x * op.Sigmoid(x)


def gelu(c: Conversion, x: Var, approximate: bool = False) -> Var:
    return op.Gelu(x, approximate="tanh" if approximate else "none")


def softmax(c: Conversion, x: Var, axis: Any = -1) -> Var:
    """The softmax over one axis, or over several at once."""
    if not isinstance(axis, list | tuple):
        return op.Softmax(x, axis=axis)
    if len(axis) == 1:
        return op.Softmax(x, axis=axis[0])
    e = op.Exp(x - op.ReduceMax(x, list(axis), keepdims=1))
    return e / op.ReduceSum(e, list(axis), keepdims=1)


def log_sigmoid(c: Conversion, x: Var) -> Var:
    return op.Neg(op.Softplus(op.Neg(x)))


def soft_shrink(c: Conversion, x: Var, threshold: float = 0.5) -> Var:
    return op.Shrink(x, lambd=float(threshold), bias=float(threshold))


def hard_shrink(c: Conversion, x: Var, threshold: float = 0.5) -> Var:
    return op.Where(op.Abs(x) > c.number(threshold, x), x, c.number(0, x))


def squareplus(c: Conversion, x: Var, b: float = 4) -> Var:
    return (x + op.Sqrt(x * x + c.number(b, x))) * c.number(0.5, x)


def sparse_plus(c: Conversion, x: Var) -> Var:
    middle = c.number(0.25, x) * (x + c.number(1, x)) * (x + c.number(1, x))
    high = op.Where(x >= c.number(1, x), x, middle)
    return op.Where(x <= c.number(-1, x), c.number(0, x), high)


def sparse_sigmoid(c: Conversion, x: Var) -> Var:
    return op.Clip(c.number(0.5, x) * (x + c.number(1, x)), c.number(0, x), c.number(1, x))


def sparsemax(c: Conversion, x: Var, axis: int = -1) -> Var:
    """Elements above a threshold, less that; the threshold is Keras', from the running sums of the largest elements."""
    size = op.Shape(x, start=axis, end=axis + 1 if axis != -1 else None)
    sorted_, _ = op.TopK(x, size, axis=axis, outputs=2)
    place = op.CumSum(op.Expand(c.number(1, x), op.Shape(x)), np.array(axis, np.int64))
    total = op.CumSum(sorted_, np.array(axis, np.int64))
    support = c.number(1, x) + place * sorted_ > total
    count = op.ReduceSum(op.Where(support, c.number(1, x), c.number(0, x)), [axis], keepdims=1)
    supported = op.ReduceSum(op.Where(support, total, c.number(0, x)), [axis], keepdims=1)
    return op.Relu(x - (supported - c.number(1, x)) / count)


def glu(c: Conversion, x: Var, axis: int = -1) -> Var:
    value, gate = op.Split(x, axis=axis, num_outputs=2, outputs=2)
    return value * op.Sigmoid(gate)


def selu(c: Conversion, x: Var) -> Var:
    return op.Selu(x, alpha=1.6732632423543772, gamma=1.0507009873554805)


def threshold(c: Conversion, x: Var, threshold: float, default_value: float) -> Var:
    return op.Where(x > c.number(threshold, x), x, c.number(default_value, x))


ACTIVATIONS: dict[str, Callable[..., Var]] = {
    "celu": lambda c, x, alpha=1.0: op.Celu(x, alpha=float(alpha)),
    "elu": lambda c, x, alpha=1.0: op.Elu(x, alpha=float(alpha)),
    "exponential": lambda c, x: op.Exp(x),
    "gelu": gelu,
    "glu": glu,
    "hard_shrink": hard_shrink,
    "hard_sigmoid": hard_sigmoid,
    "hard_silu": lambda c, x: op.HardSwish(x),
    "hard_swish": lambda c, x: op.HardSwish(x),
    "hard_tanh": lambda c, x: op.Clip(x, c.number(-1, x), c.number(1, x)),
    "leaky_relu": lambda c, x, negative_slope=0.2: op.LeakyRelu(x, alpha=float(negative_slope)),
    "linear": lambda c, x: x,
    "log_sigmoid": log_sigmoid,
    "log_softmax": lambda c, x, axis=-1: op.LogSoftmax(x, axis=axis),
    "mish": lambda c, x: op.Mish(x),
    "relu": relu,
    "relu6": lambda c, x: op.Clip(x, c.number(0, x), c.number(6, x)),
    "selu": selu,
    "sigmoid": lambda c, x: op.Sigmoid(x),
    "silu": silu,
    "soft_shrink": soft_shrink,
    "softmax": softmax,
    "softplus": lambda c, x: op.Softplus(x),
    "softsign": lambda c, x: op.Softsign(x),
    "sparse_plus": sparse_plus,
    "sparse_sigmoid": sparse_sigmoid,
    "sparsemax": sparsemax,
    "squareplus": squareplus,
    "swish": silu,
    "tanh": lambda c, x: op.Tanh(x),
    "tanh_shrink": lambda c, x: x - op.Tanh(x),
    "threshold": threshold,
}
"""What each writes; options have the names and defaults that Keras gives them."""
