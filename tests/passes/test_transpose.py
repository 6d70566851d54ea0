"""Transposes that follow each other are one or none."""

from __future__ import annotations

import pytest

from ingot.passes.batched_transpose import unstack_transposes
from ingot.passes.transpose import cancel_transposes
from passes.written import applied


def test_two_transposes_that_undo_each_other_are_none() -> None:
    text = """g (float[2, 3, 4] x) => (float[2, 3, 4] y) {
        a = Transpose<perm = [1, 2, 0]> (x)\n b = Transpose<perm = [2, 0, 1]> (a)\n y = Relu (b)
    }"""
    assert applied(cancel_transposes, text) == (1, ["y = Relu(x)"])


def test_two_transposes_are_one() -> None:
    text = "g (float[2, 3, 4] x) => (float[c, a, b] y) { a = Transpose<perm = [1, 0, 2]> (x)\n y = Transpose (a) }"
    assert applied(cancel_transposes, text) == (1, ["y = Transpose(x)"])


def test_nodes_that_work_element_by_element_are_no_hindrance() -> None:
    text = """g (float[2, 3, 4] x) => (float[2, 3, 4] y) <float[3] w = {1, 2, 3}, float low = {0}, float one = {2}> {
        a = Transpose<perm = [0, 2, 1]> (x)\n b = Mul (a, w)\n c = Clip (b, low)\n d = Sub (one, c)
        y = Transpose<perm = [0, 2, 1]> (d)
    }"""
    count, nodes = applied(cancel_transposes, text)
    assert count == 1
    assert nodes == ["mul = Mul(x, [[[1.0], [2.0], [3.0]]])", "clip = Clip(mul, 0.0)", "y = Sub(2.0, clip)"]


@pytest.mark.parametrize(
    "between",
    ["b = Softmax (a)", "b = Relu (a)\n z = Exp (b)", "b = Add (a, v)", "b = CumSum (a, k)"],
    ids=["rows", "another reader", "an operand that is no constant", "an axis"],
)
def test_what_does_not_move_stays(between: str) -> None:
    more = ", float[2, 4, 3] z" if "z = " in between else ""
    text = f"""g (float[2, 3, 4] x, float[3] v) => (float[2, 3, 4] y{more}) <int64 k = {{1}}> {{
        a = Transpose<perm = [0, 2, 1]> (x)\n {between}\n y = Transpose<perm = [0, 2, 1]> (b)
    }}"""
    assert applied(cancel_transposes, text)[0] == 0


def test_a_sum_of_two_that_are_transposed_alike_is_transposed_once() -> None:
    text = """g (float[2, 3] x, float[2, 3] z) => (float[3, 2] y) {
        a = Transpose (x)\n b = Transpose<perm = [1, 0]> (z)\n y = Add (a, b)
    }"""
    assert applied(cancel_transposes, text) == (1, ["add = Add(x, z)", "y = Transpose(add)"])


def test_a_stack_that_is_split_as_it_was_needs_no_stacking() -> None:
    text = """g (float[n, 4, m, 5] x) => (float[n, 4, 5, m] y) <int64[1] f = {5}, int64[1] l = {-1}> {
        s = Shape<start = 2, end = 3> (x)\n p = Shape<end = 2> (x)\n to = Concat<axis = 0> (l, s, f)
        back = Concat<axis = 0> (p, f, s)\n a = Reshape (x, to)\n b = Transpose<perm = [0, 2, 1]> (a)
        y = Reshape (b, back)
    }"""
    assert applied(unstack_transposes, text) == (1, ["y = Transpose(x)"])


def test_a_stack_that_is_split_otherwise_stays() -> None:
    text = """g (float[2, 4, 3, 5] x) => (float[4, 2, 5, 3] y) <int64[3] to = {8, 3, 5}, int64[4] back = {4, 2, 5, 3}> {
        a = Reshape (x, to)\n b = Transpose<perm = [0, 2, 1]> (a)\n y = Reshape (b, back)
    }"""
    assert applied(unstack_transposes, text)[0] == 0
