"""Attributes: the constant arguments of a node besides its inputs."""

from __future__ import annotations

import enum
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ingot.errors import CheckError, InputError
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
    Type,
)

if TYPE_CHECKING:
    from ingot.ir.graph import Graph
    from ingot.ir.node import Node

    Scalar: TypeAlias = float | int | str | bytes | Tensor | "Graph" | SparseTensor | Type
    AttributeValue: TypeAlias = Scalar | tuple[Scalar, ...] | None
    """The payload of an attribute; None only where it refers to an attribute of the enclosing function."""


class AttributeKind(enum.IntEnum):
    """What an attribute holds; the value is the number the format stores."""

    FLOAT = 1
    INT = 2
    STRING = 3
    TENSOR = 4
    GRAPH = 5
    FLOATS = 6
    INTS = 7
    STRINGS = 8
    TENSORS = 9
    GRAPHS = 10
    SPARSE_TENSOR = 11
    SPARSE_TENSORS = 12
    TYPE = 13
    TYPES = 14

    @property
    def is_list(self) -> bool:
        return self in _ELEMENT

    @property
    def element(self) -> AttributeKind:
        """The kind of one item of a list; the kind itself if it is no list."""
        return _ELEMENT.get(self, self)

    @property
    def plural(self) -> AttributeKind:
        """The list kind of this kind of item."""
        return _PLURAL.get(self, self)


