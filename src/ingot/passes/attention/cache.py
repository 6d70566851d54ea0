"""Caches: keys and values of the past, joined before Attention, are joined by it, and come out of it."""

from __future__ import annotations

from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.passes.replacing import replace
from ingot.queries.values import produced_by, rank, read


def take_caches(model: Model, facts: Facts) -> int:
    """Give the past to Attention where it was joined to keys and values before; how many.

    Nothing else may read the joined keys and values, but the graph may return them.
    """
    count = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            if not node.applies("Attention") or len(node.outputs) > 1 or read(node, 4) or read(node, 6):
                continue
            keys, values = (_joined(value, node, facts) for value in node.inputs[1:3])
            if keys is not None and values is not None:
                _take(node, keys, values, facts)
                count += 1
    return count


def _joined(value: Value | None, node: Node, facts: Facts) -> Node | None:
    """The Concat along the axis of lengths that a value comes from."""
    joint = produced_by(value, "Concat")
    if joint is None or len(joint.inputs) != 2 or joint.graph is not node.graph or rank(value, facts) != 4:
        return None
    if joint["axis"] not in (-2, 2) or joint.output.users != (node,):
        return None
    return joint


def _take(node: Node, keys: Node, values: Node, facts: Facts) -> None:
    graph = node.graph
    assert graph is not None
    mask = read(node, 3)
    inputs = (node.inputs[0], keys.inputs[1], values.inputs[1], mask, keys.inputs[0], values.inputs[0])
    twin = Node("Attention", inputs, 3, list(node.attributes.values()), name=node.name)
    graph.insert_before(node, twin)
    replace(node.output, twin.outputs[0], facts)
    for joint, present in ((keys, twin.outputs[1]), (values, twin.outputs[2])):
        replace(joint.output, present, facts)
