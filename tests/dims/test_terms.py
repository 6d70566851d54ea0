"""What sizes are made of, and what the parts of the arithmetic do alone."""

from __future__ import annotations

import pytest

from ingot.dims.arithmetic import add, multiply, negate
from ingot.dims.bounds import call_bounds, sum_bounds
from ingot.dims.calls import bounds_of, call, is_natural, shown_terms, text_of
from ingot.dims.division import content, exact_quotient, floor_divide, modulo
from ingot.dims.extremes import extreme
from ingot.dims.ratio import apply, whole
from ingot.dims.substitution import replaced, value_of
from ingot.dims.terms import MAX_DEGREE, Terms, constant, known_value, lone_atom, merge, symbols_in, without
from ingot.dims.text import operand_text

N: Terms = {("n",): 1}
M: Terms = {("m",): 1}
TWO: Terms = {(): 2}


def test_no_terms_are_zero() -> None:
    assert constant(0) == add(N, N, -1) == multiply(N, {}) == {}
    assert known_value({}) == 0
    assert known_value(TWO) == 2
    assert known_value(N) is None
    assert text_of({}) == "0"


def test_adding_nothing_gives_the_very_terms() -> None:
    assert add(N, {}) is N
    assert multiply(N, constant(1)) is N


def test_arithmetic_leaves_its_operands_alone() -> None:
    before = N.copy(), M.copy()
    add(N, M)
    multiply(N, M)
    floor_divide(N, TWO)
    assert before == (N, M)
    assert negate(add(N, TWO)) == {("n",): -1, (): -2}


def test_monomials_are_sorted_products() -> None:
    assert merge(("n",), ("a", "n")) == ("a", "n", "n")
    assert without(("a", "n", "n"), ("n",)) == ("a", "n")
    assert without(("a",), ("n",)) is None
    with pytest.raises(ValueError, match="more than 64 factors"):
        merge(("n",) * MAX_DEGREE, ("n",))


def test_a_call_knows_its_text_its_symbols_and_its_bounds() -> None:
    half = call("//", add(N, M), TWO)
    assert (half.text, half.symbols, half.depth, half.bounds) == ("(m + n)//2", frozenset("mn"), 1, (0, None))
    assert half == call("//", add(M, N), TWO)
    assert call("max", {(half,): 1}, TWO).depth == 2
    assert lone_atom({(half,): 1}) is half
    assert symbols_in({(half,): 3, (): 1}) == {"m", "n"}


def test_calls_in_each_other_are_limited() -> None:
    terms = N
    for _ in range(24):
        terms = {(call("//", add(terms, M), M),): 1}
    with pytest.raises(ValueError, match="more than 24 divisions"):
        call("//", terms, M)


def test_remainders_are_folded_to_be_shown() -> None:
    remainder = modulo(N, constant(8))
    assert len(remainder) == 2
    ((monomial, coefficient),) = shown_terms(remainder).items()
    assert (monomial[0], coefficient) == (call("%", N, constant(8)), 1)
    assert bounds_of(remainder) == (0, 7)
    assert shown_terms(N) is N


def test_bounds_of_sums_and_calls() -> None:
    assert sum_bounds({("n",): 2, (): 3}) == (3, None)
    assert sum_bounds({("n",): -2, (): 3}) == (None, 3)
    assert call_bounds("max", [(1, None), (4, 5)]) == (4, None)
    assert call_bounds("min", [(1, None), (4, 5)]) == (1, 5)
    assert call_bounds("//", [(-7, 9), (2, 3)]) == (-4, 4)
    assert call_bounds("%", [(None, None), (1, 8)]) == (0, 7)
    assert call_bounds("//", [(0, 9), (None, 3)]) == (None, None)
    assert is_natural(N)
    assert not is_natural(add(N, M, -1))


def test_operands_of_a_division_are_in_parentheses_where_they_have_to_be() -> None:
    assert [operand_text(terms, terms) for terms in (N, TWO, constant(-2), add(N, M))] == ["n", "2", "(-2)", "(m + n)"]
    half: Terms = {(call("//", N, TWO),): 1}
    assert operand_text(half, half) == "(n//2)"


def test_an_exact_quotient_is_none_where_there_is_a_rest() -> None:
    product = multiply(add(N, M), add(N, TWO))
    assert exact_quotient(product, add(N, TWO)) == add(N, M)
    assert exact_quotient(add(product, TWO), add(N, TWO)) is None
    assert exact_quotient(N, {}) is None
    assert content({("n",): 6, (): 4}) == 2


def test_the_largest_is_left_out_where_another_decides() -> None:
    assert extreme("max", [N, add(N, TWO), constant(1)]) == add(N, TWO)
    assert extreme("min", [N, {}]) == {}
    assert lone_atom(extreme("max", [N, M])) == call("max", M, N)


def test_symbols_are_replaced_by_terms_or_numbers() -> None:
    half = floor_divide(add(N, M), TWO)
    swap = {"n": M, "m": TWO}
    assert replaced(half, lambda name: swap[name]) == add(floor_divide(M, TWO), constant(1))
    assert value_of(half, lambda name: {"n": 4, "m": 3}[name]) == 3


def test_ratios_are_whole_only_where_that_is_certain() -> None:
    assert whole(apply("+", ((1, 2), (3, 2)))) == 2
    assert apply("ceiling", ((7, 2),)) == (4, 1)
    with pytest.raises(ValueError, match="3/2 may be a fraction"):
        whole((3, 2))
    with pytest.raises(ValueError, match="'sqrt' of 1 is not known"):
        apply("sqrt", ((4, 1),))
