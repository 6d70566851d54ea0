"""The list of differences: each with its kind, its words, and the nodes and values that it is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ingot.dataclass import dataclass
from ingot.difference.result import Change, Diff, GraphDiff
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value

Status = Literal["added", "removed", "changed", "renamed"]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One difference of two models; `a` and `b` are what it is about in each, None where it is of the whole model."""

    status: Status
    title: str
    changes: tuple[Change, ...] = ()
    a: Node | Value | None = None
    b: Node | Value | None = None


def entries(a: Model, b: Model, difference: Diff) -> list[Entry]:
    """Everything that differs, of the models themselves first."""
    listed = [Entry(_status([change]), f"{change.part} {change.name}", (change,)) for change in difference.changes]
    places = {graph.path: graph for graph in difference.graphs}
    for path, graph in places.items():
        listed += _of_graph(path, graph, a.graph if path == "graph" else None, b.graph if path == "graph" else None)
    return listed


def _of_graph(path: str, difference: GraphDiff, a: Graph | None, b: Graph | None) -> Iterator[Entry]:
    within = "" if path == "graph" else f" in {path.removeprefix('graph / ')}"
    for node in difference.removed:
        yield Entry("removed", f"{node.op_type} {node.label}{within}", (), node, _holder(node) if within else None)
    for node in difference.added:
        yield Entry("added", f"{node.op_type} {node.label}{within}", (), None, node)
    for pair in difference.pairs:
        if pair.changes:
            yield Entry(_status(pair.changes), f"{pair.a.op_type} {pair.a.label}{within}", pair.changes, pair.a, pair.b)
    for change in difference.changes:
        before, after = _value(a, change, change.name), _value(b, change, change.after or change.name)
        yield Entry(_status([change]), f"{change.part} {change.name}{within}", (change,), before, after)


def _status(changes: Sequence[Change]) -> Status:
    kinds = {change.kind for change in changes}
    if kinds <= {"renamed", "moved"}:
        return "renamed"
    if len(changes) > 1:
        return "changed"
    return "added" if "added" in kinds else "removed" if "removed" in kinds else "changed"


def _holder(node: Node) -> Node | None:
    return None if node.graph is None else node.graph.parent


def _value(graph: Graph | None, change: Change, name: str) -> Node | Value | None:
    """What a change of a graph is about: an input or output, what reads a weight, what computes a value."""
    if graph is None:
        return None
    name = name.removeprefix("type of ")
    value = graph.find(name)
    if value is None or change.part == "graph":
        return None
    if change.part == "weight":
        return next(iter(value.users), None)
    if change.part in ("input", "output"):
        return value if value.is_input else value.producer
    return value.producer
