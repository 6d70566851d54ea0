"""What `ingot.diff` reports of edits made by hand, and of a quantised model."""

from __future__ import annotations

import json

import numpy as np

import ingot
from ingot import Diff, Model, Node, Tensor, diff, parse_model
from ingot.difference.align import align
from ingot.difference.result import Change
from ingot.difference.weights import weight_change

TEXT = """
<ir_version: 10, opset_import: ["" : 20]>
g (float[n, 4] x) => (float[n, 4] y)
<float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, float[4] b = {1, 2, 3, 4}>
{
  a = MatMul (x, w)
  c = Add (a, b)
  d = Relu (c)
  e = Softmax <axis: int = -1> (d)
  y = Neg (e)
}
"""


def model() -> Model:
    return parse_model(TEXT)


def node(model: Model, op_type: str) -> Node:
    return next(node for node in model.graph if node.applies(op_type))


def changes(difference: Diff) -> list[Change]:
    [graph] = difference.graphs
    return [*graph.changes, *(change for pair in graph.pairs for change in pair.changes)]


def test_a_copy_does_not_differ() -> None:
    difference = diff(model(), model())
    assert not difference
    assert difference.json() == {"same": True, "changes": [], "graphs": []}


def test_renamed_values_and_nodes_are_renames_and_nothing_else() -> None:
    other = model()
    for value in [value for each in other.graph for value in each.outputs if not value.is_output]:
        value.name = f"{value.name}_new"
    node(other, "Relu").name = "activation"
    other.graph.initializers["w"].name = "weight"
    reported = [(change.kind, change.part, change.before, change.after) for change in changes(diff(model(), other))]
    assert sorted(map(str, reported)) == sorted(
        map(
            str,
            [
                ("renamed", "value", "a", "a_new"),
                ("renamed", "value", "c", "c_new"),
                ("renamed", "value", "d", "d_new"),
                ("renamed", "value", "e", "e_new"),
                ("renamed", "weight", "w", "weight"),
                ("renamed", "node", "", "activation"),
            ],
        )
    )


def test_an_attribute_that_changed_names_both_values() -> None:
    other = model()
    node(other, "Softmax")["axis"] = 0
    assert changes(diff(model(), other)) == [Change("changed", "attribute", "axis", "-1", "0")]


def test_weights_are_compared_by_value() -> None:
    other = model()
    array = other.graph.initializers["b"].constant.numpy().copy()  # type: ignore[union-attr]
    array[1] += 0.5
    array[3] -= 1.5
    other.graph.initializers["b"].constant = Tensor(array, name="b")
    [change] = changes(diff(model(), other))
    assert (change.kind, change.part, change.name) == ("changed", "weight", "b")
    assert change.numbers == (1.5, 0.5, 2)


def test_an_inserted_node_is_added_and_its_reader_is_rewired() -> None:
    other = model()
    relu = node(other, "Relu")
    inserted = Node("Abs", [relu.inputs[0]], ["between"])
    other.graph.insert_before(relu, inserted)
    relu.replace_input(0, inserted.output)
    difference = diff(model(), other)
    [graph] = difference.graphs
    assert [added.op_type for added in graph.added] == ["Abs"]
    assert not graph.removed
    assert [change.part for change in changes(difference)] == ["wiring"]
    reverse = diff(other, model())
    assert [removed.op_type for removed in reverse.graphs[0].removed] == ["Abs"]


def test_a_node_that_moved_is_reported_as_moved() -> None:
    text = "g (float[n] x) => (float[n] p, float[n] q, float[n] r) { p = Abs (x) q = Neg (x) r = Exp (x) }"
    head = '<ir_version: 10, opset_import: ["" : 20]> '
    one, other = parse_model(head + text), parse_model(head + text)
    other.graph.insert_before(other.graph.nodes[0], other.graph.nodes[2])
    [change] = changes(diff(one, other))
    assert (change.kind, change.name) == ("moved", "r")


def test_types_metadata_and_opsets_are_compared() -> None:
    other = model()
    other.metadata["author"] = "somebody"
    other.opset_imports[""] = 21
    other.opset_imports["com.microsoft"] = 1
    other.graph.inputs[0].type = ingot.Float32["batch", 4]
    difference = diff(model(), other)
    assert {(change.kind, change.part, change.name) for change in difference.changes} == {
        ("added", "metadata", "author"),
        ("changed", "opset", "ai.onnx"),
        ("added", "opset", "com.microsoft"),
    }
    assert [change.name for change in changes(difference)] == ["type of x"]


def test_subgraphs_and_functions_are_compared_too() -> None:
    body = "<then_branch: graph = t () => (p) { p = Neg (x) }, else_branch: graph = e () => (q) { q = Abs (x) }>"
    text = '<ir_version: 10, opset_import: ["" : 20, "my" : 1]> '
    text += f"g (float[n] x, bool c) => (float[n] y) {{ z = If (c) {body} y = my.f (z) }} "
    text += '<domain: "my", opset_import: ["" : 20]> f (a) => (b) { b = Relu (a) }'
    other = parse_model(text.replace("Abs", "Exp").replace("Relu", "Sqrt"))
    difference = diff(parse_model(text), other)
    changed = [graph.path for graph in difference.graphs if graph.removed or graph.added]
    assert changed == ["graph / z / e", "function my.f"]


