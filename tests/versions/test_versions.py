"""Conversion between versions: what stays, what is said otherwise, what is refused, and that nothing is left behind."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.versions.convert import convert_versions


def model(text: str, opset: int, more: str = "") -> ingot.Model:
    return ingot.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}{more}]>\n{text}')


def test_a_node_that_means_the_same_is_left_alone() -> None:
    found = model("g (float[n] x) => (float[n] y) { y = Abs (x) }", 21)
    assert convert_versions(found, {"": 13}) == 0
    assert found.opset_imports == {"": 13}
    assert [node.op_type for node in found.graph] == ["Abs"]


def test_a_softmax_of_a_middle_axis_is_moved_to_the_end() -> None:
    found = model("g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 1> (x) }", 13)
    assert convert_versions(found, {"": 11}) == 1
    assert [node.op_type for node in found.graph] == ["Transpose", "Softmax", "Transpose"]
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) % 5
    exponentials = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(
        ingot.Session(found).run(None, {"x": x})[0], exponentials / exponentials.sum(1, keepdims=True), rtol=1e-6
    )


def test_going_up_to_a_middle_version_says_only_what_has_changed() -> None:
    found = model("g (float[2,3] x) => (float[2,3] y) { t = Softmax <axis = 1> (x)\n y = Relu (t) }", 11)
    relu = found.graph.nodes[1]
    assert convert_versions(found, {"": 17}) == 1
    assert found.opset_imports == {"": 17}
    assert relu in found.graph.nodes


def test_types_found_on_the_way_are_not_left_in_the_model() -> None:
    found = model("g (float[2,3] x) => (float[2,3] y) { t = Softmax <axis = 0> (x)\n y = Relu (t) }", 13)
    convert_versions(found, {"": 11})
    assert all(value.type is None for node in found.graph for value in node.outputs if not value.is_output)


def test_what_the_older_version_cannot_say_is_refused_by_name() -> None:
    found = model("g (float[2,3] x) => (float[2,3] y) { y = DeformConv (x, x, x) }", 19)
    with pytest.raises(ingot.IngotError, match="DeformConv") as caught:
        convert_versions(found, {"": 18})
    assert "in node 'y' (DeformConv" in str(caught.value)


def test_subgraphs_and_functions_are_converted_too() -> None:
    found = model(
        """g (bool c, float[2,3] x) => (float[2,3] y) {
            y = If (c) <then_branch = a () => (float[2,3] p) { p = Softmax <axis = 0> (x) },
                        else_branch = b () => (float[2,3] q) { q = local.f (x) }>
        }
        <domain: "local", opset_import: ["" : 13]>
        f (x) => (y) { y = Add (x, x) }""",
        13,
        ', "local" : 1',
    )
    before = found.copy()
    convert_versions(found, {"": 11})
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for condition in (True, False):
        feeds = {"c": np.asarray(condition), "x": x}
        mine, theirs = ingot.Session(found).run(None, feeds), ingot.Session(before).run(None, feeds)
        np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-6)
    assert all(function.opset_imports[""] == 11 for function in found.functions.values())


def test_constants_that_became_attributes_are_taken_away() -> None:
    found = model(
        "g (float[2,3] x) => (float[2,1] y) <int64[1] axes = {1}> { y = ReduceMax <keepdims = 1> (x, axes) }", 18
    )
    convert_versions(found, {"": 17})
    assert found.graph.nodes[0].attributes["axes"].value == (1,)
    assert not list(found.graph.initializers)


def test_a_version_that_nobody_knows_is_refused() -> None:
    found = model("g (float[n] x) => (float[n] y) { y = Abs (x) }", 21)
    with pytest.raises(ingot.UnsupportedError, match="the newest version is 28"):
        convert_versions(found, {"": 99})


def test_an_axis_counted_from_the_back_is_counted_from_the_front_below_11() -> None:
    found = model("g (float[2,3] x) => (float[2,6] y) { y = Concat <axis = -1> (x, x) }", 13)
    convert_versions(found, {"": 9})
    assert found.graph.nodes[0].attributes["axis"].value == 1


@pytest.mark.parametrize("version", [13, 21])
def test_an_operator_of_a_domain_that_nobody_knows_stays_as_it_is(version: int) -> None:
    text = """<ir_version: 9, opset_import: ["" : 19, "own" : 1]> g (float[2] x) => (float[2] y) {
        a = own.thing (x)\n b = ReduceMax <keepdims = 1> (a)\n y = Neg (b)
    }"""
    model = ingot.parse_model(text)
    convert_versions(model, {"": version})
    assert next(node.op_type for node in model.graph) == "thing"
