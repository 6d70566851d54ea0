"""Values, nodes and graphs: links, edits while walking, names, order."""

from __future__ import annotations

import numpy as np
import pytest

from ingot import CheckError, DType, Graph, InputError, Model, Node, Tensor, TensorType, Value, verify
from ingot.ir import Attribute, AttributeKind, captures, problems

FLOAT = TensorType(DType.FLOAT32, (2, 2))


def chain(*ops: str) -> Model:
    """x → op → op → ... → y"""
    x = Value("x", FLOAT)
    graph = Graph([x], name="chain")
    value = x
    for index, op in enumerate(ops):
        value = graph.append(Node(op, [value], [f"v{index}"], name=f"n{index}")).output
    graph.outputs.append(value)
    return Model(graph, 20)


def branching() -> Model:
    """An If whose branches read x from around it."""
    x, flag = Value("x", FLOAT), Value("flag", TensorType(DType.BOOL, ()))
    graph = Graph([flag, x], name="main")
    inner = graph.append(Node("Relu", [x], ["inner"])).output
    branches = {}
    for name in ("then_branch", "else_branch"):
        branch = Graph(name=name)
        branch.outputs.append(branch.append(Node("Neg", [inner], [f"{name}_out"])).output)
        branches[name] = branch
    graph.outputs.append(graph.append(Node("If", [flag], ["y"], branches)).output)
    return Model(graph, 20)


def test_a_value_knows_its_producer_and_its_uses() -> None:
    model = chain("Relu", "Neg")
    relu, neg = model.graph.nodes
    assert relu.output.producer is relu
    assert [(use.node, use.position) for use in relu.output.uses] == [(neg, 0)]
    assert neg.output.is_output
    assert model.graph.inputs[0].is_input
    assert not relu.output.is_output


def test_one_node_may_read_a_value_twice() -> None:
    x = Value("x", FLOAT)
    graph = Graph([x])
    node = graph.append(Node("Add", [x, x]))
    assert len(x.uses) == 2
    assert x.users == (node,)


def test_a_subgraph_is_a_user_of_what_it_captures() -> None:
    model = branching()
    inner = model.graph.value("inner")
    assert {use.node.op_type for use in inner.uses} == {"Neg"}
    branch = model.graph.nodes[1].subgraphs[0]
    assert branch.parent is model.graph.nodes[1]
    assert branch.outer is model.graph
    assert set(captures(branch)) == {inner}


def test_replacing_uses_reaches_into_subgraphs() -> None:
    model = branching()
    graph = model.graph
    graph.value("inner").replace_uses(graph.value("x"))
    assert not graph.value("inner").uses
    assert all(node.inputs[0] is graph.value("x") for s in graph.nodes[1].subgraphs for node in s)
    verify(model)


def test_what_is_put_after_a_value_goes_on_reading_it() -> None:
    model = chain("Relu", "Neg")
    graph = model.graph
    relu, neg = graph.nodes
    scale = Node("Abs", [relu.output])
    clip = Node("Clip", [scale.output])
    graph.insert_after(relu, scale, clip)
    relu.output.replace_uses(clip.output, keep=[scale])
    assert [node.op_type for node in graph] == ["Relu", "Abs", "Clip", "Neg"]
    assert neg.inputs == (clip.output,)
    verify(model)
    last = graph.append(Node("Floor", [neg.output]))
    neg.output.replace_uses(last.output)
    assert last.inputs == (neg.output,)
    assert graph.outputs[0] is last.output
    assert graph.outputs.names == ["v1"]
    verify(model)


def test_replacing_an_output_keeps_its_name() -> None:
    model = chain("Relu", "Neg")
    graph = model.graph
    new = graph.append(Node("Abs", [graph.nodes[0].output]))
    graph.value("v1").replace_uses(new.output)
    graph.remove(graph.nodes[1])
    assert graph.outputs.names == ["v1"]
    assert graph.outputs[0].producer is new
    verify(model)


