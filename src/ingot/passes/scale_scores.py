"""Queries and keys that are multiplied by numbers, as exporters write attention: their product is scaled instead.

An attention kernel scales scores where it has them. What is left of queries and keys are views of what was stored.
"""

from __future__ import annotations

import math

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.passes.replacing import add_constant, drop
from ingot.prim.functions import NARROW_FLOATS
from ingot.queries.values import dtype, number, only_reader, produced_by, rank

_BETWEEN = ("Add", "Sub", "Mul", "Div", "Where", "Cast")
"""What scales and masks scores before their softmax."""

_MOST_BETWEEN = 6


def scale_scores(model: Model, facts: Facts) -> int:
    """Multiply scores of attention by the numbers that queries and keys are multiplied by; how many products."""
    scaled = 0
    for graph in list(nested_graphs(model.graph)):
        for node in list(graph):
            if not node.applies("MatMul") or dtype(node.output, facts) is not DType.FLOAT32 or not _is_of_scores(node):
                continue
            factors = {place: own for place in (0, 1) if (own := _factored(node, place, facts)) is not None}
            factor = np.float32(math.prod(factored.factor for factored in factors.values()))
            if factors and np.finfo(np.float32).tiny <= abs(factor) < np.float32(np.inf):
                for factored in factors.values():
                    product = factored.reader.inputs[factored.place]
                    factored.reader.replace_input(factored.place, factored.source)
                    assert product is not None
                    assert product.producer is not None
                    drop(product.producer)
                _scale(node, factor, facts)
                scaled += 1
    return scaled


def _is_of_scores(node: Node) -> bool:
    """Whether a softmax follows from a product, by what scales and masks scores alone."""
    for _ in range(_MOST_BETWEEN):
        reader = only_reader(node.output)
        if reader is None or reader.applies("Softmax"):
            return reader is not None
        if not reader.applies(*_BETWEEN):
            return False
        node = reader
    return False


@dataclass(frozen=True, slots=True)
class _Factored:
    """`reader` reads at `place` what is `source` times a `factor`."""

    reader: Node
    place: int
    source: Value
    factor: float


def _factored(node: Node, place: int, facts: Facts) -> _Factored | None:
    """An operand that is a product with a number, which nothing else reads."""
    widened = produced_by(node.inputs[place], "Cast")
    if widened is not None and only_reader(widened.output) is node and dtype(widened.inputs[0], facts) in NARROW_FLOATS:
        node, place = widened, 0
    product = produced_by(node.inputs[place], "Mul", "Div")
    if product is None or only_reader(product.output) is not node:
        return None
    for at in (1, 0) if product.applies("Mul") else (1,):
        source, factor = product.inputs[1 - at], number(product.inputs[at], facts)
        if source is None or not isinstance(factor, float) or not math.isfinite(factor) or factor == 0:
            continue
        axes, own = rank(source, facts), rank(product.inputs[at], facts)
        if axes is not None and own is not None and own <= axes:
            return _Factored(node, place, source, factor if product.applies("Mul") else 1 / factor)
    return None


def _scale(node: Node, factor: np.float32, facts: Facts) -> None:
    """Multiply the result of a node."""
    value, graph = node.output, node.graph
    assert graph is not None
    readers = value.uses
    held = add_constant(Tensor(np.asarray(factor)), f"{value.name}_scale", graph, facts)
    with inserting(after=node):
        scaled = op.Mul(value, held)
    facts[scaled.value] = facts[value]
    for reader, place in readers:
        reader.replace_input(place, scaled.value)
