"""Traversal of the loop IR: the children of a node, and the same node with other children.

A node is a scalar, an index, a condition, a statement or a nest. Which fields of a class hold nodes is read from the
types of the fields: no class is named here. Expressions share their parts, so that whatever goes through all of them
remembers where it has been, by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter, is_
from typing import Any, TypeAlias, TypeGuard, TypeVar, get_args, get_type_hints

from ingot.dataclass import dataclass
from ingot.loops.ir import (
    Attention,
    Contraction,
    Cycle,
    Descent,
    Index,
    Inside,
    Nest,
    Recurrence,
    RoundedRows,
    Scalar,
    SlidingWindows,
    Sort,
    Stage,
    Staged,
    Statement,
    Suppress,
    Winograd,
)

Node: TypeAlias = (
    Scalar
    | Index
    | Inside
    | Statement
    | Contraction
    | RoundedRows
    | Staged
    | Winograd
    | Attention
    | Descent
    | Sort
    | Suppress
    | SlidingWindows
    | Nest
    | Stage
    | Recurrence
    | Cycle
)
AnyNode = TypeVar("AnyNode", bound=Node)

_NODES = frozenset(get_args(Node))
_SCALARS = frozenset(get_args(Scalar))


def is_scalar(node: Node) -> TypeGuard[Scalar]:
    return type(node) in _SCALARS


def children(node: Node) -> list[Node]:
    """The nodes in the fields of a node, in the order of the fields."""
    kind: type = type(node)
    nodes: list[Node] = []
    own = _parts_of(kind)
    if own.names:
        _collect(own.values(node), nodes)
    return nodes


def rebuilt(node: AnyNode, parts: Iterable[Node]) -> AnyNode:
    """A node with others in the place of its `children`, as many; one without children is itself."""
    kind: Any = type(node)
    own = _parts_of(kind)
    if not own.names:
        assert not [*parts], f"too many parts for a {kind.__name__}"
        return node
    remaining = iter(parts)
    values = [_replaced(value, remaining) if may else value for value, may in zip(own.all(node), own.may, strict=True)]
    assert next(remaining, None) is None, f"too many parts for a {kind.__name__}"
    return kind(*values)  # type: ignore[no-any-return]


class Transform:
    """A function applied to every node in others, to the innermost first; what was shared stays so.

    A node of which nothing changes stays itself.
    """

    def __init__(self, function: Callable[[Any], Node]) -> None:
        self._function = function
        self._done: dict[int, tuple[Node, Node]] = {}

    def __call__(self, node: AnyNode) -> AnyNode:
        """A node of which each part is what the function makes of it; the function must keep its kind."""
        done = self._done.get(id(node))
        if done is None:  # the old node is kept too, so that its id is not given to another
            before = children(node)
            parts = [self(part) for part in before]
            is_same = all(map(is_, parts, before))
            done = self._done[id(node)] = (node, self._function(node if is_same else rebuilt(node, parts)))
        return done[1]  # type: ignore[return-value]

    def replace(self, old: Node, new: Node) -> None:
        """From here on, put one node in the place of another."""
        self._done[id(old)] = (old, new)


def transform(node: AnyNode, function: Callable[[Any], Node]) -> AnyNode:
    """A node with a function applied to everything in it, to the innermost first."""
    return Transform(function)(node)


def walk(*nodes: Node) -> Iterator[Node]:
    """Nodes and everything in them, what contains others first, in the order of fields; a shared scalar comes once."""
    seen: set[int] = set()
    pending = list(reversed(nodes))
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        if not isinstance(node, Index | Inside):
            seen.add(id(node))
        yield node
        pending += reversed(children(node))


def _collect(values: tuple[Any, ...], nodes: list[Node]) -> None:
    for value in values:
        kind: type = type(value)
        if kind in _NODES:
            nodes.append(value)
        elif kind is tuple:
            _collect(value, nodes)


def _replaced(value: object, remaining: Iterator[Node]) -> object:
    if type(value) is tuple:
        return tuple([_replaced(item, remaining) for item in value])
    return next(remaining) if type(value) in _NODES else value


@dataclass(frozen=True, slots=True)
class _Parts:
    """The fields of a class that may hold nodes, what gets these, what gets all fields, and which of all may."""

    names: tuple[str, ...]
    values: Callable[[Any], tuple[Any, ...]]
    all: Callable[[Any], tuple[Any, ...]]
    may: tuple[bool, ...]


@cache
def _parts_of(kind: type) -> _Parts:
    assert is_dataclass(kind)
    hints = get_type_hints(kind)
    every = tuple(field.name for field in fields(kind))
    names = tuple(name for name in every if _mentions_node(hints[name]))
    return _Parts(names, _getter(names), _getter(every), tuple(name in names for name in every))


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if not names:
        return lambda _: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda node: (get(node),)


def _mentions_node(hint: Any) -> bool:
    return hint in _NODES or any(map(_mentions_node, get_args(hint)))
