"""Sizes are simplified to a normal form."""

from __future__ import annotations

from ingot import dims
from ingot.dims import evaluate, maximum, minimum, symbol

a, b, c, h, s = (symbol(name) for name in "abchs")


def test_a_sum_does_not_depend_on_the_order_of_its_terms() -> None:
    assert a + b + 1 == 1 + b + a
    assert hash(a + b + 1) == hash(1 + b + a)
    assert 2 * (a + 1) == 2 * a + 2


def test_what_comes_out_constant_is_an_int() -> None:
    for dim, value in ((a - a, 0), ((2 * a + 1) % 2, 1), (0 * a, 0), (a // a, 1), ((a % 4) // 4, 0), (a // (a + 1), 0)):
        assert type(dim) is int
        assert dim == value


def test_a_division_takes_out_what_the_divisor_divides() -> None:
    assert (4 * a) // 2 == 2 * a
    assert (a * b) // b == a
    assert (a * b + c) // b == a + c // b
    assert (2 * a * b) // (4 * b) == a // 2
    assert (a * a + 2 * a + 1) // (a + 1) == a + 1
    assert (-a) // (-b) == a // b
    assert (h - 3) // 2 + 1 == (h - 1) // 2


def test_nested_divisions_are_one() -> None:
    assert a // 2 // 3 == a // 6
    assert a // b // c == a // (b * c)
    assert ((h + 1) // 2 + 1) // 2 == (h + 3) // 4


def test_a_remainder_is_what_the_division_leaves() -> None:
    assert a // 4 * 4 + a % 4 == a
    assert (a % 4) % 2 == a % 2
    assert (a - a % 4) // 4 == a // 4
    assert (6 * a) % 4 == 2 * (a % 2)
    assert dims.is_multiple(a - a % 4, 4)


def test_division_rounds_towards_minus_infinity() -> None:
    assert evaluate((a - 8) // 3, {"a": 1}) == -3
    assert evaluate((a - 8) % 3, {"a": 1}) == 2
    assert evaluate((a + 8) // -3, {"a": 0}) == -3
    assert evaluate(7 // (a - 3), {"a": 1}) == -4


def test_max_and_min_fold_flatten_and_drop_what_cannot_win() -> None:
    assert maximum(a, a) == a
    assert maximum(3, 5, a) == maximum(a, 5)
    assert maximum(a, maximum(b, c)) == maximum(c, b, a)
    assert maximum(a, 0) == a
    assert minimum(a, 0) == 0
    assert maximum(a, a + b) == a + b
    assert minimum(a, a + 1, 7) == minimum(7, a)
    assert maximum(a % 8, 8) == 8
    assert maximum(2, 3) == 3


def test_bounds_use_that_sizes_are_not_negative() -> None:
    assert dims.lower_bound(2 * a + 3) == 3
    assert dims.upper_bound(2 * a + 3) is None
    assert (dims.lower_bound(a % 8), dims.upper_bound(a % 8)) == (0, 7)
    assert (dims.lower_bound(5 - minimum(a, 4)), dims.upper_bound(5 - minimum(a, 4))) == (1, 5)
    assert (dims.lower_bound((a + 9) // 4), dims.lower_bound(a * b + 1)) == (2, 1)
    assert dims.lower_bound(a - b) is None
    assert (dims.lower_bound(7), dims.upper_bound(7)) == (7, 7)


def test_bounds_compare_a_quotient_with_what_it_is_of() -> None:
    to_a_multiple = 8 * ((a + 7) // 8) - a
    assert (dims.lower_bound(to_a_multiple), dims.upper_bound(to_a_multiple)) == (0, 7)
    assert dims.lower_bound(b * to_a_multiple) == 0
    assert dims.lower_bound(a - a // 2) == 0
    assert dims.lower_bound(a // 2 - a // 3) == 0
    assert (dims.lower_bound((a + 1) // 2 - a // 2), dims.upper_bound((a + 1) // 2 - a // 2)) == (0, 1)
    assert dims.lower_bound(7 * ((h // 4 + 6) // 7) - h // 4) == 0
    assert dims.lower_bound(a // 2 - a) is None


def test_exact_division_answers_what_reshape_asks() -> None:
    assert dims.divide_exactly(a * 12 * b, 4 * b) == 3 * a
    assert dims.divide_exactly(a * (b + 1) * (c + 2), (b + 1) * 1) == a * (c + 2)
    assert dims.divide_exactly(12, 4) == 3
    assert dims.divide_exactly(12, 5) is None
    assert dims.divide_exactly(6 * a, 4) is None
    assert dims.divide_exactly(a, b) is None
    assert dims.divide_exactly(a, 0) is None
    assert dims.divide_exactly(0, b) == 0


def test_a_maximum_absorbs_a_minimum_of_the_same_size() -> None:
    n, m = symbol("n"), symbol("m")
    assert maximum(n, minimum(n, 512)) == n
    assert minimum(n, maximum(n, m)) == n
    assert maximum(n, minimum(m, 512)) != n