def test_replacing_an_output_by_an_input_puts_an_identity_between() -> None:
    model = chain("Relu")
    graph = model.graph
    graph.value("v0").replace_uses(graph.inputs[0])
    graph.remove(graph.nodes[0])
    assert [node.op_type for node in graph] == ["Identity"]
    assert graph.outputs.names == ["v0"]
    verify(model)


def test_replacing_an_output_by_another_output_keeps_both_names() -> None:
    model = chain("Relu", "Neg")
    graph = model.graph
    graph.outputs.append(graph.value("v0"))
    graph.value("v1").replace_uses(graph.value("v0"))
    assert graph.outputs.names == ["v1", "v0"]
    assert graph.outputs[0].producer is not None
    assert graph.outputs[0].producer.applies("Identity")


def test_a_walk_may_remove_and_insert_as_it_goes() -> None:
    model = chain("Relu", "Relu", "Neg", "Relu")
    graph = model.graph
    visited = []
    for node in graph:
        visited.append(node.name)
        if node.applies("Relu"):
            new = Node("Abs", node.inputs, name=f"{node.name}_abs")
            graph.insert_after(node, new)
            node.output.replace_uses(new.output)
            graph.remove(node)
    assert visited == ["n0", "n1", "n2", "n3"]
    assert [node.op_type for node in graph] == ["Abs", "Abs", "Neg", "Abs"]
    verify(model)


def test_a_walk_skips_what_was_removed_before_its_turn() -> None:
    model = chain("Relu", "Neg", "Abs")
    graph = model.graph
    visited = []
    for node in graph:
        visited.append(node.op_type)
        if node.applies("Relu"):
            after = graph.nodes[1]
            after.output.replace_uses(node.output)
            graph.remove(after)
    assert visited == ["Relu", "Abs"]


def test_walking_backwards_sees_the_last_first() -> None:
    assert [node.name for node in reversed(chain("Relu", "Neg").graph)] == ["n1", "n0"]


def test_a_node_that_is_read_cannot_be_removed() -> None:
    graph = chain("Relu", "Neg").graph
    with pytest.raises(CheckError, match="'n1' reads 'v0'"):
        graph.remove(graph.nodes[0])
    with pytest.raises(CheckError, match="returns 'v1'"):
        graph.remove(graph.nodes[1])
    assert len(graph) == 2


def test_nodes_that_read_only_each_other_can_be_removed_together() -> None:
    graph = chain("Relu", "Neg").graph
    graph.outputs.clear()
    graph.remove(*graph.nodes)
    assert len(graph) == 0
    assert not graph.inputs[0].uses


def test_a_removed_node_is_no_user_and_becomes_one_again_when_put_back() -> None:
    model = branching()
    graph = model.graph
    branch = graph.nodes[1]
    graph.outputs.clear()
    graph.remove(branch)
    assert not graph.value("inner").uses
    assert branch.inputs[0] is graph.value("flag")
    graph.append(branch)
    assert len(graph.value("inner").uses) == 2
    graph.outputs.append(branch.output)
    verify(model)


def test_splice_replaces_nodes_by_others() -> None:
    model = chain("Relu", "Neg", "Abs")
    graph = model.graph
    relu, neg, _ = graph.nodes
    new = Node("Clip", [graph.inputs[0]], name="clip")
    graph.splice([relu, neg], [new], {neg.output: new.output})
    assert [node.op_type for node in graph] == ["Clip", "Abs"]
    verify(model)


def test_a_node_can_be_moved() -> None:
    model = chain("Relu", "Neg")
    graph = model.graph
    first, second = graph.nodes
    graph.insert_after(second, first)
    assert graph.nodes == [second, first]
    graph.insert_before(second, first)
    assert graph.nodes == [first, second]
    graph.append(second)
    assert graph.nodes == [first, second]
    verify(model)


