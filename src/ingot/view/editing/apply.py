"""Edits applied to a model, by the functions that a program would call."""

from __future__ import annotations

import numpy as np

from ingot.errors import CheckError, InputError
from ingot.infer.retype import set_type
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.extract import extract
from ingot.ir.graph import Graph
from ingot.ir.interface import add_outputs, remove_outputs
from ingot.ir.model import FunctionId, Model
from ingot.ir.names import rename
from ingot.ir.node import Node
from ingot.ir.surgery import bypass, insert_after, rewire, set_constant
from ingot.ir.value import Value
from ingot.view.editing.edits import (
    AddOutput,
    ApplyPass,
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


def apply(model: Model, edit: Edit) -> Model:
    """The model after an edit: the same one, changed, or a part of it. IngotError if the edit cannot be made."""
    match edit:
        case RenameValue():
            _rename(model, edit)
        case RenameNode():
            node_at(model, edit.place, edit.value).name = edit.name
        case Delete():
            bypass(node_at(model, edit.place, edit.value))
        case Insert():
            _insert(model, edit)
        case Rewire():
            source = None if edit.source is None else _value(model, edit.source)
            rewire(node_at(model, edit.place, edit.value), edit.index, source)
        case SetOperator():
            node = node_at(model, edit.place, edit.value)
            node.op_type, node.domain = edit.operator, edit.domain
        case SetAttribute():
            _set_attribute(node_at(model, edit.place, edit.value), edit)
        case SetWeight():
            set_constant(graph_at(model, edit.place).value(edit.value), edit.array)
        case FillWeight():
            array = np.full(edit.shape, edit.number, edit.dtype.numpy)
            set_constant(graph_at(model, edit.place).value(edit.value), array)
        case SetType():
            set_type(model, edit.value, edit.type)
        case AddOutput():
            add_outputs(model, [edit.value])
        case RemoveOutput():
            if len(model.graph.outputs) == 1:
                raise CheckError(f"'{edit.value}' is the only output", hint="add another one first")
            remove_outputs(model, [edit.value])
        case CutOut():
            return extract(model, edit.inputs or None, edit.outputs)
        case ApplyPass():
            PASSES[edit.name].run(model)
    return model


def graph_at(model: Model, place: Place) -> Graph:
    """The graph at a place."""
    graph = model.graph if place.function is None else model.functions[FunctionId(*place.function)].graph
    for value, attribute, index in place.inside:
        graph = _producer(graph, value).attributes[attribute].graphs[index]
    return graph


def node_at(model: Model, place: Place, value: str) -> Node:
    """The node of the graph at a place that computes a value."""
    return _producer(graph_at(model, place), value)


def _value(model: Model, named: Named) -> Value:
    return graph_at(model, named.place).value(named.value)


def _producer(graph: Graph, value: str) -> Node:
    node = graph.value(value).producer
    if node is None:
        raise InputError(f"no node computes '{value}'")
    return node


def _rename(model: Model, edit: RenameValue) -> None:
    if edit.place.function is None:
        rename(model, {edit.value: edit.name})
        return
    graph = graph_at(model, edit.place)
    if not edit.name or edit.name in {value.name for value in graph.root.values()}:
        raise CheckError(f"cannot rename '{edit.value}': another value is named '{edit.name}'")
    graph.value(edit.value).name = edit.name


def _insert(model: Model, edit: Insert) -> None:
    graph = graph_at(model, edit.place)
    if graph.find(edit.output) is not None:
        raise CheckError(f"another value is named '{edit.output}'")
    value = graph.value(edit.value)
    inputs = [value, *(_value(model, named) for named in edit.inputs)]
    insert_after(value, Node(edit.operator, inputs, [edit.output], dict(edit.attributes), domain=edit.domain))


def _set_attribute(node: Node, edit: SetAttribute) -> None:
    if edit.literal is None:
        if edit.name not in node:
            raise InputError(f"node '{node.label}' has no attribute '{edit.name}'")
        del node[edit.name]
    elif edit.kind:
        node[edit.name] = Attribute(edit.name, edit.literal, AttributeKind[edit.kind])
    else:
        node[edit.name] = edit.literal
