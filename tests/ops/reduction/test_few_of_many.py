"""TopK of a few of many elements: partitioned, in the order that a stable sort gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.ops.reduction.topk import top_k

MANY = 9000


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(("shape", "axis"), [((MANY,), 0), ((30, 300), 1), ((300, 10, 3), 0), ((3, MANY, 1), -2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.int8, np.uint8])
def test_a_few_of_many_are_those_of_a_stable_sort(dtype: Any, shape: tuple[int, ...], axis: int, largest: int) -> None:
    generator = np.random.default_rng(0)
    for width in (2, 100):  # many are alike, few are
        x = generator.integers(0, width, shape).astype(dtype)
        order = np.argsort((width - x.astype(np.float64)) if largest else x, axis=axis, kind="stable")
        for many in (1, 5, 70):
            values, places = top_k.evaluate(x, np.array([many]), axis=axis, largest=largest, sorted=1)
            expected = np.take(order, np.arange(many), axis=axis)
            np.testing.assert_array_equal(places, expected)
            np.testing.assert_array_equal(values, np.take_along_axis(x, expected, axis))
            assert values.dtype == x.dtype
            assert places.dtype == np.int64


def test_nan_is_above_all_numbers_of_many() -> None:
    x = np.arange(MANY, dtype=np.float32)
    x[[7, 500]] = np.nan
    values, places = top_k.evaluate(x, np.array([3]), axis=0, largest=1, sorted=1)
    assert places.tolist() == [7, 500, MANY - 1]
    assert np.isnan(values[:2]).all()
    assert top_k.evaluate(x, np.array([3]), axis=0, largest=0, sorted=1)[1].tolist() == [0, 1, 2]
