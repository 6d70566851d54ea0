"""Attributes that are a yes or a no take 1 and 0 alone."""

from __future__ import annotations

from typing import Any

import pytest

from ingot.errors import CheckError, ShapeError
from ops.reduction.one_node import inferred

X: Any = ("float32", [2, 3, 4])


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin", "ReduceSum", "ReduceMax", "ReduceLogSumExp"])
@pytest.mark.parametrize("value", [-1, 2, 99])
def test_keepdims_is_yes_or_no(op_type: str, value: int) -> None:
    with pytest.raises(CheckError, match=f"keepdims is {value}, it must be 0 or 1"):
        inferred(op_type, [X], keepdims=value)


def test_the_other_flags_are_yes_or_no() -> None:
    with pytest.raises(CheckError, match="select_last_index is 7, it must be 0 or 1"):
        inferred("ArgMax", [X], select_last_index=7)
    with pytest.raises(CheckError, match="noop_with_empty_axes is -1, it must be 0 or 1"):
        inferred("ReduceSum", [X], noop_with_empty_axes=-1)


def test_the_axes_of_a_reduction_are_a_vector() -> None:
    with pytest.raises(ShapeError, match="axes has 2 axes, expected 1"):
        inferred("ReduceSum", [X, ("int64", [1, 1])])
