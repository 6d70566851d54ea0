"""What of a node or a value can be changed, as the fields of a form."""

from __future__ import annotations

from typing import Any

from ingot.dtypes import DType
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.ops.catalog import standard
from ingot.view.answering import Json
from ingot.view.flow import Leaf, constant_of
from ingot.view.scene import Scene

_MOST_ELEMENTS = 64
_MOST_NAMES = 20_000
_PLAIN = (
    *(AttributeKind.FLOAT, AttributeKind.INT, AttributeKind.STRING),
    *(AttributeKind.FLOATS, AttributeKind.INTS, AttributeKind.STRINGS),
)


def leaf_form(scene: Scene, number: int) -> Json:
    """The fields of a leaf; `locked` is a text that only shows."""
    leaf = scene.leaf(number)
    node = leaf.node
    if node is None:
        return _end_form(scene, leaf)
    return {
        "kind": "node",
        "name": node.name,
        "operator": f"{node.domain}.{node.op_type}" if node.domain else node.op_type,
        "attributes": [_attribute(attribute) for attribute in node.attributes.values()],
        "inputs": [_input(index, value) for index, value in enumerate(node.inputs)],
        "outputs": [value_form(scene, scene.number_of(value)) for value in node.outputs if value.name],
    }


def value_form(scene: Scene, number: int) -> Json:
    """The fields of a value; one of the main graph can be returned."""
    value = scene.values[number]
    is_main = value.graph is scene.model.graph
    return {"kind": "value", "value": number, "name": value.name, "main": is_main, "returned": value.is_output}


def suggestions(scene: Scene) -> Json:
    """The names of values, and of operators of the standard, to choose from."""
    operators = {operator.name for operator in standard() if not operator.domain}
    names = dict.fromkeys(value.name for graph in scene.model.graphs() for value in graph.values())
    return {"values": list(names)[:_MOST_NAMES], "operators": sorted(operators)}


def _end_form(scene: Scene, leaf: Leaf) -> Json:
    assert leaf.value is not None
    form: dict[str, Any] = value_form(scene, scene.number_of(leaf.value))
    is_input = leaf.kind == "input" and form["main"]
    return {**form, "kind": leaf.kind, "type": str(leaf.value.type or "") if is_input else None}


def _attribute(attribute: Attribute) -> Json:
    is_plain = attribute.kind in _PLAIN and not attribute.ref and not isinstance(attribute.value, bytes)
    value = list(attribute.value) if isinstance(attribute.value, tuple) else attribute.value
    text = str(value) if is_plain else f"{attribute.kind.name.lower()}, changed in a program alone"
    return {"name": attribute.name, "text": text, "locked": not is_plain}


def _input(index: int, value: Value | None) -> Json:
    tensor = constant_of(value)
    text = ""
    if isinstance(tensor, Tensor) and tensor.size <= _MOST_ELEMENTS and tensor.dtype is not DType.STRING:
        text = str(tensor.tolist())
    return {
        "index": index,
        "name": "" if value is None else value.name,
        "constant": tensor is not None,
        "type": "" if tensor is None else str(tensor.type),
        "elements": text,
    }
