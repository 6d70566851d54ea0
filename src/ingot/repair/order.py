"""Nodes in an order in which each follows what it reads."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.ir.graph import Graph
from ingot.ir.sort import sorted_nodes
from ingot.repair.places import place_of
from ingot.repair.record import Repair, Subject


def sort_nodes(subject: Subject) -> Iterator[Repair]:
    """Sort graphs in which a node, or a subgraph of it, reads what comes later; CheckError showing a cycle."""
    for graph in subject.model.graphs():
        moved = _moved(graph)
        if moved:
            names = ", ".join(f"'{name}'" for name in moved[:5]) + (", ..." if len(moved) > 5 else "")
            yield Repair("order", place_of(graph), f"moved {names} behind what they read")


def _moved(graph: Graph) -> list[str]:
    """Sort a graph; the labels of nodes that now come after one that they came before."""
    before = graph.nodes
    after = sorted_nodes(graph)
    if before == after:
        return []
    position = {node: index for index, node in enumerate(before)}
    graph.sort()
    last = -1
    moved = []
    for node in after:
        if position[node] < last:
            moved.append(node.label)
        last = max(last, position[node])
    return moved
