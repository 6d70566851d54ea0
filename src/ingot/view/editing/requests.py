"""What the page asks to be changed, as edits: numbers of leaves and values become names, texts become values.

InputError, with what to do, where a text means nothing.
"""

from __future__ import annotations

import ast
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import InputError, nearest
from ingot.ir.attribute import AttributeKind
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.spelling import tensor_type
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.ops.catalog import standard
from ingot.view.editing.edits import (
    AddOutput,
    ApplyPass,
    AttributeLiteral,
    CutOut,
    Delete,
    Edit,
    FillWeight,
    Insert,
    Named,
    Place,
    RemoveOutput,
    RenameNode,
    RenameValue,
    Rewire,
    SetAttribute,
    SetOperator,
    SetType,
    SetWeight,
)
from ingot.view.editing.passes import PASSES
from ingot.view.flow import constant_of
from ingot.view.scene import Scene

Request = dict[str, Any]

_SETTABLE = (
    *(AttributeKind.FLOAT, AttributeKind.INT, AttributeKind.STRING),
    *(AttributeKind.FLOATS, AttributeKind.INTS, AttributeKind.STRINGS),
)


def edit_of(scene: Scene, request: Request) -> Edit:
    """The edit that a request asks for, of the model as it is drawn; IndexError and KeyError for what is not there."""
    kind = str(request.get("kind"))
    if kind not in _KINDS:
        raise InputError(f"there is no edit '{kind}'")
    return _KINDS[kind](scene, request)


def upload_of(scene: Scene, leaf: int, index: int, content: bytes) -> Edit:
    """Other elements for a constant that a node reads, from the content of an .npy file."""
    value = _constant(_node(scene, leaf), index)
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # numpy raises whatever a broken file leads it to
        raise InputError(f"the file is no .npy file: {str(error) or type(error).__name__}") from None
    if not isinstance(array, np.ndarray):
        raise InputError("the file has several arrays", hint="save the one that is meant with np.save")
    return SetWeight(place_of(_graph(value)), value.name, array)


def place_of(graph: Graph) -> Place:
    """Where a graph is in its model."""
    inside: list[tuple[str, str, int]] = []
    owner = graph.owner
    while isinstance(owner, Node):
        for name, attribute in owner.attributes.items():
            if graph in attribute.graphs:
                inside.insert(0, (_named_output(owner), name, attribute.graphs.index(graph)))
        assert owner.graph is not None
        graph = owner.graph
        owner = graph.owner
    function = (owner.domain, owner.name, owner.overload) if isinstance(owner, Function) else None
    return Place(function, tuple(inside))


def _rename_value(scene: Scene, request: Request) -> Edit:
    value = scene.values[request["value"]]
    return RenameValue(place_of(_graph(value)), value.name, _filled(request, "name"))


def _rename_node(scene: Scene, request: Request) -> Edit:
    return RenameNode(*_at(_node(scene, request["leaf"])), str(request["name"]))


def _delete(scene: Scene, request: Request) -> Edit:
    return Delete(*_at(_node(scene, request["leaf"])))


def _insert(scene: Scene, request: Request) -> Edit:
    value = scene.values[request["value"]]
    graph = _graph(value)
    domain, operator = _operator(_filled(request, "operator"))
    output = str(request.get("output") or "").strip() or _free_name(graph, f"{value.name}_{operator.lower()}")
    inputs = tuple(_visible(graph, name) for name in _names(str(request.get("inputs", ""))))
    attributes = tuple(_assignments(str(request.get("attributes", ""))))
    return Insert(place_of(graph), value.name, operator, domain, output, inputs, attributes)


def _rewire(scene: Scene, request: Request) -> Edit:
    node = _node(scene, request["leaf"])
    name = str(request.get("source") or "").strip()
    index = int(request["index"])
    if not 0 <= index <= len(node.inputs):
        raise InputError(f"node '{node.label}' has {len(node.inputs)} inputs")
    return Rewire(*_at(node), index, _visible(_node_graph(node), name) if name else None)


def _set_operator(scene: Scene, request: Request) -> Edit:
    domain, operator = _operator(_filled(request, "operator"))
    return SetOperator(*_at(_node(scene, request["leaf"])), operator, domain)


def _set_attribute(scene: Scene, request: Request) -> Edit:
    node, name = _node(scene, request["leaf"]), _filled(request, "name")
    text = request.get("text")
    if text is None:
        return SetAttribute(*_at(node), name, None)
    kind = _kind_of(node, name, scene.model)
    literal = attribute_literal(str(text), kind)
    empty = kind.name if kind is not None and literal == () else ""
    return SetAttribute(*_at(node), name, literal, empty)


def _set_weight(scene: Scene, request: Request) -> Edit:
    value = _constant(_node(scene, request["leaf"]), int(request["index"]))
    tensor = constant_of(value)
    if not isinstance(tensor, Tensor):
        raise InputError(f"'{value.name}' is sparse, and is changed in a program alone")
    place, text = place_of(_graph(value)), str(request["text"]).strip()
    literal = _parsed(text)
    if isinstance(literal, int | float) and tensor.shape:
        return FillWeight(place, value.name, literal, tuple(tensor.shape), tensor.dtype)
    return SetWeight(place, value.name, _array(literal, tensor.dtype, text))


def _set_type(_: Scene, request: Request) -> Edit:
    return SetType(_filled(request, "name"), tensor_type(_filled(request, "type")))


