"""What follows from constants alone is computed, within bounds; what follows from inputs is not."""

from __future__ import annotations

from functools import partial
from typing import Annotated, TypeAlias

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.ops.catalog import standard
from ingot.ops.define import operator
from ingot.ops.typesets import FLOAT32, types
from ingot.passes.fold import fold
from passes.written import applied, lines, parsed

T: TypeAlias = Annotated[Array, types("T", FLOAT32)]


@operator("DequantizeLinear", since=1, domain="my")
def own(x: T, /) -> T:
    """Twice `x`."""
    return x + x


def test_nodes_of_constants_become_one() -> None:
    text = """g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}>
        { c = Add (a, b)\n d = Mul (c, c)\n y = Mul (x, d) }"""
    assert applied(fold, text) == (2, ["y = Mul(x, [16.0, 36.0])"])


def test_constant_nodes_become_initialisers_under_their_names() -> None:
    model = parsed("g (float[2] x) => (float[2] y) { w = Constant<value_floats = [1.0, 2.0]> ()\n y = Mul (x, w) }")
    assert applied(fold, model) == (1, ["y = Mul(x, [1.0, 2.0])"])
    assert list(model.graph.initializers) == ["w"]


def test_what_a_graph_returns_keeps_its_name() -> None:
    text = "g () => (float[2] y) <float[2] a = {1, -2}> { y = Relu (a) }"
    assert applied(fold, text) == (1, ["y = Identity([1.0, 0.0])"])
    assert applied(fold, "g () => (float[2] y) <float[2] a = {1, -2}> { y = Identity (a) }")[0] == 0


def test_constants_inside_branches_are_folded_and_captured() -> None:
    text = """g (float[2] x, bool c) => (float[2] y) <float[2] a = {1, -2}> {
        y = If (c) <then_branch = t () => (float[2] b) { k = Relu (a)\n b = Add (k, x) },
                    else_branch = e () => (float[2] d) { d = Neg (x) }>
    }"""
    assert applied(fold, text) == (1, ["y = If(c)", "b = Add([1.0, 0.0], x)", "d = Neg(x)"])


@pytest.mark.parametrize(
    "text",
    [
        "(float[2] a = {1, 2}) => (float[2] y) { y = Relu (a) }",
        "() => (float[2] y) { y = RandomNormal<shape = [2]> () }",
        "(float x) => (float[2] y) <uint8[2] a = {1, 2}, float s = {0.5}> { y = DequantizeLinear (a, s) }",
        "(float x) => (float[2] y) <uint8[2] a = {1, 2}, float s = {0.5}, uint8 z = {0}>"
        " { y = com.microsoft.DequantizeLinear (a, s, z) }",
        "(float x) => (float[2] y) <float[2] a = {1, 2}, int64[1] s = {3}> { y = Reshape (a, s) }",
    ],
    ids=["a default", "random numbers", "the smaller form", "the smaller form of a vendor", "what fails"],
)
def test_what_is_not_to_be_folded_stays(text: str) -> None:
    model = parsed(f"g {text}")
    before = lines(model)
    assert fold(model, {}) == 0
    assert lines(model) == before


def test_an_operator_of_another_domain_with_the_name_of_one_that_stays_is_folded() -> None:
    catalog = standard().with_operators(own)
    text = '<ir_version: 14, opset_import: ["" : 28, "my" : 1]> g () => (float[2] y) <float[2] a = {1, 2}>'
    model = ingot.parse_model(f"{text} {{ y = my.DequantizeLinear (a) }}")
    assert fold(model, {}, catalog=catalog) == 1
    assert lines(model) == ["y = Identity([2.0, 4.0])"]


def test_a_large_result_is_not_computed_unless_as_much_goes() -> None:
    wide = "g (float x) => (float[n] y) <int64[1] s = {500}> { a = ConstantOfShape (s)\n y = Mul (x, a) }"
    assert applied(partial(fold, most_bytes=1999), wide)[0] == 0
    assert applied(partial(fold, most_bytes=2000), wide)[0] == 1


def test_a_transposed_weight_replaces_the_weight() -> None:
    for reader, count in (("y = MatMul (x, t)", 1), ("b = MatMul (x, t)\n y = Add (b, w)", 0)):
        model = parsed(f"g (float[2, 2] x, float[2, 2] w) => (float[2, 2] y) {{ t = Transpose (w)\n {reader} }}")
        ingot.inputs_to_initializers(model, {"w": np.eye(2, dtype=np.float32)})
        assert applied(partial(fold, most_bytes=0), model)[0] == count
