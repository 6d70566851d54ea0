"""Which nodes of a graph run, in which order, and after which of them a value is needed no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.sort import captures
from ingot.ir.value import Value


@dataclass(frozen=True, slots=True)
class Order:
    """Which nodes of a graph run, in order, for which of its values."""

    wanted: Sequence[Value]
    nodes: Sequence[Node]
    dying: Sequence[Sequence[Value]]
    """For each node, the values that no later one reads."""
    captured: Sequence[Value]
    """The values around the graph that it reads."""


Orders: TypeAlias = dict[tuple[Graph, int], Order]
"""The order of each graph, by the number of its outputs that are wanted."""


def order(graph: Graph, wanted: Sequence[Value]) -> Order:
    """The nodes that compute the wanted values of a graph."""
    nodes = _needed(graph, wanted)
    around = () if graph.parent is None else tuple(dict.fromkeys(captures(graph)))
    return Order(wanted, nodes, _last_uses(nodes, wanted), around)


def _needed(graph: Graph, wanted: Sequence[Value]) -> list[Node]:
    """The nodes on the way to what is wanted, in order."""
    nodes = graph.nodes
    own = set(nodes)
    live: set[Node] = set()
    pending = list(wanted)
    while pending:
        producer = pending.pop().producer
        if producer is None or producer in live or producer not in own:
            continue
        live.add(producer)
        pending.extend(value for value in producer.inputs if value is not None)
        for subgraph in producer.subgraphs:
            pending.extend(captures(subgraph))
    return [node for node in nodes if node in live]


def _last_uses(nodes: Sequence[Node], wanted: Sequence[Value]) -> list[list[Value]]:
    """For each node, the values computed in the graph that no later node reads."""
    last: dict[Value, int] = {}
    for position, node in enumerate(nodes):
        for value in node.outputs:
            last[value] = position
        for read in node.inputs:
            if read is not None:
                last[read] = position
        for subgraph in node.subgraphs:
            for value in captures(subgraph):
                last[value] = position
    own = {value for node in nodes for value in node.outputs}
    results = set(wanted)
    dying: list[list[Value]] = [[] for _ in nodes]
    for value, position in last.items():
        if value in own and value not in results:
            dying[position].append(value)
    return dying
