"""Nodes that return nothing."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.ir.domains import STANDARD
from ingot.ir.node import Node
from ingot.repair.places import place_of_node
from ingot.repair.record import Repair, Subject


def drop_without_results(subject: Subject) -> Iterator[Repair]:
    """Remove nodes of the standard without outputs: they have no effect, whatever is wrong with them."""
    for graph in list(subject.model.graphs()):
        for node in [node for node in graph if not _returns(node) and node.domain == STANDARD]:
            graph.remove(node)
            yield Repair("without-results", place_of_node(node), "removed, since it returns nothing")


def _returns(node: Node) -> bool:
    return any(value.name or value.uses or value.is_output for value in node.outputs)
