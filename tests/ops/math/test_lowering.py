"""Elementwise operators in primitives: special numbers, every integer type, sizes with names."""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from ingot.dtypes import Array
from lower.agreement import agree, refusal

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -3, 20, -20, 80, -80, 1e30, -1e30]
"""Numbers at which functions have poles, bends, ties or nothing to give."""
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
ONE_INPUT = [
    *("Abs", "Neg", "Sign", "Exp", "Log", "Sqrt", "Reciprocal", "Erf", "Floor", "Ceil", "Round", "Relu"),
    *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh"),
    *("Elu <alpha = 0.3>", "Selu", "Selu <alpha = -2.0>", "Celu <alpha = 0.7>", "Celu <alpha = 0.0>"),
    *("LeakyRelu <alpha = -0.1>", "ThresholdedRelu <alpha = 0.5>", "ThresholdedRelu <alpha = -1.0>"),
    *("Sigmoid", "HardSigmoid <alpha = 0.3, beta = 0.4>", "Softplus", "Softsign", "HardSwish", "Mish"),
    *("Swish", "Swish <alpha = 0.5>", "IsNaN", "IsInf", "IsInf <detect_negative = 0>", "IsInf <detect_positive = 0>"),
    "IsInf <detect_negative = 0, detect_positive = 0>",
]
OF_ONE_INTEGER = [
    *product(("Abs", "Sign", "BitwiseNot", "Shrink <bias = 3.0, lambd = 2.5>"), SIGNED + UNSIGNED),
    *product(("Neg", "Relu"), SIGNED),  # the only types that they take
]
CUMULATIVE = [*product(("CumSum", "CumProd"), (0, -1))]


def numbers(*shape: int, dtype: str = "float32") -> Array:
    return (np.random.default_rng(0).standard_normal(shape) * 10).astype(dtype)


def special(dtype: np.dtype[np.generic]) -> Array:
    with np.errstate(over="ignore"):
        return np.array(SPECIAL).astype(dtype)


def integers(dtype: str) -> Array:
    """The ends of a type, zero, and numbers between."""
    limits = np.iinfo(dtype)
    ends = [limits.min, limits.min + 1, limits.max - 1, limits.max]
    return np.array([*ends, 0, 1, 3, 7, 64, 100, *([-1, -2, -7, -100] if limits.min else [])], dtype)


@pytest.mark.parametrize("operator", ONE_INPUT)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_functions_of_one_number_agree_at_special_ones(operator: str, dtype: str) -> None:
    name, _, attributes = operator.partition(" ")
    kind = {"float32": "float", "float64": "double"}.get(dtype, dtype)
    result = "bool" if name.startswith("Is") else kind
    x = special(_numpy(dtype))
    # A narrow result rounds one of two sums that differ in the last bit of float32.
    rtol = {"float32": 2e-6, "float64": 1e-13, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    atol = 1e-38 if dtype == "float32" else 1e-300  # numbers below the normal ones have fewer digits
    agree(f"g ({kind}[N] x) => ({result}[N] y) {{ y = {name} {attributes} (x) }}", rtol, atol, x=x)


def _numpy(dtype: str) -> np.dtype[np.generic]:
    return np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)


@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_agrees(approximate: str, dtype: str) -> None:
    x = np.concatenate([np.linspace(-8, 8, 101), [np.nan, np.inf, -np.inf]])
    # One and what is close to minus one cancel: an error of the last place, times half the number.
    atol = 5e-7 if dtype == "float" else 2e-15
    array = x.astype({"float": np.float32, "double": np.float64}[dtype])
    graph = f'{{ y = Gelu <approximate = "{approximate}"> (x) }}'
    agree(f"g ({dtype}[N] x) => ({dtype}[N] y) {graph}", 1e-6, atol, x=array)


def test_swiglu_of_one_shape_agrees_and_of_others_is_refused() -> None:
    graph = "g (float[N, M] a, float[{}] b) => (float[N, M] y) {{ y = SwiGLU <alpha = 0.5> (a, b) }}"
    agree(graph.format("N, M"), 2e-6, a=numbers(3, 4), b=numbers(3, 4))
    assert "may differ" in refusal(graph.format("N, K"))


