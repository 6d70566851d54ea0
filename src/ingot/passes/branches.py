"""Branches: an If whose condition is a constant is one of them; where it is a Not, they are exchanged."""

from __future__ import annotations

from ingot.infer.driver import Facts
from ingot.ir.attribute import Attribute
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.passes.replacing import drop
from ingot.queries.values import number, read


def settle_branches(model: Model, facts: Facts) -> int:
    """Put the branch that is taken in the place of each If whose condition is known; how many."""
    settled = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            if graph.root is not model.graph or not node.applies("If"):
                continue  # a graph of a branch that went
            condition = number(read(node, 0), facts)
            if condition is not None:
                branch = node["then_branch" if condition else "else_branch"]
                assert isinstance(branch, Graph)
                put_in_place(branch, node, graph)
                settled += 1
    return settled


def exchange_branches(model: Model, facts: Facts) -> int:  # noqa: ARG001
    """Ask each If whose condition is a Not for what that negates, with its branches exchanged; how many.

    The condition may be what the reference computes, as that an optional has an element: then nothing is between.
    """
    exchanged = 0
    for graph in nested_graphs(model.graph):
        for node in graph:
            condition = node.inputs[0] if node.applies("If") else None
            if condition is None or condition.producer is None or not condition.producer.applies("Not"):
                continue
            node.replace_input(0, condition.producer.inputs[0])
            then_branch, else_branch = node["then_branch"], node["else_branch"]
            del node.attributes["then_branch"]
            del node.attributes["else_branch"]
            node.attributes["then_branch"] = Attribute("then_branch", else_branch)
            node.attributes["else_branch"] = Attribute("else_branch", then_branch)
            exchanged += 1
    return exchanged


def put_in_place(branch: Graph, node: Node, graph: Graph) -> None:
    """Move what is in a branch of an If to where that is, in `graph`; the If goes."""
    results = list(branch.outputs)
    branch.outputs.clear()
    for value in list(branch.initializers.values()):
        assert value.constant is not None
        moved = graph.root.add_initializer(graph.fresh_name(value.name), value.constant)
        value.replace_uses(moved)
        results = [moved if result is value else result for result in results]
    inner = branch.nodes
    for each in inner:
        for value in each.outputs:
            if value.name:
                value.name = graph.fresh_name(value.name)
        graph.insert_before(node, each)
    for old, new in zip(node.outputs, results, strict=True):
        if old.name:
            new.type = new.type or old.type
            old.replace_uses(new)
    drop(node)
