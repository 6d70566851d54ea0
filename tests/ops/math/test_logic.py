"""Comparisons, truth values, bits and Where at their edges."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.catalog import standard


def call(name: str, *inputs: Any, **attributes: Any) -> Any:
    found = standard().newest("", name)
    assert found is not None
    with np.errstate(all="ignore"):
        return found.evaluate(*inputs, **attributes)


def test_strings_are_equal_letter_by_letter() -> None:
    a, b = np.array([["a"], ["b"]], object), np.array(["a", "ab"], object)
    got = call("Equal", a, b)
    assert got.dtype == np.bool_
    assert got.tolist() == [[True, False], [False, False]]
    assert call("Equal", np.array("x", object), np.array("x", object)).tolist() is True


def test_nan_compares_with_nothing() -> None:
    nan, one = np.array([np.nan], ml_dtypes.bfloat16), np.array([1], ml_dtypes.bfloat16)
    for name in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"):
        assert call(name, nan, one).tolist() == [False], name
    assert call("Equal", nan, nan).tolist() == [False]


def test_large_unsigned_integers_compare_as_such() -> None:
    a, b = np.array([2**64 - 1], np.uint64), np.array([1], np.uint64)
    assert call("Greater", a, b).tolist() == [True]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_shifting_by_too_much_leaves_what_moves_in(dtype: Any) -> None:
    bits = np.dtype(dtype).itemsize * 8
    x = np.array([np.iinfo(dtype).max, 1, 0], dtype)
    for direction in ("LEFT", "RIGHT"):
        assert call("BitShift", x, np.array(bits, dtype), direction=direction).tolist() == [0, 0, 0]
    if np.dtype(dtype).kind == "i":
        assert call("BitShift", -x, np.array(-1, dtype), direction="RIGHT").tolist() == [-1, -1, 0]
        assert call("BitShift", -x, np.array(-1, dtype), direction="LEFT").tolist() == [0, 0, 0]
        assert call("BitShift", np.array(-8, dtype), np.array(1, dtype), direction="RIGHT").tolist() == -4


def test_no_bit_of_a_large_integer_is_lost() -> None:
    x, none = np.array([2**64 - 1], np.uint64), np.array([0], np.uint64)
    for direction in ("LEFT", "RIGHT"):
        assert call("BitShift", x, none, direction=direction).tolist() == [2**64 - 1]


def test_bits_go_left_or_right() -> None:
    with pytest.raises(CheckError, match="'left'"):
        call("BitShift", np.array([1], np.uint8), np.array([1], np.uint8), direction="left")


def test_bits_not_set() -> None:
    assert call("BitwiseNot", np.array([0, 5], np.uint8)).tolist() == [255, 250]
    assert call("BitwiseNot", np.array(-1, np.int64)).tolist() == 0


def test_where_takes_strings_and_broadcasts_three_ways() -> None:
    condition = np.array([[True], [False]])
    got = call("Where", condition, np.array(["a", "b"], object), np.array("c", object))
    assert got.tolist() == [["a", "b"], ["c", "c"]]
    assert call("Where", np.ones((0, 1), bool), np.ones(3, np.int8), np.ones((), np.int8)).shape == (0, 3)


def test_where_asks_for_a_truth_value() -> None:
    with pytest.raises(InputError, match="must be bool"):
        call("Where", np.array([1]), np.array([1]), np.array([2]))
    with pytest.raises(ShapeError):
        call("Where", np.array([True, False]), np.array([1, 2, 3]), np.array([2]))


def test_infinities_are_told_by_sign() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 1], ml_dtypes.float8_e5m2)
    assert call("IsInf", x).tolist() == [True, True, False, False]
    assert call("IsInf", x, detect_negative=0).tolist() == [True, False, False, False]
    assert call("IsInf", x, detect_positive=0, detect_negative=0).tolist() == [False] * 4
    assert call("IsNaN", x).tolist() == [False, False, True, False]


def test_float8_without_infinities_has_none() -> None:
    x = np.array([448, np.nan], ml_dtypes.float8_e4m3fn)
    assert call("IsInf", x).tolist() == [False, False]
    assert call("IsNaN", x).tolist() == [False, True]