def test_fresh_names_avoid_every_scope() -> None:
    model = branching()
    assert model.graph.fresh_name("then_branch_out") == "then_branch_out_1"
    assert model.graph.fresh_name("then_branch_out") == "then_branch_out_2"
    assert model.graph.nodes[1].subgraphs[0].fresh_name("x") == "x_1"
    model.graph.value("x").name = "z"
    assert model.graph.fresh_name("z") == "z_1"


def test_values_without_a_name_get_one_when_they_enter() -> None:
    graph = Graph([Value(type=FLOAT), Value(type=FLOAT)])
    assert graph.inputs.names == ["input", "input_1"]
    assert graph.append(Node("Relu", [graph.inputs[0]])).output.name == "relu"
    assert graph.append(Node("Relu", [graph.inputs[0]])).output.name == "relu_1"


def test_sorting_puts_definitions_first_and_keeps_the_rest() -> None:
    model = chain("Relu", "Neg", "Abs")
    graph = model.graph
    first, second, third = graph.nodes
    graph.append(first)
    assert any("defined only later" in problem for problem in problems(model))
    graph.sort()
    assert graph.nodes == [first, second, third]
    verify(model)


def test_sorting_sees_what_subgraphs_capture() -> None:
    model = branching()
    graph = model.graph
    graph.append(graph.nodes[0])
    assert [node.op_type for node in graph] == ["If", "Relu"]
    graph.sort()
    assert [node.op_type for node in graph] == ["Relu", "If"]


def test_a_cycle_is_named() -> None:
    graph = chain("Relu", "Neg", "Abs").graph
    graph.nodes[0].inputs = [graph.value("v2")]
    with pytest.raises(CheckError, match="cycle: 'n") as caught:
        graph.sort()
    assert all(f"'n{i}'" in str(caught.value) for i in range(3))


def test_a_graph_of_ten_thousand_nodes_sorts_and_copies() -> None:
    model = chain(*["Relu"] * 10_000)
    for node in model.graph:
        model.graph.insert_before(model.graph.nodes[0], node) if node.name.endswith("77") else None
    model.graph.sort()
    copy = model.copy()
    verify(copy)
    assert len(copy.graph) == 10_000


def test_a_copy_shares_no_node_and_no_value() -> None:
    model = branching()
    copy = model.copy()
    mine = {id(value) for graph in model.graphs() for value in graph.values()}
    assert not mine & {id(value) for graph in copy.graphs() for value in graph.values()}
    assert copy.graph.nodes[1].subgraphs[0].nodes[0].inputs[0] is copy.graph.value("inner")
    copy.graph.value("inner").name = "changed"
    assert model.graph.find("inner") is not None
    verify(copy)


