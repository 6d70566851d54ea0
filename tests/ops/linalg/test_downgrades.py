"""Products of matrices and tensors, said in older versions."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ops.nn.older import older, refusal

RNG = np.random.default_rng(0)


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.integers(1, 10, shape).astype(dtype)


@pytest.mark.parametrize(
    ("equation", "shapes", "said"),
    [
        ("ij->ji", [(2, 3)], ["Transpose"]),
        ("ij->", [(2, 3)], ["ReduceSum"]),
        ("ij,jk->ik", [(2, 3), (3, 4)], ["MatMul"]),
        ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)], ["MatMul"]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)], ["Transpose", "MatMul"]),
        ("i,j->ij", [(2,), (3,)], ["Unsqueeze", "Unsqueeze", "Mul"]),
        ("ij,j->i", [(2, 3), (3,)], ["Unsqueeze", "MatMul", "Squeeze"]),
        ("ii->i", [(3, 3)], ["Transpose", "Reshape", "Gather"]),
        ("abcd,cde->abe", [(2, 3, 4, 5), (4, 5, 6)], ["Reshape", "Reshape", "MatMul", "Reshape"]),
    ],
)
def test_equations_become_products(equation: str, shapes: list[tuple[int, ...]], said: list[str]) -> None:
    assert older("Einsum", *(numbers(*shape) for shape in shapes), opset=12, to=11, equation=equation) == said


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (1, 5, 4, 2)]),
        ("ij,jk,kl->li", [(2, 3), (3, 4), (4, 5)]),
        ("iij,jkk->ik", [(2, 2, 3), (3, 4, 4)]),
        ("abc,cd->abd", [(0, 2, 3), (3, 4)]),
        ("abcd,cde->abe", [(0, 3, 4, 5), (4, 5, 6)]),
        ("ab,abc->c", [(2, 1), (2, 3, 4)]),
        ("ij,jk", [(2, 1), (3, 4)]),
        (",ij->j", [(), (2, 3)]),
        ("abcd,defg->abcefg", [(2, 3, 2, 4), (4, 2, 3, 2)]),
    ],
)
def test_equations_over_sizes_of_any_name(equation: str, shapes: list[tuple[int, ...]]) -> None:
    inputs = [numbers(*shape) for shape in shapes]
    older("Einsum", *inputs, opset=12, to=11, equation=equation)
    if not any(len(set(term)) < len(term) for term in equation.split("->")[0].replace("...", "").split(",")):
        dims = {index: [f"d{index}_{axis}" for axis in range(x.ndim)] for index, x in enumerate(inputs)}
        older("Einsum", *inputs, opset=12, to=11, equation=equation, dims=dims)


def test_names_that_are_one_size_are_multiplied_as_matrices() -> None:
    dims = {0: ["b", "l", "h", "d"], 1: ["b", "t", "h", "d"]}
    said = older(
        "Einsum", numbers(2, 3, 4, 5), numbers(2, 6, 4, 5), opset=12, to=11, equation="blhd,bthd->bhlt", dims=dims
    )
    assert said == ["Transpose", "Transpose", "MatMul"]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16])
def test_equations_of_small_numbers_wrap_as_they_do(dtype: Any) -> None:
    x = RNG.integers(0, 100, (3, 4)).astype(dtype)
    older("Einsum", x, x, opset=12, to=11, equation="ij,kj->ik")


def test_equations_of_bfloat16_go_through_float32() -> None:
    x = numbers(3, 4, dtype=ml_dtypes.bfloat16)
    assert older("Einsum", x, x, opset=28, to=27, equation="ij,kj->ik") == ["Cast", "Cast", "Einsum", "Cast"]


def test_a_diagonal_of_unknown_size_is_refused() -> None:
    message = refusal("Einsum", numbers(2, 2), opset=12, to=11, equation="ii->i", dims={0: ["n", "n"]})
    assert "the size of the diagonal 'i' is not known" in message


def test_what_gemm_must_add_keeps_the_sign_of_zero() -> None:
    a, b = np.array([[-1.0, 0.0]], np.float32), np.array([[0.0], [0.0]], np.float32)
    assert older("Gemm", a, b, opset=11, to=10, alpha=-0.5, beta=3.0) == ["Gemm"]
    assert older("Gemm", numbers(2, 3), numbers(4, 3), opset=11, to=6, transB=1) == ["Gemm"]


@pytest.mark.parametrize("c", [(), (4,), (2, 1), (2, 4)])
def test_gemm_says_whether_it_broadcasts(c: tuple[int, ...]) -> None:
    older("Gemm", numbers(2, 3), numbers(3, 4), numbers(*c), opset=7, to=6, beta=2.0)


def test_gemm_of_bfloat16_is_refused() -> None:
    x = numbers(2, 2, dtype=ml_dtypes.bfloat16)
    assert "bfloat16 came with version 13" in refusal("Gemm", x, x, opset=13, to=12)


@pytest.mark.parametrize("shapes", [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 1, 2, 3), (6, 3, 4))])
def test_products_of_integers_are_sums_of_products(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (RNG.integers(-(2**31), 2**31, shape).astype(np.int32) for shape in shapes)
    said = older("MatMul", a, b, opset=9, to=8, rtol=0)
    assert [op_type for op_type in said if op_type not in ("Unsqueeze", "Squeeze")] == ["Mul", "ReduceSum"]


def test_gemm_of_integers() -> None:
    a, b, c = (numbers(*shape, dtype=np.int64) for shape in ((3, 2), (3, 4), (4,)))
    assert older("Gemm", a, b, c, opset=9, to=8, transA=1, rtol=0)[-2:] == ["ReduceSum", "Add"]
    assert "integers are scaled" in refusal("Gemm", a, b, c, opset=9, to=8, transA=1, alpha=2.0)


@pytest.mark.parametrize("zero", [np.uint8(3), np.array([3], np.uint8), np.array([3, 200], np.uint8)])
def test_a_product_of_bytes_is_one_of_integers(zero: Any) -> None:
    a, b = (RNG.integers(0, 256, shape).astype(np.uint8) for shape in ((2, 3), (3, 4)))
    assert older("MatMulInteger", a, b, zero, np.uint8(9), opset=10, to=9, rtol=0)[-1] == "MatMul"
    older("MatMulInteger", a, b, opset=10, to=9, rtol=0)


@pytest.mark.parametrize("rows", [(), (1,), (2,), (2, 1)])
def test_a_quantised_product_rounds_to_even(rows: tuple[int, ...]) -> None:
    a, b = (RNG.integers(-9, 9, shape).astype(np.int8) for shape in ((2, 3), (3, 4)))
    a_scale, a_zero = np.full(rows, 0.5, np.float32), np.full(rows, 1, np.int8)
    inputs = (a, a_scale, a_zero, b, np.full(4, 0.25, np.float32), np.full(4, -2, np.int8), np.float32(1), np.int8(3))
    older("QLinearMatMul", *inputs, opset=10, to=9, rtol=0)


def test_scales_of_half_floats_are_cast_and_float8_is_refused() -> None:
    half, one = np.float16(0.5), np.uint8(1)
    a, b = (RNG.integers(0, 9, shape).astype(np.uint8) for shape in ((2, 3), (3, 4)))
    said = older("QLinearMatMul", a, half, one, b, half, one, half, one, opset=21, to=20, rtol=0)
    assert said == ["Cast", "Cast", "Cast", "QLinearMatMul"]
    small = ml_dtypes.float8_e4m3fn
    inputs = (a.astype(small), half, one.astype(small), b, half, one, half, one)
    assert "float8e4m3fn, which came with version 21" in refusal("QLinearMatMul", *inputs, opset=21, to=20)


def test_determinants_of_small_matrices_are_written_out() -> None:
    for size in (1, 2, 3):
        older("Det", numbers(4, size, size), opset=11, to=10, dims={0: ["n", size, size]})
    assert "only up to 3" in refusal("Det", numbers(4, 4), opset=11, to=10)
    assert older("Det", numbers(2, 2, dtype=ml_dtypes.bfloat16), opset=22, to=21) == ["Cast", "Det", "Cast"]
