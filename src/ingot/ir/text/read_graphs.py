"""Graphs, nodes and attributes."""

from __future__ import annotations

from typing import Any

from ingot.ir.attribute import AttributeKind
from ingot.ir.text.lexer import Reader
from ingot.ir.text.read_tensors import read_real, read_tensor
from ingot.ir.text.read_types import read_int64, read_type, starts_type
from ingot.ir.text.syntax import AttributeSyntax, GraphSyntax, NodeSyntax, ValueSyntax
from ingot.ir.text.words import KIND_NAMES, KINDS, is_float_word


def read_graph(reader: Reader) -> GraphSyntax:
    with reader.nested():
        graph = GraphSyntax(reader.quotable("the name of a graph"))
        if reader.kind != "=>":
            reader.expect("(", where="before the inputs of a graph")
            _values(reader, graph.inputs, graph, ")")
        reader.expect("=>", where="after the inputs of a graph")
        reader.expect("(", where="before the outputs of a graph")
        _values(reader, graph.outputs, None, ")")
        if reader.accept("<"):
            _values(reader, graph.values, graph, ">")
        graph.nodes = read_nodes(reader)
        return graph


def _values(reader: Reader, values: list[ValueSyntax], graph: GraphSyntax | None, close: str) -> None:
    """Values up to `close`; those with elements are initialisers of `graph`, if it may have any here."""
    if reader.accept(close):
        return
    while True:
        at = reader.start
        value = read_value(reader)
        if graph is not None and reader.accept("="):
            graph.initializers.append(read_tensor(reader, value.type, value.name, at))
            if close == ")":
                values.append(value)
        else:
            values.append(value)
        if not reader.accept(","):
            reader.expect(close, where="or ',' after a value")
            return


def read_value(reader: Reader) -> ValueSyntax:
    type_ = read_type(reader) if starts_type(reader) else None
    return ValueSyntax(reader.quotable("the name of a value"), type_)


def read_nodes(reader: Reader) -> list[NodeSyntax]:
    reader.expect("{", where="before nodes")
    nodes = []
    while not reader.accept("}"):
        nodes.append(read_node(reader))
    return nodes


def read_node(reader: Reader) -> NodeSyntax:
    label = ""
    if reader.accept("["):
        label = "" if reader.kind == "]" else reader.quotable("the name of a node")
        reader.expect("]", where="after the name of a node")
    outputs = _names(reader)
    reader.expect("=", where="after the outputs of a node")
    parts = [reader.quotable("an operator")]
    while reader.accept("."):
        parts.append(reader.quotable("a name after '.'"))
    overload = reader.quotable("the name of an overload") if reader.accept(":") else ""
    attributes = _attributes(reader)
    reader.expect("(", where="before the inputs of a node")
    inputs = _names(reader)
    reader.expect(")", where="or ',' after an input")
    if reader.kind == "<":
        if attributes:
            raise reader.error("the attributes of this node are given already, before its inputs", reader.start)
        attributes = _attributes(reader)
    return NodeSyntax(label, outputs, ".".join(parts[:-1]), parts[-1], overload, attributes, inputs)


def _names(reader: Reader) -> list[str]:
    """Names between commas; nothing before a comma is an omitted one, nothing after the last comma is nothing."""
    names: list[str] = []
    while True:
        if reader.kind in ("name", "string"):
            names.append(reader.value)
            reader.advance()
        elif reader.kind == ",":
            names.append("")
        else:
            return names
        if not reader.accept(","):
            return names


def _attributes(reader: Reader) -> list[AttributeSyntax]:
    attributes: dict[str, AttributeSyntax] = {}
    if not reader.accept("<"):
        return []
    while True:
        at = reader.start
        name = reader.quotable("the name of an attribute")
        if name in attributes:
            raise reader.error(f"attribute '{name}' is given twice", at)
        attributes[name] = read_attribute(reader, name)
        if not reader.accept(","):
            reader.expect(">", where="or ',' after an attribute")
            return list(attributes.values())


def read_attribute(reader: Reader, name: str) -> AttributeSyntax:
    """What follows the name of an attribute."""
    kind = reader.word(KINDS, "an attribute type") if reader.accept(":") else None
    reader.expect("=", where=f"after attribute '{name}'")
    if reader.kind == "@":
        return _reference(reader, name, kind)
    at = reader.start
    if reader.accept("["):
        return _list(reader, name, kind, at)
    if kind is not None and kind.is_list:
        raise reader.unexpected(f"a list of {kind.element.name.lower()}s in brackets")
    return AttributeSyntax(name, *_item(reader, kind))


def _reference(reader: Reader, name: str, kind: AttributeKind | None) -> AttributeSyntax:
    at = reader.start
    reader.advance()
    ref = reader.quotable("the name of an attribute after '@'")
    if not ref:
        raise reader.error("an empty name refers to nothing", at)
    if kind is None:
        raise reader.error(
            f"attribute '{name}' refers to another and must say its type", at, hint=f"{name}: float = @{ref}"
        )
    return AttributeSyntax(name, kind, None, ref)


def _list(reader: Reader, name: str, kind: AttributeKind | None, at: int) -> AttributeSyntax:
    if kind is not None and not kind.is_list:
        hint = f"{name}: {KIND_NAMES[kind.plural]} = [...]"
        raise reader.error(f"attribute '{name}' is one {kind.name.lower()}, not a list", at, hint=hint)
    if reader.accept("]"):
        if kind is None:
            raise reader.error("an empty list must say its type", at, hint=f"{name}: ints = []")
        return AttributeSyntax(name, kind, ())
    element = None if kind is None else kind.element
    items = []
    while True:
        element, item = _item(reader, element)
        items.append(item)
        if not reader.accept(","):
            reader.expect("]", where="or ',' after an item")
            return AttributeSyntax(name, element.plural, tuple(items))


def _item(reader: Reader, wanted: AttributeKind | None) -> tuple[AttributeKind, Any]:
    """One value and its kind, which is the one `wanted` if any is."""
    at = reader.start
    kind, value = _value(reader, wanted)
    if wanted is not None and kind is not wanted:
        raise reader.error(f"expected a value of type {KIND_NAMES[wanted]}, found one of type {KIND_NAMES[kind]}", at)
    return kind, value


def _value(reader: Reader, wanted: AttributeKind | None) -> tuple[AttributeKind, Any]:
    kind, text = reader.kind, reader.value
    if kind == "number":
        if wanted is AttributeKind.FLOAT or not text.lstrip("-").isdigit():
            return AttributeKind.FLOAT, read_real(reader, single=True)
        return AttributeKind.INT, read_int64(reader, "an integer")
    if starts_type(reader) or (kind == "name" and wanted is AttributeKind.TYPE):
        return _type_or_tensor(reader)
    if kind == "name" and is_float_word(text):
        return AttributeKind.FLOAT, read_real(reader, single=True)
    if kind == "string" and reader.following not in ("(", "=>"):
        reader.advance()
        return AttributeKind.STRING, text
    if kind in ("name", "string"):
        return AttributeKind.GRAPH, read_graph(reader)
    raise reader.unexpected("a number, a string, a type, a tensor, a graph or '@'")


def _type_or_tensor(reader: Reader) -> tuple[AttributeKind, Any]:
    at = reader.start
    type_ = read_type(reader)
    if reader.kind not in ("{", "=", "name", "string", "..."):
        return AttributeKind.TYPE, type_
    name = reader.quotable("a name") if reader.kind in ("name", "string") else ""
    reader.accept("=")
    return AttributeKind.TENSOR, read_tensor(reader, type_, name, at)
