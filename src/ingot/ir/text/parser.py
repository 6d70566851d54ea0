"""Text in ONNX's textual syntax to models, graphs, functions and nodes.

Beyond what onnx's own parser reads, a name may be in quotes wherever one stands, lists of tensors, of graphs and of
types are read, and `undefined` is an element type. Text that contradicts itself is refused where onnx takes it: a
constant of the wrong size, a number too large for its type, an attribute or a key given twice, a list declared as one
value, a reference without a type, and anything after the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ingot.ir.domains import OpsetImports, canonical, spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.scope import Scope
from ingot.ir.text.build import build_function, build_graph, build_model, build_nodes
from ingot.ir.text.lexer import Fetch, Reader
from ingot.ir.text.read_graphs import read_attribute, read_graph, read_node, read_nodes, read_value
from ingot.ir.text.read_tensors import read_entries
from ingot.ir.text.read_types import read_int64
from ingot.ir.text.syntax import AttributeSyntax, FunctionSyntax, GraphSyntax, ModelSyntax, ValueSyntax

_Tree = TypeVar("_Tree")
_Item = TypeVar("_Item")


def parse_model(text: str, *, external: Fetch | None = None) -> Model:
    """The model that `text` writes; ParseError, with the place, if it writes none.

    `external` is asked for the bytes of tensors that lie outside the model; without it, using one is an error.
    """
    return _parsed(text, _model, build_model, external)


parse = parse_model


def parse_graph(text: str) -> Graph:
    """The graph that `text` writes; what it reads and does not define are values that nothing defines."""
    return _parsed(text, read_graph, lambda tree: build_graph(tree, Scope(None)))


def parse_function(text: str) -> Function:
    """The function that `text` writes."""
    return _parsed(text, _function, build_function)


def parse_node(text: str) -> Node:
    """The node that `text` writes, in no graph; its inputs are values that nothing defines."""
    return _parsed(text, read_node, lambda tree: build_nodes([tree], Scope(None))[0])


def _parsed(
    text: str, read: Callable[[Reader], _Tree], build: Callable[[_Tree], _Item], external: Fetch | None = None
) -> _Item:
    reader = Reader(text, external)
    try:
        tree = read(reader)
        if reader.kind != "end":
            raise reader.unexpected("the end of the text")
        return build(tree)
    except RecursionError:
        raise reader.error("the text is nested too deep for the stack it is read on", reader.start) from None


def _model(reader: Reader) -> ModelSyntax:
    model = ModelSyntax(_header(reader, _MODEL_HEADER, "a property of a model"), read_graph(reader))
    known = set()
    while reader.kind != "end":
        at = reader.start
        function = _function(reader)
        header = function.header
        identity = canonical(header.get("domain", "")), function.graph.name, header.get("overload", "")
        if identity in known:
            raise reader.error(f"function '{function.graph.name}' is defined twice", at)
        known.add(identity)
        model.functions.append(function)
    return model


def _function(reader: Reader) -> FunctionSyntax:
    header = _header(reader, _FUNCTION_HEADER, "a property of a function")
    graph = GraphSyntax(reader.quotable("the name of a function"))
    attributes = _parameters(reader) if reader.kind == "<" else {}
    graph.inputs = _listed(reader, "(", read_value, ")", "inputs of a function")
    reader.expect("=>", where="after the inputs of a function")
    graph.outputs = _listed(reader, "(", read_value, ")", "outputs of a function")
    graph.values = _typed(graph.inputs) + _typed(graph.outputs)
    if reader.kind == "<":
        graph.values += _listed(reader, "<", read_value, ">", "values of a function")
    graph.nodes = read_nodes(reader)
    return FunctionSyntax(header, attributes, graph)


def _parameters(reader: Reader) -> dict[str, AttributeSyntax | None]:
    """The attributes a function takes, those with a default being written like a node's."""
    parameters: dict[str, AttributeSyntax | None] = {}
    reader.advance()
    while True:
        at = reader.start
        name = reader.quotable("the name of an attribute")
        if name in parameters:
            raise reader.error(f"attribute '{name}' is declared twice", at)
        parameters[name] = read_attribute(reader, name) if reader.kind in (":", "=") else None
        if not reader.accept(","):
            reader.expect(">", where="or ',' after an attribute")
            return parameters


def _typed(values: list[ValueSyntax]) -> list[ValueSyntax]:
    return [value for value in values if value.type is not None]


def _listed(reader: Reader, opened: str, read: Callable[[Reader], _Item], closed: str, what: str) -> list[_Item]:
    reader.expect(opened, where=f"before the {what}")
    items: list[_Item] = []
    if reader.accept(closed):
        return items
    while True:
        items.append(read(reader))
        if not reader.accept(","):
            reader.expect(closed, where=f"or ',' after the {what}")
            return items


def _header(reader: Reader, words: dict[str, Callable[[Reader], Any]], what: str) -> dict[str, Any]:
    """`<key: value, ...>` or nothing."""
    header: dict[str, Any] = {}
    if not reader.accept("<"):
        return header
    while True:
        at, key = reader.start, reader.value
        read = reader.word(words, what)
        if key in header:
            raise reader.error(f"'{key}' is given twice", at)
        reader.expect(":", where=f"after '{key}'")
        header[key] = read(reader)
        if not reader.accept(","):
            reader.expect(">", where="or ',' after a property")
            return header


def _string(reader: Reader) -> str:
    return reader.take("string", what="a string")


def _version(reader: Reader) -> int:
    return read_int64(reader, "an integer")


def _metadata(reader: Reader) -> dict[str, str]:
    return dict(read_entries(reader))


def _opsets(reader: Reader) -> OpsetImports:
    imports = OpsetImports()

    def read_import(reader: Reader) -> None:
        at = reader.start
        domain = reader.take("string", what="the domain of an operator set, in quotes")
        reader.expect(":", where="after the domain of an operator set")
        version = read_int64(reader, "a version")
        if imports.setdefault(domain, version) != version:
            raise reader.error(f"operator set '{spelled_out(canonical(domain))}' is imported in two versions", at)

    _listed(reader, "[", read_import, "]", "operator sets")
    return imports


_MODEL_HEADER: dict[str, Callable[[Reader], Any]] = {
    "ir_version": _version,
    "opset_import": _opsets,
    "producer_name": _string,
    "producer_version": _string,
    "domain": _string,
    "model_version": _version,
    "doc_string": _string,
    "metadata_props": _metadata,
}
_FUNCTION_HEADER: dict[str, Callable[[Reader], Any]] = {
    "domain": _string,
    "overload": _string,
    "opset_import": _opsets,
    "doc_string": _string,
}
