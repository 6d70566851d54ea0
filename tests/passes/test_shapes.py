"""Shape arithmetic: what inference knows is a constant, what the inputs alone tell is computed."""

from __future__ import annotations

from ingot.passes.dead import dead
from ingot.passes.shapes import known_integers
from passes.written import applied, parsed


def test_sizes_that_are_numbers_become_constants() -> None:
    text = """g (float[n, 4, 5] x) => (float[n, 4, 5] y, int64[2] s) {
        s = Shape<start = 1> (x)\n p = ReduceProd<keepdims = 0> (s)\n f = Cast<to = 1> (p)\n y = Mul (x, f)
    }"""
    model = parsed(text)
    applied(known_integers, model)
    assert applied(dead, model)[1] == ["f = Cast(20)", "y = Mul(x, f)", "s = Identity([4, 5])"]


def test_sizes_of_inputs_stay() -> None:
    text = "g (float[n, 4] x) => (int64[2] s) { s = Shape (x) }"
    assert applied(known_integers, text) == (0, ["s = Shape(x)"])


def test_a_part_that_is_known_of_a_shape_that_is_not_becomes_a_constant() -> None:
    text = """g (float[n, 4] x) => (float[n, 4] y) <int64 i = {1}> {
        s = Shape (x)\n d = Gather (s, i)\n f = Cast<to = 1> (d)\n y = Mul (x, f)
    }"""
    assert applied(known_integers, text) == (1, ["f = Cast(4)", "y = Mul(x, f)"])


def test_the_size_of_what_grows_in_a_loop_is_no_constant() -> None:
    text = """g (float[1] x, int64 n) => (float[m] y, int64[k] sizes) <bool go = {1}> {
        y, sizes = Loop (n, go, x) <body = b (int64 i, bool c, float[?] a) => (bool d, float[?] e, int64 s) {
            d = Identity (c)\n e = Concat<axis = 0> (a, a)\n s = Size (a)
        }>
    }"""
    assert applied(known_integers, text)[0] == 0


def test_a_number_beyond_int64_is_a_constant_of_its_type() -> None:
    text = "g () => (uint64[2] y) <int32[2] w = {-1, 3}> { c = Cast<to = 13> (w)\n y = Identity (c) }"
    assert applied(known_integers, text) == (1, ["y = Identity([18446744073709551615, 3])"])
