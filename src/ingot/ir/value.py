"""Values: what flows along the edges of a graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ingot.ir.annotated import Annotated
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import Type

if TYPE_CHECKING:
    from ingot.ir.graph import Graph
    from ingot.ir.node import Node


class Use(NamedTuple):
    """One place where a value is read: input `position` of `node`."""

    node: Node
    position: int


class Value(Annotated):
    """What flows along one edge: defined once, by a node, an input or an initialiser, and read any number of times.

    A value with the empty name is an output nobody asked for.
    """

    __slots__ = (
        "_graph",
        "_name",
        "_output_of",
        "_uses",
        "constant",
        "doc_string",
        "index",
        "producer",
        "residue",
        "type",
    )

    type: Type | None
    constant: Tensor | SparseTensor | None
    doc_string: str
    producer: Node | None
    index: int
    residue: Any
    _name: str | None
    _graph: Graph | None
    _output_of: list[Graph] | None
    _uses: dict[tuple[Node, int], None]

    def __init__(
        self,
        name: str | None = None,
        type: Type | None = None,
        *,
        constant: Tensor | SparseTensor | None = None,
        doc_string: str = "",
    ) -> None:
        """A value that nothing defines yet. Without a name it gets a fresh one when it enters a graph."""
        self._name = name
        self.type = type if type is not None or constant is None else constant.type
        self.constant = constant
        self.doc_string = doc_string
        self.producer = None
        self.index = 0
        self.residue = None
        self._graph = None
        self._metadata = None
        self._output_of = None
        self._uses = {}

    @property
    def name(self) -> str:
        return self._name or ""

    @name.setter
    def name(self, name: str) -> None:
        self._name = name
        if (graph := self.graph) is not None:
            graph.claim(name)

    @property
    def graph(self) -> Graph | None:
        """The graph that defines it; None for a value nothing defines."""
        return self._graph if self.producer is None else self.producer.graph

    @property
    def uses(self) -> tuple[Use, ...]:
        """Where it is read, subgraphs included, in the order the uses were made."""
        return tuple(Use(*use) for use in self._uses)

    @property
    def is_used(self) -> bool:
        """Whether a node reads it or a graph returns it."""
        return bool(self._uses or self._output_of)

    @property
    def users(self) -> tuple[Node, ...]:
        """The nodes that read it, each once."""
        return tuple(dict.fromkeys(node for node, _ in self._uses))

    @property
    def is_input(self) -> bool:
        return self._graph is not None and self in self._graph.inputs

    @property
    def is_output(self) -> bool:
        """Whether a graph returns it."""
        return bool(self._output_of)

    @property
    def is_initializer(self) -> bool:
        return self._graph is not None and self.constant is not None and self in self._graph.initializers.values()

    def replace_uses(self, new: Value, *, keep: Iterable[Node] = ()) -> None:
        """Make everything that reads this value read `new`; where a graph returns it, the graph returns `new`.

        The node that computes `new` goes on reading this value, and so do the nodes in `keep`: what is put after a
        value reads it. The names of a graph's outputs stay: see `Graph.return_instead`.
        """
        if new is self:
            return
        staying = {new.producer, *keep}
        for node, index in list(self._uses):
            if node not in staying:
                node.replace_input(index, new)
        for graph in list(self._output_of or ()):
            for position, value in enumerate(graph.outputs):
                if value is self:
                    graph.return_instead(position, new)

    def __repr__(self) -> str:
        return f"<Value {self.name!r}: {self.type or '?'}>"
