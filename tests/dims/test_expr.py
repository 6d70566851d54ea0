"""Sizes as values: equality, operators, limits, pickles."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ingot import dims
from ingot.dims import Dim, Expr, evaluate, maximum, minimum, parse, symbol

a, b, c, h, s = (symbol(name) for name in "abchs")


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
