"""Mixtures of experts in primitives: tokens sorted by the experts they chose, and what these make of them.

Experts whose weights are a tensor are parts of one product: each has places for as many tokens as the one that most
chose, and how many that is, is read. Experts with a matrix of codes each have a product each, with the tokens that
chose it: how many, is read for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.prim.coded import Coded
from ingot.prim.tensor import SizeReader

_READ = 32
"""How many sizes are read at once: a size has no more factors than twice as many."""

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


@dataclass(frozen=True, slots=True)
class CodedLayer:
    """The matrices [outputs, inputs] of a layer, an expert each, and the biases (experts, outputs)."""

    matrices: Sequence[Coded]
    bias: prim.Tensor | None

    def __call__(self, expert: int, x: prim.Tensor) -> prim.Tensor:
        """The outputs of an expert for rows (1, places, inputs)."""
        y = prim.contract(x, self.matrices[expert], "ack,nk->acn")
        if self.bias is None:
            return y
        width = self.bias.shape[1]
        return y + prim.reshape(prim.slice_(self.bias, [expert, 0], [1, width]), (1, 1, width))


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
    total = many * choices
    sorting = _Sorting(chosen, first.weights.shape[0])
    (most,) = read(prim.reduce_("maximum", sorting.counts, [0]))
    token = _tokens_of_experts(sorting.order, sorting.starts, most, total, choices)
    seen = prim.gather(tokens, [prim.unsqueeze(token, [2]), 2], (*token.shape, tokens.shape[1]), in_range=True)
    hidden = first(seen)
    if third is not None:
        hidden = prim.concat([hidden, third(seen)], 2)
    outputs = second(act(hidden))
    own = sorting.place - prim.gather(sorting.starts, [sorting.flat], (total,), in_range=True)
    expert, at = (prim.reshape(index, (many, choices, 1)) for index in (sorting.flat, own))
    parts = prim.gather(outputs, [expert, at, 2], (many, choices, outputs.shape[2]), in_range=True)
    return _weighted(parts, shares)


def mixed_one_by_one(
    tokens: prim.Tensor,
    chosen: prim.Tensor,
    shares: prim.Tensor,
    first: CodedLayer,
    second: CodedLayer,
    third: CodedLayer | None,
    act: Activation,
    read: SizeReader,
) -> prim.Tensor:
    """The same of experts with a product each, which reads no weights of experts that no token chose."""
    many, choices = chosen.shape
    total = many * choices
    experts = len(first.matrices)
    sorting = _Sorting(chosen, experts)
    parts = (prim.slice_(sorting.counts, [at], [min(_READ, experts - at)]) for at in range(0, experts, _READ))
    counts = [count for part in parts for count in read(part)]
    token = prim.reshape(sorting.order / prim.size(choices), (1, total, 1))
    seen = prim.gather(tokens, [token, 2], (1, total, tokens.shape[1]), in_range=True)
    hidden = _by_experts(first, seen, counts)
    if third is not None:
        hidden = prim.concat([hidden, _by_experts(third, seen, counts)], 2)
    rows = _by_experts(second, act(hidden), counts)
    width = rows.shape[2]
    at = prim.reshape(sorting.place, (many, choices, 1))
    return _weighted(prim.gather(rows, [0, at, 2], (many, choices, width), in_range=True), shares)


def _by_experts(layer: CodedLayer, x: prim.Tensor, counts: Sequence[Dim]) -> prim.Tensor:
    """The outputs (1, rows, outputs) for rows (1, rows, inputs), those of each expert together."""
    _, total, width = x.shape
    parts: list[prim.Tensor] = []
    start: Dim = 0
    for expert, count in enumerate(counts):
        parts.append(layer(expert, prim.slice_(x, [0, start, 0], [1, count, width], in_range=True)))
        start = start + count
    return prim.assume_shape(prim.concat(parts, 1), (1, total, parts[0].shape[2]))


class _Sorting:
    """The choices of experts in the order of these: of each choice its place, of each expert the first and how many."""

    def __init__(self, chosen: prim.Tensor, experts: Dim) -> None:
        total = prim.count(chosen.shape)
        self.flat = prim.reshape(chosen, (total,))
        self.order = prim.order(self.flat, total)
        self.place = prim.scatter(prim.full(0, (total,), DType.INT64), prim.iota((total,), 0), [self.order])
        hits = prim.apply("equal", prim.unsqueeze(self.flat, [0]), prim.iota((experts, total), 0))
        self.counts = prim.squeeze(prim.reduce_("add", prim.cast(hits, DType.INT64), [1]), [1])
        self.starts = prim.scan("add", self.counts, 0, exclusive=True)


def _weighted(parts: prim.Tensor, shares: prim.Tensor) -> prim.Tensor:
    """The sums over choices of parts (tokens, choices, outputs) times shares (tokens, choices)."""
    return prim.squeeze(prim.reduce_("add", parts * prim.unsqueeze(shares, [2]), [1]), [1])


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
