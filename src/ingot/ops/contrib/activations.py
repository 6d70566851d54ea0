"""The activations that fused operators name, in primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ingot import prim
from ingot.dtypes import DType


def activated(x: prim.Tensor, name: str | None, params: Sequence[float]) -> prim.Tensor:
    """The activation of that name of `x`, with its own defaults for the parameters that are not given."""
    if not name:
        return x
    defaults, compute = _ACTIVATIONS[name]
    values = (*params, *defaults[len(params) :])
    return compute(x, *(float(value) if x.dtype is DType.FLOAT64 else float(np.float32(value)) for value in values))


def _negative(x: prim.Tensor) -> prim.Tensor:
    return prim.apply("less", x, 0)


def _exponential(x: prim.Tensor, a: float) -> prim.Tensor:
    return prim.apply("expm1", prim.apply("minimum", x, 0)) * a


def _between(x: prim.Tensor, low: float, high: float) -> prim.Tensor:
    return prim.apply("minimum", prim.apply("maximum", x, low), high)


def _softplus(x: prim.Tensor) -> prim.Tensor:
    size = prim.apply("absolute", x)
    return prim.apply("maximum", x, 0) + prim.apply("log1p", prim.apply("exp", -size))


_ACTIVATIONS: dict[str, tuple[tuple[float, ...], Callable[..., prim.Tensor]]] = {
    "Relu": ((), lambda x: prim.apply("maximum", x, 0)),
    "Tanh": ((), lambda x: prim.apply("tanh", x)),
    "Sigmoid": ((), lambda x: prim.apply("sigmoid", x)),
    "Softplus": ((), _softplus),
    "ParametricSoftplus": ((1.0, 1.0), lambda x, a, b: _softplus(x * b) * a),
    "ScaledTanh": ((1.0, 1.0), lambda x, a, b: prim.apply("tanh", x * b) * a),
    "Softsign": ((), lambda x: x / (prim.apply("absolute", x) + 1)),
    "LeakyRelu": ((0.01,), lambda x, a: prim.where(_negative(x), x * a, x)),
    "ThresholdedRelu": ((1.0,), lambda x, a: prim.where(prim.apply("less", prim.scalar(a, x.dtype), x), x, 0)),
    "Elu": ((1.0,), lambda x, a: prim.where(_negative(x), _exponential(x, a), x)),
    "Clip": ((-np.inf, np.inf), _between),
    "HardSigmoid": ((0.2, 0.5), lambda x, a, b: _between(x * a + b, 0, 1)),
    "HardSwish": ((), lambda x: x * _between(x / 6 + 0.5, 0, 1)),
    "Selu": (
        (1.6732632423543772, 1.0507009873554805),
        lambda x, a, g: prim.where(prim.apply("less_equal", x, 0), _exponential(x, a), x) * g,
    ),
}
