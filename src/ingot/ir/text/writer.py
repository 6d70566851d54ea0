"""The text of models, graphs, functions and nodes; sizes are written in their normal form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ingot.errors import IngotError
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.tensor import External, SparseTensor, Tensor
from ingot.ir.text.elements import entries
from ingot.ir.text.literals import float32_text
from ingot.ir.text.parts import Item
from ingot.ir.text.type_text import type_text
from ingot.ir.text.words import KIND_NAMES, graph_name, is_identifier, name_text, quoted, reads_as_graph_name, word_text
from ingot.ir.types import Type
from ingot.ir.value import Value

ELISION = "..."
"""Stands where elements are left out or cannot be written; no parser reads it."""

_INDENT = "  "


def written(item: Item, *, elide: int | None, portable: bool) -> str:
    """`item` in ONNX's textual syntax, as far as that can express it; see `to_text`."""
    return _Writer(elide, portable).item(item)


class _Writer:
    """One text: `elide` is how many elements of a tensor are written at most."""

    def __init__(self, elide: int | None, portable: bool) -> None:
        self._elide = elide
        self._portable = portable

    def item(self, item: Item) -> str:
        match item:
            case Model():
                return self.model(item)
            case Graph():
                return self.graph(item, name_text(item.name), "")
            case Function():
                return self.function(item)
            case Node():
                return self.node(item, "")

    def model(self, model: Model) -> str:
        header = [f"ir_version: {model.ir_version}", f"opset_import: {_imports(model.opset_imports)}"]
        strings = {
            "producer_name": model.producer_name,
            "producer_version": model.producer_version,
            "domain": model.domain,
            "doc_string": model.doc_string,
        }
        header += [f"{key}: {quoted(text)}" for key, text in strings.items() if text]
        if model.model_version:
            header.append(f"model_version: {model.model_version}")
        if model.metadata:
            header.append(f"metadata_props: {_entries(model.metadata.items())}")
        graph = self.graph(model.graph, name_text(model.graph.name), "")
        return "\n".join([_header(header), graph, *map(self.function, model.functions.values())])

    def function(self, function: Function) -> str:
        header = [f"domain: {quoted(function.domain)}"]
        if function.overload:
            header.append(f"overload: {quoted(function.overload)}")
        header.append(f"opset_import: {_imports(function.opset_imports)}")
        if function.doc_string:
            header.append(f"doc_string: {quoted(function.doc_string)}")
        parameters = [
            word_text(name) if default is None else self.attribute(default, _INDENT)
            for name, default in function.attributes.items()
        ]
        graph = function.graph
        head = word_text(function.name) + (f" <{', '.join(parameters)}>" if parameters else "")
        names = [", ".join(name_text(value.name) for value in values) for values in (graph.inputs, graph.outputs)]
        values = [f"{_declaration(value)} = {{{ELISION}}}" for value in graph.initializers.values()]
        values += [_declaration(value) for value in graph.values() if value.type and value.constant is None]
        body = _block(values, "") + self.nodes(graph, "")
        return f"{_header(header)}\n{head} ({names[0]}) => ({names[1]}){body}"

    def graph(self, graph: Graph, name: str, indent: str) -> str:
        inputs = ", ".join(map(_declaration, graph.inputs))
        outputs = ", ".join(map(_declaration, graph.outputs))
        returned = set(graph.outputs)
        values = [self.initializer(value) for value in graph.initializers.values()]
        for node in graph.nodes:
            values += [_declaration(value) for value in node.outputs if value.type and value not in returned]
        return f"{name} ({inputs}) => ({outputs}){_block(values, indent)}{self.nodes(graph, indent)}"

    def initializer(self, value: Value) -> str:
        constant = value.constant
        if isinstance(constant, Tensor):
            return f"{type_text(constant.type)} {name_text(value.name)} = {self.elements(constant)}"
        assert constant is not None
        return f"{type_text(constant.type)} {name_text(value.name)} = {{{ELISION}}}"

    def nodes(self, graph: Graph, indent: str) -> str:
        inner = indent + _INDENT
        return "\n".join(["{", *(self.node(node, inner) for node in graph.nodes), indent + "}"])

    def node(self, node: Node, indent: str) -> str:
        label = f"[{word_text(node.name)}] " if node.name else ""
        outputs = ", ".join(name_text(value.name) for value in node.outputs)
        parts = [*(node.domain.split(".") if node.domain else ()), node.op_type]
        operator = ".".join(map(word_text, parts)) + (f":{word_text(node.overload)}" if node.overload else "")
        inputs = ", ".join(name_text("" if value is None else value.name) for value in node.inputs)
        listed = ", ".join(self.attribute(attribute, indent + _INDENT) for attribute in node.attributes.values())
        attributes = f" <{listed}>" if listed else ""
        call = f" ({inputs}){attributes}" if node.subgraphs else f"{attributes} ({inputs})"
        return f"{indent}{label}{outputs}{' ' if outputs else ''}= {operator}{call}"

    def attribute(self, attribute: Attribute, indent: str) -> str:
        head = f"{word_text(attribute.name)}: {KIND_NAMES[attribute.kind]} = "
        if attribute.ref:
            return f"{head}@{word_text(attribute.ref)}"
        if not attribute.kind.is_list:
            return head + self.value(attribute.value, attribute.kind, indent)
        assert isinstance(attribute.value, tuple)
        items = (self.value(item, attribute.kind.element, indent) for item in attribute.value)
        return f"{head}[{', '.join(items)}]"

    def value(self, value: object, kind: AttributeKind, indent: str) -> str:
        match value:
            case Graph():
                name = value.name if reads_as_graph_name(value.name) else quoted(value.name)
                return self.graph(value, graph_name(value.name) if self._portable else name, indent)
            case Tensor():
                named = value.name and (is_identifier(value.name) or not self._portable)
                name = f" {word_text(value.name)}" if named else ""
                equals = " =" if value.external else ""
                return f"{type_text(value.type)}{name}{equals} {self.elements(value)}"
            case SparseTensor() | bytes():
                return ELISION
            case str():
                return quoted(value)
            case int() | float():
                return str(value) if kind is AttributeKind.INT else float32_text(value)
            case _:
                assert isinstance(value, Type)
                return type_text(value)

    def elements(self, tensor: Tensor) -> str:
        """The elements in braces, or where they lie outside the model."""
        if tensor.external is not None:
            return _entries(_external_entries(tensor.external))
        if self._elide is not None and tensor.size > self._elide:
            return f"{{{ELISION}}}"
        try:
            written = entries(tensor)
        except IngotError:  # elements that cannot be had, such as those of a segment
            written = None
        return f"{{{ELISION}}}" if written is None else f"{{{', '.join(written)}}}"


def _declaration(value: Value) -> str:
    """A value with its type."""
    type_ = "" if value.type is None else type_text(value.type) + " "
    return type_ + name_text(value.name)


def _header(lines: list[str]) -> str:
    return "<\n" + ",\n".join(_INDENT + line for line in lines) + "\n>"


def _block(values: list[str], indent: str) -> str:
    """What stands between the outputs of a graph and its nodes: values, one a line, if there are any."""
    if not values:
        return " "
    inner = indent + _INDENT
    return f"\n{inner}<\n" + ",\n".join(inner + _INDENT + value for value in values) + f"\n{inner}>\n{indent}"


def _imports(imports: Mapping[str, int]) -> str:
    return f"[{', '.join(f'{quoted(domain)} : {version}' for domain, version in imports.items())}]"


def _entries(entries: Iterable[tuple[str, str]]) -> str:
    return f"[{', '.join(f'{quoted(key)}: {quoted(value)}' for key, value in entries)}]"


def _external_entries(external: External) -> list[tuple[str, str]]:
    known = ("location", external.location), ("offset", external.offset), ("length", external.length)
    entries = [(key, str(value)) for key, value in (*known, ("checksum", external.checksum)) if value is not None]
    return entries + list(external.others)
