"""Bodies of control flow that the reference runs: compiled by themselves, they make what the reference makes."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.codegen.llvm import templates
from ingot.errors import IngotError
from ingot.prim.tensor import Call
from ingot.runtime.limits import LimitError, RunLimits
from ingot.runtime.plan import KernelStep
from ingot.session import Cancel, Interrupted, Session

HEAD = '<ir_version: 13, opset_import: ["" : 28]>'


def session(graph: str, threads: int = 1, limits: RunLimits | None = None) -> Session:
    """A session whose regions the reference runs, with bodies of their own."""
    made = Session(
        ingot.parse_model(f"{HEAD} {graph}"),
        providers=("cpu", "reference"),
        threads=threads,
        fallback=False,
        limits=limits,
    )
    assert made.compiled is not None
    assert any(body is not None for bodies in made.compiled.bodies.values() for body in bodies)
    return made


def outcome(made: Session, feeds: dict[str, Any]) -> Any:
    try:
        return made.run(None, feeds)
    except IngotError as error:
        return type(error), error.message, error.where


def agree(graph: str, /, *feeds: dict[str, Any]) -> None:
    """With bodies compiled, on one thread and on two, a model gives the same bits, which are about the reference's.

    Where that refuses to run, so does it, in the same words.
    """
    reference = Session(ingot.parse_model(f"{HEAD} {graph}"), providers=("reference",))
    one, two = session(graph), session(graph, 2)
    for given in (*feeds, *feeds):
        expected, found, again = (outcome(each, given) for each in (reference, one, two))
        if isinstance(expected, tuple):
            assert found == again == expected
            continue
        same(expected, found, 1e-6)
        same(found, again, 0)


def same(expected: Any, found: Any, rtol: float) -> None:
    if isinstance(expected, list):
        assert len(expected) == len(found)
        for one, other in zip(expected, found, strict=True):
            same(one, other, rtol)
    elif expected is None or expected.dtype == object:
        assert (found is None) == (expected is None)
        np.testing.assert_array_equal(found, expected)
    else:
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=rtol)


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


def i64(value: Any) -> Any:
    return np.asarray(value, np.int64)


GROWING = """g (int64 m, float[n] x) => (float[k] y, float w) <int64[1] zero = {0}, float one = {1}> {
  y, w = Loop <body = b (int64 i, bool go, float[p] s, float t) => (bool on, float[q] u, float v) {
      on = Identity (go)
      f = Cast <to = 1> (i)
      row = Unsqueeze (f, zero)
      more = Mul (row, t)
      u = Concat <axis = 0> (s, more)
      v = ReduceSum <keepdims = 0> (u)
  }> (m, , x, one)
}"""


@pytest.mark.parametrize("trips", [0, 1, 2, 9, -3])
def test_a_state_may_grow(trips: int) -> None:
    agree(GROWING, *({"m": i64(trips), "x": np.ones(n, np.float32)} for n in (3, 0, 1)))


def test_a_state_that_grows_compiles_nothing_again() -> None:
    made = session(GROWING)
    made.run(None, {"m": i64(1), "x": f32(1)})
    codes = len(templates.TEMPLATES)
    made.run(None, {"m": i64(300), "x": f32(1, 2, 3)})
    assert len(templates.TEMPLATES) == codes


def test_a_state_that_stays_is_not_copied() -> None:
    graph = """g (int64 m, float[n] x, float[k] big) => (float[j] y, float[k] same) <int64[1] zero = {0}> {
      y, same = Loop <body = b (int64 i, bool go, float[p] s, float[k] t) => (bool on, float[q] u, float[k] v) {
          on = Identity (go)
          top = ReduceMax <keepdims = 1> (t)
          u = Concat <axis = 0> (top, s)
          v = Identity (t)
      }> (m, , x, big)
    }"""
    agree(graph, {"m": i64(4), "x": f32(1), "big": f32(5, 6, 7)})
    made = session(graph)
    assert made.compiled is not None
    ((body,),) = made.compiled.bodies.values()
    assert body is not None
    assert len(body.scheduled.stores) == 1  # what is put together, the largest with it


ENDING = """g (int64 m, bool c, float[n] x) => (float[k] y, float[r, j] rows) {
  y, rows = Loop <body = b (int64 i, bool go, float[p] s) => (bool on, float[p] t, float[p] kept) {
      t = Add (s, s)
      kept = Neg (t)
      top = ReduceMax <keepdims = 0> (t)
      hundred = Constant <value_float = 100.0> ()
      on = Less (top, hundred)
  }> (m, c, x)
}"""


def test_rows_are_kept_of_a_loop_whose_end_only_a_run_tells() -> None:
    starts = [(most, begins) for most in (0, 3, 1 << 40) for begins in (True, False)]
    agree(ENDING, *({"m": i64(most), "c": np.asarray(begins), "x": f32(1, 2, 3)} for most, begins in starts))


def test_rows_of_different_sizes_are_refused_as_the_reference_does() -> None:
    graph = """g (int64 m, float[n] x) => (float[k] y, float[r, j] rows) {
      y, rows = Loop <body = b (int64 i, bool go, float[p] s) => (bool on, float[q] t, float[q] kept) {
          on = Identity (go)
          t = Concat <axis = 0> (s, s)
          kept = Neg (t)
      }> (m, , x)
    }"""
    agree(graph, *({"m": i64(m), "x": f32(1, 2)} for m in (0, 1, 2)))


def test_a_size_that_two_results_have_is_known_after_the_first_of_them() -> None:
    graph = """g (int64 m, float[2] x) => (float[k] y, float[r, 2] rows) <int64 zero = {0}, int64 one = {1}> {
      r = Range (zero, m, one)
      trips = Size (r)
      y, rows = Loop <body = b (int64 i, bool go, float[p] s) => (bool on, float[q] t, float[2] kept) {
          on = Identity (go)
          t = Concat <axis = 0> (s, s)
          kept = Neg (x)
      }> (trips, , x)
    }"""
    agree(graph, *({"m": i64(m), "x": f32(1, 2)} for m in (0, 1, 2)))


def test_branches_may_give_other_sizes_and_axes() -> None:
    graph = """g (bool c, float[n] x) => (y, z) <int64[2] shape = {1, -1}> {
      y, z = If <then_branch = t () => (float[a] p, float[n] q) { p = Concat <axis = 0> (x, x) q = Exp (x) },
                 else_branch = e () => (float[1, b] r, float[n] s) {
                     twice = Add (x, x)
                     r = Reshape (twice, shape)
                     s = Identity (x)
                 }> (c)
    }"""
    agree(graph, *({"c": np.asarray(c), "x": x} for c in (True, False) for x in (f32(1, 2, 3), f32())))


def test_a_body_may_have_nodes_that_the_reference_runs() -> None:
    graph = """g (int64 m, float[n] x) => (float[n] y, float[k] found)
      <int64[1] none = {0}, int64[1] first = {0}> {
      start = Slice (x, none, none, first)
      y, found = Loop <body = b (int64 i, bool go, float[n] s, float[p] t) => (bool on, float[n] u, float[q] v) {
          on = Identity (go)
          half = Constant <value_float = 0.5> ()
          u = Mul (s, half)
          big = Floor (u)
          words = Cast <to = 8> (big)
          distinct = Unique (words)
          there = Cast <to = 1> (distinct)
          v = Concat <axis = 0> (t, there)
      }> (m, , x, start)
    }"""
    agree(graph, *({"m": i64(m), "x": x} for m in (0, 1, 4) for x in (f32(8, 1, 40), f32(0.5), f32())))
    made = session(graph).compiled
    assert made is not None
    ((body,),) = made.bodies.values()
    assert body is not None
    assert [node.op_type for node in body.program.calls] == ["Cast", "Unique", "Cast"]


def test_sequences_are_states() -> None:
    graph = """g (int64 m, float[n] x) => (seq(float[k]) y, float[n] z) {
      start = SequenceEmpty <dtype = 1> ()
      y, z = Loop <body = b (int64 i, bool go, seq(float[k]) s, float[n] t) => (bool on, seq(float[k]) u, float[n] v) {
          on = Identity (go)
          e = Exp (t)
          v = Neg (e)
          w = Concat <axis = 0> (v, t)
          u = SequenceInsert (s, w)
      }> (m, , start, x)
    }"""
    agree(graph, *({"m": i64(m), "x": f32(0.5, 1)} for m in (0, 1, 5)))


def test_a_sequence_is_mapped() -> None:
    graph = """g (seq(float[n]) x, float w) => (seq(float[n]) y) {
      y = SequenceMap <body = b (float[n] e, float f) => (float[n] r) { p = Mul (e, f) r = Exp (p) }> (x, w)
    }"""
    agree(graph, *({"x": x, "w": np.float32(0.5)} for x in ([f32(1, 2), f32(3)], [], [f32()])))


def test_strings_are_states() -> None:
    graph = """g (int64 m, string[n] x, float[k] a) => (string[j] y, float[k] z) {
      y, z = Loop <body = b (int64 i, bool go, string[p] s, float[k] t) => (bool on, string[q] u, float[k] v) {
          on = Identity (go)
          u = Concat <axis = 0> (s, s)
          v = Exp (t)
      }> (m, , x, a)
    }"""
    agree(graph, {"m": i64(2), "x": np.array(["a", "b"], object), "a": f32(0.1, 0.2)})


NESTED = """g (int64 m, float[n] x) => (float[k] y) <int64[1] zero = {0}, int64 two = {2}> {
  y = Loop <body = outer (int64 i, bool go, float[p] s) => (bool on, float[q] t) {
      on = Identity (go)
      inner = Loop <body = inside (int64 j, bool also, float[r] a) => (bool yet, float[o] b) {
          yet = Identity (also)
          both = Add (i, j)
          f = Cast <to = 1> (both)
          row = Unsqueeze (f, zero)
          top = ReduceMax <keepdims = 1> (x)
          more = Mul (row, top)
          b = Concat <axis = 0> (a, more)
      }> (i, , s)
      odd = Mod (i, two)
      is_odd = Cast <to = 9> (odd)
      t = If <then_branch = y () => (float[u] c) { c = Neg (inner) },
              else_branch = n () => (float[v] d) { d = Concat <axis = 0> (inner, x) }> (is_odd)
  }> (m, , x)
}"""


def test_bodies_lie_in_bodies() -> None:
    for trips in (0, 1, 2, 5):
        agree(NESTED, {"m": i64(trips), "x": f32(1, 2, 3)})


def test_a_scan_with_a_node_of_the_reference_goes_along_its_axes() -> None:
    graph = """g (float[2] s, float[T, 2] x, float[2, T] w) => (last, kept, back) {
      last, kept, back = Scan <num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [0, 1],
                               scan_output_axes = [1, 0], scan_output_directions = [0, 1],
        body = b (float[2] p, float[2] row, float[2] column) => (float[2] q, float[2] r, float[2] o) {
          sum = Add (row, column)
          u, i = Unique <sorted = 1> (sum)
          most = ReduceMax <keepdims = 1> (u)
          more = Mul (most, row)
          q = Add (p, more)
          r = Mul (q, row)
          o = Identity (column)
        }> (s, x, w)
    }""".replace("u, i = Unique", "u = Unique")
    rng = np.random.default_rng(1)
    for time in (1, 4, 5):
        x, w = rng.standard_normal((time, 2)).astype(np.float32), rng.standard_normal((2, time)).astype(np.float32)
        agree(graph, {"s": f32(1, 2), "x": x, "w": w})


def test_sizes_known_around_a_body_are_known_in_it() -> None:
    graph = """g (int64 m, float[n, 4] x) => (float[k] y) <int64[1] tail = {-1}, float[0] none = {}> {
      shape = Shape (x)
      y = Loop <body = b (int64 i, bool go, float[p] s) => (bool on, float[q] t) {
          on = Identity (go)
          flat = Reshape (x, tail)
          back = Reshape (flat, shape)
          sum = ReduceSum <keepdims = 0> (back, one)
          t = Concat <axis = 0> (sum, s)
      }> (m, , none)
    }""".replace("none = {}>", "none = {}, int64[1] one = {1}>")
    agree(graph, *({"m": i64(2), "x": np.arange(4 * n, dtype=np.float32).reshape(n, 4)} for n in (3, 1)))
    made = session(graph).compiled
    assert made is not None
    ((body,),) = made.bodies.values()
    assert body is not None
    assert not body.program.calls


def test_a_state_whose_axes_change_is_the_references() -> None:
    graph = """g (int64 m, float[n] x) => (y, float[n] z) <int64[1] zero = {0}> {
      y, z = Loop <body = b (int64 i, bool go, s, float[n] t) => (bool on, u, float[n] v) {
          on = Identity (go)
          more = Add (s, s)
          u = Unsqueeze (more, zero)
          v = Exp (t)
      }> (m, , x, x)
    }"""
    agree(graph, *({"m": i64(m), "x": f32(0.1, 0.2)} for m in (0, 1, 3)))


def test_what_was_taken_to_be_one_in_a_loop_is_made_sure_of() -> None:
    graph = """g (int64 m, float[n] x) => (float[k] y) <int64 one = {1}, int64[1] axis = {0}> {
      y = Loop <body = b (int64 i, bool go, float[p] s) => (bool on, q) {
          on = Identity (go)
          shape = Shape (s)
          size = Squeeze (shape)
          is_one = Equal (size, one)
          r = If <then_branch = t () => (a) { a = Squeeze (s, axis) },
                  else_branch = e () => (b) { b = Identity (s) }> (is_one)
          top = ReduceMax <keepdims = 0> (r)
          row = Unsqueeze (top, axis)
          q = Concat <axis = 0> (s, row)
      }> (m, , x)
    }"""
    agree(graph, *({"m": i64(3), "x": x} for x in (f32(1), f32(1, 2))))


def test_what_was_taken_to_be_one_in_a_branch_is_made_sure_of() -> None:
    graph = """g (bool c, float[n, k] x) => (y) <int64 one = {1}, int64[1] axis = {1}> {
      y = If <then_branch = t () => (p) {
                 shape = Shape (x)
                 columns = Gather (shape, one)
                 is_one = Equal (columns, one)
                 narrow = If <then_branch = tt () => (a) { a = Squeeze (x, axis) },
                              else_branch = ee () => (b) { b = Identity (x) }> (is_one)
                 p = Exp (narrow)
             },
             else_branch = e () => (float r) { r = ReduceSum <keepdims = 0> (x) }> (c)
    }"""
    reference = Session(ingot.parse_model(f"{HEAD} {graph}"), providers=("reference",))
    made = Session(ingot.parse_model(f"{HEAD} {graph}"), providers=("cpu", "reference"), fallback=False)
    sizes = [(columns, taken) for columns in (1, 2, 3) for taken in (True, False)]
    feeds = [{"c": np.asarray(taken), "x": np.ones((3, columns), np.float32)} for columns, taken in sizes]
    for each in feeds:
        same(outcome(reference, each), outcome(made, each), 1e-6)


def test_what_is_wrong_in_a_body_is_said_as_the_reference_says_it() -> None:
    graph = """g (int64 m, float[n] x) => (float[k] y) <int64[1] zero = {0}> {
      y = Loop <body = b (int64 i, bool go, float[p] s) => (bool on, float[q] t) {
          on = Identity (go)
          at = Unsqueeze (i, zero)
          element = Gather (x, at)
          t = Concat <axis = 0> (element, s)
      }> (m, , x)
    }"""
    agree(graph, *({"m": i64(m), "x": f32(1, 2, 3)} for m in (3, 4)))


def test_random_numbers_in_a_body_are_those_of_the_reference() -> None:
    graph = """g (int64 m, float[n] x) => (float[k] y) {
      y = Loop <body = b (int64 i, bool go, float[p] s) => (bool on, float[q] t) {
          on = Identity (go)
          r = RandomUniformLike (x)
          e = Exp (r)
          t = Concat <axis = 0> (s, e)
      }> (m, , x)
    }"""
    agree(graph, {"m": i64(4), "x": f32(1, 2)})


ENDLESS = """g (bool c, float[n] x) => (float[k] y) {
  y = Loop <body = b (int64 i, bool go, float[p] s) => (bool on, float[q] t) {
      on = Identity (go)
      e = Neg (x)
      t = Concat <axis = 0> (e, s)
  }> (, c, x)
}"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_deadline_ends_a_loop_that_does_not(threads: int) -> None:
    begin = monotonic()
    with pytest.raises(Interrupted):
        session(ENDLESS, threads).run(None, {"c": np.asarray(True), "x": f32(1)}, deadline=0.1)
    assert monotonic() - begin < 5


