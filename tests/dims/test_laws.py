"""Symbolic sizes: every simplification is checked against Python's integers at random sizes."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from ingot import dims
from ingot.dims import Dim, Expr, evaluate, maximum, minimum, parse, symbol

a, b, c, h, s = (symbol(name) for name in "abchs")

# A tree is a name, a number, or an operator with trees. It is evaluated twice: as sizes, and as Python's integers.
NAMES = ("a", "b", "seq len", "x.1", "`")
OPERATORS: dict[str, tuple[Callable[..., Dim], Callable[..., int]]] = {
    "+": (lambda x, y: x + y, lambda x, y: x + y),
    "-": (lambda x, y: x - y, lambda x, y: x - y),
    "*": (lambda x, y: x * y, lambda x, y: x * y),
    "//": (lambda x, y: x // y, lambda x, y: x // y),
    "%": (lambda x, y: x % y, lambda x, y: x % y),
    "neg": (lambda x: -x, lambda x: -x),
    "max": (maximum, max),
    "min": (minimum, min),
}

numbers = st.integers(-4, 9) | st.sampled_from([1, 2, 3, 4, 6, 8, 12, 2**63, -(10**40)])
sizes = st.fixed_dictionaries({name: st.integers(0, 40) for name in NAMES})


def grow(trees: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    divisors = st.integers(-8, 12) | trees
    return st.one_of(
        st.tuples(st.sampled_from("+-*"), trees, trees),
        st.tuples(st.sampled_from(["//", "%"]), trees, divisors),
        st.tuples(st.just("neg"), trees),
        st.tuples(st.sampled_from(["max", "min"]), trees, trees, trees),
    )


trees = st.recursive(st.sampled_from(NAMES) | numbers, grow, max_leaves=10)
natural = st.recursive(
    st.sampled_from(NAMES) | st.integers(0, 9),
    lambda inner: st.tuples(st.sampled_from(["+", "*", "max", "min"]), inner, inner),
    max_leaves=4,
)


def as_dim(tree: Any) -> Dim:
    """The tree as a size; a tree that divides by 0 is none."""
    if isinstance(tree, str):
        return symbol(tree)
    if isinstance(tree, int):
        return tree
    try:
        return OPERATORS[tree[0]][0](*map(as_dim, tree[1:]))
    except ZeroDivisionError:
        assume(False)
        raise


def within_limits(compute: Callable[[], Dim]) -> Dim:
    """What it computes; a size that is over the limits is none."""
    try:
        return compute()
    except ValueError:
        assume(False)
        raise


def as_int(tree: Any, values: dict[str, int]) -> int:
    """The tree at these sizes, in Python's own arithmetic."""
    if isinstance(tree, str):
        return values[tree]
    if isinstance(tree, int):
        return tree
    try:
        return OPERATORS[tree[0]][1](*[as_int(part, values) for part in tree[1:]])
    except ZeroDivisionError:
        assume(False)
        raise


# What holds for every size


@given(trees, sizes)
def test_a_size_has_the_value_of_what_it_was_made_from(tree: Any, values: dict[str, int]) -> None:
    expected = as_int(tree, values)
    assert evaluate(as_dim(tree), values) == expected


@given(trees)
def test_what_is_written_is_read_back(tree: Any) -> None:
    dim = as_dim(tree)
    if str(dim) not in NAMES:
        assert parse(str(dim)) == dim
    assert eval(repr(dim), {"parse": parse}) == dim


@given(trees)
def test_a_size_is_not_constant_and_a_constant_is_an_int(tree: Any) -> None:
    dim = as_dim(tree)
    assert type(dim) is int or (isinstance(dim, Expr) and dims.symbols(dim))


@given(trees, sizes)
def test_bounds_hold(tree: Any, values: dict[str, int]) -> None:
    value = as_int(tree, values)
    dim = as_dim(tree)
    low, high = dims.lower_bound(dim), dims.upper_bound(dim)
    assert low is None or low <= value
    assert high is None or value <= high


@given(trees, st.integers(-12, 12), sizes)
@example(("*", 4, ("max", ("*", 2, "a"), 6, "b")), 4, dict.fromkeys(NAMES, 3))
def test_a_multiple_is_one_at_every_size(tree: Any, n: int, values: dict[str, int]) -> None:
    value = as_int(tree, values)
    if dims.is_multiple(as_dim(tree), n):
        assert value % n == 0 if n else value == 0


@given(trees, trees, st.booleans(), sizes)
def test_an_exact_quotient_times_its_divisor_is_the_dividend(
    left: Any, right: Any, exact: bool, values: dict[str, int]
) -> None:
    dividend, divisor = ("*", left, right) if exact else left, right
    expected, times = as_int(dividend, values), as_int(divisor, values)
    x, y = within_limits(lambda: as_dim(dividend)), as_dim(divisor)
    quotient = dims.divide_exactly(x, y)
    if quotient is not None:
        assert within_limits(lambda: quotient * y) == x
        assert evaluate(quotient, values) * times == expected


@given(trees, st.dictionaries(st.sampled_from(NAMES), natural), sizes)
def test_substitution_commutes_with_evaluation(tree: Any, bound: dict[str, Any], values: dict[str, int]) -> None:
    expected = as_int(tree, values | {name: as_int(part, values) for name, part in bound.items()})
    bindings = {name: as_dim(part) for name, part in bound.items()}
    dim = as_dim(tree)
    assert evaluate(within_limits(lambda: dims.substitute(dim, bindings)), values) == expected


@given(trees)
def test_substituting_nothing_changes_nothing(tree: Any) -> None:
    dim = as_dim(tree)
    assert dims.substitute(dim, {}) == dim
    assert dims.substitute(dim, {name: symbol(name) for name in NAMES}) == dim


@given(trees)
def test_copies_and_pickles_are_equal(tree: Any) -> None:
    dim = as_dim(tree)
    for copied in (pickle.loads(pickle.dumps(dim)), copy.copy(dim), copy.deepcopy(dim)):
        assert copied == dim
        assert hash(copied) == hash(dim)
        assert str(copied) == str(dim)


@given(trees, trees, trees)
def test_arithmetic_obeys_the_laws_of_a_ring(left: Any, middle: Any, right: Any) -> None:
    x, y, z = as_dim(left), as_dim(middle), as_dim(right)
    assert x - x == 0
    assert 0 - (0 - x) == x
    assert x + y == y + x
    assert hash(x + y) == hash(y + x)
    assert (x + y) + z == x + (y + z)
    assert within_limits(lambda: x * y) == within_limits(lambda: y * x)
    assert within_limits(lambda: x * (y + z)) == within_limits(lambda: x * y + x * z)


@given(trees, trees)
def test_quotient_and_remainder_make_the_dividend(left: Any, right: Any) -> None:
    n, d = as_dim(left), as_dim(right)
    assume(d != 0)
    assert within_limits(lambda: n // d * d + n % d) == n


WORDS = ["a", "b", "seq_len", "`x y`", "`", "0", "7", "2.5", "0.1", "9" * 30, "é", "²", "٣", "\x00", "\n", " "]
WORDS += ["max(", "min(", "floor(", "Mod(", "CeilToInt(", "(", ")", ",", ".", "+", "-", "*", "/", "//", "%", "**"]


@given(st.text(max_size=60) | st.lists(st.sampled_from(WORDS), max_size=60).map("".join))
def test_any_text_is_a_size_or_a_value_error(text: str) -> None:
    try:
        dim = parse(text)
    except ValueError as error:
        message = str(error)
    else:
        assert isinstance(dim, (int, Expr))
        return
    assert "position" in message
