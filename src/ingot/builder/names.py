"""Names for the values of one model: readable, and each given once."""

from __future__ import annotations

from ingot.ir.graph import Graph
from ingot.ir.model import nested_graphs


class Names:
    """The names taken so far in one graph and its bodies."""

    __slots__ = ("_counts", "_used")

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """`stem`, or with the next free number if that is taken; taken from now on."""
        name = stem
        while name in self._used:
            count = self._counts[stem] = self._counts.get(stem, 0) + 1
            name = f"{stem}_{count}"
        self._used.add(name)
        return name

    def note(self, name: str) -> str:
        """`name`, taken from now on, whether or not it was."""
        self._used.add(name)
        return name

    def take(self, graph: Graph) -> None:
        """Note every name in `graph` and the graphs inside as taken."""
        for inner in nested_graphs(graph):
            self._used.update(value.name for value in inner.values())
