from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import InputError, ShapeError
from ops.reduction.one_node import evaluate, inferred

bfloat16 = ml_dtypes.bfloat16
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceL1": lambda x, axes: np.abs(x).sum(axes),
    "ReduceL2": lambda x, axes: np.sqrt(np.square(x).sum(axes)),
    "ReduceLogSum": lambda x, axes: np.log(x.sum(axes)),
    "ReduceLogSumExp": lambda x, axes: np.log(np.exp(x).sum(axes)),
    "ReduceMax": lambda x, axes: x.max(axes),
    "ReduceMean": lambda x, axes: x.mean(axes),
    "ReduceMin": lambda x, axes: x.min(axes),
    "ReduceProd": lambda x, axes: x.prod(axes),
    "ReduceSum": lambda x, axes: x.sum(axes),
    "ReduceSumSquare": lambda x, axes: np.square(x).sum(axes),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float16, bfloat16, np.float32, np.float64])
def test_every_float_is_reduced_over_negative_axes(name: str, dtype: Any) -> None:
    x = np.random.default_rng(1).uniform(0.5, 1.5, (2, 3, 4)).astype(dtype)
    result = evaluate(name, x, np.array([-1, 0]), keepdims=0)
    assert result.dtype == dtype
    expected = REDUCTIONS[name](x.astype(np.float64), (0, 2))
    tolerance = {2: 1e-2, 4: 1e-6, 8: 1e-12}[x.dtype.itemsize]
    np.testing.assert_allclose(result.astype(np.float64), expected, rtol=tolerance)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("opset", [1, 11, 12])
def test_axes_that_were_an_attribute_become_an_input(name: str, opset: int) -> None:
    x = np.random.default_rng(2).uniform(0.5, 1.5, (2, 3, 4))
    result = evaluate(name, x, axes=[1], keepdims=0, opset=opset)
    np.testing.assert_allclose(result, REDUCTIONS[name](x, (1,)))
    everything = evaluate(name, x, opset=opset)
    assert everything.shape == (1, 1, 1)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_scalar_is_reduced_to_itself(name: str) -> None:
    result = evaluate(name, np.float32(1))
    assert result.shape == ()
    assert result == {"ReduceLogSum": 0.0}.get(name, 1.0)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_no_axes_leave_the_shape_where_that_is_asked_for(name: str) -> None:
    x = np.array([[1, 2], [3, 4]], np.float32)
    for axes in (None, np.zeros(0, np.int64)):
        assert evaluate(name, x, axes, noop_with_empty_axes=1).shape == (2, 2)
        assert evaluate(name, x, axes, keepdims=0).shape == ()
    square = evaluate("ReduceSumSquare", x, noop_with_empty_axes=1)
    np.testing.assert_array_equal(square, x * x)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ReduceSum", 0.0),
        ("ReduceProd", 1.0),
        ("ReduceMax", -np.inf),
        ("ReduceMin", np.inf),
        ("ReduceMean", np.nan),
        ("ReduceLogSum", -np.inf),
        ("ReduceLogSumExp", -np.inf),
        ("ReduceL1", 0.0),
        ("ReduceL2", 0.0),
        ("ReduceSumSquare", 0.0),
    ],
)
def test_nothing_has_a_result(name: str, expected: float) -> None:
    result = evaluate(name, np.zeros((2, 0), np.float32), np.array([1]), keepdims=0)
    np.testing.assert_array_equal(result, np.array([expected, expected], np.float32))


def test_the_extremes_of_no_integers_are_the_ends_of_their_type() -> None:
    nothing = np.zeros((0,), np.int8)
    assert evaluate("ReduceMax", nothing, keepdims=0) == -128
    assert evaluate("ReduceMin", nothing, keepdims=0) == 127
    assert evaluate("ReduceMin", np.zeros(0, np.uint64), keepdims=0) == 2**64 - 1


def test_the_mean_of_no_integers_is_refused() -> None:
    with pytest.raises(InputError, match="mean of no int32"):
        evaluate("ReduceMean", np.zeros((2, 0), np.int32), np.array([1]))


def test_the_mean_of_no_integers_in_an_empty_result_is_empty() -> None:
    assert evaluate("ReduceMean", np.zeros((0, 0), np.int32), np.array([1]), keepdims=0).shape == (0,)


def test_the_mean_of_integers_is_exact_and_cut_off_towards_zero() -> None:
    near = 2**31 - 1
    assert evaluate("ReduceMean", np.array([near, near, near - 1], np.int32), keepdims=0) == near - 1
    assert evaluate("ReduceMean", np.array([-1, -2], np.int32), keepdims=0) == -1
    assert evaluate("ReduceMean", np.array([-(2**63), 2**63 - 1, 2], np.int64), keepdims=0) == 0
    assert evaluate("ReduceMean", np.array([2**64 - 1, 2**64 - 1], np.uint64), keepdims=0) == 2**64 - 1


