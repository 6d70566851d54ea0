"""The difference of two models, as data."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from ingot.dataclass import dataclass
from ingot.ir.node import Node

Kind = Literal["added", "removed", "changed", "renamed", "moved"]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: `part` is what kind of thing differs, `name` which one, `before` and `after` how it reads.

    `numbers` are differences of elements, for a weight: the largest, the mean, and how many elements differ.
    """

    kind: Kind
    part: str
    name: str
    before: str | None = None
    after: str | None = None
    numbers: tuple[float, float, int] | None = None

    def json(self) -> dict[str, Any]:
        """The fields that are set, for a page or a file."""
        shown: dict[str, Any] = {"kind": self.kind, "part": self.part, "name": self.name}
        if self.before is not None:
            shown["before"] = self.before
        if self.after is not None:
            shown["after"] = self.after
        if self.numbers is not None:
            largest, mean, count = self.numbers
            shown |= {"largest_difference": largest, "mean_difference": mean, "elements": count}
        return shown


@dataclass(frozen=True, slots=True, eq=False)
class NodePair:
    """A node of each model, and what differs between them; nothing if they are the same."""

    a: Node
    b: Node
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class GraphDiff:
    """The difference of two graphs; `path` is where they are: `graph`, a function, a subgraph of a node."""

    path: str
    pairs: tuple[NodePair, ...]
    removed: tuple[Node, ...] = ()
    added: tuple[Node, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.removed or self.added or self.changes or any(pair.changes for pair in self.pairs))

    def json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "same": sum(not pair.changes for pair in self.pairs),
            "removed": [_node(node) for node in self.removed],
            "added": [_node(node) for node in self.added],
            "changed": [
                {**_node(pair.a), "after": _node(pair.b), "changes": [change.json() for change in pair.changes]}
                for pair in self.pairs
                if pair.changes
            ],
            "changes": [change.json() for change in self.changes],
        }


@dataclass(frozen=True, slots=True, eq=False)
class Diff:
    """The difference of two models: what they say about themselves, and their graphs, the main one first.

    It is true if there is any.
    """

    changes: tuple[Change, ...] = ()
    graphs: tuple[GraphDiff, ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.changes) or not all(graph.is_empty for graph in self.graphs)

    def json(self) -> dict[str, Any]:
        """The difference as plain data."""
        return {
            "same": not self,
            "changes": [change.json() for change in self.changes],
            "graphs": [graph.json() for graph in self.graphs if not graph.is_empty],
        }


def _node(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "operator": f"{node.domain}.{node.op_type}" if node.domain else node.op_type,
        "inputs": ["" if value is None else value.name for value in node.inputs],
        "outputs": [value.name for value in node.outputs],
    }
