"""The functions a recurrent network may use for its gates and states, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import CheckError, nearest

Activation: TypeAlias = Callable[[Array], Array]
PrimitiveActivation: TypeAlias = Callable[[prim.Tensor], prim.Tensor]


@dataclass(frozen=True, slots=True)
class _Kind:
    compute: Callable[..., Array]
    lower: Callable[..., prim.Tensor]
    alpha: float | None = None
    beta: float | None = None


_KINDS = {
    "Relu": _Kind(
        lambda x: np.maximum(x, 0),
        lambda x: prim.apply("maximum", x, 0.0),
    ),
    "Tanh": _Kind(
        lambda x: np.tanh(x),
        lambda x: prim.apply("tanh", x),
    ),
    "Sigmoid": _Kind(
        lambda x: _sigmoid(x),
        lambda x: prim.apply("sigmoid", x),
    ),
    "Affine": _Kind(
        lambda x, a, b: a * x + b,
        lambda x, a, b: x * a + b,
        1.0,
        0.0,
    ),
    "LeakyRelu": _Kind(
        lambda x, a: np.where(x < 0, a * x, x),
        lambda x, a: prim.where(prim.apply("less", x, 0.0), x * a, x),
        0.01,
    ),
    "ThresholdedRelu": _Kind(
        lambda x, a: np.where(x >= a, x, 0),
        lambda x, a: prim.where(prim.apply("less_equal", prim.full(a, x.shape, x.dtype), x), x, 0.0),
        1.0,
    ),
    "ScaledTanh": _Kind(
        lambda x, a, b: a * np.tanh(b * x),
        lambda x, a, b: prim.apply("tanh", x * b) * a,
        1.0,
        1.0,
    ),
    "HardSigmoid": _Kind(
        lambda x, a, b: np.clip(a * x + b, 0, 1),
        lambda x, a, b: _cut(x * a + b, 0.0, 1.0),
        0.2,
        0.5,
    ),
    "Elu": _Kind(
        lambda x, a: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x),
        lambda x, a: prim.where(prim.apply("less", x, 0.0), prim.apply("expm1", prim.apply("minimum", x, 0.0)) * a, x),
        1.0,
    ),
    "Softsign": _Kind(
        lambda x: x / (1 + np.abs(x)),
        lambda x: x / (prim.apply("absolute", x) + 1.0),
    ),
    "Softplus": _Kind(
        lambda x: np.logaddexp(x, 0),
        lambda x: prim.apply("maximum", x, 0.0) + prim.apply("log1p", prim.apply("exp", -prim.apply("absolute", x))),
    ),
}


def bound(
    names: Sequence[str] | None,
    default: Sequence[str],
    directions: int,
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    clip: float | None,
) -> list[list[Activation]]:
    """For each direction its functions in order, each of its argument cut to `clip`.

    Names may be in any case. Functions that take a parameter take the next of `alphas` or `betas`, or their own
    default. CheckError for an unknown name, or more or fewer than there is use for.
    """
    return [
        [_activation(kind, parameters, clip) for kind, parameters in row]
        for row in _chosen(names, default, directions, alphas, betas)
    ]


def bound_primitives(
    names: Sequence[str] | None,
    default: Sequence[str],
    directions: int,
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    clip: float | None,
) -> list[list[PrimitiveActivation]]:
    """The same functions in primitives."""
    return [
        [_primitive(kind, parameters, clip) for kind, parameters in row]
        for row in _chosen(names, default, directions, alphas, betas)
    ]


def default_parameters(name: str) -> dict[str, float]:
    """The parameters of an activation, alpha and beta or one of them, with their defaults; CheckError if unknown."""
    kind = _kind(name)
    return {name: value for name, value in (("alpha", kind.alpha), ("beta", kind.beta)) if value is not None}


def _chosen(
    names: Sequence[str] | None,
    default: Sequence[str],
    directions: int,
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
) -> list[list[tuple[_Kind, list[float]]]]:
    """For each direction its functions, with their parameters."""
    chosen = list(names) if names else list(default) * directions
    if len(chosen) != len(default) * directions:
        shown = f"{directions} direction{'s' if directions > 1 else ''}"
        raise CheckError(f"activations has {len(chosen)} entries, {shown} of {len(default)} are needed")
    left, right = iter(alphas or ()), iter(betas or ())
    bound_kinds = []
    for name in chosen:
        kind = _kind(name)
        alpha = [] if kind.alpha is None else [next(left, kind.alpha)]
        beta = [] if kind.beta is None else [next(right, kind.beta)]
        bound_kinds.append((kind, alpha + beta))
    each = len(default)
    return [bound_kinds[start : start + each] for start in range(0, len(bound_kinds), each)]


def _kind(name: str) -> _Kind:
    for known, kind in _KINDS.items():
        if known.lower() == name.lower():
            return kind
    raise CheckError(f"'{name}' is no activation", hint=nearest(name, _KINDS) or f"one of {', '.join(_KINDS)}")


def _activation(kind: _Kind, parameters: Sequence[float], clip: float | None) -> Activation:
    def activation(x: Array) -> Array:
        cut = x if clip is None else np.clip(x, -clip, clip)
        return np.asarray(kind.compute(cut, *parameters), x.dtype)

    return activation


def _primitive(kind: _Kind, parameters: Sequence[float], clip: float | None) -> PrimitiveActivation:
    def activation(x: prim.Tensor) -> prim.Tensor:
        return kind.lower(x if clip is None else _cut(x, -clip, clip), *parameters)

    return activation


def _cut(x: prim.Tensor, least: float, most: float) -> prim.Tensor:
    return prim.apply("minimum", prim.apply("maximum", x, least), most)


def _sigmoid(x: Array) -> Array:
    """Without overflow on either side."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))
