"""Inputs that hold sizes or positions have one axis, and as many entries as there are things to place."""

from __future__ import annotations

import pytest

from ingot.errors import ShapeError
from ops.reduction.one_node import inferred


@pytest.mark.parametrize("shape", [[], [2, 1]], ids=str)
@pytest.mark.parametrize("op_type", ["Expand", "Reshape"])
def test_a_shape_of_another_rank_is_refused(op_type: str, shape: list[int]) -> None:
    with pytest.raises(ShapeError, match=f"shape has {len(shape)} axes, expected 1"):
        inferred(op_type, [("float32", [2, 3]), ("int64", shape)])


@pytest.mark.parametrize("shape", [[], [2, 1]], ids=str)
def test_constant_of_shape_refuses_it_too(shape: list[int]) -> None:
    with pytest.raises(ShapeError, match=f"shape has {len(shape)} axes, expected 1"):
        inferred("ConstantOfShape", [("int64", shape)])


def test_a_cache_takes_one_position_for_each_of_a_batch() -> None:
    cache, update = ("float32", [2, 3, 8, 4]), ("float32", [2, 3, 1, 4])
    with pytest.raises(ShapeError, match="the batch and the number of write_indices differ: 2 and 3"):
        inferred("TensorScatter", [cache, update, ("int64", [3])])


def test_sizes_that_are_copied_say_nothing_of_what_is_left_over() -> None:
    assert inferred("Reshape", [("float32", [3, 0]), ("int64", [3])], {1: [0, 0, -1]}) == "float32[3, 0, 1]"
