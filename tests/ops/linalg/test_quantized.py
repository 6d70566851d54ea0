from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import ShapeError
from ops.reduction.one_node import evaluate, inferred


def test_sums_of_bytes_are_exact() -> None:
    a, b = np.full((1, 70000), 255, np.uint8), np.full((70000, 1), -128, np.int8)
    expected = (70000 * 255 * -128 + 2**31) % 2**32 - 2**31
    assert evaluate("MatMulInteger", a, b) == expected


def test_zero_points_are_taken_off_rows_and_columns() -> None:
    a = np.arange(6, dtype=np.uint8).reshape(2, 3)
    b = np.arange(12, dtype=np.int8).reshape(3, 4)
    rows, columns = np.array([1, 2], np.uint8), np.array([0, 1, 2, 3], np.int8)
    expected = (a.astype(int) - rows[:, None]) @ (b.astype(int) - columns)
    np.testing.assert_array_equal(evaluate("MatMulInteger", a, b, rows, columns), expected)
    np.testing.assert_array_equal(evaluate("MatMulInteger", a, b, rows[:, None], columns[None]), expected)
    np.testing.assert_array_equal(evaluate("MatMulInteger", a, b, None, columns), a.astype(int) @ (b - columns))


def test_zero_points_that_fit_neither_are_refused() -> None:
    a = np.zeros((2, 3), np.uint8)
    with pytest.raises(ShapeError, match="a_zero_point"):
        evaluate("MatMulInteger", a, a.T, np.zeros(3, np.uint8))


def quantised(a: Any, b: Any, scales: Any, points: Any, **kwargs: Any) -> Any:
    (sa, sb, sy), (za, zb, zy) = scales, points
    return evaluate("QLinearMatMul", a, sa, za, b, sb, zb, sy, zy, **kwargs)


def test_rounding_is_to_even_before_the_zero_point_is_added() -> None:
    a, b = np.array([[1, 3]], np.int8), np.array([[1, 0], [0, 1]], np.int8)
    scales = (np.float32(0.5), np.float32(1), np.float32(1))
    points = (np.int8(0), np.int8(0), np.int8(1))
    np.testing.assert_array_equal(quantised(a, b, scales, points), [[1, 3]])


def test_results_are_held_inside_their_range() -> None:
    a, b = np.full((1, 8), 127, np.int8), np.full((8, 1), 127, np.int8)
    scales = (np.float32(1), np.float32(1), np.float32(1))
    assert quantised(a, b, scales, (np.int8(0), np.int8(0), np.int8(5))) == 127
    assert quantised(-a, b, scales, (np.int8(0), np.int8(0), np.uint8(5))) == 0


def test_scales_are_for_rows_and_columns() -> None:
    a, b = np.ones((2, 3), np.uint8), np.ones((3, 2), np.uint8)
    scales = (np.array([1, 2], np.float16), np.array([1, 3], np.float16), np.float16(1))
    points = (np.zeros(2, np.uint8), np.zeros(2, np.uint8), np.uint8(0))
    np.testing.assert_array_equal(quantised(a, b, scales, points), [[3, 9], [6, 18]])
    np.testing.assert_array_equal(
        quantised(a, b[:, 0], (scales[0], np.float16(1), np.float16(1)), (points[0], np.uint8(0), np.uint8(0))), [3, 6]
    )


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz])
def test_float8_matrices_are_multiplied(dtype: Any) -> None:
    a, b = np.array([[1.5, 2]], dtype), np.array([[2], [4]], dtype)
    one, none = np.float32(1), np.array(0, dtype)
    result = quantised(a, b, (one, one, np.float32(0.5)), (none, none, none))
    assert result.dtype == dtype
    assert result.astype(np.float32) == 22 if dtype != ml_dtypes.float8_e5m2 else 24
    huge = quantised(a, b, (one, one, np.float32(1e-9)), (none, none, none))
    assert np.isfinite(huge.astype(np.float32)).all()


def test_the_result_is_of_the_type_of_its_zero_point() -> None:
    scalar: Any = ("float32", [])
    types: Any = [("uint8", ["n", 3]), scalar, ("uint8", []), ("int8", [3, "m"]), scalar, ("int8", [])]
    assert inferred("QLinearMatMul", [*types, scalar, ("int8", [])]) == "int8[n, m]"
    assert inferred("MatMulInteger", [("uint8", ["n", 3]), ("int8", [3, "m"])]) == "int32[n, m]"
