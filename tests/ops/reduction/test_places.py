from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError
from ops.reduction.one_node import evaluate, inferred

bfloat16 = ml_dtypes.bfloat16


def test_the_first_or_the_last_of_equals_is_found() -> None:
    x = np.array([[3, 1, 3], [2, 2, 0]], np.int8)
    np.testing.assert_array_equal(evaluate("ArgMax", x, axis=1), [[0], [0]])
    np.testing.assert_array_equal(evaluate("ArgMax", x, axis=-1, select_last_index=1, keepdims=0), [2, 1])
    np.testing.assert_array_equal(evaluate("ArgMin", x, keepdims=0), [1, 0, 1])


@pytest.mark.parametrize("dtype", [np.uint64, np.int64, np.float16, bfloat16, np.float64])
def test_places_are_found_in_every_type(dtype: Any) -> None:
    x = np.array([3, 7, 1, 7], dtype)
    assert evaluate("ArgMax", x, keepdims=0) == 1
    assert evaluate("ArgMax", x, keepdims=0, select_last_index=1) == 3
    assert evaluate("ArgMin", x, keepdims=0) == 2


def test_nan_is_found_first() -> None:
    for dtype in (np.float32, bfloat16):
        assert evaluate("ArgMax", np.array([1, np.nan, np.inf], dtype), keepdims=0) == 1
        assert evaluate("ArgMin", np.array([1, np.nan, -np.inf], dtype), keepdims=0) == 1


def test_an_empty_axis_has_no_place() -> None:
    with pytest.raises(InputError, match=r"axis 1 of shape \[2, 0\]"):
        evaluate("ArgMax", np.zeros((2, 0), np.float32), axis=1)
    assert evaluate("ArgMax", np.zeros((0, 0), np.float32), axis=1).shape == (0, 1)
    assert evaluate("ArgMax", np.zeros((0, 3), np.float32), axis=1, keepdims=0).shape == (0,)


def test_a_scalar_has_no_axis() -> None:
    with pytest.raises(ShapeError):
        evaluate("ArgMax", np.float32(1))


def test_places_keep_symbolic_sizes() -> None:
    assert inferred("ArgMax", [("float32", ["n", 3])], axis=1) == "int64[n, 1]"
    assert inferred("ArgMin", [("float32", ["n", 3])], axis=1, keepdims=0) == "int64[n]"
    assert inferred("ArgMin", [("float32", None)]) == "int64[...]"


def top(x: Array, k: int, **attributes: int) -> tuple[list[Any], list[Any]]:
    values, indices = evaluate("TopK", x, np.array([k]), outputs=2, **attributes)
    assert values.dtype == x.dtype
    assert indices.dtype == np.int64
    return values.tolist(), indices.tolist()


def test_of_equal_elements_the_lower_index_comes_first() -> None:
    x = np.array([5, 9, 5, 9, 1], np.uint8)
    assert top(x, 4) == ([9, 9, 5, 5], [1, 3, 0, 2])
    assert top(x, 3, largest=0) == ([1, 5, 5], [4, 0, 2])


def test_the_smallest_and_largest_of_a_type_are_ordered() -> None:
    assert top(np.array([-128, 127, 0], np.int8), 3) == ([127, 0, -128], [1, 2, 0])
    assert top(np.array([0, 2**64 - 1], np.uint64), 1) == ([2**64 - 1], [1])


def test_nan_is_above_all_numbers() -> None:
    x = np.array([1, np.nan, np.inf, np.nan], bfloat16)
    assert top(x, 3)[1] == [1, 3, 2]
    assert top(x, 2, largest=0)[1] == [0, 2]


def test_nothing_may_be_asked_for() -> None:
    assert top(np.zeros((2, 3), np.float32), 0) == ([[], []], [[], []])


@pytest.mark.parametrize("k", [4, -1])
def test_more_than_there_are_is_refused(k: int) -> None:
    with pytest.raises(InputError, match="axis 0 has 3 elements"):
        evaluate("TopK", np.array([1, 2, 3], np.float32), np.array([k]), outputs=2)


def test_more_than_there_are_is_refused_before_the_model_runs() -> None:
    with pytest.raises(ShapeError, match="k is 4"):
        inferred("TopK", [("float32", ["n", 3])], {1: np.array([4])}, outputs=2)


def test_how_many_is_the_size_of_the_axis() -> None:
    found = inferred("TopK", [("float32", ["n", 9])], {1: np.array([4])}, outputs=2)
    assert found == ["float32[n, 4]", "int64[n, 4]"]
    found = inferred("TopK", [("float32", ["n", 9]), ("int64", [1])], outputs=2, axis=0)
    assert found == ["float32[?, 9]", "int64[?, 9]"]


@pytest.mark.parametrize("opset", [1, 9, 10])
def test_top_k_of_old_models(opset: int) -> None:
    x = np.array([[3, 1, 2], [4, 6, 5]], np.float32)
    if opset < 10:
        values, indices = evaluate("TopK", x, k=2, axis=1, outputs=2, opset=opset)
    else:
        values, indices = evaluate("TopK", x, np.array([2]), axis=1, outputs=2, opset=opset)
    np.testing.assert_array_equal(values, [[3, 2], [6, 5]])
    np.testing.assert_array_equal(indices, [[0, 2], [1, 2]])
