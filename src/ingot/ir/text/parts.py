"""Everything a text is made of, each part with a name for people, and a count of what is found among it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ingot.ir.attribute import Attribute
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.text.words import is_identifier
from ingot.ir.types import MapType, OptionalType, SequenceType, Type
from ingot.ir.value import Value

Item: TypeAlias = Model | Graph | Function | Node
Part: TypeAlias = Item | Value | Attribute | Tensor | SparseTensor | Type


class Findings:
    """What was found, how often, and where first."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], tuple[int, str]] = {}

    def add(self, what: str, kind: str, place: str) -> None:
        """Note `what` about a part of a `kind`, the singular of a noun, at `place`."""
        count, first = self._counts.get((what, kind), (0, place))
        self._counts[what, kind] = count + 1, first

    def sentences(self) -> list[str]:
        """One sentence for each thing found about each kind of part."""
        return [
            f"{what} of {kind} '{first}'" if count == 1 else f"{what} of {count:,} {kind}s, such as '{first}'"
            for (what, kind), (count, first) in self._counts.items()
        ]


def parts(item: Item) -> Iterator[tuple[str, Part]]:
    """`item` and all its parts as far as a text may say them, outermost first; a graph of training is none."""
    match item:
        case Model():
            yield item.graph.name, item
            yield from parts(item.graph)
            for function in item.functions.values():
                yield from parts(function)
        case Function():
            yield str(item.id), item
            for default in item.attributes.values():
                if default is not None:
                    yield from _attribute(default, str(item.id))
            yield from parts(item.graph)
        case Graph():
            yield item.name, item
            yield from _values(item)
            for node in item.nodes:
                yield from parts(node)
        case Node():
            yield item.label, item
            for attribute in item.attributes.values():
                yield from _attribute(attribute, item.label)


def root_graphs(item: Item) -> list[Graph]:
    """The graphs of an item that are not the values of attributes."""
    match item:
        case Model():
            return [item.graph, *(function.graph for function in item.functions.values())]
        case Function():
            return [item.graph]
        case Graph():
            return [item]
        case Node():
            return []


def has_odd_tensor_name(attribute: Attribute) -> bool:
    """Whether it holds a tensor whose name is not an identifier."""
    return any(tensor.name and not is_identifier(tensor.name) for tensor in attribute.tensors)


def _values(graph: Graph) -> Iterator[tuple[str, Part]]:
    seen = dict.fromkeys([*graph.inputs, *graph.initializers.values(), *graph.outputs])
    seen.update(dict.fromkeys(value for node in graph.nodes for value in node.outputs))
    for value in seen:
        yield value.name, value
        if value.type is not None:
            yield from _type(value.type, value.name)
        if value.constant is not None and value in graph.initializers.values():
            yield value.name, value.constant


def _attribute(attribute: Attribute, owner: str) -> Iterator[tuple[str, Part]]:
    place = f"{owner}.{attribute.name}"
    yield place, attribute
    items = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
    for item in items:
        if isinstance(item, Graph):
            yield from parts(item)
        elif isinstance(item, Tensor | SparseTensor):
            yield place, item
        elif isinstance(item, Type):
            yield from _type(item, place)


def _type(type_: Type, place: str) -> Iterator[tuple[str, Part]]:
    yield place, type_
    inner: Type | None = None
    match type_:
        case SequenceType() | OptionalType():
            inner = type_.element
        case MapType():
            inner = type_.value
    if inner is not None:
        yield from _type(inner, place)
