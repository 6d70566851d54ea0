"""Primitives evaluated by numpy agree with machine code where numbers end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import prim
from ingot.dtypes import DType
from ingot.prim.evaluate import evaluate


def cast(values: list[float], dtype: DType, source: Any = np.float64) -> list[int]:
    return evaluate([prim.cast(prim.constant(np.array(values, source)), dtype)], {}, {})[0].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("dtype", [DType.INT8, DType.UINT8, DType.INT32, DType.INT64, DType.UINT64], ids=str)
def test_what_no_integer_is_becomes_the_nearest_one(dtype: DType) -> None:
    ends = np.iinfo(dtype.numpy)
    found = cast([1e30, -1e30, np.inf, -np.inf, np.nan, 3.9], dtype)
    assert found == [ends.max, ends.min, ends.max, ends.min, 0, 3]


def test_integers_wrap_round() -> None:
    assert cast([257, -1], DType.UINT8, np.int64) == [1, 255]


def test_a_sigmoid_far_below_zero_is_not_zero() -> None:
    x = np.array([-90, -np.inf, 0, np.inf], np.float32)
    found = evaluate([prim.apply("sigmoid", prim.constant(x))], {}, {})[0]
    np.testing.assert_allclose(found, [8.19401e-40, 0, 0.5, 1], rtol=1e-4)