@pytest.mark.parametrize(("operator", "dtype"), OF_ONE_INTEGER)
def test_functions_of_one_integer_agree(operator: str, dtype: str) -> None:
    name, _, attributes = operator.partition(" ")
    agree(f"g ({dtype}[N] x) => ({dtype}[N] y) {{ y = {name} {attributes} (x) }}", x=integers(dtype))


def test_integers_shrunk_by_a_fraction_are_refused() -> None:
    assert "may not fit" in refusal("g (int8[N] x) => (int8[N] y) { y = Shrink <bias = 0.5> (x) }")


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
@pytest.mark.parametrize("operator", ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"])
def test_comparisons_of_integers_agree(operator: str, dtype: str) -> None:
    x = integers(dtype)
    agree(f"g ({dtype}[N, 1] a, {dtype}[N] b) => (bool[N, N] y) {{ y = {operator} (a, b) }}", a=x[:, np.newaxis], b=x)


@pytest.mark.parametrize("operator", ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"])
def test_comparisons_of_special_numbers_agree(operator: str) -> None:
    x = np.array(SPECIAL, np.float32)
    agree(f"g (float[N, 1] a, float[N] b) => (bool[N, N] y) {{ y = {operator} (a, b) }}", a=x[:, np.newaxis], b=x)


@pytest.mark.parametrize("operator", ["And", "Or", "Xor", "Equal"])
def test_logic_agrees(operator: str) -> None:
    a = np.array([[False], [True]])
    agree(f"g (bool[N, 1] a, bool[N] b) => (bool[N, N] y) {{ y = {operator} (a, b) }}", a=a, b=a[:, 0])
    agree("g (bool[N] a) => (bool[N] y) { y = Not (a) }", a=a[:, 0])


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_by_too_many_or_negative_places_agree(direction: str, dtype: str) -> None:
    x = integers(dtype)
    many = np.iinfo(dtype).bits
    y = np.array([0, 1, many - 1, many, many + 1, *([-1, -many] if dtype in SIGNED else [])], dtype)
    graph = f'{{ z = BitShift <direction = "{direction}"> (x, y) }}'
    agree(f"g ({dtype}[N, 1] x, {dtype}[M] y) => ({dtype}[N, M] z) {graph}", x=x[:, np.newaxis], y=y)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
@pytest.mark.parametrize("operator", ["Mod", "Mod <fmod = 1>", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Max", "Min"])
def test_functions_of_two_integers_agree(operator: str, dtype: str) -> None:
    name, _, attributes = operator.partition(" ")
    x = integers(dtype)
    graph = f"{{ y = {name} {attributes} (a, b) }}"
    agree(f"g ({dtype}[N, 1] a, {dtype}[M] b) => ({dtype}[N, M] y) {graph}", a=x[:, np.newaxis], b=x[x != 0])


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", ["float", "double"])
def test_remainders_of_special_numbers_agree_to_the_sign_of_zero(dtype: str, fmod: int) -> None:
    x = np.array(SPECIAL).astype({"float": np.float32, "double": np.float64}[dtype])
    graph = f"{{ r = Mod <fmod = {fmod}> (a, b) y = Reciprocal (r) }}"
    agree(f"g ({dtype}[N, 1] a, {dtype}[N] b) => ({dtype}[N, N] y, {dtype}[N, N] r) {graph}", a=x[:, np.newaxis], b=x)


@pytest.mark.parametrize("operator", ["Max", "Min", "Sum", "Mean"])
def test_any_number_of_inputs_agree(operator: str) -> None:
    a, b = numbers(2, 1, 3), numbers(4, 1)
    b[1] = np.nan
    graph = "g (float[N, 1, M] a, float[K, 1] b, float c) => (float[N, K, M] y)"
    agree(f"{graph} {{ y = {operator} (a, b, c) }}", 1e-6, a=a, b=b, c=np.float32(0.5))
    agree(f"g (float[N] a) => (float[N] y) {{ y = {operator} (a) }}", a=numbers(3))


@pytest.mark.parametrize("size", [0, 5])
def test_a_slope_of_each_channel_agrees(size: int) -> None:
    graph = "g (float[N, C, W] x, float[C, 1] s) => (float[N, C, W] y) { y = PRelu (x, s) }"
    agree(graph, x=numbers(2, size, 3), s=numbers(size, 1))


def test_a_slope_of_integers_agrees() -> None:
    graph = "g (int32[N] x, int32 s) => (int32[N] y) { y = PRelu (x, s) }"
    agree(graph, x=integers("int32"), s=np.int32(-3))


def test_a_choice_agrees() -> None:
    graph = "g (bool[N, 1] c, float16[M] x, float16 y) => (float16[N, M] z) { z = Where (c, x, y) }"
    agree(graph, c=np.array([[True], [False]]), x=np.array([1, np.nan, 3], np.float16), y=np.float16(np.inf))


@pytest.mark.parametrize("bounds", ["min, max", ", max", "min"])
def test_bounds_of_one_element_agree_also_where_they_are_crossed(bounds: str) -> None:
    graph = f"g (float[N] x, float min, float[1] max) => (float[N] y) {{ y = Clip (x, {bounds}) }}"
    for least, most in ((-1, 1), (1, -1), (np.nan, 1)):
        agree(graph, x=np.array(SPECIAL, np.float32), min=np.float32(least), max=np.array([most], np.float32))


@pytest.mark.parametrize("exponent", [-1, -0.5, 0, 0.5, 1, 2, 3, 7, -3, 1.7])
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
def test_powers_that_the_model_holds_agree_at_special_numbers(dtype: str, exponent: float) -> None:
    graph = f"{{ e = Constant <value_float = {exponent:.1f}> () y = Pow (x, e) }}"
    x = special(np.dtype({"float": np.float32, "double": np.float64, "float16": np.float16}[dtype]))
    # Three factors are rounded twice.
    agree(f"g ({dtype}[N] x) => ({dtype}[N] y) {graph}", 1e-3 if dtype == "float16" else 3e-7, 1e-38, x=x)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint64", "float", "double"])
def test_powers_of_another_type_agree(dtype: str) -> None:
    y = np.array([-3, -1, 0, 1, 2, 30] if dtype[0] != "u" else [0, 1, 30]).astype(dtype.replace("double", "float64"))
    y = y.astype(np.float32) if dtype == "float" else y
    x = np.array([-np.inf, -2, -1, 0.5, 1, np.nan], np.float32)[:, np.newaxis]
    agree(f"g (float[N, 1] x, {dtype}[M] y) => (float[N, M] z) {{ z = Pow (x, y) }}", x=x, y=y)


@pytest.mark.parametrize("times", [0, 1, 2, 5, 63, 64])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_natural_powers_of_integers_wrap_around(dtype: str, times: int) -> None:
    graph = f"<int64[1, 1] e = {{{times}}}> {{ y = Pow (x, e) }}"
    agree(f"g ({dtype}[N] x) => ({dtype}[1, N] y) {graph}", x=integers(dtype))


def test_powers_of_integers_that_a_run_gives_agree() -> None:
    graph = "g (int32[N] x, int32[N] e) => (int32[N] y) { y = Pow (x, e) }"
    agree(graph, x=np.array([2, -3, 7, 0], np.int32), e=np.array([10, 3, 0, 5], np.int32))


@pytest.mark.parametrize(("operator", "axis"), CUMULATIVE)
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (0, 2), (2, 0)])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_totals_agree(operator: str, axis: int, shape: tuple[int, int], exclusive: int, reverse: int) -> None:
    attributes = f"<exclusive = {exclusive}, reverse = {reverse}>"
    graph = f"<int32 axis = {{{axis}}}> {{ y = {operator} {attributes} (x, axis) }}"
    agree(f"g (float[N, M] x) => (float[N, M] y) {graph}", x=numbers(*shape))
    agree(f"g (int32[N, M] x) => (int32[N, M] y) {graph}", x=np.full(shape, 2**30 + 3, np.int32))


def test_running_totals_along_an_axis_that_a_run_gives_agree() -> None:
    for axis in (0, -1):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        agree("g (float[N, M] x, int64 axis) => (float[N, M] y) { y = CumSum (x, axis) }", x=x, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_hardmax_takes_the_first_of_equal_ones_and_nan_for_the_largest(axis: int) -> None:
    rows = [[1, 2, 2], [np.nan, 5, np.nan], [-np.inf, -np.inf, -np.inf], [0, np.inf, np.nan]]
    graph = f"g (float[N, M] x) => (float[N, M] y) {{ y = Hardmax <axis = {axis}> (x) }}"
    agree(graph, x=np.array(rows, np.float32))
    agree(graph, x=numbers(5, 1))
