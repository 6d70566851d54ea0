"""Tensors out of nothing, said in older versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ops.tensor.older import converted, older, refusal

STEPS = [(0, 5, 1), (5, 0, -2), (3, 3, 1), (3, 4, -1), (-3, 6, 3), (10, 0, 3), (0, -1, -1)]


@pytest.mark.parametrize(("element", "dtype"), [("int64", np.int64), ("int16", np.int16), ("double", np.float64)])
def test_a_range_is_counted(element: str, dtype: Any) -> None:
    graph = f"g ({element} s, {element} l, {element} d) => ({element}[n] y) {{ y = Range(s, l, d) }}"
    feeds = [dict(zip("sld", map(dtype, numbers), strict=True)) for numbers in STEPS]
    for to in (10, 9):
        assert "NonZero" in older(graph, to, *feeds)
    assert "NonZero" in refusal(graph, 8)


def test_a_range_of_floats_is_rounded_once() -> None:
    graph = "g (float s, float l, float d) => (float[n] y) { y = Range(s, l, d) }"
    older(graph, 10, {"s": np.float32(0.1), "l": np.float32(6), "d": np.float32(0.7)})


def test_small_floats_are_counted_in_the_type_they_are_computed_in() -> None:
    graph = "g (float16 s, float16 l, float16 d) => (float16[n] y) { y = Range<stash_type=11>(s, l, d) }"
    older(graph, 26, {"s": np.float16(5), "l": np.float16(0), "d": np.float16(-0.3)})


def test_a_range_of_constants_is_written_out() -> None:
    graph = "g () => (int64[4] y) <int64 s = {1}, int64 l = {8}, int64 d = {2}> { y = Range(s, l, d) }"
    assert older(graph, 1, {}) == ["Identity"]


def test_a_range_from_nothing_takes_few_nodes() -> None:
    graph = "g (int64 l) => (int64[n] y) <int64 s = {0}, int64 d = {1}> { y = Range(s, l, d) }"
    said = older(graph, 10, {"l": np.int64(3)}, {"l": np.int64(-3)}, {"l": np.int64(0)})
    assert said == ["Reshape", "Greater", "Cast", "Mul", "ConstantOfShape", "NonZero", "Squeeze"]


def test_numbers_in_attributes_become_tensors() -> None:
    graph = "g () => (int64[2] y) { y = Constant<value_ints=[2,3]>() }"
    (node,) = converted(graph, 11).graph
    assert list(node.attributes) == ["value"]
    older(graph, 9, {})


def test_a_constant_that_was_no_node_is_an_initializer() -> None:
    graph = "g (float[a] x) => (float[2,3] y) { s = Constant<value_ints=[2,3]>() y = Reshape(x, s) }"
    assert older(graph, 8, {"x": np.zeros(6, np.float32)}) == ["Reshape"]
    assert older("g () => (int64[2] y) { y = Constant<value_ints=[2,3]>() }", 8, {}) == ["Identity"]
    assert older("g () => (float y) { y = Constant<value_float=2.5>() }", 8, {}) == ["Constant"]


@pytest.mark.parametrize("value", ["float[1] {-0.0}", "int64[1] {7}", "bool[1] {1}"])
def test_one_value_in_every_place_is_expanded(value: str) -> None:
    element = value.partition("[")[0]
    graph = f"g (int64[2] s) => ({element}[a,b] y) {{ y = ConstantOfShape<value = {value}>(s) }}"
    feeds = [{"s": np.array(s)} for s in ((2, 3), (0, 3))]
    assert older(graph, 8, *feeds) == ["Expand"]
    older(graph, 7, *feeds)


def test_a_small_float_in_every_place_is_cast() -> None:
    graph = (
        "g (int64[1] s) => (bfloat16[a] y) { y = ConstantOfShape<value = bfloat16[1] {16416}>(s) }"  # the bits of 2.5
    )
    assert older(graph, 19, {"s": np.array([3])}) == ["ConstantOfShape", "Cast"]
    assert "bfloat16" in refusal(graph, 12)


def test_a_diagonal_is_written_out_where_its_shape_is_known() -> None:
    known = "g (float[3,4] x) => (float[3,4] y) { y = EyeLike<k=1>(x) }"
    assert older(known, 8, {"x": np.zeros((3, 4), np.float32)}) == ["Identity"]
    assert "[a, 4]" in refusal("g (float[a,4] x) => (float[a,4] y) { y = EyeLike<k=1>(x) }", 8)
    small = "g (bfloat16[a,b] x) => (bfloat16[a,b] y) { y = EyeLike(x) }"
    assert [node.op_type for node in converted(small, 21).graph] == ["Cast", "EyeLike", "Cast"]


@pytest.mark.parametrize("op_type", ["RandomNormalLike", "RandomUniformLike"])
def test_random_bfloat16_is_rounded_from_float32(op_type: str) -> None:
    graph = f"g (bfloat16[a,b] x) => (bfloat16[a,b] y) {{ y = {op_type}(x) }}"
    assert [node.op_type for node in converted(graph, 21).graph] == ["Cast", op_type, "Cast"]


def test_a_coin_is_a_number_below_the_chance() -> None:
    graph = "g (float[a] x) => (bool[a] y) { y = Bernoulli<dtype=9>(x) }"
    chances = {"x": np.array([0, 1, 0, 1], np.float32)}
    assert older(graph, 14, chances) == ["RandomUniformLike", "Less", "Cast"]
    weights = "g (float[a,b] x) => (int32[a,1] y) { y = Multinomial(x) }"
    assert "weights" in refusal(weights, 6)
