"""Specialisation and the lowering of control flow as text: a graph goes in, a graph or primitives come out."""

from __future__ import annotations

from textwrap import dedent

import ingot
from ingot.ir.text import to_text
from ingot.lower.graph import lower_graph
from ingot.lower.specialise import specialise
from ingot.lower.specialise_branches import Specialised
from ingot.ops.catalog import standard
from ingot.prepare import prepare
from ingot.prim.show import show
from ingot.prim.tensor import Tensor
from ingot.runtime.limits import RunLimits

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'


def specialised(graph: str) -> Specialised:
    typed = prepare(ingot.parse_model(f"{HEAD} {graph}"), standard(), RunLimits())
    return specialise(typed, standard(), 2)


def graph_text(model: Specialised) -> str:
    return to_text(model.model).partition(">\n")[2].strip()


def guards(model: Specialised) -> list[tuple[str, str]]:
    return [(str(guard.left), str(guard.right)) for guard in model.guards[model.model.graph]]


def primitives(graph: str) -> str:
    model = specialised(graph)
    program = lower_graph(model.model, model.facts, standard(), model.guards)
    assert not program.calls
    names: dict[Tensor, str] = {}
    for value, tensor in program.values.items():
        names.setdefault(tensor, value.name)
    return show([program.values[value] for value in model.model.graph.outputs], names)


def text(expected: str) -> str:
    return dedent(expected).strip()


SQUEEZED = """g (float[N, {M}] x) => (y) <int64[1] one = {{1}}> {{
  s = Shape(x) m = Gather(s, one) is_one = Equal(m, one)
  narrow = If <then_branch = t () => (a) {{ a = Squeeze(x, one) }},
               else_branch = e () => (b) {{ b = Identity(x) }}> (is_one)
  y = Neg(narrow)
}}"""


def test_a_branch_of_other_axes_is_assumed_with_a_guard() -> None:
    model = specialised(SQUEEZED.format(M="M"))
    assert graph_text(model) == text("""
        g (float[N, M] x) => (float[N] y)
          <
            int64[1] one = {1},
            float[N] a_1
          >
        {
          a_1 = Squeeze (x, one)
          y = Neg (a_1)
        }
    """)
    assert guards(model) == [("M", "1")]
    assert model.changed == {model.model.graph}


def test_a_branch_that_sizes_decide_needs_no_guard() -> None:
    model = specialised(SQUEEZED.format(M=1))
    assert "a_1 = Squeeze (x, one)" in graph_text(model)
    assert guards(model) == []
    assert not model.changed


def test_a_size_computed_for_a_reshape_is_assumed_not_to_be_zero() -> None:
    model = specialised("""g (float[n, m] x) => (float[k] y) <int64 two = {2}, int64[1] zero = {0}> {
        s = Size(x) f = Div(s, two) t = Mul(f, two) u = Unsqueeze(t, zero) y = Reshape(x, u)
    }""")
    assert len(guards(model)) == 1


def test_inputs_with_defaults_become_constants_and_functions_are_inlined() -> None:
    source = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
    g (float[2] x, float[2] d) => (float[2] y) <float[2] d = {5, 7}> { y = local.twice (d) }
    <domain: "local", opset_import: ["" : 21]> twice (a) => (b) { b = Add (a, a) }"""
    typed = prepare(ingot.parse_model(source), standard(), RunLimits())
    model = specialise(typed, standard(), 2).model
    assert list(model.graph.inputs.names) == ["x"]
    assert [node.op_type for node in model.graph] == ["Add"]
    assert list(typed.model.graph.inputs.names) == ["x", "d"]


def test_a_model_that_is_specialised_stays_as_it_is() -> None:
    typed = prepare(ingot.parse_model(f"{HEAD} {SQUEEZED.format(M='M')}"), standard(), RunLimits())
    before = to_text(typed.model)
    specialise(typed, standard(), 2)
    assert to_text(typed.model) == before


def test_an_if_is_a_region_of_two_bodies() -> None:
    graph = """g (bool c, float[2] x) => (y) {
      y = If <then_branch = t () => (a) { a = Neg(x) }, else_branch = e () => (b) { b = Exp(x) }> (c)
    }"""
    assert primitives(graph) == text("""
        c: bool[] = parameter
        x: float32[2] = parameter
        a: float32[2] = negate(x)
        %3: float32[2] = assumeshape(a)
        b: float32[2] = exp(x)
        %5: float32[2] = assumeshape(b)
        y: float32[2] = if c then %3 else %5
        return y
    """)


def test_a_loop_is_a_region_that_repeats_and_collects_rows() -> None:
    graph = """g (float[2] x, float[2] k) => (y, rows) {
      three = Constant <value_int = 3> ()
      y, rows = Loop <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t, float[2] r) {
          d = Identity(c)
          t = Add(s, k)
          r = Neg(t)
      }> (three, , x)
    }"""
    assert primitives(graph) == text("""
        x: float32[2] = parameter
        %1: float32[2] = assumeshape(x)
        s: float32[2] = state0 of a loop
        k: float32[2] = parameter
        t: float32[2] = add(s, k)
        r: float32[2] = negate(t)
        %6: float32[2] = assumeshape(r)
        y: float32[2] = repeat 3 times by i: s from %1 to t
        rows: float32[3, 2] = repeat 3 times by i: rows of %6
        return y, rows
    """)


def test_a_state_that_a_loop_passes_on_stays_outside_of_it() -> None:
    graph = """g (int64 m, float[2] x, float[2] k) => (y, same) {
      y, same = Loop <body = b (int64 i, bool c, float[2] s, float[2] p) => (bool d, float[2] t, float[2] q) {
          d = Identity(c)
          t = Add(s, p)
          q = Identity(p)
      }> (m, , x, k)
    }"""
    lines = primitives(graph).splitlines()
    assert "t: float32[2] = add(s, k)" in lines
    assert lines[-1].split()[-1] == "k"


def test_a_scan_reads_one_slice_in_every_run() -> None:
    graph = """g (float[2] s, float[T, 2] x) => (last, kept) {
      last, kept = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] v) => (float[2] n, float[2] r) {
          n = Add(a, v)
          r = Neg(n)
      }> (s, x)
    }"""
    lines = primitives(graph).splitlines()
    assert "v: float32[2] = gather(x) at (%6, axis 0)" in lines
    assert "last: float32[2] = repeat T times by %4: a from %1 to n" in lines
    assert "kept: float32[T, 2] = repeat T times by %4: rows of %10" in lines
