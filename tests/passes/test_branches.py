"""An If whose condition is known is the branch it takes."""

from __future__ import annotations

import pytest

from ingot.ir.graph import Graph
from ingot.passes.branches import exchange_branches, settle_branches
from passes.written import applied, parsed

TEXT = """g (float[2] x{input}) => (float[2] y) <{held}> {{
    a = Exp (x)
    y = If (c) <then_branch = t () => (float[2] b) <float[2] w = {{1, 2}}> {{ k = Add (a, w)\n b = Neg (k) }},
                else_branch = e () => (float[2] d) {{ k = Sin (x)\n d = Neg (k) }}>
}}"""


@pytest.mark.parametrize(("taken", "inner"), [(1, "k_1 = Add(a, [1.0, 2.0])"), (0, "k_1 = Sin(x)")])
def test_the_branch_taken_takes_the_place_of_the_node(taken: int, inner: str) -> None:
    text = TEXT.format(input="", held=f"bool c = {{{taken}}}")
    assert applied(settle_branches, text) == (1, ["a = Exp(x)", inner, "y = Neg(k_1)"])


def test_a_default_is_no_constant() -> None:
    assert applied(settle_branches, TEXT.format(input=", bool c = {1}", held=""))[0] == 0


def test_a_branch_that_returns_what_it_captures_is_that_value() -> None:
    text = """g (float[2] x) => (float[2] y) <bool c = {1}> {
        a = Exp (x)
        b = If (c) <then_branch = t () => (float[2] k) { k = Identity (a) },
                    else_branch = e () => (float[2] d) { d = Neg (x) }>
        y = Neg (b)
    }"""
    assert applied(settle_branches, text) == (1, ["a = Exp(x)", "k_1 = Identity(a)", "y = Neg(k_1)"])


def test_branches_of_a_negated_condition_are_exchanged() -> None:
    text = """g (float[2] x, bool c) => (float[2] y) {
        no = Not (c)
        y = If (no) <then_branch = t () => (float[2] b) { b = Neg (x) },
                     else_branch = e () => (float[2] d) { d = Exp (x) }>
    }"""
    model = parsed(text)
    assert applied(exchange_branches, model)[0] == 1
    node = next(node for node in model.graph if node.applies("If"))
    assert node.inputs[0] is model.graph.inputs[1]
    branch = node["then_branch"]
    assert isinstance(branch, Graph)
    assert [inner.op_type for inner in branch] == ["Exp"]
    assert applied(exchange_branches, model)[0] == 0
