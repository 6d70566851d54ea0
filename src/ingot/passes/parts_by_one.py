"""SplitToSequence nodes that give parts of size one, and tensors filled with one number."""

from __future__ import annotations

from ingot.infer.driver import Facts
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog
from ingot.passes.invariant_sizes import undeclared
from ingot.queries.values import integers, rank, read, shape


def is_by_one(split: Node) -> bool:
    """Whether a SplitToSequence gives parts of size one, as it has no sizes for them."""
    return read(split, 1) is None


def splits_by_ones(model: Model, catalog: Catalog) -> dict[Node, bool]:
    """The SplitToSequence nodes of the main graph whose sizes say that all parts are of size one: ones, or a 1.

    For each, whether the parts keep the axis.
    """
    places = [place for place, node in enumerate(model.graph.nodes) if _has_sizes(node)]
    if not places:
        return {}
    twin, facts = undeclared(model, catalog)
    nodes, twins = model.graph.nodes, twin.graph.nodes
    by_ones = [place for place in places if _are_ones(twins[place], facts)]
    return {
        nodes[place]: rank(read(twins[place], 1), facts) != 0 or bool(nodes[place].get("keepdims", 1))
        for place in by_ones
    }


def is_filled(value: Value | None, element: int, facts: Facts) -> bool:
    """Whether every element of a tensor of integers is a number: a constant, a filled one, or such a one times ones."""
    known = integers(value, facts)
    if known is not None:
        return set(known) <= {element}
    if value is None or value.producer is None:
        return False
    node = value.producer
    if node.applies("ConstantOfShape"):
        filling = node.get("value")
        return (filling.item() if isinstance(filling, Tensor) else 0) == element
    if node.applies("Mul"):
        left, right = node.inputs
        return any(is_filled(a, 1, facts) and is_filled(b, element, facts) for a, b in ((left, right), (right, left)))
    return False


def _has_sizes(node: Node) -> bool:
    return node.applies("SplitToSequence") and not is_by_one(node)


def _are_ones(node: Node, facts: Facts) -> bool:
    tensor, sizes = node.inputs
    own, axis = shape(tensor, facts), node.get("axis", 0)
    assert isinstance(axis, int)
    if rank(sizes, facts) == 0:
        return integers(sizes, facts) == [1]
    return is_filled(sizes, 1, facts) and own is not None and shape(sizes, facts) == (own[axis],)
