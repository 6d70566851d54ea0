from __future__ import annotations

from onnx import parser

import ingot
from ingot.infer import infer
from ops.control.written import model


def found(graph: str, *, name_sizes: bool = True) -> list[str]:
    made = model(graph)
    facts = infer(made, name_sizes=name_sizes)
    return [str(facts[value]) for value in made.graph.outputs]


def test_a_size_that_depends_on_the_elements_gets_a_name_that_flows_on() -> None:
    graph = "g (float[N, 4] x) => (i, y) { i = NonZero(x) \n t = Transpose(i) \n y = GatherND(x, t) }"
    assert found(graph) == ["int64[2, i_1]", "float32[i_1]"]


def test_no_size_gets_a_name_unless_it_is_wanted() -> None:
    graph = "g (float[?, 4] x) => (i, y) { i = NonZero(x) \n y = Relu(x) }"
    assert found(graph, name_sizes=False) == ["int64[2, ?]", "float32[?, 4]"]


def test_what_depends_on_an_input_without_a_size_is_an_expression_of_its_name() -> None:
    made = model("g (float[?, 4] x) => (y) { y = Concat<axis=0>(x, x) }")
    facts = infer(made)
    assert str(made.graph.inputs[0].type) == "float32[x_0, 4]"
    assert str(facts[made.graph.outputs[0]]) == "float32[2*x_0, 4]"


def test_two_nodes_never_share_a_name() -> None:
    graph = "g (float[i_1] x, float[N] z) => (i, j) { i = NonZero(x) \n j = NonZero(z) }"
    first, second = found(graph)
    assert first == "int64[1, i_1_2]"
    assert second == "int64[1, j_1]"


def test_a_function_called_twice_gives_two_names() -> None:
    text = """<ir_version: 10, opset_import: ["": 28, "my": 1]>
    g (float[N] x, float[N] z) => (a, b) { a = my.f(x) \n b = my.f(z) }
    <domain: "my", opset_import: ["": 28]> f (x) => (y) { y = NonZero(x) }"""
    made = ingot.from_onnx(parser.parse_model(text))
    facts = infer(made)
    first, second = (str(facts[value]) for value in made.graph.outputs)
    assert first != second


def test_outputs_of_one_node_share_a_size() -> None:
    graph = "g (float[N] x) => (y, i, v, n) { y, i, v, n = Unique(x) }"
    values, first, inverse, counts = found(graph)
    assert values == "float32[y_0]"
    assert first == counts == "int64[y_0]"
    assert inverse == "int64[N]"


def test_a_name_that_is_declared_is_kept() -> None:
    made = model("g (float[N] x) => (int64[1, places] y) { y = NonZero(x) }")
    facts = infer(made)
    assert str(facts[made.graph.outputs[0]]) == "int64[1, places]"


def test_inferring_again_changes_nothing() -> None:
    made = model("g (float[?] x) => (y) { i = NonZero(x) \n y = Transpose(i) }")
    once = [str(value.type) for value in made.graph.values() if infer(made)]
    infer(made)
    assert [str(value.type) for value in made.graph.values()] == once


def test_a_name_of_any_value_can_be_written_and_read_as_one_name() -> None:
    made = model("g (float[N] x) => (y) { y = NonZero(x) }")
    made.graph.outputs[0].name = "a-b/c:0"
    facts = infer(made)
    assert str(facts[made.graph.outputs[0]]) == "int64[1, a_b_c_0_1]"


def test_elements_of_a_sequence_keep_their_own_sizes() -> None:
    graph = "g (seq(float[?]) s, int64 i) => (t, x) { t = Identity(s) \n x = SequenceAt(s, i) }"
    assert found(graph) == ["sequence(float32[?])", "float32[x_0]"]


def test_a_state_whose_size_no_run_changes_keeps_it() -> None:
    graph = """g (int64 m, bool c, float[N] x) => (y) {
        y = Loop(m, c, x) <body = b (int64 i, bool g, float[?] s) => (bool h, float[?] t) {
            h = Identity(g) \n t = Relu(s) }> }"""
    assert found(graph) == ["float32[N]"]


def test_a_state_that_grows_has_a_name_of_its_own() -> None:
    graph = """g (int64 m, bool c, float[N] x) => (y) {
        y = Loop(m, c, x) <body = b (int64 i, bool g, float[?] s) => (bool h, float[?] t) {
            h = Identity(g) \n t = Concat<axis=0>(s, s) }> }"""
    assert found(graph) == ["float32[y_0]"]
