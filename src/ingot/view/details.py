"""The panel of a node: its attributes with defaults, what it reads and computes, and what its operator means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from ingot.errors import IngotError
from ingot.ir.attribute import Attribute
from ingot.ir.domains import spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.ops.catalog import standard
from ingot.ops.define import Operator
from ingot.view.flow import Leaf, constant_of

_LONGEST = 400
_MOST_SHOWN = 16
_MOST_PORTS = 200
"""Inputs and outputs of a node that are listed."""
_MOST_READERS = 500

Json = dict[str, Any]
Leaves = Mapping[Node | Value, int]


def leaf_details(
    leaf: Leaf, model: Model, leaves: Leaves, types: Mapping[Value, Type], number_of: Callable[[Value], int]
) -> Json:
    """Everything about a leaf; `leaves` has the numbers of nodes, and of inputs by their values."""
    node = leaf.node
    if node is None:
        value = leaf.value
        assert value is not None
        port = _port("", value, leaves, types, number_of, is_output=leaf.kind != "output")
        ports = ([port], []) if leaf.kind == "output" else ([], [port])
        return {
            "title": {"input": "input", "outer": "value from around", "output": "output"}[leaf.kind],
            "name": value.name,
            "version": "",
            "attributes": [],
            "inputs": ports[0],
            "outputs": ports[1],
            "documentation": "",
            "doc_string": value.doc_string,
            "metadata": metadata_rows(value.metadata_if_any or {}),
        }
    operator = _operator(node, model)
    inputs = _formals(operator, len(node.inputs), "inputs")
    outputs = _formals(operator, len(node.outputs), "outputs")
    function = model.function_of(node)
    return {
        "title": node.op_type,
        "name": node.label,
        "version": _version(node, model, operator),
        "attributes": _attributes(node, operator),
        "inputs": [
            _input(index, formal, value, leaves, types, number_of)
            for index, (formal, value) in enumerate(islice(zip(inputs, node.inputs, strict=True), _MOST_PORTS))
            if value is not None
        ],
        "outputs": [
            _port(formal, value, leaves, types, number_of, is_output=True)
            for formal, value in islice(zip(outputs, node.outputs, strict=True), _MOST_PORTS)
            if value.name
        ],
        "more": max(0, len(node.inputs) - _MOST_PORTS) + max(0, len(node.outputs) - _MOST_PORTS),
        "documentation": _documentation(function, operator),
        "doc_string": node.doc_string,
        "metadata": metadata_rows(node.metadata_if_any or {}),
    }


def ends_of(value: Value, leaves: Leaves) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """The leaf that computes a value, if any is drawn, and those that read it, each with a title."""
    return _producers(value, leaves), _readers(value, leaves)


def _producers(value: Value, leaves: Leaves) -> list[tuple[int, str]]:
    producer: Node | Value = value if value.producer is None else value.producer
    return [(leaves[producer], _title(producer))] if producer in leaves else []


def _readers(value: Value, leaves: Leaves) -> list[tuple[int, str]]:
    return [(leaves[node], _title(node)) for node in value.users if node in leaves][:_MOST_READERS]


def weight_of(leaf: Leaf, index: int) -> Tensor | SparseTensor:
    """A constant that a node reads; IndexError if it reads none there."""
    tensor = None if leaf.node is None else constant_of(leaf.node.inputs[index])
    if tensor is None:
        raise IndexError(index)
    return tensor


def _title(end: Node | Value) -> str:
    return f"{end.op_type} {end.label}" if isinstance(end, Node) else f"input {end.name}"


def _operator(node: Node, model: Model) -> Operator | None:
    try:
        return None if model.function_of(node) is not None else standard().operator_of(node, model.opset_imports)
    except IngotError:
        return None


def _version(node: Node, model: Model, operator: Operator | None) -> str:
    if model.function_of(node) is not None:
        return "a function of the model"
    imported = model.opset_imports.get(node.domain)
    known = "" if operator is not None else ", which nobody here knows"
    return f"{spelled_out(node.domain)} {'' if imported is None else imported}{known}"


def _formals(operator: Operator | None, count: int, side: str) -> list[str]:
    names = [] if operator is None else [formal.name for formal in getattr(operator, side)]
    return [names[min(index, len(names) - 1)] if names else str(index) for index in range(count)]


def _attributes(node: Node, operator: Operator | None) -> list[Json]:
    rows = [{"name": name, "text": _text(attribute), "default": False} for name, attribute in node.attributes.items()]
    if operator is not None:
        rows += [
            {"name": name, "text": _shown(parameter.default), "default": True}
            for name, parameter in operator.attributes.items()
            if name not in node.attributes and parameter.default is not None
        ]
    return rows


def _text(attribute: Attribute) -> str:
    return f"attribute '{attribute.ref}' of the function" if attribute.ref else _shown(attribute.value)


def _shown(value: object) -> str:
    match value:
        case Graph():
            return f"graph of {len(value):,} nodes"
        case Tensor() if value.size <= _MOST_SHOWN and value.external is None:
            return _cut(f"{value.type} {value.tolist()}")
        case Tensor() | SparseTensor():
            return str(value.type)
        case bytes():
            return _cut(value.decode("utf-8", "backslashreplace"))
        case float():
            return f"{value:.7g}"
        case tuple() | list():
            return _cut(f"[{', '.join(_shown(each) for each in value[:60])}{', …' if len(value) > 60 else ''}]")
    return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _input(
    index: int,
    formal: str,
    value: Value,
    leaves: Leaves,
    types: Mapping[Value, Type],
    number_of: Callable[[Value], int],
) -> Json:
    tensor = constant_of(value)
    if tensor is None:
        return _port(formal, value, leaves, types, number_of, is_output=False)
    text = ""
    if isinstance(tensor, Tensor) and tensor.size <= _MOST_SHOWN and tensor.external is None:
        text = _cut(str(tensor.tolist()))
    return {
        "formal": formal,
        "name": value.name,
        "type": str(tensor.type),
        "value": None,
        "weight": index,
        "text": text,
        "producers": [],
        "readers": [],
    }


def _port(
    formal: str,
    value: Value,
    leaves: Leaves,
    types: Mapping[Value, Type],
    number_of: Callable[[Value], int],
    *,
    is_output: bool,
) -> Json:
    type_ = types.get(value, value.type)
    return {
        "formal": formal,
        "name": value.name,
        "type": "" if type_ is None else str(type_),
        "value": number_of(value),
        "weight": None,
        "text": "",
        "producers": [] if is_output else _producers(value, leaves),
        "readers": _readers(value, leaves) if is_output else [],
    }


def _documentation(function: Function | None, operator: Operator | None) -> str:
    if function is not None:
        return function.doc_string
    return "" if operator is None else _unwrapped(operator.documentation)


def _unwrapped(text: str) -> str:
    """A text with each paragraph on one line; what is indented or listed stays as it is."""
    return re.sub(r"(?<=\S)\n(?=[^\s*|-])", " ", text)


def metadata_rows(metadata: Mapping[str, str]) -> list[tuple[str, str]]:
    """Metadata as rows of texts that are not too long."""
    return [(name, _cut(text)) for name, text in metadata.items()]
