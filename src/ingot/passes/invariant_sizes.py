"""Sizes of tensors in the body of a loop that are the same in every run."""

from __future__ import annotations

from ingot.dims import symbols
from ingot.infer.driver import Facts
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.queries.values import fact

_HEADS = 2
"""Inputs of the body of a Loop before its states: the number of the run, and the condition."""


def invariant_names(node: Node, facts: Facts) -> frozenset[str]:
    """The named sizes around a Loop, less those that its body gives to a state whose shape changes."""
    graph, body = node.graph, node["body"]
    assert graph is not None
    assert isinstance(body, Graph)
    around = {name for value in graph.values() for name in _names(value, facts)}
    for start, state, result in zip(node.inputs[_HEADS:], body.inputs[_HEADS:], body.outputs[1:], strict=False):
        if len({fact(value, facts).shape for value in (start, state, result)}) > 1:
            around -= _names(state, facts)
    return frozenset(around)


def invariant_rank(value: Value, facts: Facts, names: frozenset[str]) -> int | None:
    """The rank of a tensor all of whose sizes are numbers or follow from these names; None for any other."""
    shape = fact(value, facts).shape
    if shape is None or any(size is None or not symbols(size) <= names for size in shape):
        return None
    return len(shape)


def _names(value: Value, facts: Facts) -> set[str]:
    shape = fact(value, facts).shape if isinstance(value.type, TensorType) else None
    return {name for size in shape or () if size is not None for name in symbols(size)}
