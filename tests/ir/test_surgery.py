"""What users do to models: extract, join, rename, prefix, change the batch, expose, inline, freeze."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import ingot
from ingot import CheckError, DType, Graph, InputError, Model, Node, TensorType, Value, verify
from ingot.dims import symbol
from ingot.ir.extract import extract
from ingot.ir.inline import inline
from ingot.ir.interface import (
    add_outputs,
    initializers_to_inputs,
    inputs_to_initializers,
    remove_dead,
    remove_outputs,
    set_batch,
)
from ingot.ir.join import join
from ingot.ir.names import prefix, rename, uniquify
from ingot.ir.sizes import tensor_sizes
from models import real_models

BATCHED = TensorType(DType.FLOAT32, (symbol("batch"), 4))


def linear() -> Model:
    """y = relu(x @ w) + b, with a side branch nobody reads."""
    x = Value("x", BATCHED)
    graph = Graph([x], name="linear")
    w = graph.add_initializer("w", np.eye(4, dtype=np.float32) * 2)
    b = graph.add_initializer("b", np.ones(4, np.float32))
    h = graph.append(Node("MatMul", [x, w], [Value("h", BATCHED)], name="matmul")).output
    r = graph.append(Node("Relu", [h], [Value("r", BATCHED)], name="relu")).output
    graph.append(Node("Neg", [h], [Value("unused", BATCHED)], name="neg"))
    graph.outputs.append(graph.append(Node("Add", [r, b], [Value("y", BATCHED)], name="add")).output)
    return Model(graph, 20, ir_version=10)


def run(model: Model, **feeds: object) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    verify(model)
    proto = ingot.to_onnx(model)
    onnx.checker.check_model(proto, full_check=True)
    arrays = {name: np.asarray(value, np.float32) for name, value in feeds.items()}
    return list(ReferenceEvaluator(proto).run(None, arrays))


X = np.array([[1, -2, 3, -4]], np.float32)
Y = np.array([[3, 1, 7, 1]], np.float32)


def test_extracting_the_head_leaves_the_tail_out() -> None:
    head = extract(linear(), outputs=["r"])
    assert [node.op_type for node in head.graph] == ["MatMul", "Relu"]
    assert list(head.graph.initializers) == ["w"]
    assert (run(head, x=X)[0] == np.maximum(X * 2, 0)).all()


def test_extracting_the_tail_makes_a_value_an_input() -> None:
    tail = extract(linear(), ["r"], ["y"])
    assert [node.op_type for node in tail.graph] == ["Add"]
    assert tail.graph.inputs.names == ["r"]
    assert (run(tail, r=np.maximum(X * 2, 0))[0] == Y).all()


def test_the_original_is_untouched_by_extraction() -> None:
    model = linear()
    before = ingot.encode(model)
    extract(model, ["h"], ["y"])
    assert ingot.encode(model) == before


def test_extraction_says_which_input_is_missing() -> None:
    with pytest.raises(CheckError, match="cannot compute 'y' without 'x'"):
        extract(linear(), ["b"], ["y"])


def test_extraction_of_a_name_that_is_not_there_suggests_one() -> None:
    with pytest.raises(InputError, match="did you mean"):
        extract(linear(), outputs=["rr"])


def test_an_initializer_may_become_an_input_of_the_part() -> None:
    part = extract(linear(), ["x", "w"], ["h"])
    assert part.graph.inputs.names == ["x", "w"]
    assert not part.graph.initializers
    assert (run(part, x=X, w=np.eye(4))[0] == X).all()


def test_a_node_may_compute_one_value_that_is_given_and_one_that_is_not() -> None:
    x = Value("x", TensorType(DType.FLOAT32, (4,)))
    graph = Graph([x], name="g")
    split = graph.append(Node("Split", [x], ["a", "b"], {"num_outputs": 2}))
    for value in split.outputs:
        value.type = TensorType(DType.FLOAT32, (2,))
    graph.outputs.append(graph.append(Node("Add", split.outputs, [Value("y", TensorType(DType.FLOAT32, (2,)))])).output)
    part = extract(Model(graph, 20, ir_version=10), ["a", "x"], ["y"])
    assert run(part, a=[10, 20], x=[1, 2, 3, 4])[0].tolist() == [13, 24]


def test_extraction_follows_subgraphs_and_functions() -> None:
    model = ingot.from_onnx(with_functions())
    part = extract(model, outputs=["z"])
    assert [str(function.id) for function in part.functions.values()] == ["my.Twice", "my.Once"]
    assert [node.op_type for node in part.graph] == ["Twice"]
    verify(part)


@pytest.mark.parametrize("path", real_models(), ids=lambda path: path.name)
def test_every_prefix_of_a_real_model_can_be_extracted(path: object) -> None:
    model = ingot.load(path)
    nodes = model.graph.nodes
    for node in nodes[:: max(1, len(nodes) // 5)]:
        part = extract(model, outputs=[node.output.name])
        verify(part)
        assert part.graph.outputs.names == [node.output.name]


def test_joining_runs_one_model_after_the_other() -> None:
    joined = join(linear(), linear(), prefixes=("a/", "b/"))
    assert joined.graph.inputs.names == ["a/x"]
    assert joined.graph.outputs.names == ["b/y"]
    assert (run(joined, **{"a/x": X})[0] == Y * 2 + 1).all()


def test_joining_extract_and_rest_gives_the_whole() -> None:
    first, second = extract(linear(), outputs=["r"]), extract(linear(), ["r"], ["y"])
    joined = join(first, second)
    assert (run(joined, x=X)[0] == Y).all()
    assert joined.graph.outputs.names == ["y"]


def test_outputs_that_are_not_connected_stay() -> None:
    first = linear()
    add_outputs(first, ["h"])
    joined = join(first, linear(), {"y": "x"}, prefixes=("", "b/"))
    assert joined.graph.outputs.names == ["h", "b/y"]
    picked = join(first, linear(), {"y": "x"}, prefixes=("", "b/"), outputs=["b/y", "y", "h"])
    assert picked.graph.outputs.names == ["b/y", "y", "h"]


def test_a_model_that_returns_its_input_can_be_joined() -> None:
    x = Value("p", BATCHED)
    graph = Graph([x], [x], name="pass")
    joined = join(linear(), Model(graph, 20, ir_version=10), {"y": "p"})
    assert joined.graph.outputs.names == ["y"]
    assert (run(joined, x=X)[0] == Y).all()


def test_clashing_names_ask_for_prefixes() -> None:
    with pytest.raises(CheckError, match=r"both models use the names .*\n  hint: give prefixes"):
        join(linear(), linear(), {"y": "x"})


def test_types_that_do_not_fit_are_refused() -> None:
    other = linear()
    other.graph.inputs[0].type = TensorType(DType.FLOAT32, (symbol("batch"), 5))
    with pytest.raises(CheckError, match=r"'y' is float32\[batch, 4\], 'b/x' takes float32\[batch, 5\]"):
        join(linear(), other, {"y": "x"}, prefixes=("", "b/"))


def test_operator_sets_that_differ_are_refused() -> None:
    other = linear()
    other.opset_imports[""] = 18
    with pytest.raises(CheckError, match="in versions 20 and 18"):
        join(linear(), other, {"y": "x"}, prefixes=("", "b/"))


def test_a_connection_to_nowhere_is_refused_with_the_nearest() -> None:
    with pytest.raises(CheckError, match="no output 'yy'\n  hint: did you mean 'y'"):
        join(linear(), linear(), {"yy": "x"})
    with pytest.raises(CheckError, match="no input 'xx'"):
        join(linear(), linear(), {"y": "xx"})


def test_names_can_be_swapped() -> None:
    model = linear()
    rename(model, {"h": "r", "r": "h"})
    assert model.graph.nodes[0].output.name == "r"
    assert (run(model, x=X)[0] == Y).all()


def test_renaming_onto_a_taken_name_changes_nothing() -> None:
    model = linear()
    with pytest.raises(CheckError, match="another value is named 'y'"):
        rename(model, {"h": "q", "r": "y"})
    assert model.graph.find("q") is None


def test_a_prefix_reaches_every_value_and_node() -> None:
    model = linear()
    prefix(model, "p/", keep=("x",))
    assert model.graph.inputs.names == ["x"]
    assert {value.name for value in model.graph.values()} == {"x", "p/w", "p/b", "p/h", "p/r", "p/unused", "p/y"}
    assert model.graph.nodes[0].name == "p/matmul"
    assert (run(model, x=X)[0] == Y).all()


def test_clashing_names_are_made_unique() -> None:
    model = linear()
    model.graph.value("h").name = "r"
    with pytest.raises(CheckError, match="two values are named 'r'"):
        ingot.encode(model)
    uniquify(model)
    assert (run(model, x=X)[0] == Y).all()


def test_the_batch_can_be_named_fixed_and_freed() -> None:
    model = linear()
    set_batch(model, "n")
    assert str(model.graph.outputs[0].type) == "float32[n, 4]"
    set_batch(model, 8)
    assert {str(model.graph.value(name).type) for name in "xhry"} == {"float32[8, 4]"}
    set_batch(model, "batch")
    assert {str(model.graph.value(name).type) for name in "xhry"} == {"float32[batch, 4]"}
    assert (run(model, x=X)[0] == Y).all()
    assert str(model.graph.initializers["w"].type) == "float32[4, 4]"


def test_a_reshape_that_holds_the_batch_is_named() -> None:
    x = Value("x", TensorType(DType.FLOAT32, (1, 4)))
    graph = Graph([x])
    shape = graph.add_initializer("shape", np.array([1, 2, 2]))
    graph.outputs.append(graph.append(Node("Reshape", [x, shape], name="flat")).output)
    with pytest.raises(InputError, match="'flat' reshapes to"):
        set_batch(Model(graph, 20), "n")


def test_an_inner_value_can_be_returned_and_hidden_again() -> None:
    model = linear()
    add_outputs(model, ["h", "y"])
    assert model.graph.outputs.names == ["y", "h"]
    assert (run(model, x=X)[1] == X * 2).all()
    remove_outputs(model, ["y"])
    assert remove_dead(model.graph) == 3
    assert [node.op_type for node in model.graph] == ["MatMul"]
    assert list(model.graph.initializers) == ["w"]


def test_constants_become_inputs_and_inputs_constants() -> None:
    model = linear()
    initializers_to_inputs(model, ["b"])
    assert model.graph.inputs.names == ["x", "b"]
    assert (run(model, x=X, b=np.zeros(4))[0] == Y - 1).all()
    inputs_to_initializers(model, {"b": np.ones(4, np.float32)})
    assert model.graph.inputs.names == ["x"]
    assert (run(model, x=X)[0] == Y).all()


def test_a_constant_may_stay_the_default_of_an_input() -> None:
    model = linear()
    initializers_to_inputs(model, keep_default=True)
    assert model.graph.inputs.names == ["x", "w", "b"]
    assert [value.name for value in model.inputs] == ["x"]
    inputs_to_initializers(model)
    assert model.graph.inputs.names == ["x"]


def test_a_constant_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(InputError, match=r"'x' is float32\[batch, 4\], the constant given is float64\[1, 4\]"):
        inputs_to_initializers(linear(), {"x": np.ones((1, 4))})


def test_sizes_list_the_largest_first() -> None:
    sizes = tensor_sizes(linear())
    assert [(size.name, size.nbytes) for size in sizes] == [("w", 64), ("b", 16)]


def with_functions() -> onnx.ModelProto:
    """z = Twice(x) = Once(Once(x)); Once adds its attribute, by default one, through a subgraph."""
    opset = [helper.make_opsetid("", 20), helper.make_opsetid("my", 1)]
    branch = helper.make_graph([helper.make_node("Add", ["a", "k"], ["sum"])], "b", [], [_float("sum", None)])
    zero = helper.make_graph([helper.make_node("Identity", ["a"], ["same"])], "c", [], [_float("same", None)])
    constant = onnx.NodeProto(op_type="Constant", output=["k"])
    constant.attribute.add(name="value_float", ref_attr_name="by", type=onnx.AttributeProto.FLOAT)
    true = helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("t", TensorProto.BOOL, [], [True]))
    once = helper.make_function(
        "my",
        "Once",
        ["a"],
        ["c"],
        [constant, true, helper.make_node("If", ["yes"], ["c"], then_branch=branch, else_branch=zero)],
        opset,
        attribute_protos=[helper.make_attribute("by", 1.0)],
    )
    call = helper.make_node("Once", ["h"], ["c"], domain="my")
    call.attribute.add(name="by", ref_attr_name="second", type=onnx.AttributeProto.FLOAT)
    twice = helper.make_function(
        "my", "Twice", ["a"], ["c"], [helper.make_node("Once", ["a"], ["h"], domain="my"), call], opset, ["second"]
    )
    nodes = [
        helper.make_node("Twice", ["x"], ["z"], domain="my", second=10.0),
        helper.make_node("Once", ["x"], ["o"], domain="my", by=3.0),
    ]
    graph = helper.make_graph(nodes, "g", [_float("x", 2)], [_float("z", 2), _float("o", 2)])
    return helper.make_model(graph, opset_imports=opset, functions=[twice, once], ir_version=10)


def _float(name: str, size: int | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None if size is None else [size])


def test_inlining_computes_the_same() -> None:
    model = ingot.from_onnx(with_functions())
    assert inline(model) == 4
    assert not model.functions
    assert not any(node.domain for node in model.nodes())
    assert [out.tolist() for out in run(model, x=[1, 2])] == [[12, 13], [4, 5]]


def test_some_functions_can_be_inlined_and_others_kept() -> None:
    model = ingot.from_onnx(with_functions())
    inline(model, lambda function: function.name == "Twice")
    assert [str(name) for name in model.functions] == ["my.Once"]
    assert [node.op_type for node in model.graph] == ["Once", "Once", "Once"]
    assert model.graph.nodes[1]["by"] == 10.0
    inline(model)
    assert [out.tolist() for out in run(model, x=[1, 2])] == [[12, 13], [4, 5]]


def test_recursion_is_refused() -> None:
    proto = with_functions()
    proto.functions[1].node.append(helper.make_node("Twice", ["a"], ["loop"], domain="my"))
    with pytest.raises(CheckError, match="calls itself"):
        inline(ingot.from_onnx(proto))


def test_a_body_that_doubles_at_every_level_is_stopped() -> None:
    opset = [helper.make_opsetid("", 20), helper.make_opsetid("my", 1)]
    functions = [helper.make_function("my", "F0", ["a"], ["c"], [helper.make_node("Relu", ["a"], ["c"])], opset)]
    for level in range(1, 40):
        inner = [
            helper.make_node(f"F{level - 1}", ["a"], ["h"], domain="my"),
            helper.make_node(f"F{level - 1}", ["h"], ["c"], domain="my"),
        ]
        functions.append(helper.make_function("my", f"F{level}", ["a"], ["c"], inner, opset))
    call = helper.make_node("F39", ["x"], ["y"], domain="my")
    graph = helper.make_graph([call], "g", [_float("x", 2)], [_float("y", 2)])
    model = ingot.from_onnx(helper.make_model(graph, opset_imports=opset, functions=functions))
    with pytest.raises(CheckError, match="more than 10,000 nodes"):
        inline(model, limit=10_000)


def test_metadata_reads_and_writes_like_a_dictionary() -> None:
    model = linear()
    model.metadata["author"] = "me"
    model.graph.nodes[0].metadata["from"] = "layer 1"
    again = ingot.decode(ingot.encode(model))
    assert again.metadata["author"] == "me"
    assert again.graph.nodes[0].metadata == {"from": "layer 1"}
    del again.metadata["author"]
    assert not ingot.to_onnx(again).metadata_props
