"""Symbolic sizes: every simplification is checked against Python's integers at random sizes."""

import copy
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ingot import dims
from ingot.dims import Dim, Expr, Packing, evaluate, maximum, minimum, parse, symbol

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


# What is simplified


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


def test_exact_division_answers_what_reshape_asks() -> None:
    assert dims.divide_exactly(a * 12 * b, 4 * b) == 3 * a
    assert dims.divide_exactly(a * (b + 1) * (c + 2), (b + 1) * 1) == a * (c + 2)
    assert dims.divide_exactly(12, 4) == 3
    assert dims.divide_exactly(12, 5) is None
    assert dims.divide_exactly(6 * a, 4) is None
    assert dims.divide_exactly(a, b) is None
    assert dims.divide_exactly(a, 0) is None
    assert dims.divide_exactly(0, b) == 0


# How a size behaves as a value


def test_a_size_is_neither_true_nor_ordered() -> None:
    with pytest.raises(TypeError, match="not known"):
        bool(a)
    with pytest.raises(TypeError):
        a < 3  # type: ignore[operator]  # noqa: B015
    with pytest.raises(TypeError):
        max(a, b)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        range(a)  # type: ignore[call-overload]


def test_a_size_is_not_equal_to_a_number_or_to_a_text() -> None:
    assert a != 3
    assert a != "a"
    assert a != b
    assert len({a, symbol("a"), a + 0, a * 1}) == 1


def test_a_size_cannot_be_given_attributes() -> None:
    with pytest.raises(AttributeError):
        a.name = "b"  # type: ignore[attr-defined]


def test_other_types_get_their_turn_in_an_operation() -> None:
    class Other:
        def __radd__(self, left: object) -> str:
            return f"{left} and other"

    assert a + Other() == "a and other"
    with pytest.raises(TypeError):
        a + "b"  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        a * 1.5  # type: ignore[arg-type]