def _cut_out(_: Scene, request: Request) -> Edit:
    outputs = _names(str(request.get("outputs", "")))
    if not outputs:
        raise InputError("name the values that the part computes")
    return CutOut(tuple(_names(str(request.get("inputs", "")))), tuple(outputs))


def _apply_pass(_: Scene, request: Request) -> Edit:
    name = str(request.get("name"))
    if name not in PASSES:
        raise InputError(f"there is no pass '{name}'", hint=nearest(name, PASSES))
    return ApplyPass(name)


_KINDS: dict[str, Callable[[Scene, Request], Edit]] = {
    "rename value": _rename_value,
    "rename node": _rename_node,
    "delete": _delete,
    "insert": _insert,
    "rewire": _rewire,
    "set operator": _set_operator,
    "set attribute": _set_attribute,
    "set weight": _set_weight,
    "set type": _set_type,
    "add output": lambda _, request: AddOutput(_filled(request, "name")),
    "remove output": lambda _, request: RemoveOutput(_filled(request, "name")),
    "cut out": _cut_out,
    "pass": _apply_pass,
}


def attribute_literal(text: str, kind: AttributeKind | None) -> AttributeLiteral:
    """The value that a text stands for, of a kind if it is known: `1`, `0.5`, `[1, 1]`, `same`, `"1"`."""
    if kind is not None and kind not in _SETTABLE:
        raise InputError(f"an attribute of kind {kind.name.lower()} is changed in a program alone")
    if kind is AttributeKind.STRING:
        literal = _parsed(text) if text[:1] in ("'", '"') else text
        return literal if isinstance(literal, str) else text
    literal = _parsed(text)
    if isinstance(literal, list | tuple):
        items = tuple(literal)
        if kind is AttributeKind.FLOATS or any(isinstance(item, float) for item in items):
            return tuple(float(item) for item in items)
        return items
    if kind is not None and kind.is_list:
        items = (literal,)
        return tuple(float(item) for item in items) if kind is AttributeKind.FLOATS else items
    if isinstance(literal, bool):
        return int(literal)
    return float(literal) if kind is AttributeKind.FLOAT else literal


def _parsed(text: str) -> Any:
    """A number, a list of numbers or texts, or the text itself, if it is neither."""
    try:
        literal = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        words = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
        return words.get(text.strip(), text)
    return literal if isinstance(literal, int | float | str | list | tuple) else text


def _array(literal: Any, dtype: DType, text: str) -> Array:
    try:
        array = np.array(literal, np.object_ if dtype is DType.STRING else dtype.numpy)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"'{text[:60]}' are no elements of {dtype}: {error}") from None
    return array


def _kind_of(node: Node, name: str, model: Model) -> AttributeKind | None:
    if name in node:
        return node.attributes[name].kind
    operator = standard().operator_of(node, model.opset_imports)
    return operator.attributes[name].kind if operator is not None and name in operator.attributes else None


def _assignments(text: str) -> list[tuple[str, AttributeLiteral]]:
    """`axis=1, mode=same, pads=[1, 1]`: commas inside of brackets belong to the value."""
    pairs: list[tuple[str, AttributeLiteral]] = []
    depth, part = 0, ""
    for letter in [*text, ","]:
        depth += (letter in "[(") - (letter in "])")
        if letter != "," or depth:
            part += letter
            continue
        name, equals, value = part.partition("=")
        if part.strip():
            if not equals or not name.strip():
                raise InputError(f"'{part.strip()}' is no attribute", hint="write axis=1, mode=linear")
            pairs.append((name.strip(), attribute_literal(value.strip(), None)))
        part = ""
    return pairs


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _operator(text: str) -> tuple[str, str]:
    """The domain and the name of an operator: `Relu`, `com.microsoft.Gelu`."""
    domain, _, name = text.rpartition(".")
    return domain, name


def _visible(graph: Graph, name: str) -> Named:
    """The value that a name stands for in a graph: its own, or one of a graph around it."""
    around: Graph | None = graph
    while around is not None:
        if around.find(name) is not None:
            return Named(place_of(around), name)
        around = around.outer
    graph.value(name)
    raise AssertionError


def _free_name(graph: Graph, stem: str) -> str:
    names = {value.name for value in graph.values()}
    number = 1
    name = stem
    while name in names:
        number += 1
        name = f"{stem}_{number}"
    return name


def _node(scene: Scene, leaf: int) -> Node:
    node = scene.leaf(leaf).node
    if node is None:
        raise InputError("this is no node")
    return node


def _node_graph(node: Node) -> Graph:
    assert node.graph is not None
    return node.graph


def _at(node: Node) -> tuple[Place, str]:
    return place_of(_node_graph(node)), _named_output(node)


def _named_output(node: Node) -> str:
    name = next((value.name for value in node.outputs if value.name), None)
    if name is None:
        raise InputError(f"node '{node.label}' computes nothing that has a name to find it by")
    return name


def _constant(node: Node, index: int) -> Value:
    value = node.inputs[index]
    if value is None or constant_of(value) is None:
        raise InputError(f"input {index} of '{node.label}' is no constant")
    return value


def _graph(value: Value) -> Graph:
    if value.graph is None:
        raise InputError(f"nothing defines '{value.name}'")
    return value.graph


def _filled(request: Request, name: str) -> str:
    text = str(request.get(name) or "").strip()
    if not text:
        raise InputError(f"the {name} is empty")
    return text