def test_attributes_are_set_as_plain_values() -> None:
    node = Node("Softmax", attributes={"axis": -1})
    assert node["axis"] == -1
    node["axis"] = 1
    node.attributes["extra"] = [1.0, 2]
    assert node["extra"] == (1.0, 2.0)
    assert node.attributes["extra"].kind is AttributeKind.FLOATS
    assert node.get("missing", 5) == 5
    assert "axis" in node
    del node["axis"]
    assert "axis" not in node
    with pytest.raises(KeyError):
        node["axis"]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, AttributeKind.INT),
        (True, AttributeKind.INT),
        (DType.FLOAT16, AttributeKind.INT),
        (np.int8(3), AttributeKind.INT),
        (0.5, AttributeKind.FLOAT),
        (np.float32(0.5), AttributeKind.FLOAT),
        ("s", AttributeKind.STRING),
        (b"s", AttributeKind.STRING),
        (np.zeros(3), AttributeKind.TENSOR),
        (Graph(), AttributeKind.GRAPH),
        (FLOAT, AttributeKind.TYPE),
        ([1, 2], AttributeKind.INTS),
        ((1, 2.5), AttributeKind.FLOATS),
        (["a", b"b"], AttributeKind.STRINGS),
        ([Tensor([1.0])], AttributeKind.TENSORS),
        ([FLOAT], AttributeKind.TYPES),
    ],
)
def test_the_kind_of_an_attribute_is_found_from_its_value(value: object, kind: AttributeKind) -> None:
    assert Attribute("a", value).kind is kind


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "empty list of no known kind"),
        ([1, "a"], "not all of one kind"),
        (1 << 63, "does not fit 64 bits"),
        (object(), "cannot hold a object"),
        ({"a": 1}, "cannot hold a dict"),
        (None, "cannot hold a NoneType"),
    ],
)
def test_a_value_of_no_kind_is_refused(value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Attribute("a", value)


def test_a_graph_belongs_to_one_node() -> None:
    branch = Graph()
    Node("If", attributes={"then_branch": branch})
    with pytest.raises(CheckError, match="already belongs elsewhere"):
        Node("If", attributes={"then_branch": branch})


def test_a_value_is_defined_once() -> None:
    x = Value("x")
    Graph([x])
    with pytest.raises(CheckError, match="already defined"):
        Node("Relu", outputs=[x])
    with pytest.raises(CheckError, match="already defined"):
        Graph([x])
    made = Node("Relu").output
    with pytest.raises(CheckError, match="already defined"):
        Graph([made])


def test_initializers_are_found_under_their_names_of_now() -> None:
    graph = Graph()
    weight = graph.add_initializer("w", np.zeros((2, 2), np.float32))
    assert graph.initializers["w"] is weight
    weight.name = "v"
    assert graph.initializers["v"] is weight
    assert "w" not in graph.initializers
    assert list(graph.initializers) == ["v"]
    assert weight.type == TensorType(DType.FLOAT32, (2, 2))


def test_an_initializer_that_is_read_cannot_be_removed() -> None:
    graph = Graph()
    weight = graph.add_initializer("w", [1.0])
    node = graph.append(Node("Relu", [weight], name="relu"))
    with pytest.raises(CheckError, match="read by 'relu'"):
        graph.initializers.remove("w")
    graph.remove(node)
    graph.initializers.remove("w")
    assert not graph.initializers


def test_an_unknown_value_is_answered_with_the_nearest_names() -> None:
    with pytest.raises(InputError, match="did you mean 'v0'"):
        chain("Relu").graph.value("v00")


def test_verify_lists_every_problem() -> None:
    x = Value("x", FLOAT)
    graph = Graph([x])
    graph.append(Node("Relu", [Value("ghost")], ["y"], name="a"))
    graph.append(Node("", [x], ["y"], name="b"))
    graph.outputs.append(Value("nobody"))
    model = Model(graph, {"my": 1})
    with pytest.raises(CheckError) as caught:
        verify(model)
    text = str(caught.value)
    assert "5 problems" in text
    assert "two values are named 'y': output 0 of node 'a' and output 0 of node 'b'" in text
    assert "node 'a' reads 'ghost', which nothing in scope defines" in text
    assert "node 'b' names no operator" in text
    assert "the graph returns 'nobody', which nothing defines" in text
    assert "the model uses domain 'ai.onnx' without importing it" in text


def test_a_value_of_a_subgraph_is_not_seen_outside() -> None:
    model = branching()
    graph = model.graph
    hidden = graph.nodes[1].subgraphs[0].nodes[0].output
    graph.append(Node("Relu", [hidden], name="peeks"))
    assert "node 'peeks' reads 'then_branch_out', which nothing in scope defines" in list(problems(model))


def test_two_branches_may_use_one_name() -> None:
    model = branching()
    for branch in model.graph.nodes[1].subgraphs:
        branch.nodes[0].output.name = "same"
    verify(model)
    model.graph.nodes[0].output.name = "same"
    assert any("two values are named 'same'" in problem for problem in problems(model))