def test_sums_of_integers_wrap_around() -> None:
    assert evaluate("ReduceSum", np.array([2**31 - 1, 1], np.int32), keepdims=0) == -(2**31)
    assert evaluate("ReduceProd", np.array([2**31, 2], np.uint32), keepdims=0) == 0
    assert evaluate("ReduceSumSquare", np.array([2**16], np.int32), keepdims=0) == 0


def test_the_length_of_integers_is_cut_off_and_never_overflows() -> None:
    assert evaluate("ReduceL2", np.array([1, 1], np.int32), keepdims=0) == 1
    assert evaluate("ReduceL2", np.array([2**31 - 1] * 4, np.int32), keepdims=0) == 2**31 - 1
    assert evaluate("ReduceL2", np.array([2**62] * 9, np.int64), keepdims=0) == 2**63 - 1


def test_integers_had_logarithms_until_opset_28() -> None:
    assert evaluate("ReduceLogSum", np.array([1, 2, 17], np.int64), keepdims=0, opset=18) == 2
    assert evaluate("ReduceLogSumExp", np.array([5, 5], np.int64), keepdims=0, opset=13) == 5


def test_sums_of_small_floats_do_not_lose_their_tail() -> None:
    many = np.full(5000, 1, bfloat16)
    assert evaluate("ReduceSum", many, keepdims=0) == bfloat16(5000)
    assert evaluate("ReduceMean", np.full(70000, 2, np.float16), keepdims=0) == 2


def test_nan_is_the_extreme_of_whatever_is_beside_it() -> None:
    for name in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceLogSumExp"):
        for dtype in (np.float32, np.float16, bfloat16):
            assert np.isnan(evaluate(name, np.array([1, np.nan, 3], dtype), keepdims=0).astype(np.float32))


def test_log_sum_exp_neither_overflows_nor_makes_nan_of_infinities() -> None:
    assert evaluate("ReduceLogSumExp", np.array([1000, 1000], np.float32), keepdims=0) == pytest.approx(
        1000 + np.log(2)
    )
    assert evaluate("ReduceLogSumExp", np.array([-np.inf, -np.inf], np.float32), keepdims=0) == -np.inf
    assert evaluate("ReduceLogSumExp", np.array([np.inf, 0], np.float32), keepdims=0) == np.inf
    assert evaluate("ReduceLogSumExp", np.array([-np.inf, 0], np.float32), keepdims=0) == 0


def test_bools_have_extremes() -> None:
    x = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(evaluate("ReduceMax", x, np.array([1]), keepdims=0), [True, True])
    np.testing.assert_array_equal(evaluate("ReduceMin", x, np.array([1]), keepdims=0), [False, True])


@pytest.mark.parametrize("axes", [[2], [-3], [0, 0], [1, -1]])
def test_axes_outside_or_named_twice_are_refused(axes: list[int]) -> None:
    with pytest.raises(ShapeError):
        evaluate("ReduceSum", np.zeros((2, 3), np.float32), np.array(axes))


def test_shapes_are_inferred_from_constant_axes() -> None:
    x: Any = ("float32", ["batch", 4, "seq"])
    assert inferred("ReduceSum", [x], {1: np.array([-1])}) == "float32[batch, 4, 1]"
    assert inferred("ReduceSum", [x], {1: np.array([-1, 1])}, keepdims=0) == "float32[batch]"
    assert inferred("ReduceSum", [x], keepdims=0) == "float32[]"
    assert inferred("ReduceSum", [x, None], keepdims=0) == "float32[]"
    assert inferred("ReduceSum", [x], noop_with_empty_axes=1) == "float32[batch, 4, seq]"
    assert inferred("ReduceMax", [("float32", None)]) == "float32[...]"


def test_unknown_axes_leave_what_can_be_said() -> None:
    x: Any = ("float32", ["batch", 1, 3])
    assert inferred("ReduceSum", [x, ("int64", ["n"])]) == "float32[?, 1, ?]"
    assert inferred("ReduceSum", [x, ("int64", [2])], keepdims=0) == "float32[?]"
    assert inferred("ReduceSum", [x, ("int64", ["n"])], keepdims=0) == "float32[...]"


def test_axes_that_do_not_exist_are_refused_before_the_model_runs() -> None:
    with pytest.raises(ShapeError, match="outside a tensor of 2 axes"):
        inferred("ReduceSum", [("float32", [1, 2])], {1: np.array([2])})
