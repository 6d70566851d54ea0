"""Nodes that change nothing are skipped, and those that only seem to do so stay."""

from __future__ import annotations

import pytest

from ingot.passes.identity import skip
from passes.written import applied

NOTHING = {
    "Identity": "(float[n, 2] x) => (float[n, 2] y) { a = Identity (x)\n y = Relu (a) }",
    "Cast": "(float[n, 2] x) => (float[n, 2] y) { a = Cast<to = 1> (x)\n y = Relu (a) }",
    "CastLike": "(float[n, 2] x, float z) => (float[n, 2] y) { a = CastLike (x, z)\n y = Relu (a) }",
    "Dropout": "(float[n, 2] x) => (float[n, 2] y) { a = Dropout (x)\n y = Relu (a) }",
    "Reshape": "(float[n, 2] x) => (float[n, 2] y) <int64[2] s = {-1, 2}> { a = Reshape (x, s)\n y = Relu (a) }",
    "Flatten": "(float[n, 2] x) => (float[n, 2] y) { a = Flatten (x)\n y = Relu (a) }",
    "Expand": "(float[n, 2] x) => (float[n, 2] y) { s = Shape (x)\n a = Expand (x, s)\n y = Relu (a) }",
    "Slice": """(float[n, 2] x) => (float[n, 2] y) <int64[1] b = {0}, int64[1] e = {9223372036854775807}>
        { a = Slice (x, b, e, b)\n y = Relu (a) }""",
    "Transpose": "(float[n, 2] x) => (float[n, 2] y) { a = Transpose<perm = [0, 1]> (x)\n y = Relu (a) }",
    "Concat": "(float[n, 2] x) => (float[n, 2] y) { a = Concat<axis = 0> (x)\n y = Relu (a) }",
    "Pad": "(float[n, 2] x) => (float[n, 2] y) <int64[4] p = {0, 0, 0, 0}> { a = Pad (x, p)\n y = Relu (a) }",
    "Tile": "(float[n, 2] x) => (float[n, 2] y) <int64[2] r = {1, 1}> { a = Tile (x, r)\n y = Relu (a) }",
    "Clip": "(float[n, 2] x) => (float[n, 2] y) { a = Clip (x)\n y = Relu (a) }",
    "Sum": "(float[n, 2] x) => (float[n, 2] y) { a = Sum (x)\n y = Relu (a) }",
    "Split": "(float[n, 2] x) => (float[n, 2] y) { a = Split<num_outputs = 1> (x)\n y = Relu (a) }",
    "Mul": "(float[n, 2] x) => (float[n, 2] y) <float[2] w = {1, 1}> { a = Mul (w, x)\n y = Relu (a) }",
    "Div": "(float[n, 2] x) => (float[n, 2] y) <float w = {1}> { a = Div (x, w)\n y = Relu (a) }",
    "Pow": "(float[n, 2] x) => (float[n, 2] y) <float w = {1}> { a = Pow (x, w)\n y = Relu (a) }",
    "Add": "(float[n, 2] x) => (float[n, 2] y) <float w = {-0.0}> { a = Add (x, w)\n y = Relu (a) }",
    "Add of integers": "(int64[n, 2] x) => (int64[n, 2] y) <int64 w = {0}> { a = Add (w, x)\n y = Abs (a) }",
    "Sub": "(float[n, 2] x) => (float[n, 2] y) <float w = {0}> { a = Sub (x, w)\n y = Relu (a) }",
    "Neg": "(float[n, 2] x) => (float[n, 2] y) { b = Neg (x)\n a = Neg (b)\n y = Relu (a) }",
    "Where": "(float[n, 2] x, float z) => (float[n, 2] y) <bool c = {1}> { a = Where (c, x, z)\n y = Relu (a) }",
    "And": "(bool[n, 2] x) => (bool[n, 2] y) <bool c = {1}> { a = And (x, c)\n y = Not (a) }",
}

SOMETHING = {
    "Add of 0.0, which makes -0.0 into 0.0": "(float[2] x) => (float[2] y) <float w = {0}> { y = Add (x, w) }",
    "Sub of -0.0": "(float[2] x) => (float[2] y) <float w = {-0.0}> { y = Sub (x, w) }",
    "Sub from zero": "(float[2] x) => (float[2] y) <float w = {0}> { y = Sub (w, x) }",
    "Div of one": "(float[2] x) => (float[2] y) <float w = {1}> { y = Div (w, x) }",
    "Mul that widens": "(float[2] x) => (float[2, 2] y) <float[2, 1] w = {1, 1}> { y = Mul (x, w) }",
    "Mul by a default": "(float[2] x, float w = {1}) => (float[2] y) { y = Mul (x, w) }",
    "Slice backwards": """(float[2] x) => (float[2] y) <int64[1] b = {-1}, int64[1] e = {-9223372036854775807},
        int64[1] a = {0}> { y = Slice (x, b, e, a, b) }""",
    "Slice of one that may be less": """(float[n] x) => (float[m] y) <int64[1] b = {0}, int64[1] e = {5}>
        { y = Slice (x, b, e) }""",
    "Reshape of another order": "(float[2, 3] x) => (float[3, 2] y) <int64[2] s = {3, 2}> { y = Reshape (x, s) }",
    "Reshape of sizes that nothing tells": """(float[a, b] x) => (float[c, d] y) <int64[2] s = {3, -1}>
        { y = Reshape (x, s) }""",
    "Dropout that is told to train": """(float[2] x, bool t) => (float[2] y) <float r = {0}>
        { y = Dropout (x, r, t) }""",
    "Dropout whose mask is read": "(float[2] x) => (float[2] y, bool[2] m) { y, m = Dropout (x) }",
    "Where of both": "(float[2] x, float[2] z) => (float[2] y) <bool[2] c = {1, 0}> { y = Where (c, x, z) }",
    "Cast": "(float[2] x) => (double[2] y) { y = Cast<to = 11> (x) }",
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_node_that_changes_nothing_is_skipped(name: str) -> None:
    count, nodes = applied(skip, f"g {NOTHING[name]}")
    assert count == 1
    [last] = [node for node in nodes if node.startswith("y = ")]
    assert last in ("y = Relu(x)", "y = Abs(x)", "y = Not(x)")


@pytest.mark.parametrize("name", SOMETHING)
def test_a_node_that_only_seems_to_change_nothing_stays(name: str) -> None:
    assert applied(skip, f"g {SOMETHING[name]}")[0] == 0


def test_an_output_keeps_its_name() -> None:
    assert applied(skip, "g (float[2] x) => (float[2] y) { a = Relu (x)\n y = Identity (a) }") == (1, ["y = Relu(x)"])


def test_a_node_that_gives_an_input_the_name_of_an_output_stays() -> None:
    assert applied(skip, "g (float[2] x) => (float[2] y) { y = Identity (x) }") == (0, ["y = Identity(x)"])
    text = "g (float[2] x) => (float[2] y, float[2] z) { y = Relu (x)\n z = Identity (y) }"
    assert applied(skip, text) == (0, ["y = Relu(x)", "z = Identity(y)"])


def test_a_branch_goes_on_returning_a_value_of_its_own() -> None:
    text = """g (float[2] x, bool c) => (float[2] y) {
        a = Relu (x)
        y = If (c) <then_branch = t () => (float[2] b) { b = Identity (a) },
                    else_branch = e () => (float[2] d) { k = Identity (a)\n d = Neg (k) }>
    }"""
    assert applied(skip, text) == (1, ["a = Relu(x)", "y = If(c)", "b = Identity(a)", "d = Neg(a)"])