class Attribute:
    """One immutable attribute: a name, a kind and a value of that kind.

    Strings are `str`, or `bytes` where they are not UTF-8; lists are tuples. `ref` names the attribute of the
    enclosing function whose value is meant; then `value` is None.
    """

    __slots__ = ("doc_string", "kind", "name", "ref", "residue", "source", "value")

    name: str
    kind: AttributeKind
    value: AttributeValue
    ref: str
    doc_string: str
    source: bytes | memoryview | None
    residue: Any

    def __init__(
        self,
        name: str,
        value: object = None,
        kind: AttributeKind | None = None,
        *,
        ref: str = "",
        doc_string: str = "",
    ) -> None:
        """An attribute of `value`; its kind is found from the value unless given.

        InputError if the value is of no kind, or not of the kind given; an empty list needs its kind.
        """
        if ref and (value is not None or kind is None):
            raise InputError(f"attribute '{name}' refers to '{ref}': it has a kind and no value of its own")
        own_kind, payload = (kind, None) if ref else _coerce(name, value, kind)
        self.assemble(
            name=name, kind=own_kind, value=payload, ref=ref, doc_string=doc_string, source=None, residue=None
        )

    def assemble(self, **parts: object) -> Attribute:
        """Set parts of an attribute that nobody has seen yet; for those who make attributes."""
        for name, part in parts.items():
            object.__setattr__(self, name, part)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an attribute is immutable; give the node another: node['{self.name}'] = ...")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an attribute is immutable: '{name}' stays")

    def __reduce__(self) -> tuple[object, ...]:
        return _assembled, ({slot: getattr(self, slot) for slot in Attribute.__slots__},)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs it holds: none, one or several."""
        if self.kind is AttributeKind.GRAPH and not self.ref:
            return (self.value,)  # type: ignore[return-value]
        return self.value if self.kind is AttributeKind.GRAPHS and not self.ref else ()  # type: ignore[return-value]

    @property
    def tensors(self) -> tuple[Tensor | SparseTensor, ...]:
        """The tensors it holds: none, one or several."""
        if self.ref or self.kind.element not in (AttributeKind.TENSOR, AttributeKind.SPARSE_TENSOR):
            return ()
        return self.value if self.kind.is_list else (self.value,)  # type: ignore[return-value]

    def with_value(self, value: object) -> Attribute:
        """The same attribute, of the same kind, with another value."""
        return Attribute(self.name, value, self.kind, doc_string=self.doc_string)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attribute):
            return NotImplemented
        return (self.name, self.kind, self.ref, self.value) == (other.name, other.kind, other.ref, other.value)

    def __hash__(self) -> int:
        return hash((self.name, self.kind, self.ref))

    def __repr__(self) -> str:
        shown = f"@{self.ref}" if self.ref else repr(self.value)
        return f"<Attribute {self.name}: {self.kind.name.lower()} = {shown}>"


def _assembled(parts: dict[str, object]) -> Attribute:
    return Attribute.__new__(Attribute).assemble(**parts)


class Attributes(dict[str, Attribute]):
    """The attributes of one node by name, in order.

    Values that are not yet attributes are made into ones: `node.attributes["axis"] = 1`.
    """

    __slots__ = ("_node",)

    _node: Node

    def __init__(self, node: Node, attributes: Iterable[Attribute] | Mapping[str, object] = ()) -> None:
        super().__init__()
        self._node = node
        if isinstance(attributes, Mapping):
            self.update(attributes)
        else:
            for attribute in attributes:
                self[attribute.name] = attribute

    def __setitem__(self, name: str, value: object) -> None:
        attribute = value if isinstance(value, Attribute) else Attribute(name, value)
        if attribute.name != name:
            raise InputError(f"attribute '{attribute.name}' cannot be stored as '{name}'")
        old = self.get(name)
        if old is attribute:
            return
        replaced = () if old is None else old.graphs
        for graph in attribute.graphs:
            if graph.owner is not None and graph not in replaced:
                raise CheckError("the graph already belongs elsewhere", hint="give a copy: graph.copy()")
        if old is not None:
            self._release(old)
        for graph in attribute.graphs:
            graph.adopt(self._node)
        super().__setitem__(name, attribute)

    def __delitem__(self, name: str) -> None:
        self._release(self[name])
        super().__delitem__(name)

    def update(self, *others: object, **named: object) -> None:
        for name, value in dict(*others, **named).items():
            self[name] = value

    def __ior__(self, other: object) -> Attributes:  # type: ignore[override,misc]
        self.update(other)
        return self

    def setdefault(self, name: str, default: object = None) -> Attribute:
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: object) -> Any:
        if name not in self and default:
            return default[0]
        attribute = self[name]
        del self[name]
        return attribute

    def popitem(self) -> tuple[str, Attribute]:
        name = next(reversed(self))
        return name, self.pop(name)

    def clear(self) -> None:
        for name in list(self):
            del self[name]

    def copy(self) -> dict[str, Attribute]:
        return dict(self)

    def graphs(self) -> Iterator[Graph]:
        """The graphs all attributes hold, in order."""
        for attribute in self.values():
            if attribute.kind in _OF_GRAPHS:
                yield from attribute.graphs

    @staticmethod
    def _release(attribute: Attribute) -> None:
        for graph in attribute.graphs:
            graph.adopt(None)


_OF_GRAPHS = (AttributeKind.GRAPH, AttributeKind.GRAPHS)
_ELEMENT = {
    AttributeKind.FLOATS: AttributeKind.FLOAT,
    AttributeKind.INTS: AttributeKind.INT,
    AttributeKind.STRINGS: AttributeKind.STRING,
    AttributeKind.TENSORS: AttributeKind.TENSOR,
    AttributeKind.GRAPHS: AttributeKind.GRAPH,
    AttributeKind.SPARSE_TENSORS: AttributeKind.SPARSE_TENSOR,
    AttributeKind.TYPES: AttributeKind.TYPE,
}
_PLURAL = {one: many for many, one in _ELEMENT.items()}
_TYPES = (TensorType, SparseTensorType, SequenceType, MapType, OptionalType, OpaqueType)


def _coerce(name: str, value: object, kind: AttributeKind | None) -> tuple[AttributeKind, AttributeValue]:
    if isinstance(value, np.ndarray) and kind is not None and kind.is_list:
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        if kind is not None and not kind.is_list:
            raise InputError(f"attribute '{name}' is one {kind.name.lower()}, not a list")
        return _coerce_list(name, value, kind)
    if kind is not None and kind.is_list:
        raise InputError(f"attribute '{name}' is a list ({kind.name.lower()}), got {value!r}")
    own_kind, payload = _coerce_one(name, value)
    if kind is AttributeKind.FLOAT and own_kind is AttributeKind.INT:
        return kind, float(payload)
    if kind is not None and kind is not own_kind:
        raise InputError(f"attribute '{name}' is of kind {kind.name.lower()}, got {value!r}")
    return own_kind, payload


def _coerce_list(
    name: str, values: Sequence[object], kind: AttributeKind | None
) -> tuple[AttributeKind, AttributeValue]:
    pairs = [_coerce_one(name, value) for value in values]
    kinds = {own_kind for own_kind, _ in pairs}
    element = None if kind is None else kind.element
    if AttributeKind.FLOAT in (kinds | {element}) and kinds <= {AttributeKind.INT, AttributeKind.FLOAT}:
        return AttributeKind.FLOATS, tuple(float(payload) for _, payload in pairs)
    if not kinds:
        if kind is None:
            raise InputError(
                f"attribute '{name}' is an empty list of no known kind",
                hint="give the kind: Attribute(name, [], AttributeKind.INTS)",
            )
        return kind, ()
    if len(kinds) > 1 or (element is not None and element not in kinds):
        wanted = "of one kind" if element is None else f"of kind {element.name.lower()}"
        raise InputError(f"the items of attribute '{name}' are not all {wanted}: {list(values)!r}")
    return kinds.pop().plural, tuple(payload for _, payload in pairs)


def _coerce_one(name: str, value: object) -> tuple[AttributeKind, Any]:
    match value:
        case numbers.Integral() | np.bool_():
            integer = int(value)
            if not -(1 << 63) <= integer < 1 << 63:
                raise InputError(f"attribute '{name}' does not fit 64 bits: {integer}")
            return AttributeKind.INT, integer
        case numbers.Real() | np.floating():
            return AttributeKind.FLOAT, float(value)
        case str() | bytes():
            return AttributeKind.STRING, value
        case Tensor():
            return AttributeKind.TENSOR, value
        case np.ndarray():
            return AttributeKind.TENSOR, Tensor(value)
        case SparseTensor():
            return AttributeKind.SPARSE_TENSOR, value
    if isinstance(value, _TYPES):
        return AttributeKind.TYPE, value
    if hasattr(value, "adopt"):  # a Graph; its module imports this one
        return AttributeKind.GRAPH, value
    raise InputError(
        f"attribute '{name}' cannot hold a {type(value).__name__}",
        hint="numbers, strings, arrays, tensors, types, graphs, and lists of them",
    )
