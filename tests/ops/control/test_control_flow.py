"""Branches and loops: how often bodies run, what they carry, what is known of it beforehand."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
import pytest

from ingot import Session, operator, parse_model
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import BOOL
from ingot.ops.typesets import types as types_of
from ops.control.written import f32, i64, run, types

CHOICE = """g (bool{shape} c, float[N] x) => ({out} y) {{
  y = If <then_branch = t () => (float[N] a) {{ a = Neg(x) }},
          else_branch = e () => ({other} b) {{ b = {made} }}> (c)
}}"""


def test_one_branch_runs_and_reads_the_values_around() -> None:
    graph = CHOICE.format(shape="", out="float[N]", other="float[N]", made="Identity(x)")
    assert run(graph, c=np.asarray(True), x=f32(1, 2))[0].tolist() == [-1, -2]
    assert run(graph, c=np.asarray(False), x=f32(1, 2))[0].tolist() == [1, 2]


def test_a_condition_of_one_element_in_an_axis_is_taken_and_of_two_is_not() -> None:
    graph = CHOICE.format(shape="[K]", out="float[N]", other="float[N]", made="Identity(x)")
    assert run(graph, c=np.asarray([True]), x=f32(1))[0].tolist() == [-1]
    with pytest.raises(InputError, match="one element"):
        run(graph, c=np.asarray([True, False]), x=f32(1))


def test_branches_of_other_sizes_agree_on_what_they_share() -> None:
    graph = CHOICE.format(shape="", out="", other="float[M]", made="Concat<axis=0>(x, x)")
    assert types(graph) == ["float32[?]"]
    graph = CHOICE.format(shape="", out="", other="float[1, N]", made="Unsqueeze(x, z)")
    assert types(graph.replace("y = If", "z = Constant<value_ints=[0]>()\n  y = If")) == ["float32[...]"]


def test_branches_of_other_element_types_are_refused() -> None:
    graph = CHOICE.format(shape="", out="float[N]", other="int64[N]", made="Cast<to=7>(x)")
    with pytest.raises(CheckError, match="float32"):
        types(graph)


def test_a_constant_condition_leaves_one_branch() -> None:
    graph = """g (float[N] x) => (y) <bool c = {1}> {
      y = If <then_branch = t () => (float[N] a) { a = Neg(x) },
              else_branch = e () => (float[M] b) { b = Concat<axis=0>(x, x) }> (c)
    }"""
    assert types(graph) == ["float32[N]"]


LOOP = """g ({given}float[N] x) => (z, c) {{
  z, c = Loop <body = b (int64 i, bool go, float[K] s) => (bool more, float[K] t, float[K] kept) {{
      one = Constant<value_float=1.0>()
      t = Add(s, one)
      kept = Identity(t)
      three = Constant<value_float=3.0>()
      top = ReduceMax<keepdims=0>(t)
      more = Less(top, three)
  }}> ({args}, x)
}}"""


def test_a_loop_counts_and_collects() -> None:
    z, c = run(LOOP.format(given="int64 m, ", args="m,"), m=np.asarray(4), x=f32(0, 1))
    assert z.tolist() == [4, 5]
    assert c.tolist() == [[1, 2], [2, 3], [3, 4], [4, 5]]


def test_a_loop_stops_where_its_condition_fails() -> None:
    z, c = run(LOOP.format(given="bool go, ", args=", go"), go=np.asarray(True), x=f32(0, 1))
    assert (z.tolist(), c.shape) == ([2, 3], (2, 2))
    z, c = run(LOOP.format(given="int64 m, bool go, ", args="m, go"), m=i64(1), go=np.asarray([True]), x=f32(0, 1))
    assert (z.tolist(), c.shape) == ([1, 2], (1, 2))


@pytest.mark.parametrize("count", [0, -3])
def test_a_loop_that_never_runs_gives_its_states_and_nothing_collected(count: int) -> None:
    z, c = run(LOOP.format(given="int64 m, ", args="m,"), m=np.asarray(count), x=f32(7))
    assert z.tolist() == [7]
    assert (c.shape, c.dtype) == ((0, 1), np.float32)
    z, c = run(LOOP.format(given="bool go, ", args=", go"), go=np.asarray(False), x=f32(7))
    assert c.shape == (0, 1)


def test_a_loop_without_an_end_is_refused() -> None:
    with pytest.raises(CheckError, match="never ends"):
        types(LOOP.format(given="", args=","))


def test_a_huge_trip_count_is_not_prepared_for() -> None:
    _, c = run(
        LOOP.format(given="int64 m, bool go, ", args="m, go"), m=np.asarray(2**62), go=np.asarray(True), x=f32(0)
    )
    assert c.shape == (3, 1)


def test_a_size_that_the_body_gives_back_is_the_size_from_outside() -> None:
    assert types(LOOP.format(given="int64 m, ", args="m,")) == ["float32[N]", "float32[?, N]"]


def test_the_count_of_a_loop_is_known_where_it_is_constant() -> None:
    graph = LOOP.format(given="", args="m,").replace("z, c = Loop", "m = Constant<value_int=5>()\n  z, c = Loop")
    assert types(graph) == ["float32[N]", "float32[5, N]"]


GROWING = """g (int64 m, float[N] x) => (z) {
  z = Loop <body = b (int64 i, bool go, float[K] s) => (bool going, float[L] t) {
      going = Identity(go)
      t = Concat<axis=0>(s, s)
  }> (m, , x)
}"""


def test_a_state_that_grows_has_no_known_size() -> None:
    assert types(GROWING) == ["float32[?]"]
    assert run(GROWING, m=np.asarray(3), x=f32(1))[0].shape == (8,)


def test_what_is_collected_must_keep_its_shape() -> None:
    graph = GROWING.replace("z)", "z, c)").replace("z = Loop", "z, c = Loop")
    graph = graph.replace("float[L] t)", "float[L] t, float[L] k)").replace("(s, s)", "(s, s)\n k = Identity(t)")
    with pytest.raises(ShapeError, match="run 1"):
        run(graph, m=np.asarray(3), x=f32(1))


def test_a_body_with_the_wrong_number_of_inputs_is_refused() -> None:
    with pytest.raises(CheckError, match="takes 3 inputs, it is given 4"):
        types(LOOP.format(given="int64 m, ", args="m, , x"))


def test_a_loop_of_opset_1_and_what_is_in_its_body_are_upgraded() -> None:
    graph = """g (int64 m, bool go, float[N] x) => (float[N] z) {
      z = Loop <body = b (int64 i, bool go1, float[N] s) => (bool go2, float[N] t) {
          go2 = Identity(go1)
          t = Add<broadcast=1, axis=0>(s, x)
      }> (m, go, x)
    }"""
    assert run(graph, opset=6, m=np.asarray(2), go=np.asarray(True), x=f32(1, 5))[0].tolist() == [3, 15]


SCAN = """g (float[B] h, float[B, T] x) => (z, ys) {{
  z, ys = Scan <num_scan_inputs=1, {options} body = b (float[P] s, float[P] v) => (float[P] t, float[P] o) {{
      t = Add(s, v)
      o = Identity(t)
  }}> (h, x)
}}"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("scan_input_axes=[1],", [[11, 20], [13, 24], [16, 29]]),
        ("scan_input_axes=[-1], scan_output_axes=[1],", [[11, 13, 16], [20, 24, 29]]),
        ("scan_input_axes=[1], scan_input_directions=[1],", [[13, 25], [15, 29], [16, 29]]),
        ("scan_input_axes=[1], scan_output_directions=[1], scan_output_axes=[-1],", [[16, 13, 11], [29, 24, 20]]),
    ],
)
def test_a_scan_goes_along_any_axis_in_both_directions(options: str, expected: list[list[float]]) -> None:
    x = np.array([[1, 2, 3], [0, 4, 5]], np.float32)
    z, ys = run(SCAN.format(options=options), h=f32(10, 20), x=x)
    assert z.tolist() == [16, 29]
    assert ys.tolist() == expected


