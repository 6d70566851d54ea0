"""What flows where in one graph: leaves to draw, and the values that lead from one to another.

A leaf is a node, an input of the graph, a value of a graph around it, or an output. Constants are no leaves: they are
shown inside of the nodes that read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.sort import reads
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value

Edges: TypeAlias = Sequence[int]
"""Edges of a flow, by their index in it."""

_CONSTANTS = ("Constant",)
_NUMBERS = {
    "value_float": DType.FLOAT32,
    "value_floats": DType.FLOAT32,
    "value_int": DType.INT64,
    "value_ints": DType.INT64,
}
"""How a Constant node may state numbers besides as a tensor."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Something that is drawn as one box; `node` is None unless it is a node, `value` None if it is one."""

    kind: Literal["node", "input", "outer", "output"]
    node: Node | None
    value: Value | None

    @property
    def name(self) -> str:
        """What the model calls it."""
        if self.node is not None:
            return self.node.label
        return "" if self.value is None else self.value.name


@dataclass(frozen=True, slots=True)
class Flow:
    """The leaves of a graph in the order of the file, and its edges: `sources`, `targets` and `values` in parallel.

    A value is an index into `named`. An edge that leads backwards in that order is part of a broken graph.
    """

    leaves: list[Leaf]
    named: list[Value]
    sources: list[int]
    targets: list[int]
    values: list[int]


def flow_of(graph: Graph) -> Flow:
    """The leaves and edges of a graph, which need not be valid: nodes out of order or in a cycle are leaves too."""
    nodes = [node for node in graph.nodes if not is_constant_node(node)]
    outer = list(dict.fromkeys(value for node in nodes for value in _read(node) if _is_outer(value, graph)))
    inputs = [value for value in graph.inputs if value.constant is None]
    leaves = [Leaf("outer", None, value) for value in outer]
    leaves += [Leaf("input", None, value) for value in inputs]
    producers = {leaf.value: place for place, leaf in enumerate(leaves)}
    for place, node in enumerate(nodes, len(leaves)):
        for value in node.outputs:
            producers.setdefault(value, place)
    first = len(leaves)
    leaves += [Leaf("node", node, None) for node in nodes]
    leaves += [Leaf("output", None, value) for value in graph.outputs]
    numbers: dict[Value, int] = {}
    sources, targets, values = [], [], []
    for place, leaf in enumerate(leaves[first:], first):
        for value in dict.fromkeys(_read(leaf.node) if leaf.node is not None else [leaf.value] if leaf.value else []):
            source = producers.get(value)
            if source is not None:
                sources.append(source)
                targets.append(place)
                values.append(numbers.setdefault(value, len(numbers)))
    return Flow(leaves, list(numbers), sources, targets, values)


def is_constant_node(node: Node) -> bool:
    """Whether a node only states a constant, which is shown inside of its readers."""
    return not node.inputs and node.applies(*_CONSTANTS) and not any(value.is_output for value in node.outputs)


def constant_of(value: Value | None) -> Tensor | SparseTensor | None:
    """The constant that a value is, by itself or by a node that only states it; None if it has to be computed."""
    if value is None:
        return None
    if value.constant is not None:
        return value.constant
    if value.producer is None or not is_constant_node(value.producer):
        return None
    tensor = value.producer.get("value")
    if isinstance(tensor, Tensor):
        return tensor
    stated = ((value.producer.get(name), dtype) for name, dtype in _NUMBERS.items())
    return next((_stated(each, dtype) for each, dtype in stated if each is not None), None)


def _read(node: Node) -> Iterator[Value]:
    return reads(node) if node.attributes else (value for value in node.inputs if value is not None)


def _is_outer(value: Value, graph: Graph) -> bool:
    """Whether a value is computed around a graph; what nothing defines counts as outer too."""
    return constant_of(value) is None and value.graph is not graph


def _stated(number: object, dtype: DType) -> Tensor:
    """The tensor of a number or a list of them that a node states."""
    return Tensor(np.array(number, dtype.numpy))