def test_layers_that_are_alike_are_distinguished_by_their_weights() -> None:
    head = '<ir_version: 10, opset_import: ["" : 20]> g (float[n] x) => (float[n] y) '
    first = head + "<float a = {1}, float b = {2}, float c = {3}> { p = Add (x, a) q = Add (p, b) y = Add (q, c) }"
    second = head + "<float a = {1}, float c = {3}> { p = Add (x, a) y = Add (p, c) }"
    alignment = align(parse_model(first).graph, parse_model(second).graph)
    assert [left.inputs[1].name for left in alignment.left if left.inputs[1] is not None] == ["b"]


def test_a_quantised_model_has_its_float_nodes_paired() -> None:
    float_model = ingot.load("examples/digits.onnx")
    quantised = ingot.quantize(float_model.copy(), mode="dynamic")
    difference = diff(float_model, quantised.model)
    graph = difference.graphs[0]
    assert difference
    assert graph.added
    kinds = {pair.a.op_type for pair in graph.pairs}
    assert {"Relu", "MaxPool", "Softmax"} <= kinds
    assert all(pair.a.op_type == pair.b.op_type for pair in graph.pairs)
    json.dumps(difference.json())


def test_weights_with_nan_do_not_break_the_comparison() -> None:
    other = model()
    other.graph.initializers["b"].constant = Tensor(np.array([1, np.nan, 3, 4], np.float32), name="b")
    [change] = changes(diff(model(), other))
    assert change.numbers is not None
    assert np.isnan(change.numbers[0])


def test_outputs_that_changed_places_differ() -> None:
    head = '<ir_version: 10, opset_import: ["" : 21]> g (float[n] x) => (float[n] y, float[n] z)'
    one, other = (parse_model(f"{head} {{ {body} }}") for body in ("y = Relu(x) z = Neg(x)", "z = Relu(x) y = Neg(x)"))
    found = [(change.kind, change.part, change.name) for change in changes(diff(one, other))]
    assert found == [("changed", "wiring", "output 0"), ("changed", "wiring", "output 1")]


def test_a_body_that_reads_another_outer_value_of_the_same_name_differs() -> None:
    def text(first: str, second: str) -> str:
        return f"""<ir_version: 10, opset_import: ["" : 21]> g (float[n] x, bool c) => (float[n] r, float[n] s) {{
            {first} = Relu (x) {second} = Neg (x)
            r = If (c) <then_branch = a () => (t) {{ t = Exp (y) }}, else_branch = b () => (u) {{ u = Abs (y) }}>
            s = Add ({first}, {second})
        }}"""

    difference = diff(parse_model(text("y", "z")), parse_model(text("z", "y")))
    paths = [graph.path for graph in difference.graphs if any(pair.changes for pair in graph.pairs)]
    assert paths == ["graph / r / a", "graph / r / b"]
    renamed = parse_model(text("y", "z").replace("y =", "w =").replace("(y)", "(w)").replace("(y,", "(w,"))
    difference = diff(parse_model(text("y", "z")), renamed)
    assert {change.kind for graph in difference.graphs for change in graph.changes} == {"renamed"}
    assert not any(pair.changes for graph in difference.graphs for pair in graph.pairs)


def test_functions_differ_in_defaults_and_opsets_too() -> None:
    def text(default: float, opset: int) -> str:
        return f"""<ir_version: 10, opset_import: ["" : 21, "own" : 1]> g (float[n] x) => (y) {{ y = own.f (x) }}
            <domain: "own", opset_import: ["" : {opset}]> f <alpha: float = {default}> (a) => (b) {{
                b = LeakyRelu <alpha: float = @alpha> (a)
            }}"""

    assert not diff(parse_model(text(0.5, 21)), parse_model(text(0.5, 21)))
    (change,) = diff(parse_model(text(0.5, 21)), parse_model(text(0.25, 21))).changes
    assert (change.part, change.name) == ("function own.f: default of attribute", "alpha")
    (change,) = diff(parse_model(text(0.5, 21)), parse_model(text(0.5, 20))).changes
    assert (change.part, change.before, change.after) == ("function own.f: opset", "21", "20")
    other = parse_model(text(0.5, 21))
    other.graph.nodes[0].overload = "wide"
    (pair,) = diff(parse_model(text(0.5, 21)), other).graphs[0].pairs
    assert [(change.part, change.after) for change in pair.changes] == [("overload", "wide")]


def test_elements_differ_where_their_bits_do() -> None:
    def numbers(one: list[float], other: list[float], dtype: type) -> tuple[float, float, int] | None:
        change = weight_change("w", Tensor(np.array(one, dtype)), Tensor(np.array(other, dtype)))
        return None if change is None else change.numbers

    assert numbers([np.nan, 1, 2], [np.nan, 1, 4], np.float32) == (2, 2 / 3, 1)
    assert numbers([2**53, 0], [2**53 + 1, 0], np.int64) == (0, 0, 1)
    assert numbers([0.0, 1], [-0.0, 1], np.float32) == (0, 0, 1)
