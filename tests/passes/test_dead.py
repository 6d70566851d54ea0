"""What nobody reads goes."""

from __future__ import annotations

from ingot.passes.dead import dead
from passes.written import applied, parsed


def test_nodes_and_constants_that_nobody_reads_are_removed() -> None:
    model = parsed(
        "g (float[2] x, float[2] k = {1, 2}) => (float[2] y) <float[2] w = {1, 2}> "
        "{ a = Exp (x)\n b = Mul (a, w)\n y = Relu (x) }"
    )
    assert applied(dead, model) == (3, ["y = Relu(x)"])
    assert list(model.graph.initializers) == ["k"]


def test_what_only_a_branch_reads_stays() -> None:
    text = """g (float[2] x, bool c) => (float[2] y) {
        a = Exp (x)
        y = If (c) <then_branch = t () => (float[2] b) { b = Neg (a)\n u = Sin (a) },
                    else_branch = e () => (float[2] d) { d = Neg (x) }>
    }"""
    assert applied(dead, text) == (1, ["a = Exp(x)", "y = If(c)", "b = Neg(a)", "d = Neg(x)"])