def test_numpy_integers_and_booleans_become_plain_ints() -> None:
    numpy = pytest.importorskip("numpy")
    two = numpy.int64(2)
    assert str(two * a + two) == "2*a + 2"
    assert str(two - a // two) == "-(a//2) + 2"
    assert str(maximum(a, two, numpy.int8(3))) == "max(a, 3)"
    assert type(evaluate(a * a, {"a": numpy.int32(2**20)})) is int
    assert evaluate(a * a, {"a": numpy.int32(2**20)}) == 2**40
    assert str(a * 5 + True) == "5*a + 1"


def test_evaluation_names_the_symbol_without_a_size() -> None:
    with pytest.raises(KeyError, match="'b' has no size; known: a, c") as caught:
        evaluate(a // b, {"a": 1, "c": 2})
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(ZeroDivisionError):
        evaluate(a // b, {"a": 1, "b": 0})
    never_other_than_zero = b % (minimum(c, 3) // 3)
    with pytest.raises(ZeroDivisionError):
        evaluate(a // never_other_than_zero, {"a": 1, "b": 5, "c": 3})
    with pytest.raises(ValueError, match="size of 'a' is -1"):
        evaluate(a, {"a": -1})


def test_substitution_may_be_partial_and_is_simultaneous() -> None:
    dim = (h + 2 * a - b) // s + 1
    assert dims.substitute(dim, {"s": 2, "b": 3, "a": 1}) == (h + 1) // 2
    assert isinstance(dim, Expr)
    assert dim.substitute({"h": b, "b": h}) == (b + 2 * a - h) // s + 1
    assert dims.rename(dim, {"h": "s", "s": "h"}) == (s + 2 * a - b) // h + 1
    assert dims.substitute(7, {"a": 1}) == 7
    with pytest.raises(ValueError, match="negative"):
        dims.substitute(a, {"a": -1})
    with pytest.raises(ZeroDivisionError):
        dims.substitute(a // b, {"b": 0})


def test_symbols_are_found_inside_divisions_and_max() -> None:
    assert dims.symbols(maximum(a // b, 2 * c) + 1) == {"a", "b", "c"}
    assert dims.symbols(3) == frozenset()
    assert dims.symbols(a * b - b * a + c) == {"c"}


def test_a_symbol_needs_a_name() -> None:
    with pytest.raises(ValueError, match="name"):
        symbol("")
    with pytest.raises(ValueError, match="max of nothing"):
        maximum()


# How a size is written and read


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (2 * symbol("seq") + 1, "2*seq + 1"),
        ((h - 1) // 2 + 1, "(h + 1)//2"),
        ((h + 2 * a - b) // s + 1, "(2*a - b + h)//s + 1"),
        (1 - a + b * b * a, "a*b**2 - a + 1"),
        (-(a // 2) * b, "-(a//2)*b"),
        (a % 8 + 1, "a % 8 + 1"),
        (b * (a % 8), "(a % 8)*b"),
        (3 * (a % b), "3*(a % b)"),
        (maximum(b, 1, a // 2), "max(a//2, b, 1)"),
        (a // (b - 1), "a//(b - 1)"),
        (-5 // a, "(-5)//a"),
        (maximum(a, b) // 2 // c, "max(a, b)//(2*c)"),
        (symbol("batch size"), "batch size"),
        (symbol("batch size") + 1, "`batch size` + 1"),
        (symbol("?") * 2, "2*`?`"),
        (symbol("`") * 2, "2*````"),
        (symbol("2") - 2, "`2` - 2"),
        (symbol("input.1_dim_0") // 2, "input.1_dim_0//2"),
        (symbol("größe") + symbol("unk__0"), "größe + unk__0"),
        (symbol("max") * (a + 1), "a*max + max"),
    ],
)
def test_sizes_are_written_for_people(dim: Dim, text: str) -> None:
    assert str(dim) == text
    if text != "batch size":
        assert parse(text) == dim


def test_the_repr_reads_back_even_for_odd_names() -> None:
    assert repr(symbol("batch size")) == "parse('`batch size`')"
    assert eval(repr(symbol("`a``+"))) == symbol("`a``+")


# What exporters write: PyTorch's (str of a sympy expression), and onnxruntime's symbolic shape inference, as found
# in models of the onnx-community on Hugging Face.
@pytest.mark.parametrize(
    ("text", "dim"),
    [
        ("s0 + 1", symbol("s0") + 1),
        ("2*s1", 2 * symbol("s1")),
        ("(s0//2)", symbol("s0") // 2),
        ("s0**2", symbol("s0") * symbol("s0")),
        ("Max(1, s0)", maximum(1, symbol("s0"))),
        ("Mod(a, b)", a % b),
        ("PythonMod(a, 4)", a % 4),
        ("floor(a/2)", a // 2),
        ("FloorToInt(IntTrueDiv(a, 2))", a // 2),
        ("CeilToInt(IntTrueDiv(a, 8))", (a + 7) // 8),
        ("ceiling(a/(-8))", -(a // 8)),
        ("(a-1)//8+1", (a + 7) // 8),
        ("floor(h/2 - 1/2) + 1", (h + 1) // 2),
        ("floor(floor(floor(floor(h/2)/4)/5 - 4/5)/8 - 7/8) + 1", (h + 8) // 320),
        ("floor(0.125*h)", h // 8),
        ("floor(h/14)*floor(s/14) + 5", (h // 14) * (s // 14) + 5),
        ("floor(a*b*c/s) + 1", a * b * c // s + 1),
        ("-a + Min(448, a + 1)", minimum(448, a + 1) - a),
        ("past_sequence_length + 512", symbol("past_sequence_length") + 512),
        ("DynamicDimension.1", symbol("DynamicDimension.1")),
        ("2*(a/2 + b/2)", a + b),
        (" - - 3 ", 3),
        ("-a**2", -(a * a)),
        ("-a//2", (-a) // 2),
        ("a - b - c", a - (b + c)),
        ("a//b*c", (a // b) * c),
        ("a*-2 % 3", (-2 * a) % 3),
    ],
)
def test_what_exporters_write_is_read(text: str, dim: Dim) -> None:
    assert parse(text) == dim


@pytest.mark.parametrize(
    ("text", "why", "position"),
    [
        ("", "end of text", 0),
        ("batch size", "unexpected 'size'", 6),
        ("?", r"unexpected '\?'", 0),
        ("a +", "end of text", 3),
        ("a + * b", r"unexpected '\*'", 4),
        ("(a", "end of text", 2),
        ("a)", r"unexpected '\)'", 1),
        ("2a", "unexpected 'a'", 1),
        ("a, b", "unexpected ','", 1),
        ("(a, b)", "comma", 0),
        ("a // 0", "zero", 2),
        ("a / 0", "zero", 2),
        ("a % (b - b)", "zero", 2),
        ("sqrt(a)", "'sqrt' of 1 is not known", 0),
        ("Mod(a)", "'Mod' of 1", 0),
        ("max()", "unexpected", 4),
        ("h / 2", "h/2 may be a fraction", 0),
        ("max(a/2, 1)", "a/2 may be a fraction", 0),
        ("1.5", "3/2 may be a fraction", 0),
        ("floor(0.1*h)", "not exact in binary", 6),
        ("1.2.3", "malformed", 0),
        ("a**b", "unexpected 'b'", 3),
        ("2**3**2", r"unexpected '\*\*'", 4),
        ("`a", "backtick", 0),
        ("a + ``", "backtick", 4),
        ("a == b", "unexpected '='", 2),
    ],
)
def test_a_text_that_is_not_a_size_is_refused_at_its_position(text: str, why: str, position: int) -> None:
    with pytest.raises(ValueError, match=rf"{why}.*\(position {position}\)"):
        parse(text)


PAIRS = "+".join("abcdefghijklm"), "+".join("ABCDEFGHIJKLM")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "a" + ")" * 10_000,
        "max(" * 3_000 + "a" + ")" * 3_000,
        "(" * 3_000,
        "*".join(["(a + b)"] * 100),
        "*".join(f"(a{i} + b{i})" for i in range(100)),
        "(a + b)**100000",
        "a**" + "9" * 1_000,
        "9**" + "9" * 1_000,
        "*".join(["9**999"] * 2_000),
        "a*" + "*".join(["9**999"] * 2_000),
        "+".join(f"a{i}" for i in range(2_000)),
        "9" * 10_000,
        "a" * 100_000,
        "a" + "//(b + c)" * 1_500,
        "max(" + ",".join(f"a{i}//{i + 2}" for i in range(900)) + ")",
    ],
)
def test_a_text_over_the_limits_is_refused_in_bounded_time(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(ValueError, match="position"):
        parse(text)
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    "text",
    [
        "-" * 16_000 + "a",
        f"({PAIRS[0]})*({PAIRS[1]})" + "-1+1" * 3_000,
        f"({PAIRS[0]})*(A+B+C+D)" + "*(x+y)//(x+y)" * 900,
        "a" + "+a//2-a//2" * 1_500,
        "a" + "//7 + a//3" * 1_500,
        "a" + "//2" * 1_300,
        "+".join(["max(a,b,c,d,e,f,g,h,i,j)"] * 600),
        "9" * 3_600,
    ],
)
def test_a_long_text_within_the_limits_is_read_in_bounded_time(text: str) -> None:
    start = time.perf_counter()
    assert parse(str(parse(text))) == parse(text)
    assert time.perf_counter() - start < 15


def test_arithmetic_that_grows_without_end_is_refused() -> None:
    def grow_until_refused(step: Callable[[Dim], Dim]) -> None:
        dim: Dim = a
        for _ in range(5_000):
            dim = step(dim)

    steps: list[Callable[[Dim], Dim]] = [
        lambda x: x * x,
        lambda x: x * (b + 1) + c,
        lambda x: maximum(x // 2, b) + x % 3,
        lambda x: (x + b) // (x + c),
        lambda x: x * 10**9,
    ]
    for step in steps:
        with pytest.raises(ValueError, match="would"):
            grow_until_refused(step)


def test_a_name_may_be_longer_than_the_limit_while_it_is_alone() -> None:
    name = "x" * 3 * dims.LIMIT
    assert str(symbol(name)) == name
    assert pickle.loads(pickle.dumps(symbol(name))) == symbol(name)
    assert evaluate(symbol(name), {name: 3}) == 3


def test_texts_and_pickles_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "import pickle, sys; from ingot.dims import parse\n"
        "dim = parse('max(b, a, c//2) + (a + b)*(c + d) + e % 4')\n"
        "assert pickle.loads(bytes.fromhex(sys.argv[1])) in {dim}\n"
        "print(dim, end='')"
    )
    dim = parse("max(b, a, c//2) + (a + b)*(c + d) + e % 4")
    for seed in "12":
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", program, pickle.dumps(dim).hex()]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == str(dim) == "a*c + a*d + b*c + b*d + e % 4 + max(a, b, c//2)"


def test_the_module_imports_nothing_heavy() -> None:
    program = (
        "import sys; ingot = sys.modules['ingot'] = type(sys)('ingot'); ingot.__path__ = sys.argv[1:]\n"
        "before = set(sys.modules); import ingot.dims; print(*sorted(set(sys.modules) - before))"
    )
    folder = str(Path(dims.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, check=True)
    imported = {name for name in done.stdout.split() if not name.startswith("ingot.dims")}
    assert imported <= {"__future__", "math", "operator", "_operator"}


def test_a_maximum_absorbs_a_minimum_of_the_same_size() -> None:
    n, m = symbol("n"), symbol("m")
    assert maximum(n, minimum(n, 512)) == n
    assert minimum(n, maximum(n, m)) == n
    assert maximum(n, minimum(m, 512)) != n


@pytest.mark.parametrize(
    "text",
    ["n", "3*n*m**2 - 7", "(n + 1)//2*((n - 3)//4 + m)", "max(n, m, 4)*5 + n % 3", "min(`a b`//2, (m//3 + n)//5)"],
)
def test_a_size_is_packed_as_plain_data_and_unpacked_as_it_was(text: str) -> None:
    packing = Packing()
    size = parse(text)
    assert isinstance(size, Expr)
    said = json.loads(json.dumps([packing.packed(size), packing.packed(size), packing.calls]))
    unpacking = Packing(said[2])
    assert unpacking.unpacked(said[0]) == unpacking.unpacked(said[1]) == size
    assert str(unpacking.unpacked(said[0])) == str(size)


def test_calls_that_sizes_share_are_packed_once() -> None:
    packing = Packing()
    for text in ("n//2", "n//2 + 1", "(n//2 + m)//(m + 3)"):
        size = parse(text)
        assert isinstance(size, Expr)
        packing.packed(size)
    assert len(packing.calls) == 2
