"""Attribute tables to attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ingot.format.ort.flatbuffer import Table
from ingot.format.ort.schema import ATTRIBUTE, GRAPH, TENSOR
from ingot.format.ort.tensors import decode_tensor
from ingot.format.parts import Within
from ingot.format.wire import Malformed
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.graph import Graph

Subgraph: TypeAlias = Callable[[Table], Graph]
"""Decodes a graph inside of an attribute, in the scope of the node that has it."""


def decode_attributes(node: Table, subgraph: Subgraph) -> list[Attribute]:
    """The attributes of a node; Malformed if one has no value, or is given twice."""
    attributes: dict[str, Attribute] = {}
    for index, table in enumerate(node.tables("attributes", ATTRIBUTE)):
        with Within(f"attributes[{index}]"):
            attribute = _attribute(table, subgraph)
            if attribute.name in attributes:
                raise Malformed(f"attribute '{attribute.name}' is given twice", table.offset)
        attributes[attribute.name] = attribute
    return list(attributes.values())


def _attribute(table: Table, subgraph: Subgraph) -> Attribute:
    name, number = table.text("name"), table.number("type", "i")
    try:
        kind = AttributeKind(number)
    except ValueError:
        raise Malformed(f"{number} is not an attribute type", table.offset).within("type") from None
    value = _value(table, kind, subgraph)
    if value is None:
        raise Malformed(f"attribute '{name}' is of type {kind.name} and has no such value", table.offset)
    return Attribute.__new__(Attribute).assemble(
        name=name, kind=kind, value=value, ref="", doc_string=table.text("doc_string"), source=None, residue=None
    )


def _value(table: Table, kind: AttributeKind, subgraph: Subgraph) -> Any:
    """The value of an attribute; None where the table has none of its kind."""
    match kind:
        case AttributeKind.FLOAT:
            return float(table.number("f", "f"))
        case AttributeKind.INT:
            return table.number("i", "q")
        case AttributeKind.STRING:
            return table.any_text("s")
        case AttributeKind.TENSOR:
            return _inner(table, "t", decode_tensor)
        case AttributeKind.GRAPH:
            return _inner(table, "g", subgraph)
        case AttributeKind.FLOATS:
            return _tuple(table.numbers("floats", "<f4"))
        case AttributeKind.INTS:
            return _tuple(table.numbers("ints", "<i8"))
        case AttributeKind.STRINGS:
            return _tuple(table.any_texts("strings"))
        case AttributeKind.TENSORS:
            return _each(table, "tensors", decode_tensor)
        case AttributeKind.GRAPHS:
            return _each(table, "graphs", subgraph)
    return None


def _tuple(items: list[Any] | None) -> tuple[Any, ...] | None:
    return None if items is None else tuple(items)


def _inner(table: Table, name: str, decoder: Callable[[Table], Any]) -> Any:
    inner = table.table(name, GRAPH if name == "g" else TENSOR)
    with Within(name):
        return None if inner is None else decoder(inner)


def _each(table: Table, name: str, decoder: Callable[[Table], Any]) -> tuple[Any, ...]:
    items: list[Any] = []
    for inner in table.tables(name, GRAPH if name == "graphs" else TENSOR):
        with Within(f"{name}[{len(items)}]"):
            items.append(decoder(inner))
    return tuple(items)
