"""Loops, scans and maps, said in older versions."""

from __future__ import annotations

import numpy as np
import pytest

from ops.tensor.older import converted, floats, older, refusal

COLLECTS = """g (int64 n, bool go, float[2] x) => (float[k,2] y) {
    y = Loop(n, go) <body = b (int64 i, bool c) => (bool d, float[2] r) {
        d = Identity(c)
        f = Cast<to=1>(i)
        r = Mul(x, f)
    }>
}"""


def test_a_loop_without_states_gets_one() -> None:
    feeds = [{"n": np.array(n), "go": np.array(True), "x": floats(2)} for n in (3, 0)]
    assert older(COLLECTS, 10, *feeds) == ["Loop"]
    older(COLLECTS, 1, *feeds)
    (loop,) = converted(COLLECTS, 10).graph
    (body,) = loop.subgraphs
    assert len(loop.inputs) == 3
    assert len(body.inputs) == len(body.outputs) == 3


def test_a_loop_with_states_stays() -> None:
    graph = """g (int64 n, float[2] x) => (float[2] y) {
        y = Loop(n, , x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] r) {
            d = Identity(c)
            r = Add(s, s)
        }>
    }"""
    older(graph, 7, {"n": np.array(3), "x": floats(2)})
    (loop,) = converted(graph, 10).graph
    assert len(loop.inputs) == 3


@pytest.mark.parametrize(
    ("axes", "directions", "axis", "direction"), [("0,0", "0,0", 0, 0), ("1,-1", "1,0", 1, 0), ("0,1", "0,1", -1, 1)]
)
def test_a_scan_is_one_of_a_batch_of_one(axes: str, directions: str, axis: int, direction: int) -> None:
    graph = f"""g (float[2] s, float[3,3,2] x, float[3,3] w) => (float[2] t, float[a,b] y) {{
        t, y = Scan(s, x, w) <body = b (float[2] u, float[3,2] p, float[3] q) => (float[2] v, float[2] r) {{
            m = MatMul(q, p)
            v = Add(u, m)
            r = Mul(v, v)
        }}, num_scan_inputs = 2, scan_input_axes = [{axes}], scan_input_directions = [{directions}],
        scan_output_axes = [{axis}], scan_output_directions = [{direction}]>
    }}"""
    assert "Scan" in older(graph, 8, {"s": floats(2), "x": floats(3, 3, 2), "w": floats(3, 3)})


def test_a_scan_that_collects_backwards_needs_its_length() -> None:
    graph = """g (float[n,2] x) => (float[n,2] y) {
        y = Scan(x) <body = b (float[2] p) => (float[2] r) { r = Neg(p) },
            num_scan_inputs = 1, scan_output_directions = [1]>
    }"""
    assert "backwards" in refusal(graph, 8)


def test_a_map_over_a_sequence_is_a_loop() -> None:
    graph = """g (float[n] x, float[n] z, float[1] k) => (float[n] y, float[n] w) {
        s = SplitToSequence(x)
        t = SplitToSequence(z)
        r, v = SequenceMap(s, t, k) <body = b (float[1] a, float[1] c, float[1] d) => (float[1] e, float[1] h) {
            f = Add(a, c)
            e = Mul(f, d)
            h = Identity(d)
        }>
        y = ConcatFromSequence<axis=0>(r)
        w = ConcatFromSequence<axis=0>(v)
    }"""
    feed = {"x": floats(3), "z": floats(3), "k": floats(1)}
    for to in (16, 13):
        said = older(graph, to, feed)
        assert "Loop" in said
        assert "SequenceMap" not in said
    assert "does not carry" in refusal(graph, 12)


def test_what_a_branch_holds_is_said_in_the_older_version_too() -> None:
    graph = """g (bool c, float[a,b] x) => (float[a,b] y) {
        y = If(c) <then_branch = t () => (float[a,b] p) {
            k = Constant<value_ints=[1]>()
            u = Unsqueeze(x, k)
            q = Squeeze(u, k)
            p = Trilu(q)
        }, else_branch = e () => (float[a,b] o) { o = Identity(x) }>
    }"""
    feeds = [{"c": np.array(c), "x": floats(3, 4)} for c in (True, False)]
    for to in (13, 12, 9):
        assert older(graph, to, *feeds) == ["If"]
