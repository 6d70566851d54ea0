"""Control flow compiled: bodies run as often as the reference runs them, and make what it makes."""

from __future__ import annotations

from time import monotonic
from typing import Annotated, Any, TypeAlias

import numpy as np
import pytest

import ingot
from ingot import operator
from ingot.dtypes import Array
from ingot.errors import IngotError
from ingot.ir import Graph
from ingot.loops.ir import BranchStep, Kernel, LoopStep
from ingot.loops.show import show_kernel
from ingot.ops.define import Operator, Runtime
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import FLOAT32, types
from ingot.prim.evaluate import evaluate
from ingot.prim.show import show
from ingot.runtime.limits import LimitError, RunLimits
from ingot.runtime.plan import KernelStep
from ingot.session import Interrupted, Session
from lower.machine import runs

HEAD = '<ir_version: 13, opset_import: ["" : 28]>'


def session(graph: str, threads: int = 1, limits: RunLimits | None = None) -> Session:
    made = Session(
        ingot.parse_model(f"{HEAD} {graph}"),
        providers=("cpu", "reference"),
        threads=threads,
        fallback=False,
        limits=limits,
    )
    assert made.compiled is not None
    assert not made.compiled.program.calls, [call.reason for call in made.compiled.program.calls.values()]
    return made


