from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import CheckError, ShapeError
from ingot.runtime.limits import LimitError
from ops.reduction.one_node import evaluate, inferred

bfloat16 = ml_dtypes.bfloat16


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((4, 1, 2, 3), (5, 3, 2)),
        ((3,), (5, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 2)),
    ],
)
def test_the_shapes_of_matrix_products(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(-9, 9, a).astype(np.float32), rng.integers(-9, 9, b).astype(np.float32)
    np.testing.assert_array_equal(evaluate("MatMul", x, y), np.matmul(x, y))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.float16, bfloat16, np.float64])
def test_every_type_is_multiplied(dtype: Any) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    result = evaluate("MatMul", x, x.T)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.astype(np.float64), [[5, 14], [14, 50]])


def test_sums_of_16_bit_floats_are_taken_in_float32() -> None:
    ones = np.ones((1, 4096), np.float16)
    assert evaluate("MatMul", ones, np.ones((4096, 1), np.float16)) == 4096
    assert evaluate("MatMul", ones.astype(bfloat16), np.ones((4096, 1), bfloat16)) == 4096


def test_integers_wrap_around() -> None:
    x = np.array([[2**31 - 1]], np.int32)
    assert evaluate("MatMul", x, np.array([[2]], np.int32)) == -2


@pytest.mark.parametrize(("a", "b"), [((), (3,)), ((2, 3), (2, 3)), ((2, 2, 3), (3, 3, 4))])
def test_shapes_that_do_not_fit_are_refused(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError):
        evaluate("MatMul", np.zeros(a, np.float32), np.zeros(b, np.float32))


def test_a_result_larger_than_memory_is_refused_before_it_is_made() -> None:
    tall, flat = np.zeros((2**20, 1), np.float32), np.zeros((1, 2**20), np.float32)
    with pytest.raises(LimitError, match="bytes"):
        evaluate("MatMul", tall, flat)
    with pytest.raises(LimitError, match="bytes"):
        evaluate("Gemm", tall, flat)
    with pytest.raises(LimitError, match="bytes"):
        evaluate("Einsum", tall, flat, equation="ij,kl->ijkl")


def test_products_keep_symbolic_sizes() -> None:
    assert inferred("MatMul", [("float32", ["b", "n", 4]), ("float32", [4, "k"])]) == "float32[b, n, k]"
    assert inferred("MatMul", [("float32", ["n", "k"]), ("float32", ["k"])]) == "float32[n]"
    assert inferred("MatMul", [("float32", None), ("float32", ["k", 2])]) == "float32[...]"
    with pytest.raises(ShapeError, match="inner dimensions differ: 4 and 5"):
        inferred("MatMul", [("float32", ["n", 4]), ("float32", [5, 2])])


def test_gemm_scales_and_adds() -> None:
    a, b = np.arange(6, dtype=np.float64).reshape(3, 2), np.arange(12, dtype=np.float64).reshape(4, 3)
    c = np.arange(4, dtype=np.float64)
    result = evaluate("Gemm", a, b, c, alpha=0.5, beta=2.0, transA=1, transB=1)
    np.testing.assert_allclose(result, 0.5 * a.T @ b.T + 2 * c)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (1, 4), (3, 4)])
def test_gemm_broadcasts_what_it_adds(shape: tuple[int, ...]) -> None:
    a, b, c = np.ones((3, 2), bfloat16), np.ones((2, 4), bfloat16), np.ones(shape, bfloat16)
    np.testing.assert_array_equal(evaluate("Gemm", a, b, c), np.full((3, 4), 3, bfloat16))


def test_gemm_of_integers_wraps_around_and_cuts_scaled_ones_off() -> None:
    a = np.array([[2**31 - 1]], np.int32)
    two = np.array([[2]], np.int32)
    assert evaluate("Gemm", a, two) == -2
    assert evaluate("Gemm", np.array([[-3]], np.int32), two, alpha=0.25) == -1
    assert evaluate("Gemm", a, two, alpha=2.0) == 2**31 - 1


def test_gemm_refuses_what_does_not_fit() -> None:
    a, b = np.zeros((3, 2), np.float32), np.zeros((2, 1), np.float32)
    for c in ((3, 4), (1, 1, 1), (2,)):
        with pytest.raises(ShapeError):
            evaluate("Gemm", a, b, np.zeros(c, np.float32))
    with pytest.raises(ShapeError, match="inner dimensions"):
        evaluate("Gemm", a, b, transA=1)
    with pytest.raises(ShapeError, match="axes"):
        evaluate("Gemm", np.zeros((1, 3, 2), np.float32), b)


def test_gemm_keeps_symbolic_sizes() -> None:
    assert inferred("Gemm", [("float32", ["k", "n"]), ("float32", [4, "k"])], transA=1, transB=1) == "float32[n, 4]"
    assert inferred("Gemm", [("float32", ["n", 4]), ("float32", None), ("float32", [7])]) == "float32[n, ?]"


@pytest.mark.parametrize("opset", [1, 6, 7, 9])
def test_gemm_of_old_models(opset: int) -> None:
    a, b, c = np.ones((3, 2), np.float32), np.ones((4, 2), np.float32), np.arange(4, dtype=np.float32)
    old = {"broadcast": 1} if opset < 7 else {}
    np.testing.assert_array_equal(evaluate("Gemm", a, b, c, transB=1, opset=opset, **old), 2 + np.tile(c, (3, 1)))


@pytest.mark.parametrize("dtype", [np.float16, bfloat16, np.float32, np.float64])
def test_determinants_of_every_float(dtype: Any) -> None:
    x = np.array([[[1, 2], [3, 4]], [[2, 0], [0, 3]]], dtype)
    result = evaluate("Det", x)
    assert result.dtype == dtype
    np.testing.assert_allclose(result.astype(np.float64), [-2, 6], rtol=1e-12)


def test_determinants_of_nothing() -> None:
    assert evaluate("Det", np.zeros((0, 0), np.float32)) == 1
    assert evaluate("Det", np.zeros((0, 3, 3), np.float32)).shape == (0,)


def test_only_square_matrices_have_determinants() -> None:
    with pytest.raises(ShapeError, match="2 rows and 3 columns"):
        evaluate("Det", np.zeros((2, 3), np.float32))
    with pytest.raises(ShapeError):
        evaluate("Det", np.zeros(3, np.float32))
    assert inferred("Det", [("float32", ["b", 3, 3])]) == "float32[b]"
    with pytest.raises(ShapeError):
        inferred("Det", [("float32", ["b", 3, 2])])


def test_gemm_transposes_or_not() -> None:
    with pytest.raises(CheckError, match="transA is 2, it must be 0 or 1"):
        inferred("Gemm", [("float32", [3, 3]), ("float32", [3, 3])], transA=2)
    with pytest.raises(CheckError, match="transB is -1, it must be 0 or 1"):
        inferred("Gemm", [("float32", [3, 3]), ("float32", [3, 3])], transB=-1)
