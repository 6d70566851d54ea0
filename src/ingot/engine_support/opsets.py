"""An older or newer opset as a target: which nodes of a model it cannot express, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ingot.builder.versions import domain_version_of, ir_version_of
from ingot.engine_support.finding import Finding
from ingot.errors import IngotError, InputError, UnsupportedError
from ingot.infer.stepwise import types_of
from ingot.ir.clone import Known, copy_node, copy_value
from ingot.ir.domains import is_of_onnx
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.needs import needed_ir_version
from ingot.ir.node import Node
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.ops.rewrite import NEWEST
from ingot.versions.convert import convert_versions


def opset_of(target: str) -> int:
    """17 of `opset:17`; InputError for a version that is not known."""
    text = target.partition(":")[2]
    if not text.isdecimal() or not 1 <= int(text) <= NEWEST[""]:
        raise InputError(f"'{target}' names no opset", hint=f"opset:1 to opset:{NEWEST['']}")
    return int(text)


def at_opset(model: Model, opset: int, *, others: bool = True) -> Model:
    """A copy of a model in another opset, with the IR version that goes with it; UnsupportedError if it cannot be.

    With `others`, the other domains of ONNX go along to what was released with it.
    """
    converted = model.copy()
    imports = converted.opset_imports
    own = imports.get("", opset)
    limit = max if opset > own else min
    wanted = {"": opset} if "" in imports else {}
    if others:
        for domain, version in imports.items():
            if domain in NEWEST and domain and is_of_onnx(domain):
                wanted[domain] = limit(version, domain_version_of(domain, opset))
    convert_versions(converted, wanted)
    converted.ir_version = max(limit(converted.ir_version, ir_version_of(opset)), needed_ir_version(converted))
    return converted


def refused_by(model: Model, opset: int) -> list[Finding]:
    """The nodes of a model that an opset cannot express, with reasons; empty if it can express the whole."""
    try:
        at_opset(model, opset)
        return []
    except UnsupportedError as error:
        whole = error
    noted: dict[str, list[Node]] = {}
    for node, reason in _refusals(model, opset):
        noted.setdefault(reason, []).append(node)
    if not noted:
        return [Finding("operator", "; ".join([whole.message, *whole.where]))]
    return [
        Finding("operator", reason, nodes[0].op_type, tuple(node.label for node in nodes))
        for reason, nodes in noted.items()
    ]


def _refusals(model: Model, opset: int) -> Iterator[tuple[Node, str]]:
    """The nodes that cannot be converted by themselves, with the reason; without calls and nodes with subgraphs."""
    try:
        types = types_of(model, custom=True)
    except IngotError:
        types = {}
    bodies = {function.graph: function.opset_imports for function in model.functions.values()}
    for graph in model.graphs():
        imports = bodies.get(graph.root, model.opset_imports)
        for node in graph:
            if node.subgraphs or model.function_of(node) is not None:
                continue
            try:
                at_opset(_alone(node, types, imports, model.ir_version), opset)
            except UnsupportedError as error:
                yield node, error.message
            except IngotError:
                continue  # by itself it cannot be judged


def _alone(node: Node, types: Mapping[Value, Type], imports: Mapping[str, int], ir_version: int) -> Model:
    """A model of one node; its constants stay constants."""
    known: Known = {}
    inputs: list[Value] = []
    constants: list[Value] = []
    for value in dict.fromkeys(value for value in node.inputs if value is not None):
        twin = copy_value(value, known)
        twin.type = types.get(value) or value.type
        if value.constant is None and value.producer is not None and value.producer.applies("Constant"):
            twin.constant = value.producer.get("value")
        (inputs if twin.constant is None else constants).append(twin)
    twin_node = copy_node(node, known)
    for output, twin in zip(node.outputs, twin_node.outputs, strict=True):
        twin.type = types.get(output) or output.type
    graph = Graph(
        inputs, [twin for twin in twin_node.outputs if twin.name], [twin_node], name="one", initializers=constants
    )
    return Model(graph, dict(imports), ir_version=ir_version)
