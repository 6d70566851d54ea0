"""Activations, Erf and Clip where they are hard: far from zero, close to it, at infinity, in integers."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.catalog import standard
from ingot.ops.math.error_function import erf, erfc


def call(name: str, *inputs: Any, **attributes: Any) -> Any:
    found = standard().newest("", name)
    assert found is not None
    with np.errstate(all="ignore"):
        return found.evaluate(*inputs, **attributes)


def floats(*values: float, dtype: Any = np.float32) -> Any:
    return np.array(values, dtype)


def test_the_error_function_is_within_three_units_in_the_last_place() -> None:
    x = np.concatenate([np.linspace(-6.5, 6.5, 5001), np.logspace(-300, 0, 301)])
    exact = np.array([math.erf(v) for v in x.tolist()])
    assert (np.abs(erf(x) - exact) <= 3 * np.spacing(np.abs(exact))).all()


def test_the_complement_is_accurate_far_from_zero() -> None:
    x = np.linspace(-6, 26, 5001)
    exact = np.array([math.erfc(v) for v in x.tolist()])
    assert (np.abs(erfc(x) - exact) <= 8 * np.spacing(exact)).all()


def test_the_error_function_at_its_ends() -> None:
    got = call("Erf", floats(np.inf, -np.inf, np.nan, 0, -0.0, 1e300, dtype=np.float64))
    np.testing.assert_array_equal(got, [1, -1, np.nan, 0, -0.0, 1])
    assert np.signbit(got[4])


def test_gelu_keeps_its_digits_far_below_zero() -> None:
    got = call("Gelu", floats(-10, -5, dtype=np.float64))
    exact = [x * 0.5 * math.erfc(-x / math.sqrt(2)) for x in (-10, -5)]
    np.testing.assert_allclose(got, exact, rtol=1e-14)
    assert call("Gelu", floats(-1e20, 1e20), approximate="tanh").tolist() == [0, np.float32(1e20)]


def test_gelu_knows_two_ways() -> None:
    with pytest.raises(CheckError, match="approximate is 'fast'"):
        call("Gelu", floats(1), approximate="fast")


def test_a_sigmoid_neither_overflows_nor_loses_its_tail() -> None:
    got = call("Sigmoid", floats(-1e4, -80, 0, 80, 1e4, -np.inf, np.inf, np.nan))
    np.testing.assert_allclose(got, [0, np.exp(-80.0), 0.5, 1, 1, 0, 1, np.nan], rtol=1e-6)


def test_softplus_of_large_numbers_is_themselves() -> None:
    got = call("Softplus", floats(1000, -1000, 0, np.inf, -np.inf, -50))
    np.testing.assert_allclose(got, [1000, 0, math.log(2), np.inf, 0, math.exp(-50)], rtol=1e-6)


def test_softplus_of_float16_does_not_overflow() -> None:
    assert call("Softplus", floats(60000, dtype=np.float16)).tolist() == [60000 - 60000 % 32]


def test_exponential_units_keep_their_digits_close_to_zero() -> None:
    tiny = floats(-1e-9, dtype=np.float32)
    for name in ("Elu", "Celu"):
        np.testing.assert_allclose(call(name, tiny), tiny, rtol=1e-6)
    np.testing.assert_allclose(call("Selu", tiny), tiny * 1.7580993, rtol=1e-6)


def test_exponential_units_at_the_ends() -> None:
    x = floats(-np.inf, np.inf, 1e30, np.nan)
    np.testing.assert_allclose(call("Elu", x, alpha=2.0), [-2, np.inf, 1e30, np.nan])
    np.testing.assert_allclose(call("Celu", x, alpha=2.0), [-2, np.inf, 1e30, np.nan])
    np.testing.assert_allclose(call("Selu", x, alpha=2.0, gamma=3.0), [-6, np.inf, 3e30, np.nan])


def test_relu_passes_nan_on_and_leaves_integers_what_they_are() -> None:
    np.testing.assert_array_equal(call("Relu", floats(np.nan, -1, 2)), [np.nan, 0, 2])
    assert call("Relu", np.array([-3, 3], np.int8)).tolist() == [0, 3]


def test_a_threshold_is_compared_exactly() -> None:
    alpha = float(np.float32(0.1))
    assert call("ThresholdedRelu", floats(alpha, np.nextafter(np.float32(alpha), 1)), alpha=alpha)[0] == 0


def test_prelu_does_not_grow_to_its_slope() -> None:
    assert call("PRelu", -np.ones((2, 3), np.int32), np.array([[2], [3]], np.int32)).tolist() == [[-2] * 3, [-3] * 3]
    for shape in ((2, 3), (1, 1, 3)):
        with pytest.raises(ShapeError, match="slope"):
            call("PRelu", np.ones((1, 3), np.float32), np.ones(shape, np.float32))


def test_hard_swish_and_hard_sigmoid_bend_where_they_should() -> None:
    assert call("HardSwish", floats(-3, -4, 3, 4)).tolist() == [0, 0, 3, 4]
    assert call("HardSigmoid", floats(-100, 0, 100)).tolist() == [0, 0.5, 1]


def test_swiglu_does_not_broadcast() -> None:
    with pytest.raises(ShapeError, match="differ in shape"):
        call("SwiGLU", np.ones((2, 3), np.float32), np.ones((1, 3), np.float32))


def test_mish_of_bfloat16_is_a_bfloat16() -> None:
    got = call("Mish", np.array([1, -20], ml_dtypes.bfloat16))
    assert got.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(got.astype(np.float32), [0.865, -4.1e-8], rtol=0.01)


def test_a_clip_with_crossed_bounds_is_its_maximum() -> None:
    assert call("Clip", floats(-9, 0, 9), np.float32(5).reshape(()), np.array(1, np.float32)).tolist() == [1, 1, 1]


def test_a_clip_without_bounds_changes_nothing() -> None:
    np.testing.assert_array_equal(call("Clip", floats(np.inf, np.nan), None, None), [np.inf, np.nan])
    assert call("Clip", np.array(7, np.uint8), None, np.array([5], np.uint8)).tolist() == 5


def test_a_bound_of_several_numbers_is_refused() -> None:
    with pytest.raises(ShapeError, match="max must be one number"):
        call("Clip", floats(1, 2), None, floats(1, 2))


def test_shrink_of_integers() -> None:
    assert call("Shrink", np.array([-3, 0, 1, 3], np.int8), lambd=1.5, bias=1.0).tolist() == [-2, 0, 0, 2]
    assert call("Shrink", np.array([2**60 + 1], np.int64)).tolist() == [2**60 + 1]
    assert call("Shrink", np.array([5, 2], np.uint8), lambd=3.0, bias=1.5).tolist() == [3, 0]
    with pytest.raises(InputError, match="outside of uint8"):
        call("Shrink", np.array([5], np.uint8), lambd=3.0, bias=9.5)


def test_hardmax_marks_the_first_of_equals() -> None:
    x = np.array([[1, 3, 3], [2, 2, 2]], np.float32)
    assert call("Hardmax", x).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert call("Hardmax", x, axis=0).tolist() == [[0, 1, 1], [1, 0, 0]]
    assert call("Hardmax", np.ones((0, 3), np.float32), axis=0).shape == (0, 3)
    with pytest.raises(ShapeError):
        call("Hardmax", x, axis=2)


def test_halves_are_rounded_to_even() -> None:
    assert call("Round", floats(0.5, 1.5, 2.5, -0.5, -1.5)).tolist() == [0, 2, 2, 0, -2]
    assert call("Round", floats(2.5, dtype=ml_dtypes.bfloat16)).astype(float).tolist() == [2]


def test_outside_of_where_they_are_defined_functions_give_nan() -> None:
    for name, x in (("Log", -1), ("Sqrt", -1), ("Acos", 2), ("Asin", -2), ("Acosh", 0.5), ("Atanh", 2)):
        assert np.isnan(call(name, floats(x))).all(), name
    assert call("Log", floats(0)).tolist() == [-np.inf]
    assert call("Reciprocal", floats(0, -0.0)).tolist() == [np.inf, -np.inf]
