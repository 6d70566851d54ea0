"""Add, Sub, Mul, Div, Mod, Pow, Max, Min, Sum, Mean and the running totals at their edges."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.catalog import standard
from ingot.ops.limit import allowing
from ingot.ops.math.operands import require_fit


def call(name: str, *inputs: Any, **attributes: Any) -> Any:
    found = standard().newest("", name)
    assert found is not None
    with np.errstate(all="ignore"):
        return found.evaluate(*inputs, **attributes)


def ints(*values: int, dtype: Any = np.int32) -> Any:
    return np.array(values, dtype)


def test_integers_are_divided_towards_zero() -> None:
    got = call("Div", ints(-7, 7, -7, 7, -6, 0), ints(2, -2, -2, 2, 3, -5))
    assert got.tolist() == [-3, -3, 3, 3, -2, 0]


def test_the_smallest_integer_divided_by_minus_one_wraps_around() -> None:
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        least = np.iinfo(dtype).min
        assert call("Div", np.array([least], dtype), np.array([-1], dtype)).tolist() == [least]


def test_unsigned_integers_are_divided_as_such() -> None:
    assert call("Div", np.array([2**64 - 1], np.uint64), np.array([2], np.uint64)).tolist() == [2**63 - 1]


@pytest.mark.parametrize("name", ["Div", "Mod"])
def test_an_integer_divided_by_zero_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="1 of 2 divisors"):
        call(name, ints(1, 2), ints(1, 0))


@pytest.mark.parametrize("name", ["Div", "Mod"])
def test_nothing_may_be_divided_by_zero(name: str) -> None:
    assert call(name, np.zeros((0, 2), np.int32), ints(0, 0)).shape == (0, 2)


def test_floats_divided_by_zero_are_infinite_or_not_a_number() -> None:
    got = call("Div", np.array([1, -1, 0], np.float32), np.zeros(3, np.float32))
    np.testing.assert_array_equal(got, [np.inf, -np.inf, np.nan])


def test_integer_sums_wrap_around() -> None:
    assert call("Add", np.array([250], np.uint8), np.array([10], np.uint8)).tolist() == [4]
    assert call("Sub", np.array([3], np.uint8), np.array([5], np.uint8)).tolist() == [254]
    assert call("Mul", np.array([100], np.int8), np.array([3], np.int8)).tolist() == [44]


@pytest.mark.parametrize("name", ["Add", "Sub", "Mul", "Div", "Mod", "Max", "Equal", "Less", "BitwiseAnd", "Pow"])
def test_shapes_that_do_not_broadcast_are_refused(name: str) -> None:
    with pytest.raises(ShapeError, match="sizes 2 and 3 do not broadcast"):
        call(name, ints(1, 2), ints(1, 2, 3))


@pytest.mark.parametrize("name", ["Add", "Max", "Less", "Mod"])
def test_operands_of_two_element_types_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="float32 and float64"):
        call(name, np.ones(2, np.float32), np.ones(2, np.float64))


@pytest.mark.parametrize("name", ["Add", "Max", "Sum", "Equal", "Pow"])
def test_a_result_out_of_all_proportion_is_refused(name: str) -> None:
    a, b = np.ones((2**18, 1), np.float32), np.ones((1, 2**18), np.float32)
    with pytest.raises(InputError, match="limit"):
        call(name, a, b)


def test_mod_takes_the_sign_of_the_divisor() -> None:
    assert call("Mod", ints(-7, 7, -7), ints(3, -3, -3)).tolist() == [2, -2, -1]
    assert call("Mod", ints(-7, 7, -7), ints(3, -3, -3), fmod=1).tolist() == [-1, 1, -1]


def test_mod_of_floats_at_zero_and_infinity() -> None:
    x = np.array([-1, 1, 0, -0.0, 1, np.inf, np.nan], np.float32)
    y = np.array([np.inf, np.inf, -2, 2, 0, 1, 1], np.float32)
    got = call("Mod", x, y)
    np.testing.assert_array_equal(got, np.array([np.inf, 1, -0.0, 0, np.nan, np.nan, np.nan], np.float32))
    assert np.signbit(got[2])
    assert not np.signbit(got[3])
    assert call("Mod", x, y, fmod=1)[:2].tolist() == [-1, 1]


def test_mod_of_bfloat16_is_a_bfloat16() -> None:
    x = np.array([5.5, -5.5], ml_dtypes.bfloat16)
    got = call("Mod", x, np.array([2], ml_dtypes.bfloat16))
    assert got.dtype == ml_dtypes.bfloat16
    assert got.astype(np.float32).tolist() == [1.5, 0.5]


def test_mod_knows_two_ways() -> None:
    with pytest.raises(CheckError, match="fmod is 2"):
        call("Mod", ints(1), ints(1), fmod=2)


def test_whole_powers_of_integers_are_exact_and_wrap_around() -> None:
    assert call("Pow", ints(3, dtype=np.int64), ints(39, dtype=np.int64)).tolist() == [3**39]
    assert call("Pow", ints(3), ints(21)).tolist() == [int(np.array(3**21 % 2**32, np.uint32).astype(np.int32))]
    assert call("Pow", ints(-3), np.array([3], np.uint8)).tolist() == [-27]
    assert call("Pow", ints(-3), np.array([3.0], np.float32)).tolist() == [-27]
    assert call("Pow", np.array(2, np.int64), np.array(2**63 + 1, np.uint64)).tolist() == 0


def test_negative_powers_of_integers_are_truncated() -> None:
    got = call("Pow", ints(1, -1, -1, 2, -2, 5), ints(-3, -3, -2, -1, -1, 0))
    assert got.tolist() == [1, -1, 1, 0, 0, 1]


def test_zero_to_a_negative_power_is_no_integer() -> None:
    with pytest.raises(InputError, match="power of -2"):
        call("Pow", ints(1, 0), ints(-1, -2))


def test_fractional_powers_of_integers_are_truncated() -> None:
    assert call("Pow", ints(2, 10, 9), np.array([0.5, 1.5, 2], np.float64)).tolist() == [1, 31, 81]
    with pytest.raises(InputError, match="nan is outside"):
        call("Pow", ints(-2), np.array([0.5], np.float32))
    with pytest.raises(InputError, match="outside of int32"):
        call("Pow", ints(1000), np.array([10.5], np.float32))


def test_a_float_to_the_power_of_an_integer_stays_what_it_was() -> None:
    for dtype in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16):
        got = call("Pow", np.array([2, -2], dtype), np.array([3, -1], np.int64))
        assert got.dtype == dtype
        assert got.astype(np.float64).tolist() == [8, -0.5]


def test_the_extremes_of_one_tensor_are_it() -> None:
    x = np.array(3, np.int8)
    assert call("Max", x).tolist() == 3
    assert call("Min", x).dtype == np.int8


def test_extremes_pass_nan_on() -> None:
    x, y = np.array([1, np.nan], np.float32), np.array([np.nan, 2], np.float32)
    assert np.isnan(call("Max", x, y)).all()
    assert np.isnan(call("Min", x, y)).all()


@pytest.mark.parametrize("shapes", [((0,), (3,)), ((2, 1), (2, 3, 5)), ((4,), (2, 4, 1, 3))])
def test_a_short_look_at_two_shapes_refuses_what_does_not_broadcast(shapes: Any) -> None:
    with pytest.raises(ShapeError):
        require_fit(*map(np.zeros, shapes))


@pytest.mark.parametrize("shapes", [((), (3,)), ((1,), (7, 1)), ((2, 1), (3, 2, 5)), ((4, 1, 3), (2, 4, 2, 1))])
def test_two_shapes_that_broadcast_are_taken_within_limits(shapes: Any) -> None:
    arrays = [np.zeros(shape) for shape in shapes]
    nbytes = np.broadcast(*arrays).size * 8
    with allowing(nbytes):
        require_fit(*arrays)
    with allowing(nbytes - 1), pytest.raises(InputError, match="broadcast to"):
        require_fit(*arrays)


def test_three_tensors_broadcast_together() -> None:
    a, b, c = np.ones((2, 1), np.float32), np.ones((3,), np.float32), np.ones((4, 1, 1), np.float32)
    assert call("Sum", a, b, c).shape == (4, 2, 3)
    assert call("Mean", a, b, c).tolist() == np.ones((4, 2, 3)).tolist()


def test_a_sum_of_float16_overflows_only_if_its_result_does() -> None:
    x = np.array([60000], np.float16)
    assert call("Sum", x, x, -x, -x).tolist() == [0]
    assert call("Mean", x, x).tolist() == [60000]


def test_a_running_sum_counts_its_axis_from_either_end() -> None:
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    for axis in (1, -1):
        assert call("CumSum", x, np.array(axis)).tolist() == [[0, 1, 3], [3, 7, 12]]
    got = call("CumSum", x, np.array(1), exclusive=1, reverse=1)
    assert got.tolist() == [[3, 2, 0], [9, 5, 0]]


def test_an_exclusive_running_total_is_not_touched_by_what_it_leaves_out() -> None:
    x = np.array([1, np.inf, np.nan], np.float32)
    assert call("CumSum", x, np.array(0), exclusive=1).tolist() == [0, 1, np.inf]
    assert call("CumProd", x, np.array(0), exclusive=1).tolist() == [1, 1, np.inf]


def test_running_totals_of_narrow_types_stay_narrow() -> None:
    x = np.full(300, 1, ml_dtypes.bfloat16)
    got = call("CumSum", x, np.array(0))
    assert got.dtype == ml_dtypes.bfloat16
    assert float(got[-1]) == 300  # in bfloat16 throughout, it would stop at 256
    assert call("CumProd", np.full(40, 2, np.int32), np.array(0)).dtype == np.int32


def test_a_running_total_along_an_axis_that_is_not_there_is_refused() -> None:
    with pytest.raises(ShapeError, match="axis is 2"):
        call("CumSum", np.ones((2, 2), np.float32), np.array(2))
    with pytest.raises(ShapeError):
        call("CumProd", np.ones((), np.float32), np.array(0))
    with pytest.raises(InputError, match="it has 2"):
        call("CumSum", np.ones((2, 2), np.float32), np.array([0, 1]))
