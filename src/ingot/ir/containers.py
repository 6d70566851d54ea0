"""The inputs, outputs and initialisers of a graph: containers that keep their values' links right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableSequence
from typing import TYPE_CHECKING, overload

from ingot.errors import CheckError, InputError

if TYPE_CHECKING:
    from ingot.ir.graph import Graph
    from ingot.ir.value import Value


class _Values(MutableSequence["Value"]):
    __slots__ = ("_graph", "_items")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._items: list[Value] = []

    def _enter(self, value: Value) -> None:
        raise NotImplementedError

    def _leave(self, value: Value) -> None:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> list[Value]: ...
    def __getitem__(self, index: int | slice) -> Value | list[Value]:
        return self._items[index]

    @overload
    def __setitem__(self, index: int, value: Value) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Value]) -> None: ...
    def __setitem__(self, index: int | slice, value: Value | Iterable[Value]) -> None:
        if isinstance(index, int):
            old = self._items[index]
            if old is value:
                return
            self._items[index] = value  # type: ignore[assignment]
            self._leave(old)
            self._enter(value)  # type: ignore[arg-type]
            return
        new = list(value)  # type: ignore[arg-type]
        old_items = self._items[index]
        self._items[index] = new
        for gone in old_items:
            self._leave(gone)
        for came in new:
            self._enter(came)

    def __delitem__(self, index: int | slice) -> None:
        gone = self._items[index]
        del self._items[index]
        for value in [gone] if not isinstance(gone, list) else gone:
            self._leave(value)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Value]:
        return iter(self._items)

    def __contains__(self, value: object) -> bool:
        return any(value is item for item in self._items)

    def insert(self, index: int, value: Value) -> None:
        self._items.insert(index, value)
        self._enter(value)

    def clear(self) -> None:
        del self[:]

    @property
    def names(self) -> list[str]:
        return [value.name for value in self._items]

    def __repr__(self) -> str:
        return f"{self._items!r}"


class Inputs(_Values):
    """The values a caller gives, in order."""

    __slots__ = ()

    def _enter(self, value: Value) -> None:
        if value.producer is not None or value._graph not in (None, self._graph):
            self._items = [item for item in self._items if item is not value]
            raise CheckError(f"'{value.name}' cannot be an input: it is already defined elsewhere")
        value._graph = self._graph
        if value._name is None:
            value._name = self._graph.fresh_name("input")
        self._graph.claim(value._name)

    def _leave(self, value: Value) -> None:
        if value not in self and value not in self._graph.initializers.values():
            value._graph = None


class Outputs(_Values):
    """The values a graph returns, in order; a value may be returned more than once."""

    __slots__ = ()

    def _enter(self, value: Value) -> None:
        if value._output_of is None:
            value._output_of = []
        value._output_of.append(self._graph)

    def _leave(self, value: Value) -> None:
        assert value._output_of is not None
        value._output_of.remove(self._graph)


class Initializers(Mapping[str, "Value"]):
    """The constants of a graph by name, in order.

    Names are looked up as they are now: a renamed value is found under its new name.
    """

    __slots__ = ("_graph", "_index", "_members")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._members: dict[Value, None] = {}
        self._index: dict[str, Value] = {}

    def add(self, value: Value) -> Value:
        """Put in a value with its constant; a graph input becomes one with a default."""
        if value.constant is None:
            raise InputError(f"'{value.name}' cannot be an initialiser: it has no constant")
        if value.producer is not None or value._graph not in (None, self._graph):
            raise CheckError(f"'{value.name}' cannot be an initialiser: it is already defined elsewhere")
        value._graph = self._graph
        if value._name is None:
            value._name = self._graph.fresh_name("constant")
        self._graph.claim(value._name)
        self._members[value] = None
        return value

    def remove(self, value: Value | str) -> None:
        """Take a constant out; it stays an input if it was one, and CheckError if it was not and is still read."""
        if isinstance(value, str):
            value = self[value]
        is_input = value.is_input
        if not is_input and (value._uses or value.is_output):
            readers = ", ".join(f"'{node.label}'" for node in value.users[:3]) or "the graph's outputs"
            raise CheckError(f"cannot remove '{value.name}': it is read by {readers}")
        del self._members[value]
        value.constant = None
        if not is_input:
            value._graph = None

    def __getitem__(self, name: str) -> Value:
        indexed = self._index.get(name)
        if indexed is not None and indexed._name == name and indexed in self._members:
            return indexed
        self._index = {value.name: value for value in reversed(self._members)}
        return self._index[name]

    def __iter__(self) -> Iterator[str]:
        return (value.name for value in self._members)

    def __len__(self) -> int:
        return len(self._members)

    def values(self) -> dict[Value, None]:  # type: ignore[override]
        """The values, as an ordered set."""
        return self._members

    def __repr__(self) -> str:
        return f"{list(self._members)!r}"
