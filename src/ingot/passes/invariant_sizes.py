"""Sizes of tensors in the body of a loop that are the same in every run."""

from __future__ import annotations

from ingot.dims import symbols
from ingot.infer.driver import Facts, infer
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.types import OptionalType, SequenceType, TensorType, Type
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog
from ingot.ops.control.carried import HEADS
from ingot.queries.values import fact


def undeclared(model: Model, catalog: Catalog) -> tuple[Model, Facts]:
    """A copy of a model, and what can be inferred without the shapes that it declares of what nodes compute.

    Nothing says that those are the same in every run of a body.
    """
    twin = model.copy()
    for node in twin.nodes():
        for value in node.outputs:
            value.type = _without_shape(value.type)
    for graph in [twin.graph, *(graph for node in twin.nodes() for graph in node.subgraphs)]:
        for value in graph.inputs:
            if not isinstance(value.type, TensorType):
                value.type = _without_shape(value.type)
    return twin, infer(twin, catalog=catalog, overrule=True)


def _without_shape(type_: Type | None) -> Type | None:
    match type_:
        case TensorType():
            return TensorType(type_.dtype, None)
        case SequenceType():
            return SequenceType(_without_shape(type_.element))
        case OptionalType():
            return OptionalType(_without_shape(type_.element))
        case _:
            return type_


def invariant_names(node: Node, facts: Facts) -> frozenset[str]:
    """The named sizes around a Loop, less those that its body gives to a state whose shape changes."""
    graph, body = node.graph, node["body"]
    assert graph is not None
    assert isinstance(body, Graph)
    around = {name for value in graph.values() for name in _names(value, facts)}
    for start, state, result in zip(node.inputs[HEADS:], body.inputs[HEADS:], body.outputs[1:], strict=False):
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
