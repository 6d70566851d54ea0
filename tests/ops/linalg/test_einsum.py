from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.errors import CheckError, ShapeError
from ops.reduction.one_node import evaluate, inferred

RNG = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return RNG.integers(-5, 5, shape).astype(np.float64)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij->ji", [(2, 3)]),
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("ij->", [(2, 3)]),
        ("b i j , b j k -> b i k", [(2, 3, 4), (2, 4, 5)]),
        ("bi,bi", [(2, 3), (2, 3)]),
        ("ba,ca", [(2, 3), (4, 3)]),
        ("Ab,bc", [(2, 3), (3, 4)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (1, 5, 4, 2)]),
        ("...i,...i", [(2, 3), (2, 3)]),
        ("i...->...", [(2, 3, 4)]),
        ("a,b,c->abc", [(2,), (3,), (4,)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        (",", [(), ()]),
        ("->", [()]),
        ("ij,jk->ik", [(2, 0), (0, 3)]),
        ("ij,jk->ik", [(0, 2), (2, 3)]),
        ("ij,j->i", [(2, 3), (3,)]),
    ],
)
def test_equations_mean_what_numpy_makes_of_them(equation: str, shapes: list[tuple[int, ...]]) -> None:
    inputs = [numbers(*shape) for shape in shapes]
    expected = np.einsum(equation.replace(" ", ""), *inputs)
    np.testing.assert_allclose(evaluate("Einsum", *inputs, equation=equation), expected)


def test_an_ellipsis_that_the_result_leaves_out_is_summed() -> None:
    x = numbers(2, 3, 4)
    np.testing.assert_allclose(evaluate("Einsum", x, equation="...i->i"), x.sum((0, 1)))


def test_axes_of_size_one_broadcast() -> None:
    a, b = numbers(2, 1), numbers(3, 4)
    np.testing.assert_allclose(evaluate("Einsum", a, b, equation="ij,jk->ik"), a @ b.sum(0, keepdims=True))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16, ml_dtypes.bfloat16])
def test_every_type_keeps_its_type(dtype: Any) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    result = evaluate("Einsum", x, x, equation="ij,kj->ik")
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.astype(np.int64), [[5, 14], [14, 50]])


def test_integers_wrap_around() -> None:
    assert evaluate("Einsum", np.array([100, 100], np.int8), equation="i->") == -56
    assert evaluate("Einsum", np.array([100], np.int8), np.array([2], np.int8), equation="i,i->") == -56


@pytest.mark.parametrize("equation", ["ij->k", "ij->ii", "i.j->i", "i1", "...i...->i", "ij->i->j", "i;j", "ij->i.."])
def test_what_is_no_equation_is_refused(equation: str) -> None:
    with pytest.raises(CheckError):
        evaluate("Einsum", np.zeros((2, 2), np.float32), equation=equation)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij", [(2,)]),
        ("ij,jk", [(2, 2)]),
        ("ij,jk", [(2, 3), (4, 5)]),
        ("ii", [(1, 3)]),
        ("...ijk", [(2, 2)]),
        ("...i,...i", [(2, 3), (3,)]),
    ],
)
def test_operands_that_do_not_fit_the_equation_are_refused(equation: str, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(ShapeError):
        evaluate("Einsum", *(np.zeros(shape, np.float32) for shape in shapes), equation=equation)


def test_symbolic_sizes_follow_their_letters() -> None:
    a: Any = ("float32", ["b", "h", "q", 64])
    b: Any = ("float32", ["b", "h", "k", 64])
    assert inferred("Einsum", [a, b], equation="bhqd,bhkd->bhqk") == "float32[b, h, q, k]"
    assert inferred("Einsum", [a, ("float32", None)], equation="bhqd,bhkd->bhqk") == "float32[?, ?, ?, ?]"
    assert inferred("Einsum", [a, ("float32", None)], equation="...qd,...kd->...qk") == "float32[...]"
    with pytest.raises(ShapeError, match="64 and 32"):
        inferred("Einsum", [a, ("float32", ["b", "h", "k", 32])], equation="bhqd,bhkd->bhqk")
