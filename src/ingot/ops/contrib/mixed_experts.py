"""Mixtures of experts in primitives: tokens sorted by the experts they chose, each expert a part of one product.

Each expert has places for as many tokens as the one that most chose; how many that is, is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.prim.tensor import SizeReader

Activation: TypeAlias = Callable[[prim.Tensor], prim.Tensor]


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights (experts, outputs, inputs) and the biases (experts, outputs) of a layer."""

    weights: prim.Tensor
    bias: prim.Tensor | None

    def __call__(self, x: prim.Tensor) -> prim.Tensor:
        """The outputs for rows (experts, places, inputs)."""
        y = prim.contract(x, self.weights, "ecd,ehd->ech")
        return y if self.bias is None else y + prim.unsqueeze(self.bias, [1])


def highest(values: prim.Tensor, many: int) -> prim.Tensor:
    """The places of the highest of each row, of equals the later first."""
    rows, columns = values.shape
    backwards = prim.slice_(values, [0, columns - 1], [rows, columns], [1, -1], in_range=True)
    return prim.size(columns) - 1 - prim.order(backwards, many, descending=True)


def mixed(
    tokens: prim.Tensor,
    chosen: prim.Tensor,
    shares: prim.Tensor,
    first: Layer,
    second: Layer,
    third: Layer | None,
    act: Activation,
    read: SizeReader,
) -> prim.Tensor:
    """The outputs (tokens, outputs) of the experts that each token chose, weighted by shares (tokens, choices)."""
    many, choices = chosen.shape
    experts = first.weights.shape[0]
    total = many * choices
    flat = prim.reshape(chosen, (total,))
    order = prim.order(flat, total)
    place = prim.scatter(prim.full(0, (total,), DType.INT64), prim.iota((total,), 0), [order])
    hits = prim.apply("equal", prim.unsqueeze(flat, [0]), prim.iota((experts, total), 0))
    counts = prim.squeeze(prim.reduce_("add", prim.cast(hits, DType.INT64), [1]), [1])
    starts = prim.scan("add", counts, 0, exclusive=True)
    (most,) = read(prim.reduce_("maximum", counts, [0]))
    token = _tokens_of_experts(order, starts, most, total, choices)
    seen = prim.gather(tokens, [prim.unsqueeze(token, [2]), 2], (experts, most, tokens.shape[1]), in_range=True)
    hidden = first(seen)
    if third is not None:
        hidden = prim.concat([hidden, third(seen)], 2)
    outputs = second(act(hidden))
    shape = (many, choices, outputs.shape[2])
    own = place - prim.gather(starts, [flat], (total,), in_range=True)
    expert, at = (prim.reshape(each, (many, choices, 1)) for each in (flat, own))
    parts = prim.gather(outputs, [expert, at, 2], shape, in_range=True) * prim.unsqueeze(shares, [2])
    return prim.squeeze(prim.reduce_("add", parts, [1]), [1])


def _tokens_of_experts(order: prim.Tensor, starts: prim.Tensor, most: Dim, total: Dim, choices: Dim) -> prim.Tensor:
    """The token at each place (experts, places): that of another expert, or the last, behind those of one."""
    shape = (starts.shape[0], most)
    at = prim.apply("minimum", prim.unsqueeze(starts, [1]) + prim.iota(shape, 1), prim.size(total) - 1)
    return prim.gather(order, [at], shape, in_range=True) / prim.size(choices)


def activation(
    kind: str, fusion: int, alpha: float, beta: float, limit: float | None, beside: bool
) -> Callable[[prim.Tensor], prim.Tensor]:
    """What is made of the rows of fc1, or of those of fc1 and fc3 side by side."""
    if kind == "swiglu":

        def gated(rows: prim.Tensor) -> prim.Tensor:
            gate, linear = _halves(rows) if beside or fusion == 2 else _alternating(rows)
            if limit is not None:
                gate = prim.apply("minimum", gate, limit)
                linear = prim.apply("minimum", prim.apply("maximum", linear, -limit), limit)
            return gate * prim.apply("sigmoid", gate * alpha) * (linear + beta)

        return gated
    function = _ACTIVATIONS[kind]

    def multiplied(rows: prim.Tensor) -> prim.Tensor:
        one, other = _halves(rows)
        return function(one) * other

    return multiplied if beside else function


def _halves(rows: prim.Tensor) -> tuple[prim.Tensor, prim.Tensor]:
    half = rows.shape[2] // 2
    one, other = (prim.slice_(rows, [0, 0, start], [*rows.shape[:2], half]) for start in (0, half))
    return one, other


def _alternating(rows: prim.Tensor) -> tuple[prim.Tensor, prim.Tensor]:
    half = rows.shape[2] // 2
    one, other = (prim.slice_(rows, [0, 0, start], [*rows.shape[:2], half], [1, 1, 2]) for start in (0, 1))
    return one, other


def _gelu(x: prim.Tensor) -> prim.Tensor:
    inner = (x + x * x * x * float(np.float32(0.044715))) * float(np.float32(0.7978845608))
    return x * 0.5 * (prim.apply("tanh", inner) + 1.0)


_ACTIVATIONS: dict[str, Activation] = {
    "relu": lambda x: prim.apply("maximum", x, 0.0),
    "gelu": _gelu,
    "silu": lambda x: x * prim.apply("sigmoid", x),
    "identity": lambda x: x,
}
