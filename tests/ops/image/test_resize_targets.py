"""Resize takes scales or sizes, one of the two."""

from __future__ import annotations

from typing import Any

import pytest

from ingot.errors import CheckError
from ops.reduction.one_node import inferred

X: Any = ("float32", [1, 1, 4, 4])
SCALES: Any = ("float32", [4])
SIZES: Any = ("int64", [4])


def test_both_are_refused() -> None:
    with pytest.raises(CheckError, match="both scales and sizes are given"):
        inferred("Resize", [X, None, SCALES, SIZES])


@pytest.mark.parametrize("types", [[X], [X, ("float32", [8])], [X, None, ("float32", [0])]], ids=str)
def test_neither_is_refused(types: list[Any]) -> None:
    with pytest.raises(CheckError, match="neither scales nor sizes is given"):
        inferred("Resize", types)


def test_an_empty_tensor_is_not_given() -> None:
    assert inferred("Resize", [X, None, ("float32", [0]), None], {3: [1, 1, 8, 8]}) == "float32[1, 1, 8, 8]"
