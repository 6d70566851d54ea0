"""Where things are, for reports."""

from __future__ import annotations

from ingot.ir.graph import Graph
from ingot.ir.model import Function
from ingot.ir.node import Node


def place_of(graph: Graph | None) -> str:
    """Which graph it is: the main one, that of a function, or that of a node."""
    if graph is None:
        return "the model"
    owner = graph.owner
    if isinstance(owner, Node):
        return f"graph '{graph.name}' of node '{owner.label}'" if graph.name else f"a graph of node '{owner.label}'"
    if isinstance(owner, Function):
        return f"function '{owner.id}'"
    return "the main graph"


def place_of_node(node: Node) -> str:
    """A node with its operator."""
    return f"node '{node.label}' ({node.op_type})"
