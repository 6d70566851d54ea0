"""Formulas: many sizes computed by one function of the named ones."""

from __future__ import annotations

import pytest

from ingot.dims import evaluate, maximum, minimum, symbol
from ingot.runtime.formula import Formula

A, B = symbol("a"), symbol("b")
DIMS = (7, A, A * B + 3, A // B, (A + 5) // 2 * B, maximum(A, B), minimum(A - 1, 4), A % 3 - B)


@pytest.mark.parametrize("sizes", [(1, 1), (4, 2), (100, 7), (1 << 40, 3)])
def test_a_formula_gives_what_the_sizes_evaluate_to(sizes: tuple[int, int]) -> None:
    formula = Formula(("a", "b"))
    pick = formula.sizes(DIMS)
    known = dict(zip(("a", "b"), sizes, strict=True))
    assert pick(formula.values(sizes)) == tuple(dim if isinstance(dim, int) else evaluate(dim, known) for dim in DIMS)


def test_a_size_that_comes_twice_is_computed_once() -> None:
    formula = Formula(("a",))
    pick = formula.sizes((A + 1, 2, A + 1))
    again = formula.sizes((A + 1,))
    assert len(formula.values((5,))) == 2
    assert pick(formula.values((5,))) == (6, 2, 6)
    assert again(formula.values((5,))) == (6,)


def test_the_bytes_of_an_array_are_those_of_its_elements_and_never_below_none() -> None:
    formula = Formula(("a", "b"))
    pick = formula.bytes([(4, (A, 3)), (2, ()), (8, (A - 4, B)), (8, (A - 4, B - 4))])
    assert pick(formula.values((5, 2))) == (60, 2, 16, 0)
    assert pick(formula.values((1, 2))) == (12, 2, 0, 0)


def test_a_division_by_zero_leaves_the_other_sizes_alone() -> None:
    formula = Formula(("a", "b"))
    pick = formula.sizes((A, A // B, B))
    assert pick(formula.values((6, 0))) == (6, None, 0)
    assert pick(formula.values((6, 3))) == (6, 2, 3)


def test_a_formula_without_names_is_constant() -> None:
    formula = Formula(())
    assert formula.sizes((3, 4))(formula.values(())) == (3, 4)
    assert Formula(()).values(()) == ()


def test_the_name_of_a_size_is_no_part_of_the_function() -> None:
    name = "__import__('os').system('false')"
    formula = Formula((name,))
    pick = formula.sizes((symbol(name) * 2,))
    assert pick(formula.values((21,))) == (42,)
