"""From the syntax tree of a text to its graph: names become values.

A graph sees its own values and those of the graphs around it, wherever they are defined; of two values of one name the
first is meant. A name that nothing defines becomes a value that nothing defines, the same for every reader. A value
has one type: that of an input or an initialiser is where it is defined, and one stated elsewhere is passed over, as
is the type of a name that nothing reads or defines.
"""

from __future__ import annotations

from collections.abc import Iterable

from ingot.ir.attribute import Attribute
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.scope import Scope
from ingot.ir.tensor import Tensor
from ingot.ir.text.syntax import AttributeSyntax, FunctionSyntax, GraphSyntax, ModelSyntax, NodeSyntax, ValueSyntax
from ingot.ir.value import Value


def build_model(tree: ModelSyntax) -> Model:
    header = dict(tree.header)
    return Model(
        build_graph(tree.graph, Scope(None)),
        header.pop("opset_import", {}),
        functions=[build_function(function) for function in tree.functions],
        ir_version=header.pop("ir_version", 0),
        metadata=header.pop("metadata_props", {}),
        **header,
    )


def build_function(tree: FunctionSyntax) -> Function:
    scope = Scope(None)
    graph = _body(tree.graph, [Value(value.name) for value in tree.graph.inputs], [], scope, "")
    graph.outputs.extend(scope.need(value.name) for value in tree.graph.outputs)
    _declare(tree.graph.values, graph, scope, inputs=True)
    header = dict(tree.header)
    return Function(
        header.pop("domain", ""),
        tree.graph.name,
        graph,
        attributes={name: default and _attribute(default, scope) for name, default in tree.attributes.items()},
        opset_imports=header.pop("opset_import", {}),
        **header,
    )


def build_graph(tree: GraphSyntax, scope: Scope) -> Graph:
    inputs = [Value(value.name, value.type) for value in tree.inputs]
    graph = _body(tree, inputs, tree.initializers, scope, tree.name)
    for declared in tree.outputs:
        value = scope.need(declared.name)
        _take(value, declared, graph)
        graph.outputs.append(value)
    _declare(tree.values, graph, scope)
    return graph


def build_nodes(trees: Iterable[NodeSyntax], scope: Scope) -> list[Node]:
    """The nodes in order, in no graph; each may read what any of them computes."""
    pairs = [(tree, [Value(name) for name in tree.outputs]) for tree in trees]
    for _, outputs in pairs:
        for value in outputs:
            scope.define(value)
    return [
        Node(
            tree.op_type,
            [scope.need(name) if name else None for name in tree.inputs],
            outputs,
            [_attribute(attribute, scope) for attribute in tree.attributes],
            domain=tree.domain,
            overload=tree.overload,
            name=tree.name,
        )
        for tree, outputs in pairs
    ]


def _body(tree: GraphSyntax, inputs: list[Value], tensors: list[Tensor], scope: Scope, name: str) -> Graph:
    """The graph without its outputs."""
    for value in inputs:
        scope.define(value)
    initializers = []
    for tensor in tensors:
        declared = scope.names.get(tensor.name)
        if declared is None or declared.constant is not None:
            declared = Value(tensor.name, constant=tensor)
            scope.define(declared)
        declared.constant = tensor
        initializers.append(declared)
    return Graph(inputs, (), build_nodes(tree.nodes, scope), initializers, name=name)


def _attribute(tree: AttributeSyntax, scope: Scope) -> Attribute:
    value = tree.value
    if isinstance(value, GraphSyntax):
        value = build_graph(value, Scope(scope))
    elif isinstance(value, tuple) and value and isinstance(value[0], GraphSyntax):
        value = tuple(build_graph(item, Scope(scope)) for item in value)
    return Attribute(tree.name, value, tree.kind, ref=tree.ref)


def _declare(values: list[ValueSyntax], graph: Graph, scope: Scope, *, inputs: bool = False) -> None:
    for declared in values:
        if (value := scope.names.get(declared.name)) is not None:
            _take(value, declared, graph, inputs=inputs)


def _take(value: Value, declared: ValueSyntax, graph: Graph, *, inputs: bool = False) -> None:
    """Give a value the type it is declared with, unless it has one, or is another graph's or an input with none."""
    computed = value.graph is graph and (value.producer is not None or inputs)
    if value.type is None and (computed or value.graph is None):
        value.type = declared.type
