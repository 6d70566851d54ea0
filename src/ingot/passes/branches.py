"""Branches taken for certain: an If whose condition is a constant is one of its branches."""

from __future__ import annotations

from ingot.infer.driver import Facts
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
