"""What is around an Attention goes into it: repeated heads, caches, heads taken apart; and rotations of its rows."""

from __future__ import annotations

from ingot.passes.attention import recognise_rotary, take_caches, take_groups, take_rows
from passes.written import applied, parsed

GROUPED = """g (float[b, 4, n, 8] q, float[b, 2, m, 8] k, float[b, 2, m, 8] v) => (float[b, 4, n, 8] y)
    <int64[1] two = {2}, int64[1] four = {4}, int64[1] eight = {8}> {
    p = Shape<end = 1> (q)\n s = Shape<start = 2, end = 3> (k)
    wide = Concat<axis = 0> (p, two, two, s, eight)\n flat = Concat<axis = 0> (p, four, s, eight)
    a = Unsqueeze (k, two)\n c = Expand (a, wide)\n d = Reshape (c, flat)
    e = Unsqueeze (v, two)\n f = Expand (e, wide)\n h = Reshape (f, flat)
    y = Attention (q, d, h)
}"""


def test_repeated_heads_are_read_once() -> None:
    assert applied(take_groups, GROUPED) == (1, ["y = Attention(q, k, v)"])


def test_heads_that_are_repeated_in_another_order_stay() -> None:
    other = (
        GROUPED.replace("int64[1] two = {2}", "int64[1] two = {2}, int64[1] one = {1}")
        .replace("Unsqueeze (k, two)", "Unsqueeze (k, one)")
        .replace("Unsqueeze (v, two)", "Unsqueeze (v, one)")
    )
    assert applied(take_groups, other)[0] == 0


CACHED = """g (float[b, 4, n, 8] q, float[b, 4, n, 8] k, float[b, 4, n, 8] v,
       float[b, 4, p, 8] pk, float[b, 4, p, 8] pv)
    => (float[b, 4, n, 8] y, float[b, 4, t, 8] nk, float[b, 4, t, 8] nv) {
    nk = Concat<axis = 2> (pk, k)\n nv = Concat<axis = -2> (pv, v)\n y = Attention (q, nk, nv)
}"""


def test_the_past_goes_in_and_the_present_comes_out() -> None:
    assert applied(take_caches, CACHED) == (1, ["y, nk, nv = Attention(q, k, v, , pk, pv)"])


def test_a_cache_that_others_read_is_joined_before() -> None:
    read = CACHED.replace(
        "y = Attention (q, nk, nv)", "s = ReduceMax (nk)\n r = Mul (q, s)\n y = Attention (r, nk, nv)"
    )
    assert applied(take_caches, read)[0] == 0


ROWS = """g (float[b, n, 32] q, float[b, m, 16] k, float[b, m, 16] v, float[n, m] mask) => (float[b, n, 4, 8] y)
    <int64[4] four = {0, 0, 4, 8}, int64[4] two = {0, 0, 2, 8}> {
    a = Reshape (q, four)\n qh = Transpose<perm = [0, 2, 1, 3]> (a)
    c = Reshape (k, two)\n kh = Transpose<perm = [0, 2, 1, 3]> (c)
    d = Reshape (v, two)\n vh = Transpose<perm = [0, 2, 1, 3]> (d)
    e = Attention<scale = 0.3> (qh, kh, vh, mask)\n y = Transpose<perm = [0, 2, 1, 3]> (e)
}"""


def test_heads_are_taken_apart_inside() -> None:
    model = parsed(ROWS)
    assert applied(take_rows, model) == (
        1,
        ["attention = Attention(q, k, v, mask)", "y = Reshape(attention, [0, 0, 4, 8])"],
    )
    node = model.graph.nodes[0]
    assert (node.get("q_num_heads"), node.get("kv_num_heads"), round(node.get("scale"), 3)) == (4, 2, 0.3)


def test_heads_that_come_in_another_order_stay() -> None:
    assert (
        applied(take_rows, ROWS.replace("[0, 2, 1, 3]> (e)", "[0, 1, 3, 2]> (e)").replace("n, 4, 8] y", "4, 8, n] y"))[
            0
        ]
        == 0
    )


ROTARY = """g (float[b, 4, n, 8] x, float[1, n, 4] angle) => (float[b, 4, n, 8] y)
    <int64[1] one = {1}, int64[1] zero = {0}, int64[1] half = {4}, int64[1] end = {9223372036854775807},
     int64[1] last = {3}, float f = {1.5}> {
    both = Concat<axis = -1> (angle, angle)\n c = Cos (both)\n cs = Mul (c, f)\n s = Sin (both)
    cos = Unsqueeze (cs, one)\n sin = Unsqueeze (s, one)
    a = Slice (x, zero, half, last, one)\n d = Slice (x, half, end, last, one)\n e = Neg (d)
    t = Concat<axis = -1> (e, a)\n g = Mul (x, cos)\n h = Mul (t, sin)\n y = Add (g, h)
}"""


def test_a_rotation_is_recognised() -> None:
    count, nodes = applied(recognise_rotary, ROTARY)
    assert count == 1
    assert nodes[-1].startswith("y = RotaryEmbedding(x, ")
    assert not any("Slice" in node or "Neg" in node for node in nodes)


def test_angles_that_are_not_the_same_for_both_halves_are_no_rotation() -> None:
    other = ROTARY.replace("(angle, angle)", "(angle, more)").replace("angle) =>", "angle, float[1, n, 4] more) =>")
    assert applied(recognise_rotary, other)[0] == 0


def test_a_turn_the_other_way_is_no_rotation() -> None:
    assert applied(recognise_rotary, ROTARY.replace("(e, a)", "(a, e)"))[0] == 0
