"""What ONNX's textual syntax has no words for."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ingot.dims import from_param
from ingot.dtypes import Array, DType
from ingot.errors import IngotError
from ingot.ir.attribute import Attribute
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.scope import Scope
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.text.elements import entries, float_view
from ingot.ir.text.parts import Findings, Item, has_odd_tensor_name, parts, root_graphs
from ingot.ir.text.words import reads_as_graph_name
from ingot.ir.types import SparseTensorType, TensorType, Type
from ingot.ir.value import Value


def lost(item: Item, *, elide: int | None = None, portable: bool = False) -> list[str]:
    """What the text that `to_text` gives does not say, a sentence each; nothing if reading it back gives the same.

    The elements of tensors that are left out because they are more than `elide` are not looked at.
    """
    findings = Findings()
    roots = root_graphs(item)
    for place, part in parts(item):
        match part:
            case Model():
                if part.training:
                    findings.add("the training steps", "model", place)
                if part.configurations:
                    findings.add("the device configurations", "model", place)
            case Function():
                _notes(findings, "function", place, "", part.metadata_if_any)
                if part.graph.initializers:
                    findings.add("the initialisers", "function", place)
            case Graph():
                _notes(findings, "graph", place, part.doc_string, part.metadata_if_any)
                if part.quantization:
                    findings.add("the quantisation annotations", "graph", place)
                if portable and part not in roots and not reads_as_graph_name(part.name):
                    findings.add("the exact name", "subgraph", place)
            case Node():
                _notes(findings, "node", place, part.doc_string, part.metadata_if_any)
                if part.device_configurations:
                    findings.add("the device configurations", "node", place)
            case Value():
                _notes(findings, "value", place, part.doc_string, part.metadata_if_any)
            case Attribute():
                _notes(findings, "attribute", place, part.doc_string, None)
                _attribute(findings, place, part)
                if portable and has_odd_tensor_name(part):
                    findings.add("the name of a tensor", "attribute", place)
            case Tensor():
                _notes(findings, "tensor", place, part.doc_string, part.metadata)
                if not _is_elided(part, elide):
                    _elements(findings, place, part)
            case SparseTensor():
                findings.add("the elements", "sparse tensor", place)
            case TensorType() | SparseTensorType():
                if any(part.axis_denotations):
                    findings.add("the denotations of axes", "type", place)
                if not all(
                    dim is None or isinstance(dim, int) or from_param(str(dim)) == dim for dim in part.shape or ()
                ):
                    findings.add("the name of a size, which reads as something else,", "type", place)
        if isinstance(part, Type) and part.denotation:
            findings.add("the denotation", "type", place)
    for root in roots:
        _links(findings, root, Scope(None))
    if isinstance(item, Node):
        _node_links(findings, item, Scope(None))
    return findings.sentences()


def elided(item: Item, elide: int | None) -> list[str]:
    """Which elements a text leaves out because there are more than `elide`, a sentence."""
    findings = Findings()
    for place, part in parts(item):
        if isinstance(part, Tensor) and _is_elided(part, elide):
            findings.add(f"the elements, more than {elide},", "tensor", place)
    return findings.sentences()


def _is_elided(tensor: Tensor, elide: int | None) -> bool:
    return elide is not None and tensor.external is None and tensor.size > elide


def _notes(findings: Findings, kind: str, place: str, doc_string: str, metadata: Mapping[str, str] | None) -> None:
    if doc_string:
        findings.add("the doc string", kind, place)
    if metadata:
        findings.add("the metadata", kind, place)


def _attribute(findings: Findings, place: str, attribute: Attribute) -> None:
    items = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
    if any(isinstance(item, bytes) for item in items):
        findings.add("the bytes that are not text", "attribute", place)
    nans = [item for item in items if isinstance(item, float) and math.isnan(item)]
    if nans and _has_payload(np.array(nans)):
        findings.add("the payload of a NaN", "attribute", place)


def _elements(findings: Findings, place: str, tensor: Tensor) -> None:
    if tensor.external is not None:
        return
    try:
        floats = float_view(tensor)
        if tensor.dtype is DType.STRING and entries(tensor) is None:
            findings.add("the bytes that are not text", "tensor", place)
        if floats is not None and _has_payload(floats):
            findings.add("the payload of a NaN", "tensor", place)
    except IngotError as error:
        findings.add(f"the elements ({error.message})", "tensor", place)


def _has_payload(floats: Array) -> bool:
    """Whether a NaN among them has other bits than the one that text reads as, its sign apart."""
    nans = floats[np.isnan(floats)]
    bits = nans.view(f"u{nans.itemsize}") << 1 >> 1
    return bool((bits != np.array(math.nan, nans.dtype).view(bits.dtype)).any())


def _links(findings: Findings, graph: Graph, scope: Scope) -> None:
    """Look up each name as a reader of the text will, and note where that finds another value than is meant."""
    for value in (*graph.inputs, *graph.initializers.values()):
        scope.define(value)
    for node in graph.nodes:
        for value in node.outputs:
            scope.define(value)
    for node in graph.nodes:
        _node_links(findings, node, scope)
    for value in graph.outputs:
        if scope.meant(value) is not value:
            findings.add(_MISTAKEN, "graph", graph.name)


def _node_links(findings: Findings, node: Node, scope: Scope) -> None:
    for value in node.inputs:
        if value is not None and scope.meant(value) is not value:
            findings.add(_MISTAKEN, "node", node.label)
    for graph in node.subgraphs:
        _links(findings, graph, Scope(scope))


_MISTAKEN = "the link to a value that shares its name or has none"