def agree(graph: str, /, *feeds: dict[str, Any]) -> None:
    """Compiled whole, on one thread and on two, a model gives the same bits, which are about those of the reference."""
    reference = Session(ingot.parse_model(f"{HEAD} {graph}"), providers=("reference",))
    one, two = session(graph), session(graph, 2)
    for given in (*feeds, *feeds):  # again, as what ran once runs another way
        try:
            expected = reference.run(None, given)
        except IngotError as error:
            with pytest.raises(type(error)):
                one.run(None, given)
            continue
        found = one.run(None, given)
        for a, b, c in zip(expected, found, two.run(None, given), strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(b, a, rtol=1e-6)
            assert b.tobytes() == c.tobytes()


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


def i64(value: int) -> Any:
    return np.asarray(value, np.int64)


COUNTED = """g (int64 m, float[N] x, float[N] w) => (a, b) {
  a, b = Loop <body = body (int64 i, bool go, float[N] s, float[N] t) => (bool on, float[N] u, float[N] v) {
      on = Identity(go)
      step = Mul(w, w)
      u = Add(t, step)
      v = Sub(s, t)
  }> (m, , x, w)
}"""


@pytest.mark.parametrize("trips", [0, 1, 2, 7, -3])
def test_a_loop_runs_as_often_as_its_count_says(trips: int) -> None:
    agree(COUNTED, {"m": i64(trips), "x": f32(1, 2, 3), "w": f32(0.5, 0.25, 2)})


def test_what_every_run_would_compute_alike_is_computed_before_the_loop() -> None:
    made = session(COUNTED).compiled
    assert made is not None
    (loop,) = [step for step in made.scheduled.steps if isinstance(step, LoopStep)]
    before = [step for step in made.scheduled.steps if isinstance(step, Kernel)]
    assert len(loop.steps) == 2
    assert len(loop.swapped) == 2
    assert " * " in "".join(show_kernel(kernel) for kernel in before)


ENDING = """g (int64 m, bool c, float[N] x) => (a, k) {
  zero = Constant<value_int=0>()
  a, k = Loop <body = body (int64 i, bool go, float[N] s, int64 n) => (bool on, float[N] t, int64 more) {
      t = Add(s, s)
      one = Constant<value_int=1>()
      more = Add(n, one)
      top = ReduceMax<keepdims=0>(t)
      hundred = Constant<value_float=100.0>()
      on = Less(top, hundred)
  }> (m, c, x, zero)
}"""


def test_a_loop_ends_when_its_condition_does() -> None:
    for most in (0, 3, 1 << 40):
        for begins in (True, False):
            agree(ENDING, {"m": i64(most), "c": np.asarray(begins), "x": f32(1, 2, 3)})


ROWS = """g (float[N, 3] x) => (last, rows) <int64 m = {4}> {
  zero = Constant<value_floats=[0.0, 0.0, 0.0]>()
  last, rows = Loop <body = body (int64 i, bool go, float[3] s) => (bool on, float[3] t, float[3] kept) {
      on = Identity(go)
      row = Gather(x, i)
      t = Add(s, row)
      kept = Neg(t)
  }> (m, , zero)
}"""


def test_rows_of_each_run_are_kept_and_places_that_are_not_there_are_refused() -> None:
    rows = np.arange(18, dtype=np.float32).reshape(6, 3)
    agree(ROWS, {"x": rows}, {"x": rows[:4]}, {"x": rows[:2]})


def test_a_state_that_stays_is_not_copied() -> None:
    graph = """g (int64 m, float[N] x, float[N] y) => (a, b) {
      a, b = Loop <body = body (int64 i, bool go, float[N] s, float[N] t) => (bool on, float[N] u, float[N] v) {
          on = Identity(go)
          u = Add(s, t)
          v = Identity(t)
      }> (m, , x, y)
    }"""
    agree(graph, {"m": i64(3), "x": f32(1, 2), "y": f32(3, 4)})
    made = session(graph).compiled
    assert made is not None
    (loop,) = [step for step in made.scheduled.steps if isinstance(step, LoopStep)]
    assert len(loop.swapped) == len(loop.steps) == 1


def test_states_may_change_places_and_be_what_the_other_was() -> None:
    graph = """g (int64 m, float[N] x, float[N] y) => (a, b, c) {
      a, b, c = Loop <body = l (int64 i, bool go, float[N] s, float[N] t, float[N] r)
                         => (bool on, float[N] u, float[N] v, float[N] w) {
          on = Identity(go)
          u = Identity(t)
          v = Identity(s)
          w = Identity(x)
      }> (m, , x, y, y)
    }"""
    for trips in range(4):
        agree(graph, {"m": i64(trips), "x": f32(1, 2), "y": f32(3, 4)})


NESTED = """g (int64 m, bool c, float[N] x) => (a) {
  a = Loop <body = outer (int64 i, bool go, float[N] s) => (bool on, float[N] t) {
      on = Identity(go)
      inner = Loop <body = inside (int64 j, bool also, float[N] p) => (bool yet, float[N] q) {
          yet = Identity(also)
          both = Add(i, j)
          scale = Cast<to=1>(both)
          more = Mul(x, scale)
          q = Add(p, more)
      }> (i, , s)
      one = Constant<value_int=1>()
      odd = Mod(i, two)
      is_odd = Equal(odd, one)
      t = If <then_branch = y () => (float[N] f) { f = Neg(inner) },
              else_branch = n () => (float[N] e) { e = Add(inner, x) }> (is_odd)
  }> (m, , x)
}""".replace("one = Constant<value_int=1>()", "one = Constant<value_int=1>()\n      two = Constant<value_int=2>()")


def test_loops_and_branches_lie_in_loops() -> None:
    for trips in (0, 1, 2, 5):
        agree(NESTED, {"m": i64(trips), "c": np.asarray(True), "x": f32(1, 2, 3)})


CHOICE = """g (bool c, float[N] x, float[N, M] w) => (y, z) {
  double = Add(x, x)
  y, z = If <then_branch = t () => (float[N] a, float[N] b) { a = Exp(double) b = Neg(double) },
             else_branch = e () => (float[N] d, float[N] f) {
                 s = ReduceSum<keepdims=0>(w, one)
                 d = Sqrt(s)
                 f = Identity(x)
             }> (c)
}""".replace("{\n  double", "<int64[1] one = {1}> {\n  double")


def test_one_branch_runs() -> None:
    w = np.full((3, 2), 2.0, np.float32)
    for taken in (True, False):
        agree(CHOICE, {"c": np.asarray(taken), "x": f32(1, 2, 3), "w": w})
    ran: list[str] = []
    made = session(CHOICE)
    feeds = {"c": np.asarray(True), "x": f32(1, 2, 3), "w": w}
    made.run(None, feeds, observe_steps=lambda step, *_: ran.append(step.name if isinstance(step, KernelStep) else ""))
    assert made.compiled is not None
    (choice,) = [step for step in made.compiled.scheduled.steps if isinstance(step, BranchStep)]
    assert {step.name for step in choice.then if isinstance(step, Kernel)} <= set(ran)
    assert not {step.name for step in choice.otherwise if isinstance(step, Kernel)} & set(ran)


def test_a_result_that_a_branch_alone_reads_is_computed_whichever_is_taken() -> None:
    graph = """g (bool c, float[N] x) => (twice, y) {
      twice = Add(x, x)
      y = If <then_branch = t () => (float[N] a) { a = Exp(twice) },
              else_branch = e () => (float[N] b) { b = Neg(x) }> (c)
    }"""
    agree(graph, *({"c": np.asarray(taken), "x": f32(1, 2)} for taken in (False, True, False)))


def test_sizes_are_compared_outside_of_a_branch_that_compares_them_too() -> None:
    graph = """g (bool c, float[N] x, float[M] w) => (sum, y) {
      sum = Add(x, w)
      y = If <then_branch = t () => (float[N] a) { p = Mul(x, w) a = Exp(p) },
              else_branch = e () => (float[N] b) { b = Neg(x) }> (c)
    }"""
    x, w = f32(1, 2, 3), f32(1, 2, 3)
    feeds = [{"c": np.asarray(taken), "x": x, "w": w[:size]} for taken in (False, True) for size in (3, 1, 2)]
    agree(graph, *feeds)


def test_a_branch_whose_sizes_cannot_be_hinders_only_who_takes_it() -> None:
    graph = """g (bool c, float[N] x, float[M] w) => (float[N] y) <float[2, 1, 4] k = {1, 2, 3, 4, 5, 6, 7, 8}> {
      y = If <then_branch = t () => (float[N] a) { a = Neg(x) },
              else_branch = e () => (float[N] b) {
                  axes = Constant<value_ints=[0, 1]>()
                  image = Unsqueeze(w, axes)
                  found = Conv(image, k)
                  total = ReduceSum<keepdims=0>(found)
                  b = Add(x, total)
              }> (c)
    }"""
    x, short, long = f32(1, 2), f32(1, 2), f32(1, 2, 3, 4, 5)
    feeds = [{"c": np.asarray(taken), "x": x, "w": w} for taken in (True, False) for w in (long, short)]
    agree(graph, *feeds)


def test_an_axis_is_taken_to_be_one_where_a_branch_for_that_has_other_axes() -> None:
    graph = """g (float[N, M] x, bool c) => (y) <int64 one = {1}, int64[1] axis = {1}> {
      shape = Shape(x)
      columns = Gather(shape, one)
      is_one = Equal(columns, one)
      narrow = If <then_branch = t () => (a) { a = Squeeze(x, axis) },
                   else_branch = e () => (b) { b = Identity(x) }> (is_one)
      y = Neg(narrow)
    }"""
    agree(graph, *({"x": np.ones((3, columns), np.float32), "c": np.asarray(True)} for columns in (1, 2, 1)))


SCAN = """g (float[2] s, float[T, 2] x, float[2, T] w) => (last, kept, back) {
  last, kept, back = Scan <num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [0, 1],
                           scan_output_axes = [1, 0], scan_output_directions = [0, 1],
    body = b (float[2] p, float[2] row, float[2] column) => (float[2] q, float[2] r, float[2] o) {
      sum = Add(row, column)
      q = Add(p, sum)
      r = Mul(q, row)
      o = Identity(column)
    }> (s, x, w)
}"""


def test_a_scan_goes_along_its_axes_in_either_direction() -> None:
    rng = np.random.default_rng(1)
    for time in (1, 4, 5):
        x, w = rng.standard_normal((time, 2)).astype(np.float32), rng.standard_normal((2, time)).astype(np.float32)
        agree(SCAN, {"s": f32(1, 2), "x": x, "w": w})


@pytest.mark.parametrize("graph", [COUNTED, ENDING, ROWS, NESTED, CHOICE, SCAN])
def test_primitives_say_what_the_reference_does(graph: str) -> None:
    made = session(graph).compiled
    assert made is not None
    feeds: dict[str, Any] = {"m": i64(3), "c": np.asarray(True), "s": f32(1, 2), "w": np.ones((2, 5), np.float32)}
    x = {"SCAN": (5, 2), "ROWS": (5, 3)}.get(next(name for name, text in globals().items() if text is graph), (2,))
    feeds["x"] = np.arange(np.prod(x), dtype=np.float32).reshape(x)
    if graph is COUNTED:
        feeds["w"] = f32(2, 3)
    given = {name: feeds[name] for name in made.program.inputs}
    sizes = {
        str(size): real
        for name, tensor in made.program.inputs.items()
        for size, real in zip(tensor.shape, given[name].shape, strict=True)
    }
    expected = Session(ingot.parse_model(f"{HEAD} {graph}"), providers=("reference",)).run(None, given)
    for one, other in zip(evaluate(made.outputs, given, sizes), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert ("repeat" in show(made.outputs)) == any(isinstance(step, LoopStep) for step in made.fused.steps)


ENDLESS = """g (bool c, float[N] x) => (a) {
  a = Loop <body = body (int64 i, bool go, float[N] s) => (bool on, float[N] t) {
      on = Identity(go)
      t = Neg(s)
  }> (, c, x)
}"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_deadline_ends_a_loop_that_does_not(threads: int) -> None:
    begin = monotonic()
    with pytest.raises(Interrupted):
        session(ENDLESS, threads).run(None, {"c": np.asarray(True), "x": f32(1, 2)}, deadline=0.1)
    assert monotonic() - begin < 5


def test_a_loop_that_does_not_end_meets_the_limit() -> None:
    limited = session(ENDLESS, limits=RunLimits(nodes=1000))
    with pytest.raises(LimitError):
        limited.run(None, {"c": np.asarray(True), "x": f32(1, 2)})
    assert limited.run(None, {"c": np.asarray(False), "x": f32(1, 2)})[0].tolist() == [1, 2]


def test_what_is_given_and_made_in_loops_is_a_callers_own() -> None:
    made = session(COUNTED)
    feeds = {"m": i64(3), "x": f32(1, 2, 3), "w": f32(1, 1, 1)}
    first = [each.copy() for each in made.run(None, feeds)]
    kept = made.run(None, feeds)
    for _ in range(5):
        made.run(None, {**feeds, "x": f32(7, 8, 9)})
    for one, other in zip(first, kept, strict=True):
        assert one.tobytes() == other.tobytes()
    assert feeds["x"].tolist() == [1, 2, 3]


def test_a_matrix_that_every_run_multiplies_by_is_packed_before_the_loop() -> None:
    graph = """g (int64 m, float[B, N, K] x, float[B, K, K] w) => (y) {
      y = Loop <body = b (int64 i, bool go, float[B, N, K] s) => (bool on, float[B, N, K] t) {
          on = Identity (go)
          p = MatMul (s, w)
          t = Neg (p)
      }> (m, , x)
    }"""
    rng = np.random.default_rng(3)
    for batch, rows, depth in ((1, 3, 5), (2, 17, 33), (3, 1, 65), (2, 0, 3), (0, 2, 3), (2, 2, 0)):
        shapes = ((batch, rows, depth), (batch, depth, depth))
        x, w = (rng.integers(-1, 2, shape).astype(np.float32) for shape in shapes)  # sums of these are exact
        agree(graph, *({"m": i64(trips), "x": x, "w": w} for trips in (0, 1, 4)))
    made = session(graph).compiled
    assert made is not None
    assert any(step.name.endswith("_pack") for step in made.scheduled.steps if isinstance(step, Kernel))


def test_a_loop_in_a_loop_starts_every_time_from_what_it_starts_from() -> None:
    graph = """g (int64 m, float[3] x) => (y) <float[3] zero = {0, 0, 0}, float one = {1}> {
      y = Loop <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] t) {
          on = Identity (go)
          last, r = Loop <body = c (int64 j, bool go2, float[3] p, float[3] q) => (bool on2, float[3] n, float[3] u) {
              on2 = Identity (go2)
              n = Add (p, one)
              a = Mul (x, p)
              u = Add (q, a)
          }> (m, , zero, s)
          t = Add (r, last)
      }> (m, , zero)
    }"""
    agree(graph, *({"m": i64(trips), "x": f32(1, 2, 3)} for trips in (0, 1, 2, 5)))


T: TypeAlias = Annotated[Array, types("T", FLOAT32)]


@operator("Identity", since=1, domain="my.own")
def successor(x: T, /) -> T:
    """`x` plus one: an Identity in name alone."""
    return np.asarray(x + np.float32(1), x.dtype)


@successor.infer
def infer_successor(x: Fact, /) -> Inferred:
    return x.type


@successor.lower
def lower_successor(x: Any, /) -> Any:
    return x + 1.0


@pytest.mark.parametrize("providers", [("reference",), ("cpu", "reference")])
@pytest.mark.parametrize("identity", ["my.own.Identity", "Identity"])
def test_an_identity_of_another_domain_is_not_the_standards(identity: str, providers: tuple[str, ...]) -> None:
    text = f"""<ir_version: 10, opset_import: ["" : 21, "my.own" : 1]>
    g (float[2] x, int64 m) => (float[2] y) {{
      y = Loop <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) {{
          d = Identity (c)
          t = {identity} (s)
      }}> (m, , x)
    }}"""
    made = Session(ingot.parse_model(text), operators=[successor], providers=providers, threads=1)
    expected = 3 if identity.startswith("my") else 0
    assert made.run(None, {"x": f32(0, 0), "m": i64(3)})[0].tolist() == [expected] * 2


def twice(name: str) -> Operator:
    """An operator `my.name` that runs its body on its inputs, and then on what that gave."""

    @operator(name, since=1, domain="my")
    def run(x: T, y: T, z: T, /, *, body: Graph, runtime: Runtime) -> T:
        """`body(body(x, y, z), y, z)`."""
        (once,) = runtime.run(body, [x, y, z])
        (again,) = runtime.run(body, [once, y, z])
        return np.asarray(again)

    @run.infer
    def infer(x: Fact, y: Fact, z: Fact, /, *, body: Graph) -> Inferred:
        del y, z, body
        return x.type

    return run


@pytest.mark.parametrize("name", ["If", "Loop", "Scan", "Twice"])
def test_an_operator_of_another_domain_with_a_body_is_none_of_the_standard_whatever_its_name(name: str) -> None:
    text = f"""<ir_version: 13, opset_import: ["" : 28, "my" : 1]>
    g (float[2] x, float[2] w, float[2] z) => (float[2] y) {{
        y = my.{name} (x, w, z) <body = b (float[2] s, float[2] t, float[2] u) => (float[2] r) {{
            sum = Add (s, t)
            product = Mul (sum, t)
            power = Exp (u)
            r = Sub (product, power)
        }}>
    }}"""
    feeds = {"x": f32(1, 2), "w": f32(2, 3), "z": f32(0, 1)}
    compiled, reference = (
        Session(ingot.parse_model(text), providers=providers, operators=[twice(name)], fallback=False)
        for providers in (("cpu", "reference"), ("reference",))
    )
    assert compiled.providers == ("cpu", "reference")
    np.testing.assert_allclose(compiled.run(None, feeds)[0], reference.run(None, feeds)[0], rtol=1e-6)


def test_a_loop_begins_with_a_constant_that_no_kernel_reads() -> None:
    graph = """g (int64 m, float[3] x) => (y) <float[3] start = {1, 2, 3}> {
      y = Loop <body = b (int64 i, bool c, float[3] s) => (bool d, float[3] t) {
          d = Identity (c)
          t = Add (x, x)
      }> (m, , start)
    }"""
    agree(graph, *({"m": i64(trips), "x": f32(4, 5, 6)} for trips in (0, 1, 3)))


DECLARED = """g (int64 m, bool c, float[2] x) => (float[2] y, float[5, 2] z) {{
  y, z = Loop <body = body (int64 i, bool go, float[2] s) => (bool on, float[2] t, float[2] row) {{
      row = Neg(s)
      t = Add(s, s)
      first = ReduceSum<keepdims = 0>(t)
      hundred = Constant<value_float = 100.0>()
      on = Less(first, hundred)
  }}> (m, {}, x)
}}"""


@pytest.mark.filterwarnings("ignore:a compiled run was thrown away")
@pytest.mark.parametrize("cond", ["c", ""], ids=["a condition", "a count alone"])
@pytest.mark.parametrize("trips", [0, 3, 5])
def test_rows_are_as_many_as_runs_whatever_the_model_declares(cond: str, trips: int) -> None:
    text = f"{HEAD} {DECLARED.format(cond)}"
    compiled = Session(ingot.parse_model(text), providers=("cpu", "reference"), threads=1)
    reference = Session(ingot.parse_model(text), providers=("reference",))
    for goes in (True, False):
        feeds = {"m": i64(trips), "c": np.asarray(goes), "x": f32(1, 2)}
        for found, expected in zip(compiled.run(None, feeds), reference.run(None, feeds), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_condition_of_an_open_size_is_assumed_to_be_one() -> None:
    graph = """g (bool[n] c, float[2] x) => (y) {
        y = If (c) <
            then_branch = t () => (float[2] a) { a = Neg (x) }, else_branch = e () => (float[2] b) { b = Abs (x) }
        >
    }"""
    cases = [{"c": np.array([flag]), "x": np.array([1, -2], np.float32)} for flag in (True, False)]
    runs(graph, *cases, {"c": np.array([True, False]), "x": np.array([1, 2], np.float32)})


def test_a_loop_that_makes_no_trip_collects_no_rows_of_the_sizes_that_are_known() -> None:
    graph = """g (float[n] x, float[k, 3] w, float[j] q) => (y, rows, other) {
        m = Size (q)
        y, rows, other = Loop (m, , x) <body = b (int64 i, bool c, float[n] s) => (bool c2, float[n] t, float[n] u, v) {
            c2 = Identity (c)
            t = Neg (s)
            u = Exp (s)
            v = Exp (w)
        }>
    }"""
    feeds = {"x": np.zeros(5, np.float32), "w": np.zeros((2, 3), np.float32)}
    agree(graph, *({**feeds, "q": np.zeros(count, np.float32)} for count in (0, 2)))
    reference = Session(ingot.parse_model(f"{HEAD} {graph}"), providers=("reference",))
    shapes = [array.shape for array in reference.run(None, {**feeds, "q": np.zeros(0, np.float32)})]
    assert shapes == [(5,), (0, 5), (0, 2, 3)]


def test_a_scan_over_nothing_collects_no_rows_of_the_sizes_that_are_known() -> None:
    graph = """g (float[n] x, float[t, k] r) => (y, rows, z) {
        y, rows, z = Scan <num_scan_inputs = 1, body = b (float[n] s, float[k] e) => (u, o, p) {
            u = Neg (s)
            o = Exp (s)
            p = Exp (e)
        }> (x, r)
    }"""
    agree(graph, *({"x": np.zeros(5, np.float32), "r": np.zeros((t, 4), np.float32)} for t in (0, 2)))


def flags(**feeds: Any) -> list[dict[str, Any]]:
    """Feeds with all values of two conditions."""
    return [{**feeds, "c": np.array(c), "d": np.array(d)} for c in (True, False) for d in (True, False)]


def test_branches_may_have_results_of_different_sizes() -> None:
    graph = """g (float[2, n] x, bool c, bool d) => (y, z, w)
            <int64[1] five = {5}, int64[1] zero = {0}, int64[1] one = {1}> {
        y, z = If (c) <
            then_branch = a () => (u, p) { u = Concat <axis = 1> (x, x) p = Exp (x) },
            else_branch = e () => (v, q) { v = Neg (x) q = Slice (x, zero, five, one) }
        >
        k = And (c, d)
        t = If (k) <
            then_branch = f () => (r) { r = Relu (y) },
            else_branch = h () => (s) { s = Slice (y, zero, one, one) }
        >
        w = Exp (t)
    }"""
    agree(graph, *(feeds for size in (3, 0, 8) for feeds in flags(x=np.ones((2, size), np.float32) * size)))


def test_a_branch_whose_sizes_make_no_sense_is_not_reached() -> None:
    graph = """g (float[1, 1, n] x, bool c, bool d) => (y) {
        y = If (c) <
            then_branch = a () => (u) {
                u = If (d) <
                    then_branch = a1 () => (p) { p = MaxPool <kernel_shape = [5]> (x) },
                    else_branch = a2 () => (q) { q = Neg (x) }
                >
            },
            else_branch = e () => (v) { v = Concat <axis = 2> (x, x) }
        >
    }"""
    feeds = [given for size in (6, 5, 3) for given in flags(x=np.arange(size, dtype=np.float32).reshape(1, 1, size))]
    agree(graph, *(given for given in feeds if given["x"].size >= 5 or not (given["c"] and given["d"])))


def test_a_branch_of_another_size_in_a_loop_is_decided_outside() -> None:
    graph = """g (float[n] x, bool c, bool d, int64 m) => (y) <bool go = {1}> {
        y = Loop (m, go, x) <body = b (int64 i, bool e, float[n] s) => (f, t) {
            f = Identity (e)
            u = If (c) <
                then_branch = a () => (p) { p = Concat <axis = 0> (s, s) },
                else_branch = h () => (q) { q = Neg (s) }
            >
            v = ReduceSum <keepdims = 1> (u)
            t = Add (s, v)
        }>
    }"""
    agree(graph, *flags(x=np.ones(3, np.float32), m=np.array(4)))


def test_what_a_loop_collects_is_an_output_even_where_a_copy_of_it_is_too() -> None:
    graph = """g (float[q, 4] m, float f) => (a, b) <int64[1] one = {1}> {
        a = Scan (m) <body = s (float[4] row) => (float c) { c = ReduceSum <keepdims = 0> (row) },
            num_scan_inputs = 1>
        last = Reshape (f, one)
        b = Concat <axis = 0> (a, last)
    }"""
    agree(graph, *({"m": np.ones((rows, 4), np.float32), "f": np.float32(2)} for rows in (3, 1, 0)))


@pytest.mark.parametrize(
    "condition",
    ["Identity (c)", "Identity (go)", "Cast <to = 9> (c)", "Cast <to = 9> (go)", "Cast <to = 9> (number)"],
)
def test_a_condition_that_is_always_true_leaves_the_trip_count_alone(condition: str) -> None:
    """As PyTorch's exporter writes loops over a sequence: with a Constant around the loop, and a Cast."""
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    runs(
        f"""g (float[n, k] x) => (y) <int64 first = {{0}}> {{
            go = Constant <value = bool {{1}}> ()
            number = Constant <value = float {{0.5}}> ()
            shape = Shape (x)
            count = Gather (shape, first)
            y = Loop (count, go) <body = b (int64 i, bool c) => (bool d, float[k] u) {{
                d = {condition}
                row = Gather (x, i)
                u = Exp (row)
            }}>
        }}""",
        {"x": x},
        {"x": x[:1]},
        {"x": x[:0]},
        rtol=1e-6,
    )