def test_the_shapes_of_a_scan_follow_from_its_inputs() -> None:
    assert types(SCAN.format(options="scan_input_axes=[1],")) == ["float32[B]", "float32[T, B]"]
    assert types(SCAN.format(options="scan_input_axes=[1], scan_output_axes=[-1],")) == ["float32[B]", "float32[B, T]"]


def test_a_scan_over_nothing_gives_nothing() -> None:
    z, ys = run(SCAN.format(options="scan_input_axes=[1],"), h=f32(1, 2), x=np.zeros((2, 0), np.float32))
    assert (z.tolist(), ys.shape) == ([1, 2], (0, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("scan_input_axes=[2],", "scan_input_axes is 2"),
        ("scan_input_axes=[0, 1],", "2 numbers for 1"),
        ("scan_input_axes=[1], scan_output_directions=[3],", "0 is forward"),
        ("scan_input_axes=[1], scan_output_axes=[4],", "scan_output_axes is 4"),
    ],
)
def test_a_scan_with_odd_attributes_is_refused(options: str, message: str) -> None:
    with pytest.raises(CheckError, match=message):
        types(SCAN.format(options=options))


SCAN_8 = """g ({lens}float[2, 1] h, float[2, 3, 1] x) => (float[2, 1] z, float[2, 3, 1] ys) {{
  z, ys = Scan <num_scan_inputs=1, {options} body = b (float[1] s, float[1] v) => (float[1] t, float[1] o) {{
      t = Add(s, v)
      o = Identity(t)
  }}> ({n}, h, x)
}}"""
ROWS = np.arange(1, 7, dtype=np.float32).reshape(2, 3, 1)
START = np.zeros((2, 1), np.float32)


