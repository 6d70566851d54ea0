"""Graphs built in bulk are the graphs that edits build."""

from __future__ import annotations

import pytest

from ingot.dtypes import DType
from ingot.errors import CheckError
from ingot.ir import Attribute, Graph, Model, Tensor, TensorType, Use, Value, problems
from ingot.ir.assemble import add_attribute, add_initializer, add_input, add_output, connect, link_nodes, new_node
from ingot.ir.node import Node

FLOATS = TensorType(DType.FLOAT32, (2,))


def bare(op_type: str, *outputs: str) -> Node:
    return new_node(op_type, outputs)


def assembled() -> Graph:
    """`y = If(c, then: Add(x, w))`, with nothing built by an edit."""
    graph, branch = Graph(), Graph()
    x, condition = Value("x", FLOATS), Value("c", TensorType(DType.BOOL, ()))
    weights = Value("w", FLOATS, constant=Tensor([1.0, 2.0], DType.FLOAT32))
    add_input(graph, x)
    add_input(graph, condition)
    add_initializer(graph, weights)
    add = bare("Add", "sum")
    link_nodes(branch, [add])
    connect(add, [x, weights])
    add_output(branch, add.output)
    choose = bare("If", "chosen")
    last = bare("Relu", "y")
    link_nodes(graph, [choose, last])
    connect(choose, [condition])
    connect(last, [choose.output])
    add_attribute(choose, Attribute("then_branch", branch))
    add_output(graph, last.output)
    add_output(graph, last.output)
    return graph


def test_an_assembled_graph_has_no_structural_problem() -> None:
    assert list(problems(Model(assembled(), 21))) == []


def test_the_links_of_an_assembled_graph_are_those_of_a_copy_made_by_edits() -> None:
    graph = assembled()
    twin = graph.copy()
    for one, other in ((graph, twin), (graph.nodes[0].subgraphs[0], twin.nodes[0].subgraphs[0])):
        assert len(one) == len(other)
        assert [node.op_type for node in one.nodes] == [node.op_type for node in other.nodes]
        assert [(v.name, v.index, v.is_input, v.is_initializer, v.is_output, len(v.uses)) for v in one.values()] == [
            (v.name, v.index, v.is_input, v.is_initializer, v.is_output, len(v.uses)) for v in other.values()
        ]
        assert one.outputs.names == other.outputs.names


def test_a_node_is_a_user_of_what_it_was_connected_to() -> None:
    graph = assembled()
    add = graph.nodes[0].subgraphs[0].nodes[0]
    assert graph.inputs[0].uses == (Use(add, 0),)
    assert graph.initializers["w"].users == (add,)
    assert graph.nodes[0].subgraphs[0].parent is graph.nodes[0]


def test_an_assembled_node_has_every_field_of_one_made_by_its_class() -> None:
    made, other = bare("Add", "sum"), Node("Add", [], ["sum"])
    for one, same in ((made, other), (made.output, other.output)):
        for slot in (slot for kind in type(one).__mro__ for slot in getattr(kind, "__slots__", ())):
            if slot not in ("_outputs", "attributes", "producer"):
                assert getattr(one, slot) == getattr(same, slot), slot
    assert (made.output.producer, made.attributes) == (made, {})
    made["axis"] = 1
    assert made.attributes["axis"].value == 1


def test_an_assembled_graph_can_be_edited() -> None:
    graph = assembled()
    choose, last = graph.nodes
    with pytest.raises(CheckError, match="reads 'chosen'"):
        graph.remove(choose)
    choose.output.replace_uses(graph.inputs[0])
    graph.remove(choose)
    assert graph.nodes == [last]
    assert graph.initializers["w"].uses == ()
    assert graph.fresh_name("y") == "y_1"
    graph.insert_before(last, Node("Neg", [graph.inputs[0]]))
    assert [node.op_type for node in graph] == ["Neg", "Relu"]


def test_an_assembled_node_reads_nothing_until_it_is_connected() -> None:
    node = bare("Add", "sum", "")
    assert len(node.inputs) == 0
    assert [value.name for value in node.outputs] == ["sum", ""]
    x = Value("x")
    connect(node, [None, x])
    assert list(node.inputs) == [None, x]
    assert x.uses == (Use(node, 1),)


def test_asking_whether_there_is_metadata_makes_none() -> None:
    value, other = Value("x"), Value("y")
    assert value.metadata_if_any is None
    other.metadata["key"] = "text"
    assert other.metadata_if_any == {"key": "text"}
    value.metadata = {}
    assert not value.metadata_if_any
