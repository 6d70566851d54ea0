"""Sizes that do not go together are refused before a model runs."""

from __future__ import annotations

from typing import Any

import pytest

from ingot.errors import CheckError, ShapeError
from ops.reduction.one_node import inferred

HEADS: Any = {"q_num_heads": 2, "kv_num_heads": 2}
LINEAR: Any = {**HEADS, "update_rule": "linear"}


def f32(*shape: int | str) -> Any:
    return ("float32", list(shape))


def test_batch_normalization_has_one_output_outside_of_training() -> None:
    types = [f32(2, 3, 4), *[f32(3)] * 4]
    with pytest.raises(CheckError, match="outside of training there is one output, the node has 3"):
        inferred("BatchNormalization", types, outputs=3)
    assert inferred("BatchNormalization", types, outputs=3, training_mode=1) == [
        "float32[2, 3, 4]",
        "float32[3]",
        "float32[3]",
    ]


def test_batch_normalization_trains_or_not() -> None:
    with pytest.raises(CheckError, match="training_mode is 2, it must be 0 or 1"):
        inferred("BatchNormalization", [f32(2, 3, 4), *[f32(3)] * 4], outputs=3, training_mode=2)


def test_max_unpool_takes_a_shape_of_one_axis() -> None:
    with pytest.raises(ShapeError, match="output_shape has 0 axes, expected 1"):
        inferred("MaxUnpool", [f32(1, 1, 2, 2), ("int64", [1, 1, 2, 2]), ("int64", [])], kernel_shape=[2, 2])


@pytest.mark.parametrize(
    ("image", "block", "says"),
    [
        ([2], [3], "image_shape and block_shape name differ: 2 and 3"),
        ([2, 1], [2], "image_shape has 2 axes, expected 1"),
        ([2], [], "block_shape has 0 axes, expected 1"),
    ],
)
def test_col2im_takes_an_image_and_blocks_of_as_many_axes(image: list[int], block: list[int], says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        inferred("Col2Im", [f32(1, 9, 4), ("int64", image), ("int64", block)])


@pytest.mark.parametrize(
    ("past", "says"),
    [
        (f32(2, 2, 4), "past_state has 3 axes, expected 4"),
        (f32(2, 3, 4, 5), "past_state has size 3 along axis 1, expected 2"),
        (f32(2, 2, 4, 6), "past_state has size 6 along axis 3, expected 5"),
    ],
)
def test_linear_attention_goes_on_from_a_state_of_its_size(past: Any, says: str) -> None:
    types = [f32(2, 6, 8), f32(2, 6, 8), f32(2, 6, 10), past]
    with pytest.raises(ShapeError, match=says):
        inferred("LinearAttention", types, outputs=2, **LINEAR)


@pytest.mark.parametrize(
    ("rule", "gates", "says"),
    [
        ("linear", [f32(2, 6, 2)], "decay must not be given"),
        ("gated", [], "decay must be given"),
        ("delta", [], "beta must be given"),
        ("gated_delta", [f32(2, 6, 2)], "beta must be given"),
    ],
)
def test_a_rule_of_linear_attention_takes_its_gates_and_no_others(rule: str, gates: list[Any], says: str) -> None:
    types = [f32(2, 6, 8), f32(2, 6, 8), f32(2, 6, 10), None, *gates]
    with pytest.raises(CheckError, match=f"update_rule is {rule}: {says}"):
        inferred("LinearAttention", types, outputs=2, update_rule=rule, **HEADS)


@pytest.mark.parametrize(
    ("decay", "beta", "says"),
    [
        (f32(2, 6, 3), f32(2, 6, 1), "decay has size 3 along axis 2, expected 2 or 8"),
        (f32(2, 6, 8), f32(2, 6, 4), "beta has size 4 along axis 2, expected 1 or 2"),
        (f32(2, 5, 8), f32(2, 6, 1), "lengths of query and decay differ: 6 and 5"),
    ],
)
def test_linear_attention_has_gates_of_heads(decay: Any, beta: Any, says: str) -> None:
    types = [f32(2, 6, 8), f32(2, 6, 8), f32(2, 6, 10), None, decay, beta]
    with pytest.raises(ShapeError, match=says):
        inferred("LinearAttention", types, outputs=2, **HEADS)


@pytest.mark.parametrize(
    ("past", "says"),
    [
        (f32(2, 4), "past_state has 2 axes, expected 3"),
        (f32(2, 4, 3), "past_state has size 3 along axis 2, expected 2"),
        (f32(1, 4, 2), "past_state has size 1 along axis 0, expected 2"),
    ],
)
def test_causal_conv_goes_on_from_a_state_of_its_size(past: Any, says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        inferred("CausalConvWithState", [f32(2, 4, 9), f32(4, 1, 3), None, past], outputs=2)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
def test_a_pool_rounds_up_or_not(op_type: str) -> None:
    with pytest.raises(CheckError, match="ceil_mode is 99, it must be 0 or 1"):
        inferred(op_type, [f32(1, 1, 5, 5)], kernel_shape=[2, 2], ceil_mode=99)


def test_mean_variance_normalization_takes_axes_that_there_are() -> None:
    with pytest.raises(ShapeError, match="axes is 3, outside a tensor of 3 axes"):
        inferred("MeanVarianceNormalization", [f32(2, 3, 4)])
    assert inferred("MeanVarianceNormalization", [f32(2, 3, 4)], axes=[0, 2]) == "float32[2, 3, 4]"
