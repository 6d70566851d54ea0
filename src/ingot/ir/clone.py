"""Deep copies of graphs, functions and models; constants, attributes without graphs and types are shared."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from ingot.ir.assemble import add_attribute, add_initializer, add_input, add_output, connect, link_nodes, new_node
from ingot.ir.attribute import Attribute
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model, TrainingInfo
from ingot.ir.node import Node
from ingot.ir.sharding import NodeConfiguration, TensorAnnotation
from ingot.ir.value import Value

Known = dict[Value, Value]
"""The copies of values made so far; what is missing is defined outside and stays itself."""

_Noted = TypeVar("_Noted", Value, Node, Graph, Function)


def copy_graph(graph: Graph, known: Known | None = None) -> Graph:
    """A copy of `graph`; values it captures are read from `known` where it has them, else shared with the original.

    `known` is filled with the copy of every value the graph defines.
    """
    known = {} if known is None else known
    twin = Graph(name=graph.name, doc_string=graph.doc_string)
    for value in graph.inputs:
        add_input(twin, copy_value(value, known))
    for value in graph.initializers.values():
        add_initializer(twin, known.get(value) or copy_value(value, known))
    nodes = graph.nodes
    twins = [_computing(node, known) for node in nodes]
    for node, copy in zip(nodes, twins, strict=True):
        _complete(copy, node, known)
    link_nodes(twin, twins)
    for value in graph.outputs:
        add_output(twin, known.get(value, value))
    for note in graph.quantization:
        parameters = {role: known.get(value, value) for role, value in note.parameters.items()}
        twin.quantization.append(TensorAnnotation(known.get(note.value, note.value), parameters, note.residue))
    return _noted(twin, graph)


def copy_value(value: Value, known: Known) -> Value:
    """A copy that nothing defines yet, noted in `known`."""
    twin = Value(value._name, value.type, constant=value.constant, doc_string=value.doc_string)
    known[value] = twin
    return _noted(twin, value)


def copy_node(node: Node, known: Known) -> Node:
    """A copy reading and computing the values `known` has for the original's; outputs without a copy get one."""
    twin = Node(
        node.op_type,
        [None if value is None else known.get(value, value) for value in node.inputs],
        [known.get(value) or copy_value(value, known) for value in node.outputs],
        domain=node.domain,
        overload=node.overload,
        name=node.name,
        doc_string=node.doc_string,
    )
    for attribute in node.attributes.values():
        twin.attributes[attribute.name] = copy_attribute(attribute, known)
    twin.device_configurations = tuple(_copy_configuration(c, known) for c in node.device_configurations)
    return _noted(twin, node)


def _computing(node: Node, known: Known) -> Node:
    """A copy of a node of a graph that is copied as a whole: it has outputs and a name, all else is to come."""
    twin = new_node(node.op_type, (value._name for value in node._outputs), node.name)
    for value, copy in zip(node._outputs, twin._outputs, strict=True):
        copy.type, copy.constant = value.type, value.constant
        copy.doc_string, copy.residue = value.doc_string, value.residue
        if value._metadata:
            copy._metadata = dict(value._metadata)
        known[value] = copy
    return twin


def _complete(twin: Node, node: Node, known: Known) -> Node:
    """A copy of a node that has its outputs, with all else."""
    twin._domain, twin.overload, twin.doc_string = node._domain, node.overload, node.doc_string
    twin.residue = node.residue
    if node._metadata:
        twin._metadata = dict(node._metadata)
    connect(twin, [None if value is None else known.get(value, value) for value in node._inputs])
    for attribute in node.attributes.values():
        add_attribute(twin, copy_attribute(attribute, known))
    if node.device_configurations:
        twin.device_configurations = tuple(_copy_configuration(c, known) for c in node.device_configurations)
    return twin


def copy_attribute(attribute: Attribute, known: Known) -> Attribute:
    """The attribute itself, or a copy if it holds graphs."""
    if not attribute.graphs:
        return attribute
    graphs = tuple(copy_graph(graph, known) for graph in attribute.graphs)
    twin = attribute.with_value(graphs if attribute.kind.is_list else graphs[0])
    return twin.assemble(residue=attribute.residue)


def copy_function(function: Function) -> Function:
    twin = Function(
        function.domain,
        function.name,
        copy_graph(function.graph),
        overload=function.overload,
        attributes=function.attributes,
        opset_imports=function.opset_imports,
        doc_string=function.doc_string,
    )
    return _noted(twin, function)


def copy_model(model: Model, known: Known | None = None) -> Model:
    """A copy of `model`; `known` is filled with the copy of every value of its main graph and of training."""
    known = {} if known is None else known
    twin = Model(
        copy_graph(model.graph, known),
        model.opset_imports,
        functions=map(copy_function, model.functions.values()),
        ir_version=model.ir_version,
        producer_name=model.producer_name,
        producer_version=model.producer_version,
        domain=model.domain,
        model_version=model.model_version,
        doc_string=model.doc_string,
        metadata=model.metadata,
    )
    twin.training = [_copy_training(training, twin, known) for training in model.training]
    twin.configurations = list(model.configurations)
    twin.residue = model.residue
    return twin


def _copy_training(training: TrainingInfo, owner: Model, known: Known) -> TrainingInfo:
    twin = TrainingInfo(
        training.initialization and copy_graph(training.initialization, known),
        training.algorithm and copy_graph(training.algorithm, known),
        dict(training.initialization_binding),
        dict(training.update_binding),
        training.residue,
    )
    for graph in (twin.initialization, twin.algorithm):
        if graph is not None:
            graph.adopt(owner)
    return twin


def _copy_configuration(configuration: NodeConfiguration, known: Known) -> NodeConfiguration:
    shardings = tuple(replace(s, value=known.get(s.value, s.value)) for s in configuration.shardings)
    twin = replace(configuration, shardings=shardings)
    object.__setattr__(twin, "residue", configuration.residue)
    return twin


def _noted(twin: _Noted, original: _Noted) -> _Noted:
    twin.metadata = original.metadata_if_any
    twin.residue = original.residue
    return twin
