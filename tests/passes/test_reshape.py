"""Views of views are one; targets that inference knows are constants."""

from __future__ import annotations

from ingot.passes.reshape import merge_views
from passes.written import applied


def test_views_in_a_row_are_one() -> None:
    text = """g (float[n, 6] x) => (float[n, 3, 1, 2] y) <int64[3] s = {0, 3, 2}, int64[1] a = {2}> {
        b = Reshape (x, s)\n y = Unsqueeze (b, a)
    }"""
    assert applied(merge_views, text) == (1, ["y = Reshape(x, [-1, 3, 1, 2])"])


def test_views_that_come_back_to_the_shape_they_began_with_are_none() -> None:
    text = """g (float[n, m] x) => (float[n, m] y) <int64[1] a = {1}> {
        b = Unsqueeze (x, a)\n c = Squeeze (b, a)\n y = Relu (c)
    }"""
    assert applied(merge_views, text) == (1, ["y = Relu(x)"])


def test_a_computed_target_becomes_a_constant_where_sizes_stay_at_their_places() -> None:
    text = """g (float[n, m, 6] x) => (float[n, m, 2, 3] y) <int64[2] w = {2, 3}> {
        s = Shape<end = 2> (x)\n t = Concat<axis = 0> (s, w)\n y = Reshape (x, t)
    }"""
    assert applied(merge_views, text) == (1, ["y = Reshape(x, [0, 0, 2, 3])"])


def test_one_size_that_moves_is_what_the_others_leave() -> None:
    text = """g (float[n, 6] x) => (float[6, n] y) <int64[1] w = {6}> {
        s = Shape<end = 1> (x)\n t = Concat<axis = 0> (w, s)\n y = Reshape (x, t)
    }"""
    assert applied(merge_views, text) == (1, ["y = Reshape(x, [6, -1])"])


def test_two_sizes_that_move_stay_computed() -> None:
    text = """g (float[n, m, 6] x) => (float[m, n, 6] y) <int64[1] w = {6}> {
        s = Shape<end = 1> (x)\n r = Shape<start = 1, end = 2> (x)\n t = Concat<axis = 0> (r, s, w)\n y = Reshape (x, t)
    }"""
    assert applied(merge_views, text)[0] == 0


def test_a_size_of_zero_is_not_left_to_the_others() -> None:
    text = """g (float[n, 0] x) => (float[0, n] y)
        <int64[1] l = {-1}, int64[1] f = {-9223372036854775807}, int64[1] a = {0}>
        { s = Shape (x)\n t = Slice (s, l, f, a, l)\n y = Reshape<allowzero = 1> (x, t) }"""
    assert applied(merge_views, text)[0] == 0
