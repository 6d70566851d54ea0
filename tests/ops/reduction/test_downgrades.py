"""Reductions, places and the few largest, said in older versions."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ops.math.older import only, refusal, said

X = np.random.default_rng(5).random((2, 3, 4)).astype(np.float32)
COMPOSITE = ["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"]
NAMES = [*COMPOSITE, "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"]


@pytest.mark.parametrize("name", NAMES)
def test_axes_in_the_model_become_an_attribute(name: str) -> None:
    node = only(name, [X, np.array([-1, 0])], 12, fixed=[1], keepdims=0)
    assert {name: each.value for name, each in node.attributes.items()} == {"axes": (-1, 0), "keepdims": 0}
    assert said(name, [X, np.array([-1, 0])], 1, fixed=[1]) == [name]
    assert said(name, [X], 1, keepdims=0) == [name]


@pytest.mark.parametrize("name", NAMES)
def test_no_axes_are_all_of_them_or_none_at_all(name: str) -> None:
    none = np.zeros(0, np.int64)
    for fixed in ([], [1]):
        assert said(name, [X, none], 12, fixed=fixed) == [name]
        found = said(name, [X, none], 12, fixed=fixed, noop_with_empty_axes=1)
        assert found == (["Unsqueeze", name] if name in COMPOSITE else ["Identity"])
    assert said(name, [X, none], 1, dims=[["a", "b", "c"], ["0"]], fixed=[1])


@pytest.mark.parametrize("name", NAMES)
def test_axes_that_are_computed_are_refused(name: str) -> None:
    to = 12 if name == "ReduceSum" else 17
    assert "'x1' is computed while the model runs" in refusal(name, [X, np.array([1])], to)


@pytest.mark.parametrize("name", ["ReduceMax", "ReduceMin"])
def test_extremes_of_truth_values_and_bytes_are_those_of_numbers(name: str) -> None:
    assert said(name, [X > 0.5, np.array([1])], 19, fixed=[1]) == ["Cast", name, "Cast"]
    for dtype in (np.int8, np.uint8):
        x = (X * 200 - 60).astype(dtype) if dtype is np.uint8 else (X * 200 - 100).astype(dtype)
        assert said(name, [x, np.array([1])], 11, fixed=[1]) == ["Cast", name, "Clip", "Cast"]
        said(name, [x[:, :0], np.array([1])], 9, fixed=[1])
    said(name, [np.zeros((2, 0), np.bool_), np.array([1])], 9, fixed=[1])


@pytest.mark.parametrize("name", ["ReduceSum", "ReduceMax", "ReduceLogSum"])
def test_bfloat16_is_refused_before_version_13(name: str) -> None:
    x = X.astype(ml_dtypes.bfloat16)
    assert said(name, [x], 13)[-1] == name
    assert "bfloat16" in refusal(name, [x], 12)


@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_the_last_of_equal_ones_is_the_first_from_the_end(name: str, keepdims: int) -> None:
    x = np.array([[3, 1, 3, 1, 2], [5, 5, 5, 5, 5]], np.int32)
    for axis in (0, 1, -1):
        found = said(name, [x], 11, axis=axis, keepdims=keepdims, select_last_index=1)
        assert found == ["Slice", "Shape", "Gather", "Sub", name, "Sub"]
        said(name, [x], 10, axis=axis, keepdims=keepdims, select_last_index=1, dims=[["a", "b"]])
        assert said(name, [x], 1, axis=axis, keepdims=keepdims, select_last_index=0) == [name]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint32, np.int32])
@pytest.mark.parametrize("largest", [0, 1])
def test_the_smallest_few_are_the_largest_opposites(dtype: Any, largest: int) -> None:
    limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.finfo(dtype)
    x = np.array([[3, 7, 3, limits.max, limits.min, 0]], dtype)
    for to in (10, 9):
        found = said("TopK", [x, np.array([4])], to, fixed=[1], outputs=2, largest=largest, sorted=1)
        assert ("Neg" in found) == (not largest)
    if dtype is np.float32 and largest:
        node = only("TopK", [x, np.array([4])], 9, fixed=[1], outputs=2)
        assert {name: each.value for name, each in node.attributes.items()} == {"k": 4}
        node = only("TopK", [x, np.array([1])], 9, fixed=[1], outputs=2, axis=-2)
        assert {name: each.value for name, each in node.attributes.items()} == {"axis": 0, "k": 1}


def test_a_count_that_is_computed_and_long_integers_are_refused() -> None:
    assert "'x1' is computed while the model runs" in refusal("TopK", [X, np.array([2])], 9, outputs=2)
    assert "int64 numbers cannot be put in order" in refusal("TopK", [np.arange(9), np.array([2])], 10, outputs=2)


def test_the_few_largest_of_bfloat16_are_those_of_float32() -> None:
    x = X.astype(ml_dtypes.bfloat16)
    assert said("TopK", [x, np.array([2])], 23, outputs=2) == ["Cast", "TopK", "Cast"]