def test_a_scan_of_opset_8_runs_for_each_row_of_a_batch() -> None:
    z, ys = run(SCAN_8.format(lens="", n="", options=""), opset=8, h=START, x=ROWS)
    assert z.tolist() == [[6], [15]]
    assert ys[..., 0].tolist() == [[1, 3, 6], [4, 9, 15]]
    z, ys = run(SCAN_8.format(lens="", n="", options="directions=[1],"), opset=8, h=START, x=ROWS)
    assert ys[..., 0].tolist() == [[3, 5, 6], [6, 11, 15]]


def test_a_scan_of_opset_8_ends_each_row_at_its_length() -> None:
    graph = SCAN_8.format(lens="int64[2] n, ", n="n", options="")
    z, ys = run(graph, opset=8, n=i64(1, 3), h=START, x=ROWS)
    assert z.tolist() == [[1], [15]]
    assert ys[..., 0].tolist() == [[1, 0, 0], [4, 9, 15]]


def test_a_sequence_is_mapped_beside_another_and_a_tensor() -> None:
    graph = """g (seq(float[N]) a, seq(float[N]) b, float c) => (y) {
      y = SequenceMap <body = f (float[N] p, float[N] q, float r) => (float[N] s) {
          t = Add(p, q)
          s = Mul(t, r)
      }> (a, b, c)
    }"""
    (y,) = run(graph, a=[f32(1), f32(2, 3)], b=[f32(10), f32(20, 30)], c=np.asarray(2, np.float32))
    assert [part.tolist() for part in y] == [[22], [44, 66]]
    assert run(graph, a=[], b=[], c=np.asarray(2, np.float32)) == [[]]
    with pytest.raises(InputError, match="has 1 elements"):
        run(graph, a=[f32(1), f32(2)], b=[f32(10)], c=np.asarray(2, np.float32))


def test_a_body_that_never_runs_and_declares_nothing_is_beyond_us() -> None:
    graph = """g (int64 m, float[N] x) => (c) {
      c = Loop <body = b (int64 i, bool go) => (bool going, k) {
          going = Identity(go)
          k = Unheard(x)
      }> (m, )
    }"""
    with pytest.raises((UnsupportedError, CheckError)):
        run(graph, m=np.asarray(0), x=f32(1))


B: TypeAlias = Annotated[Array, types_of("B", BOOL)]


@operator("Identity", since=1, domain="my.own")
def inverse(x: B, /) -> B:
    """Not `x`: an Identity in name alone."""
    return np.logical_not(x)


@inverse.infer
def infer_inverse(x: Fact, /) -> Inferred:
    return x.type


@pytest.mark.parametrize(("identity", "rows"), [("Identity", 5), ("my.own.Identity", 1)])
def test_a_condition_through_an_identity_of_another_domain_may_end_a_loop(identity: str, rows: int) -> None:
    text = f"""<ir_version: 10, opset_import: ["" : 21, "my.own" : 1]>
    g (float[2] x) => (y) <int64 m = {{5}}, bool go = {{1}}> {{
      y = Loop <body = b (int64 i, bool c) => (bool d, float[2] t) {{ d = {identity} (c) t = Neg (x) }}> (m, go)
    }}"""
    made = Session(parse_model(text), operators=[inverse], providers=("reference",))
    assert str(made.outputs["y"]) == ("float32[5, 2]" if rows == 5 else "float32[?, 2]")
    assert made.run(None, {"x": f32(1, 2)})[0].shape == (rows, 2)
