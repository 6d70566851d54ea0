"""Reductions in primitives: no axes, empty axes, integers and truth values, NaN, sizes with names."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.ir.text import parse_model
from ingot.session import Session
from lower.agreement import agree, lowered, refusal
from lower.machine import runs

FLOATS_ONLY = ["ReduceLogSum", "ReduceLogSumExp"]
NUMBERS = ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare"]
WIDE_INTEGERS = ["int32", "int64", "uint32", "uint64"]
# Sums of float32 are taken in it, those of the reference in float64.
RTOL, ATOL = 2e-6, 1e-6


def numbers(*shape: int, dtype: str = "float32") -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def reducing(operator: str, axes: str, dtype: str, result: str, attributes: str = "keepdims = 1") -> str:
    held = f"<int64[{len(axes.split(',')) if axes else 0}] axes = {{{axes}}}>"
    return f"g ({dtype}[N, M, 3] x) => ({dtype}[{result}] y) {held} {{ y = {operator} <{attributes}> (x, axes) }}"


@pytest.mark.parametrize("operator", NUMBERS + FLOATS_ONLY)
@pytest.mark.parametrize("shape", [(2, 4, 3), (5, 1, 3)])
def test_axes_agree_kept_and_left_out(operator: str, shape: tuple[int, ...]) -> None:
    x = np.abs(numbers(*shape)) + 0.1
    agree(reducing(operator, "-1", "float", "N, M, 1"), RTOL, ATOL, x=x)
    agree(reducing(operator, "1", "float", "N, 3", "keepdims = 0"), RTOL, ATOL, x=x)
    agree(reducing(operator, "2, 0", "float", "1, M, 1"), RTOL, ATOL, x=x)
    agree(reducing(operator, "0, -2, 2", "float", "", "keepdims = 0"), RTOL, ATOL, x=x)


@pytest.mark.parametrize("operator", NUMBERS + FLOATS_ONLY)
def test_no_axes_are_all_of_them_or_none_at_all(operator: str) -> None:
    x = np.abs(numbers(2, 4, 3)) + 0.1
    agree(reducing(operator, "", "float", "1, 1, 1"), RTOL, ATOL, x=x)
    agree(reducing(operator, "", "float", "", "keepdims = 0"), RTOL, ATOL, x=x)
    agree(reducing(operator, "", "float", "N, M, 3", "keepdims = 0, noop_with_empty_axes = 1"), RTOL, ATOL, x=x)
    every = f"{{ y = {operator} <keepdims = 0> (x) }}"
    agree(f"g (float[N, M] x) => (float y) {every}", RTOL, ATOL, x=x[0])
    agree(f"g (float x) => (float y) {every}", RTOL, ATOL, x=x[0, 0, 0])
    none = f"{{ y = {operator} <noop_with_empty_axes = 1> (x) }}"
    special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 2, -3], np.float32)
    agree(f"g (float[N] x) => (float[N] y) {none}", RTOL, ATOL, x=special)


@pytest.mark.parametrize("operator", NUMBERS + FLOATS_ONLY)
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
def test_nan_and_infinities_agree(operator: str, dtype: str) -> None:
    rows = [[1, np.nan, 2], [np.inf, 1, 2], [-np.inf, 1, 2], [np.inf, -np.inf, 1], [-np.inf, -np.inf, -np.inf]]
    x = np.array([rows], {"float": np.float32, "double": np.float64, "float16": np.float16}[dtype])
    agree(reducing(operator, "2", dtype, "N, M, 1"), 1e-3 if dtype == "float16" else RTOL, x=x)


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum"])
def test_reductions_of_nothing_agree(operator: str) -> None:
    agree(reducing(operator, "1", "float", "N, 1, 3"), x=numbers(2, 0, 3))
    agree(reducing(operator, "1", "float", "N, 1, 3"), x=numbers(0, 0, 3))


def test_exponentials_of_large_numbers_do_not_overflow() -> None:
    x = np.array([[[1000, 999, 0], [-1000, -1001, -2000]]], np.float32)
    agree(reducing("ReduceLogSumExp", "2", "float", "N, M, 1"), RTOL, x=x)


@pytest.mark.parametrize("operator", NUMBERS)
@pytest.mark.parametrize("dtype", WIDE_INTEGERS)
def test_integers_wrap_around_and_are_cut_off(operator: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    rows = [[limits.max] * 3, [limits.min] * 3, [limits.max, limits.min, 1], [0, 1, 1], [7, 8, 9], [0, 0, 2]]
    rows += [[-1, 0, 0], [-7, -8, -8], [limits.min, 1, -1], [5, -9, 3]] if limits.min else []
    x = np.array([rows], dtype)
    agree(reducing(operator, "2", dtype, "N, M, 1"), x=x)
    agree(reducing(operator, "1, 2", dtype, "N", "keepdims = 0"), x=x)


@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin"])
def test_bytes_and_truth_values_have_extremes(operator: str) -> None:
    x = np.array([[[1, 0, 3], [0, 0, 0]]])
    agree(reducing(operator, "2", "bool", "N, M, 1"), x=x.astype(np.bool_))
    agree(reducing(operator, "1", "bool", "N, 3", "keepdims = 0"), x=x.astype(np.bool_))
    agree(reducing(operator, "2", "int8", "N, M, 1"), x=(x - 2).astype(np.int8))
    agree(reducing(operator, "2", "uint8", "N, M, 1"), x=(x + 250).astype(np.uint8))


def test_axes_that_a_run_gives_are_refused_if_their_number_is_not_known() -> None:
    assert "K" in refusal("g (float[1, 1] x, int64[K] axes) => (float[1, 1] y) { y = ReduceSum (x, axes) }")


def test_axes_that_a_run_gives_agree() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for axis in (0, 1, -1):
        graph = "g (float[N, M] x, int64[1] a) => (float[K] y) { y = ReduceSum <keepdims = 0> (x, a) }"
        runs(graph, {"x": x, "a": np.array([axis])})


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
def test_places_of_equal_ones_and_of_nan_agree(operator: str, last: int) -> None:
    rows = [[1, 2, 2, 1], [np.nan, 5, np.nan, 9], [-np.inf] * 4, [0, np.inf, np.nan, 1], [-0.0, 0.0, -0.0, 0.0]]
    for dtype in ("float", "float16"):
        x = np.array(rows, np.float32 if dtype == "float" else np.float16)
        graph = f"g ({dtype}[N, M] x) => (int64[N, 1] y, int64[M] z)"
        along = f"<axis = {{}}, keepdims = {{}}, select_last_index = {last}> (x)"
        body = f"{{ y = {operator} {along.format(-1, 1)} z = {operator} {along.format(0, 0)} }}"
        agree(f"{graph} {body}", x=x)
        agree(f"{graph} {body}", x=x[:1, :1])


@pytest.mark.parametrize("dtype", ["int8", "uint64"])
def test_places_of_the_ends_of_integers_agree(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.array([[limits.min] * 3, [limits.max] * 3, [1, limits.max, limits.min]], dtype)
    graph = "{ y = ArgMax <axis = 1> (x) z = ArgMin <axis = 1> (x) }"
    agree(f"g ({dtype}[N, 3] x) => (int64[N, 1] y, int64[N, 1] z) {graph}", x=x)


def test_a_compiled_choice_from_nothing_is_an_error_unless_there_are_no_rows() -> None:
    session = compiled("g (float[N, M] x) => (int64[N] y) { y = ArgMax <axis = 1, keepdims = 0> (x) }")
    assert session.run(None, {"x": numbers(0, 0)})[0].shape == (0,)
    with pytest.raises(InputError, match="no elements to choose from"):
        session.run(None, {"x": numbers(2, 0)})


def test_a_compiled_mean_of_no_integers_is_an_error() -> None:
    session = compiled(reducing("ReduceMean", "1", "int64", "N, 1, 3"))
    with pytest.raises(InputError, match="the mean of no int64 elements"):
        session.run(None, {"x": np.zeros((2, 0, 3), np.int64)})


@pytest.mark.parametrize(
    ("operator", "end"), [("ReduceMax", -np.inf), ("ReduceLogSumExp", -np.inf), ("ReduceMin", np.inf)]
)
def test_compiled_extremes_of_nothing_are_infinite(operator: str, end: float) -> None:
    session = compiled(reducing(operator, "1", "float", "N, 1, 3"))
    (result,) = session.run(None, {"x": numbers(2, 0, 3)})
    np.testing.assert_array_equal(result, np.full((2, 1, 3), end, np.float32))


def compiled(graph: str) -> Session:
    assert not refusal(graph)
    return Session(lowered(graph)[0], providers=("cpu", "reference"), threads=1, fallback=False)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_best_few_agree_with_ties_and_nan(axis: int, largest: int) -> None:
    rng = np.random.default_rng(0)
    graph = f"<int64[1] k = {{4}}> {{ y, i = TopK <axis = {axis}, largest = {largest}> (x, k) }}"
    shapes = ("[6, M]", "[4, M]") if axis == 0 else ("[N, 6]", "[N, 4]")
    for dtype in ("float", "int32", "uint8", "bfloat16"):
        x = rng.integers(0, 4, (6, 6)).astype(np.float32)
        if dtype in ("int32", "uint8"):
            x = x.astype(dtype)
        else:
            x[x == 2] = np.nan
            x[1, :3] = np.inf
            x[2] = -np.inf
        if dtype == "bfloat16":
            import ml_dtypes

            x = x.astype(ml_dtypes.bfloat16)
        agree(f"g ({dtype}{shapes[0]} x) => ({dtype}{shapes[1]} y, int64{shapes[1]} i) {graph}", x=x)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_best_of_any_number_agrees(axis: int) -> None:
    x = np.array([[1, np.nan, 3], [1, 5, 3], [0, np.nan, np.inf]], np.float32)
    shape = "[1, M]" if axis == 0 else "[N, 1]"
    best = f"<int64[1] k = {{1}}> {{ y, i = TopK <axis = {axis}> (x, k) }}"
    agree(f"g (float[N, M] x) => (float{shape} y, int64{shape} i) {best}", x=x)
    least = f"<int64[1] k = {{1}}> {{ y, i = TopK <axis = {axis}, largest = 0> (x, k) }}"
    agree(f"g (int8[N, M] x) => (int8{shape} y, int64{shape} i) {least}", x=np.array([[3, 1, 1], [1, 0, 1]], np.int8))


def test_a_count_that_a_run_gives_agrees() -> None:
    graph = "g (float[N, 3] x, int64[1] k) => (float[N, K] y, int64[N, K] i) { y, i = TopK (x, k) }"
    agree(graph, x=np.array([[1, 3, 2]], np.float32), k=[2])


@pytest.mark.parametrize("size", [1e20, 1e-30, 3.0])
def test_a_length_whose_square_is_no_float32_is_found_all_the_same(size: float) -> None:
    runs(
        "g (float[n] x) => (y) { y = ReduceL2 (x) }",
        {"x": np.full(4, size, np.float32)},
        {"x": np.zeros(0, np.float32)},
    )


def test_a_mean_over_many_rows_loses_few_digits() -> None:
    body = reducing("ReduceMean", "0, 1", "float", "1, 1, 3")
    model = parse_model('<ir_version: 10, opset_import: ["" : 21]> ' + body)
    x = np.full((1001, 301, 3), 0.1, np.float32)
    y = Session(model, threads=1, providers=("cpu",), fallback=False)(x)
    np.testing.assert_allclose(y, np.full((1, 1, 3), 0.1), rtol=5e-6)
