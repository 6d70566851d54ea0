"""Which kernels compute a node, and what became of nodes that none computes."""

from __future__ import annotations

import pytest

import ingot
from codegen.test_code_products import byte_dot_of_host
from ingot.compile import Artifacts
from ingot.session import Session
from ingot.tools.inspect.trace import How, Trace, trace

HEADER = '<ir_version: 10, opset_import: ["" : 20, "ai.onnx.ml" : 4, "com.microsoft" : 1]>'


def traced(graph: str) -> tuple[Artifacts, Trace]:
    session = Session(
        ingot.parse_model(f"{HEADER}\n{graph}".replace("ZEROS", ", ".join("0" * 16))),
        providers=("cpu", "reference"),
        threads=1,
        fallback=False,
        optimise=0,
    )
    compiled = session.compiled
    assert compiled is not None
    return compiled, trace(compiled.optimised.model.graph, compiled.program, compiled.scheduled, compiled.outputs)


def fates(found: Trace) -> dict[str, How]:
    """What became of nodes, by the name of their first output."""
    return {node.outputs[0].name: fate.how for node, fate in found.nodes.items()}


DENSE = """g (float[n, 4] x) => (float[n, 3] y) <float[3, 4] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[3] b = {1, 2, 3}> {
  t = Transpose (w)
  p = MatMul (x, t)
  s = Add (p, b)
  y = Relu (s)
}"""


def test_what_is_made_of_the_sums_of_a_product_is_in_its_kernel() -> None:
    _, found = traced(DENSE)
    (work,) = found.kernels.values()
    assert [node.op_type for node in work.nodes] == ["MatMul", "Add", "Relu"]
    assert work.value is not None
    assert work.value.name == "y"
    assert work.why == "an output of the model"


def test_a_view_of_weights_is_known_when_compiled() -> None:
    _, found = traced(DENSE)
    assert fates(found) == {"t": How.KNOWN, "p": How.COMPUTED, "s": How.COMPUTED, "y": How.COMPUTED}


def test_nodes_that_need_no_kernel_are_told_apart() -> None:
    _, found = traced("""g (float[n, 4] x) => (float[m] y) <int64[1] flat = {-1}> {
      i = Identity (x)
      d = Shape (i)
      c = Concat <axis = 0> (flat)
      u = Exp (x)
      f = Reshape (i, c)
      y = Neg (f)
    }""")
    assert fates(found) == {
        "i": How.SAME,
        "d": How.UNUSED,
        "c": How.KNOWN,
        "u": How.UNUSED,
        "f": How.VIEW,
        "y": How.COMPUTED,
    }


def test_a_node_that_the_reference_runs_has_the_reason() -> None:
    _, found = traced("""g (float[n] x, bool c) => (float[n] y) {
      s = Add (x, x)
      b = If (c) <
        then_branch = t () => (float[n] a) {
          a = ai.onnx.ml.LabelEncoder <keys_floats = [0.0], values_floats = [1.0]> (s)
        },
        else_branch = e () => (float[n] a) { a = Neg (s) }
      >
      y = Abs (b)
    }""")
    (fate,) = [fate for fate in found.nodes.values() if fate.how is How.CALLED]
    assert fate.reason == "LabelEncoder in it: keys that are no integers"
    assert fate.kernels == ()
    (before,) = [work for work in found.kernels.values() if work.nodes[0].op_type == "Add"]
    assert before.why == "the reference reads it, for If 'b'"


def test_every_kernel_has_its_work_and_every_computed_node_its_kernels() -> None:
    compiled, found = traced("""g (float[n, 4] x) => (float[n, 4] y, float[4, n] z) <float[4, 4] w = {ZEROS}> {
      p = MatMul (x, w)
      s = Softmax (p)
      y = Add (s, x)
      z = Transpose <perm = [1, 0]> (s)
    }""")
    assert tuple(found.kernels) == compiled.scheduled.steps
    for fate in found.nodes.values():
        assert fate.kernels
    (copied,) = [work for work in found.kernels.values() if work.value is not None and work.value.name == "z"]
    assert (copied.nodes, [node.op_type for node in copied.views]) == ((), ["Transpose"])
    (kept,) = [work for work in found.kernels.values() if work.value is not None and work.value.name == "s"]
    assert kept.why.endswith("read it")


def test_a_scatter_takes_two_kernels() -> None:
    _, found = traced("""g (float[5] x, int64[2, 1] i, float[2] u) => (float[5] y) {
      e = Exp (x)
      n = Neg (u)
      y = ScatterND (e, i, n)
    }""")
    copied, written = found.kernels.values()
    assert [node.op_type for node in copied.nodes] == ["Exp"]
    assert [node.op_type for node in written.nodes] == ["Neg", "ScatterND"]


def test_a_kernel_that_packs_says_who_multiplies_and_computes_nothing() -> None:
    _, found = traced("""g (int64 m, float[n, 4] x, float[4, 4] v) => (y) {
      w = Exp (v)
      y = Loop <body = b (int64 i, bool go, float[n, 4] s) => (bool on, float[n, 4] t) {
          on = Identity (go)
          p = MatMul (s, w)
          t = Neg (p)
      }> (m, , x)
    }""")
    (pack,) = [kernel for kernel in found.kernels if kernel.name.endswith("_pack")]
    work = found.kernels[pack]
    assert (work.nodes, work.why) == ((), f"{pack.name.removesuffix('_pack')} multiplies it in every run of a loop")


@pytest.mark.skipif(byte_dot_of_host() is None, reason="no instruction of this machine multiplies bytes")
def test_a_kernel_that_rounds_rows_says_who_multiplies_them() -> None:
    _, found = traced("""g (float[n, 5] x, float[5, 32] m) => (float[n, 1] y)
      <uint8[1, 1, 16] w = {ZEROS}, float[1, 1] s = {1}> {
        p = MatMul (x, m)
        y = com.microsoft.MatMulNBits <K = 32, N = 1, bits = 4, block_size = 32, accuracy_level = 4> (p, w, s)
    }""")
    shown = {
        kernel.name: (work.value and work.value.name, [node.op_type for node in work.nodes], work.why)
        for kernel, work in found.kernels.items()
    }
    assert shown == {
        "k1": ("p", ["MatMul"], "k2_rows rounds it to bytes"),
        "k2_rows": ("p", ["MatMulNBits"], "k2 multiplies its rows as bytes"),
        "k2": ("y", ["MatMulNBits"], "an output of the model"),
    }


def test_a_reduction_in_two_kernels_computes_nothing_of_what_it_reads() -> None:
    _, found = traced("""g (float[1048576] x) => (float[1048576] c, float[1] y) <int64 axis = {0}> {
      c = CumSum (x, axis)
      y = ReduceSum (c)
    }""")
    computed = {kernel.name: [node.op_type for node in work.nodes] for kernel, work in found.kernels.items()}
    assert computed == {"k1": ["CumSum"], "k2_parts": ["ReduceSum"], "k2": ["ReduceSum"]}