def test_somebody_may_cancel_it() -> None:
    cancel = Cancel()
    timer = threading.Timer(0.1, cancel.cancel)
    timer.start()
    with pytest.raises(Interrupted):
        session(ENDLESS).run(None, {"c": np.asarray(True), "x": f32(1)}, cancel=cancel)
    timer.join()


@pytest.mark.parametrize("limits", [RunLimits(nodes=1000), RunLimits(memory=100_000)])
def test_a_loop_that_does_not_end_meets_a_limit(limits: RunLimits) -> None:
    limited = session(ENDLESS, limits=limits)
    with pytest.raises(LimitError):
        limited.run(None, {"c": np.asarray(True), "x": f32(*range(100))})
    assert limited.run(None, {"c": np.asarray(False), "x": f32(1, 2)})[0].tolist() == [1, 2]


def test_several_threads_run_it_at_once() -> None:
    made = session(NESTED, 2)
    feeds = [{"m": i64(4), "x": f32(*range(1, size))} for size in (3, 5, 9, 30)]
    expected = [made.run(None, each)[0].tobytes() for each in feeds]
    wrong: list[int] = []

    def run(place: int) -> None:
        wrong.extend(place for _ in range(5) if made.run(None, feeds[place])[0].tobytes() != expected[place])

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(feeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_steps_of_bodies_are_observed() -> None:
    seen: list[str] = []
    made = session(GROWING)
    feeds = {"m": i64(3), "x": f32(1, 2)}
    expected = made.run(None, feeds)

    def observe(step: KernelStep | Call, *_: Any) -> None:
        seen.append(step.node.op_type if isinstance(step, Call) else step.name)

    same(expected, made.run(None, feeds, observe_steps=observe), 0)
    assert made.compiled is not None
    ((body,),) = made.compiled.bodies.values()
    assert body is not None
    kernels = [kernel.name for kernel in body.scheduled.stores]
    assert seen == [*kernels * 3, "Loop"]


def test_what_is_given_and_made_is_a_callers_own() -> None:
    made = session(GROWING)
    feeds = {"m": i64(0), "x": f32(1, 2, 3)}
    made.run(None, feeds)[0][:] = 9
    assert feeds["x"].tolist() == [1, 2, 3]
    kept = made.run(None, {**feeds, "m": i64(3)})
    before = [each.copy() for each in kept]
    made.run(None, {"m": i64(3), "x": f32(7, 8, 9)})
    same(before, kept, 0)


def test_a_size_alone_is_asked_of_what_the_reference_makes() -> None:
    model = ingot.parse_model(f"{HEAD} g (float[n] x) => (int64[1] s) {{ y = NonZero (x) s = Shape <start = 1> (y) }}")
    made = Session(model, providers=("cpu", "reference"), fallback=False)
    assert made.run(None, {"x": f32(1, 0, 2)})[0].tolist() == [2]


ALIKE = """g (int64 m, float[n] x, float[k] w, int64[1] at) => (float[j] y) {
  y = Loop <body = b (int64 i, bool go, float[p] s) => (bool on, float[q] t) {
      on = Identity (go)
      e = Exp (w)
      r = RandomUniformLike (w)
      one = Gather (e, at)
      top = ReduceMax <keepdims = 1> (s)
      more = Mul (top, one)
      t = Concat <axis = 0> (s, more, r)
  }> (m, , x)
}"""


def test_what_every_run_would_compute_alike_is_computed_once() -> None:
    given = {"x": f32(1, 2), "w": f32(0.5, 0.25, -1)}
    agree(ALIKE, *({**given, "m": i64(m), "at": i64([at])} for m in (0, 1, 4) for at in (0, 2, -1, 3)))
    seen: list[str] = []
    made = session(ALIKE)
    for trips in (0, 3):
        feeds = {**given, "m": i64(trips), "at": i64([1])}
        made.run(None, feeds, observe_steps=lambda step, *_: seen.append(getattr(step, "name", "")))
    assert made.compiled is not None
    ((body,),) = made.compiled.bodies.values()
    assert body is not None
    assert body.invariants is not None
    often = {
        kernel.name: seen.count(kernel.name) for kernel in (*body.scheduled.stores, *body.invariants.scheduled.stores)
    }
    once = dict.fromkeys((kernel.name for kernel in body.invariants.scheduled.stores), 1)
    assert often == dict.fromkeys((kernel.name for kernel in body.scheduled.stores), 3) | once


def test_strings_that_a_model_is_given_are_left_to_the_reference() -> None:
    model = ingot.parse_model(f"{HEAD} g (string[n] x) => (string[k] y) {{ y = Concat <axis = 0> (x, x) }}")
    made = Session(model, providers=("cpu", "reference"), fallback=False)
    assert made.run(None, {"x": np.array(["a"], object)})[0].tolist() == ["a", "a"]
