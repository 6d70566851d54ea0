"""Elementwise operators, said in older versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.dtypes import Array
from ops.math.older import converted, only, refusal, said

X = np.random.default_rng(5).standard_normal((2, 3, 4)).astype(np.float32)
ODD = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 0.5, 1.5, 2.5, -0.5, -3.5, 0.49999997, -88.9, 1e-7], np.float32)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
EVERY_INTEGER = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]


def extremes(dtype: np.dtype[Any]) -> Array:
    limits = np.iinfo(dtype)
    return np.array([limits.min, limits.max, limits.max // 2, limits.min + 1, 0, 1, 2, 7], dtype)


def attributes(op_type: str, inputs: Sequence[Any], to: int, **how: Any) -> dict[str, Any]:
    return {name: attribute.value for name, attribute in only(op_type, inputs, to, **how).attributes.items()}


# broadcasting, before version 7


def test_what_is_of_one_shape_is_not_broadcast() -> None:
    assert attributes("Add", [X, X], 6) == {}
    assert attributes("Add", [X, X], 6, dims=[["a", "b", "c"], ["a", "b", "c"]]) == {}
    assert said("Add", [X, X], 1) == ["Add"]


def test_a_suffix_is_broadcast_without_an_axis() -> None:
    assert attributes("Mul", [X, X[0]], 6) == {"broadcast": 1}
    assert attributes("Mul", [X, X[0, 0, 0]], 6, dims=[None, []]) == {"broadcast": 1}
    assert said("Mul", [X, X[0]], 6) == ["Mul"]


def test_axes_of_one_behind_become_an_axis() -> None:
    model = converted("Div", [X, X[0, :, :1]], 6)
    squeeze, div = model.graph
    assert [each.value for each in squeeze.attributes.values()] == [(1,)]
    assert {name: each.value for name, each in div.attributes.items()} == {"axis": 1, "broadcast": 1}
    assert said("Div", [X, X[0, :, :1]], 1) == ["Squeeze", "Div"]


@pytest.mark.parametrize(
    ("op_type", "mirrored"),
    [("Add", ["Add"]), ("Mul", ["Mul"]), ("Sub", ["Neg", "Add"]), ("Less", ["Greater"]), ("Greater", ["Less"])],
)
def test_a_smaller_first_operand_changes_places_with_the_second(op_type: str, mirrored: list[str]) -> None:
    assert said(op_type, [X[0], X], 6) == mirrored


def test_one_divided_by_a_tensor_is_its_reciprocal() -> None:
    assert said("Div", [np.float32(1), X], 1, fixed=[0]) == ["Reciprocal"]


def test_what_neither_fits_is_repeated() -> None:
    a, b = X[:, :1], X[0, :, :1]
    for op_type in ("Sub", "Div", "Pow", "Less"):
        assert said(op_type, [a, b], 6) == ["Tile", "Unsqueeze", "Tile", op_type]
    assert said("Div", [X[0, 0], X], 6) == ["Unsqueeze", "Tile", "Div"]


@pytest.mark.parametrize(("a", "b"), [((2, 1, 4), (3, 1)), ((1, 4), (2, 3, 4)), ((0, 4), (1, 1)), ((3, 1), (0,))])
def test_sizes_that_are_not_known_are_repeated_as_the_model_runs(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    dims = [[f"a{i}" for i in range(len(a))], [f"b{i}" for i in range(len(b))]]
    for dtype in (np.float32, np.int64):
        assert "Tile" in said("Sub", [np.full(a, 7, dtype), np.full(b, 2, dtype)], 6, dims=dims)


def test_ranks_have_to_be_known_to_broadcast_one_way() -> None:
    assert "the rank of 'x0' is not known" in refusal("Add", [X, X[0]], 6, dims=[None, None])


def test_truth_values_are_broadcast_one_way() -> None:
    for op_type in ("And", "Or", "Xor"):
        assert said(op_type, [X > 0, X[0] > 0], 1) == [op_type]
        assert said(op_type, [X[0] > 0, X > 0], 1) == [op_type]


@pytest.mark.parametrize("op_type", ["Max", "Min", "Sum", "Mean"])
def test_several_tensors_have_one_shape_before_version_8(op_type: str) -> None:
    assert said(op_type, [X, X, X], 1) == [op_type]
    found = said(op_type, [X, X[0], X[0, 0]], 7)
    assert found[-1] == {"Sum": "Add", "Mean": "Div"}.get(op_type, op_type)
    said(op_type, [X, X[0], X[0, 0]], 6, dims=[["a", "b", "c"], ["d", "e"], ["f"]])


def test_the_larger_of_a_tensor_and_a_number_is_limited_by_it() -> None:
    assert attributes("Max", [ODD, np.float32(0.5)], 7, fixed=[1]) == {"min": 0.5, "max": np.inf}
    assert said("Min", [np.float32(0.5), ODD], 1, fixed=[0], dims=[None, ["n"]]) == ["Clip"]
    assert said("Min", [np.float64(0.1), ODD.astype(np.float64)], 7, fixed=[0]) == ["Unsqueeze", "Tile", "Min"]


# types that came later


@pytest.mark.parametrize("dtype", [each for each in EVERY_INTEGER if each.itemsize < 4])
def test_narrow_integers_wrap_around_in_wide_ones(dtype: np.dtype[Any]) -> None:
    x = extremes(dtype)
    for op_type in ("Add", "Sub", "Mul"):
        assert said(op_type, [x, x[::-1]], 13) == ["Cast", "Cast", op_type, "Cast"]
    said("Div", [x[4:5], x[5:]], 7)


def test_bfloat16_goes_through_float32_down_to_version_13() -> None:
    x = np.nan_to_num(ODD, posinf=3, neginf=-3).astype(BFLOAT16)
    for op_type in ("Elu", "Sin", "Softplus", "Round", "Mish", "ThresholdedRelu"):
        assert said(op_type, [x], 21) == ["Cast", op_type, "Cast"]
    assert said("Where", [x > 0, x, -x], 15) == ["Cast", "Cast", "Where", "Cast"]
    assert said("LessOrEqual", [x, -x], 15) == ["Cast", "Cast", "LessOrEqual"]
    assert said("Pow", [X, X[0].astype(BFLOAT16)], 14) == ["Cast", "Pow"]
    assert "bfloat16" in refusal("Exp", [x], 12)
    assert "bfloat16" in refusal("Elu", [x], 12)


@pytest.mark.parametrize("dtype", EVERY_INTEGER)
def test_integers_are_compared_exactly_before_version_9(dtype: np.dtype[Any]) -> None:
    x = extremes(dtype)
    a, b = np.meshgrid(x, x)
    for op_type in ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"):
        said(op_type, [a, b], 7)


def test_floats_are_equal_by_comparisons_before_version_11() -> None:
    a, b = np.meshgrid(ODD, ODD)
    found = said("Equal", [a, b], 7)
    assert set(found) == {"Less", "Greater", "Or", "Not", "And"}
    assert said("LessOrEqual", [a, b], 11) == ["Less", "Equal", "Or"]


def test_strings_are_not_compared_before_version_19() -> None:
    text = np.array(["a", "b"], np.object_)
    assert "tensor(string)" in refusal("Equal", [text, text], 18)


@pytest.mark.parametrize("dtype", EVERY_INTEGER)
def test_the_larger_integer_is_chosen_before_version_12(dtype: np.dtype[Any]) -> None:
    x = extremes(dtype)
    assert said("Max", [x, x[::-1]], 11) == ["Less", "Where"]
    assert said("Clip", [x, x[5], x[6]], 11, fixed=[1, 2]) == ["Less", "Where", "Greater", "Where"]
    said("Min", [x, x[::-1]], 7)
    if dtype.kind == "i":
        assert said("Relu", [x], 13) == ["Max"]


def test_integers_have_no_arithmetic_before_version_6() -> None:
    x = extremes(np.dtype(np.int64))
    assert said("Add", [x, x], 6) == ["Add"]
    assert "tensor(int64)" in refusal("Add", [x, x], 5)


# single operators


def test_bounds_become_attributes() -> None:
    low, high = np.float32(-1), np.float32(2)
    assert attributes("Clip", [ODD, low, high], 10, fixed=[1, 2]) == {"min": -1, "max": 2}
    assert attributes("Clip", [ODD, None, high], 10, fixed=[2]) == {"min": -np.inf, "max": 2}
    assert said("Clip", [ODD, None, high], 1, fixed=[2]) == ["Clip"]


def test_bounds_that_no_attribute_holds_are_inputs_of_max_and_min() -> None:
    low, high = np.float32(-1), np.float32(2)
    assert said("Clip", [ODD, low, high], 10) == ["Max", "Min"]
    assert said("Clip", [ODD, high, low], 10, fixed=[1, 2]) == ["Max", "Min"]
    assert said("Clip", [ODD[0], low.reshape(1)], 10) == ["Squeeze", "Max"]
    assert said("Clip", [ODD.astype(np.float64), np.float64(0.1)], 10, fixed=[1]) == ["Max"]


def test_powers_of_one_type_stay_and_others_are_exact() -> None:
    assert said("Pow", [X, X], 11) == ["Pow"]
    assert said("Pow", [X, np.int64(2)], 11, fixed=[1]) == ["Pow"]
    odd = np.array([2**24 + 1], np.int64)  # which float32 rounds to an even number
    assert said("Pow", [-np.ones(1, np.float32), odd], 11) == ["Cast", "Cast", "Pow", "Cast"]
    assert said("Pow", [-np.ones(1, np.float32), odd], 11, fixed=[1]) == ["Cast", "Cast", "Pow", "Cast"]


@pytest.mark.parametrize("times", [0, 1, 2, 5, 70])
def test_natural_powers_of_integers_are_products(times: int) -> None:
    x = extremes(np.dtype(np.int32))
    assert set(said("Pow", [x, np.float32(times)], 7, fixed=[1])) <= {"Mul", "Add", "Identity"}


def test_other_powers_of_integers_are_refused() -> None:
    x = np.array([4, 9], np.int32)
    assert "integers have no power of 0.5" in refusal("Pow", [x, np.float32(0.5)], 11, fixed=[1])
    assert "integers have no powers but one" in refusal("Pow", [x, x], 11)


def test_a_remainder_of_floats_with_the_sign_of_the_divisor_came_with_version_28() -> None:
    a, b = np.meshgrid(ODD, np.array([3, -3, 0, np.inf, -np.inf, np.nan], np.float32))
    assert "Where" in said("Mod", [a, b], 27)
    assert said("Mod", [a, b], 10, fmod=1) == ["Mod"]
    assert "the remainder of floats has no exact equivalent" in refusal("Mod", [a, b], 9, fmod=1)


@pytest.mark.parametrize("dtype", EVERY_INTEGER)
def test_a_remainder_of_integers_is_what_division_leaves(dtype: np.dtype[Any]) -> None:
    a, b = np.meshgrid(extremes(dtype), np.array([3, 7, np.iinfo(dtype).max, np.iinfo(dtype).min + 1], dtype))
    b = np.where(b == 0, 5, b).astype(dtype)
    for fmod in (0, 1):
        assert "Div" in said("Mod", [a, b], 7, fmod=fmod)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float32, np.str_])
def test_a_choice_is_exact_before_version_9(dtype: Any) -> None:
    odd = np.array([[np.nan], [np.inf], [1]])
    x = odd.astype(np.float32) if dtype is np.float32 else np.array([[0], [1], [3]]).astype(dtype)
    y = np.array([1, 0, 2, 1]).astype(dtype)
    if dtype is np.str_:
        x, y = x.astype(np.object_), y.astype(np.object_)
    said("Where", [np.array([[1, 0, 1, 0]] * 3, np.bool_), x, y], 7)
    said("Where", [np.zeros((3, 0), np.bool_), x, y[:1]], 8)


def test_a_choice_between_floats_needs_their_shape_before_version_9() -> None:
    dims = [["n"], ["n"], ["n"]]
    assert "the shape is not known" in refusal("Where", [ODD > 0, ODD, ODD], 8, dims=dims)
    assert "Where" not in said("Where", [ODD > 0, np.arange(13), np.zeros(13, np.int64)], 8, dims=dims)


def test_floats_are_classified_by_comparisons() -> None:
    assert said("IsNaN", [ODD], 1) == ["Less", "Greater", "Or", "Not"]
    for negative, positive in ((1, 1), (1, 0), (0, 1), (0, 0)):
        said("IsInf", [ODD], 1, detect_negative=negative, detect_positive=positive)
    small = np.array([1, np.nan, np.inf], ml_dtypes.float8_e5m2)
    assert said("IsInf", [small], 19) == ["Cast", "IsInf"]
    assert said("IsNaN", [small], 19) == ["Cast", "IsNaN"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numbers_are_rounded_to_the_even_one_before_version_11(dtype: Any) -> None:
    x = np.concatenate([ODD.astype(dtype), np.arange(-5, 5, 0.25).astype(dtype), [dtype(1e4)]])
    assert "Round" not in said("Round", [x], 1)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, np.uint64])
def test_the_sign_is_found_by_comparisons_before_version_9(dtype: Any) -> None:
    said("Sign", [ODD if dtype is np.float32 else extremes(np.dtype(dtype))], 6)


def test_activations_are_said_by_their_formulas() -> None:
    # Gelu loses what is left of 1 + erf(x) far below zero, as in the standard's own function body.
    x = np.linspace(-8, 8, 65, dtype=np.float32)
    for op_type, to, how in (
        ("Gelu", 9, {}),
        ("Gelu", 1, {"approximate": "tanh"}),
        ("Swish", 1, {"alpha": 1.5}),
        ("HardSwish", 1, {}),
        ("Mish", 1, {}),
        ("Celu", 1, {"alpha": 2.0}),
        ("Celu", 1, {"alpha": -2.0}),
        ("Sinh", 1, {}),
        ("Cosh", 1, {}),
        ("Selu", 1, {}),
    ):
        for shape in (65, "n"):
            found = said(op_type, [x], to, dims=[[shape]], rtol=1e-4, atol=1e-6, **how)
            assert op_type == "Selu" or op_type not in found
    assert said("SwiGLU", [x, x], 24) == ["Swish", "Mul"]
    assert said("ThresholdedRelu", [ODD], 9, alpha=0.5) == ["Greater", "Where"]


def test_narrow_floats_of_a_formula_are_rounded_once() -> None:
    x = np.linspace(-8, 8, 65).astype(np.float16)
    found = said("Gelu", [x], 19, rtol=1e-3, atol=1e-7)
    assert (found[0], found[-1]) == ("Cast", "Cast")


def test_what_has_no_formula_is_refused_by_name() -> None:
    for op_type, to in (("Erf", 8), ("Asinh", 8), ("Shrink", 8), ("Sin", 6)):
        assert op_type in refusal(op_type, [X], to)


def test_slopes_of_old_are_one_or_one_for_each_channel() -> None:
    for slope in (np.float32(0.1), X[0, 0, :1], X[:1, :1, :1], X[0, :, :1], X[:1, :, :1]):
        assert said("PRelu", [X, slope], 1)[-1] == "PRelu"
    assert said("PRelu", [X, X[0]], 1, fixed=[1])[-1] == "Sub"
    assert "neither one number nor one for each channel" in refusal("PRelu", [X, X[0]], 6)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_hardmax_of_old_takes_the_last_axis(axis: int) -> None:
    found = said("Hardmax", [X], 1, axis=axis)
    assert found == (["Hardmax"] if axis == -1 else ["Transpose", "Hardmax", "Transpose"])


@pytest.mark.parametrize("op_type", ["CumSum", "CumProd"])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_totals_are_carried_by_a_scan(op_type: str, exclusive: int, reverse: int) -> None:
    x = np.arange(-3, 9, dtype=np.int64).reshape(3, 4)
    for axis in (0, 1, -2):
        found = said(op_type, [x, np.int64(axis)], 9, fixed=[1], exclusive=exclusive, reverse=reverse)
        assert found == ["Shape", "Gather", "Expand", "Scan"]
    said(op_type, [x[0].astype(np.float16), np.int32(0)], 10, fixed=[1], dims=[["n"], None], reverse=reverse)
    assert "the axis, 'x1', is computed" in refusal(op_type, [x, np.int64(0)], 10)


@pytest.mark.parametrize("dtype", EVERY_INTEGER)
def test_bits_are_told_apart_by_division(dtype: np.dtype[Any]) -> None:
    a, b = np.meshgrid(extremes(dtype), extremes(dtype))
    for op_type in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        said(op_type, [a, b], 10)
    assert said("BitwiseNot", [a], 17) == ["Sub"]


@pytest.mark.parametrize("dtype", EVERY_INTEGER)
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_are_products_and_quotients(dtype: np.dtype[Any], direction: str) -> None:
    bits = dtype.itemsize * 8
    x, y = np.meshgrid(extremes(dtype), np.array([0, 1, bits - 1, bits, bits + 1], dtype))
    said("BitShift", [x, y], 27, direction=direction)
    if dtype.kind == "u":
        assert "BitShift" not in said("BitShift", [x, y], 7, direction=direction)
