"""A file of onnxruntime's own format to a model.

What onnxruntime keeps in it for itself alone is not read: the edges between nodes, which names say again, the providers
that nodes were assigned to, the types and hashes that kernels are chosen by, and optimisations left for run time.
"""

from __future__ import annotations

from typing import NamedTuple

from ingot.errors import CheckError
from ingot.format.limits import Limits
from ingot.format.ort import schema
from ingot.format.ort.attributes import decode_attributes
from ingot.format.ort.flatbuffer import Flatbuffer, Table
from ingot.format.ort.tensors import decode_sparse, decode_tensor
from ingot.format.ort.types import decode_type
from ingot.format.parts import Within
from ingot.format.wire import Malformed
from ingot.ir.assemble import add_attribute, add_initializer, add_input, add_output, connect, link_nodes, new_node
from ingot.ir.domains import OpsetImports
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.scope import Scope
from ingot.ir.sort import sorted_nodes
from ingot.ir.types import SparseTensorType, Type
from ingot.ir.value import Value

_FUSED = 1
"""The type of a node that stands for a part of the model which a provider compiled."""

_NAME = "graph"
"""What graphs are called: the format has no names of theirs, and the standard asks for one."""


class _Declaration(NamedTuple):
    """What a graph declares of a value."""

    type: Type | None
    doc_string: str


def decode_ort(view: memoryview, limits: Limits) -> Model:
    """The model that a file holds; its weights are views of it. Malformed if it is none, or of another version."""
    session = Flatbuffer(view, limits).root(schema.SESSION)
    version = session.text("ort_version")
    if version not in map(str, schema.VERSIONS):
        first, last = schema.VERSIONS[0], schema.VERSIONS[-1]
        raise Malformed(
            f"it is in version {version[:20]!r} of onnxruntime's format; {first} to {last} are known",
            session.offset,
            hint="save it again, as .onnx or with another onnxruntime",
        ).within("ort_version")
    table = session.table("model", schema.MODEL)
    if table is None:
        raise Malformed("it has no model", session.offset)
    return _model(table)


def _model(table: Table) -> Model:
    graph_table = table.table("graph", schema.GRAPH)
    if graph_table is None:
        raise Malformed("it has no graph", table.offset)
    with Within("graph"):
        graph = _graph(graph_table, Scope(None), 1)
    graph.doc_string = table.text("graph_doc_string")
    imports = OpsetImports()
    for row in table.tables("opset_import", schema.OPSET_ID):
        imports[row.text("domain")] = row.number("version", "q")
    model = Model(
        graph,
        imports,
        ir_version=table.number("ir_version", "q"),
        producer_name=table.text("producer_name"),
        producer_version=table.text("producer_version"),
        domain=table.text("domain"),
        model_version=table.number("model_version", "q"),
        doc_string=table.text("doc_string"),
        metadata={row.text("key"): row.text("value") for row in table.tables("metadata_props", schema.ENTRY)},
    )
    for inner in model.graphs():
        _sort(inner)
    return model


def _graph(table: Table, scope: Scope, depth: int) -> Graph:
    table.buffer.descend(depth, table.offset)
    graph = Graph(name=_NAME)
    declarations = _declarations(table, depth)
    for name in table.texts("inputs"):
        value = Value(name)
        add_input(graph, value)
        scope.define(value)
    _initializers(table, graph, scope)
    _nodes(table, graph, scope, depth)
    for name in table.texts("outputs"):
        add_output(graph, scope.need(name))
    for value in graph.values():
        if (declaration := declarations.get(value.name)) is not None:
            value.doc_string = declaration.doc_string
            value.type = _declared(value, declaration.type)
    return graph


def _declared(value: Value, type_: Type | None) -> Type | None:
    """The type of a value; sparse initialisers, which are declared as dense as they are read, have their own."""
    return value.type if type_ is None or isinstance(value.type, SparseTensorType) else type_


def _declarations(table: Table, depth: int) -> dict[str, _Declaration]:
    """What is declared of values, by name: those of the graph, and those that it reads of the graphs around it."""
    declarations: dict[str, _Declaration] = {}
    for index, row in enumerate(table.tables("node_args", schema.VALUE_INFO)):
        with Within(f"node_args[{index}]"):
            name = row.text("name")
            if name in declarations:
                raise Malformed(f"value '{name}' is declared twice", row.offset)
            type_ = row.table("type", schema.TYPE)
            decoded = None if type_ is None else decode_type(type_, depth + 2)
            declarations[name] = _Declaration(decoded, row.text("doc_string"))
    return declarations


def _initializers(table: Table, graph: Graph, scope: Scope) -> None:
    for field, slots in (("initializers", schema.TENSOR), ("sparse_initializers", schema.SPARSE_TENSOR)):
        for index, row in enumerate(table.tables(field, slots)):
            with Within(f"{field}[{index}]"):
                tensor = decode_tensor(row) if slots is schema.TENSOR else decode_sparse(row)
            value = scope.names.get(tensor.name)
            if value is None or value.constant is not None:
                value = Value(tensor.name, tensor.type)
                scope.define(value)
            value.constant = tensor
            add_initializer(graph, value)


def _nodes(table: Table, graph: Graph, scope: Scope, depth: int) -> None:
    """Make every node, then look up what each reads: they are not in the order in which they compute."""
    rows = table.tables("nodes", schema.NODE)
    nodes: list[Node] = []
    for row in rows:
        with Within(f"nodes[{len(nodes)}]"):
            nodes.append(_bare_node(row))
        for value in nodes[-1].outputs:
            scope.define(value)
    link_nodes(graph, nodes)
    for index, (node, row) in enumerate(zip(nodes, rows, strict=True)):
        with Within(f"nodes[{index}]"):
            connect(node, [scope.need(name) if name else None for name in row.texts("inputs")])
            for attribute in decode_attributes(row, lambda inner: _graph(inner, Scope(scope), depth + 3)):
                add_attribute(node, attribute)


def _bare_node(row: Table) -> Node:
    """A node with its outputs, and nothing looked up."""
    node = new_node(row.text("op_type"), row.texts("outputs"), row.text("name"))
    node.domain = row.text("domain")
    node.doc_string = row.text("doc_string")
    if row.number("type", "i") == _FUSED:
        raise Malformed(
            f"node '{node.label}' is a part that {row.text('execution_provider_type') or 'a provider'} has compiled,"
            " and what it computes is not in the file",
            row.offset,
            hint="save the model again, for the provider of the cpu",
        )
    return node


def _sort(graph: Graph) -> None:
    """Put nodes in the order in which they compute; nodes that wait for each other are for the check to name."""
    try:
        order = sorted_nodes(graph)
    except CheckError:
        return
    if order != graph.nodes:
        for node in order:
            graph.append(node)
