"""Topological order."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from ingot.errors import CheckError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingot.ir.graph import Graph
    from ingot.ir.node import Node
    from ingot.ir.value import Value


def sorted_nodes(graph: Graph) -> list[Node]:
    """The nodes so that each follows what it reads, itself or in its subgraphs, and otherwise as they were.

    A graph already in order comes back as it is. CheckError naming the nodes of a cycle.
    """
    nodes = graph.nodes
    position = {node: index for index, node in enumerate(nodes)}
    waits = [0] * len(nodes)
    unlocks: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        for producer in {p for value in reads(node) if (p := value.producer) is not None and p in position}:
            waits[index] += 1
            unlocks[position[producer]].append(index)
    ready = [index for index, count in enumerate(waits) if not count]
    heapify(ready)
    order: list[Node] = []
    while ready:
        index = heappop(ready)
        order.append(nodes[index])
        for follower in unlocks[index]:
            waits[follower] -= 1
            if not waits[follower]:
                heappush(ready, follower)
    if len(order) < len(nodes):
        raise CheckError(f"the graph has a cycle: {' → '.join(_cycle(nodes, waits, unlocks))}")
    return order


def reads(node: Node) -> Iterator[Value]:
    """What a node needs before it can run: its inputs and what its subgraphs capture from around it."""
    for value in node.inputs:
        if value is not None:
            yield value
    if node.attributes:
        for graph in node.attributes.graphs():
            yield from captures(graph)


def captures(graph: Graph) -> Iterator[Value]:
    """The values a subgraph reads or returns but neither it nor a graph inside it defines; some more than once."""
    inside: set[Graph] = set()
    seen: list[Value] = []
    pending = [graph]
    while pending:
        current = pending.pop()
        inside.add(current)
        seen.extend(current.outputs)
        for node in current.nodes:
            seen.extend(value for value in node.inputs if value is not None)
            pending.extend(node.attributes.graphs())
    return (value for value in seen if value.graph not in inside)


def _cycle(nodes: list[Node], waits: list[int], unlocks: list[list[int]]) -> list[str]:
    """The labels along one cycle: every node still waiting has, going backwards, a predecessor still waiting."""
    blocked_by = {follower: index for index, row in enumerate(unlocks) if waits[index] for follower in row}
    index = next(index for index, count in enumerate(waits) if count)
    path: list[int] = []
    while index not in path:
        path.append(index)
        index = blocked_by[index]
    loop = [*path[path.index(index) :], index]
    return [f"'{nodes[i].label}'" for i in reversed(loop)]
