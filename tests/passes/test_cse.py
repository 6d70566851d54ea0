"""What is computed twice from the same is computed once, where both can be seen."""

from __future__ import annotations

import numpy as np

from ingot.infer import infer
from ingot.ir.tensor import Tensor
from ingot.passes.cse import share
from passes.written import applied, parsed


def test_the_same_operator_of_the_same_inputs_is_computed_once() -> None:
    text = "g (float[2] x) => (float[2] y) { a = Exp (x)\n b = Exp (x)\n y = Add (a, b) }"
    assert applied(share, text) == (1, ["a = Exp(x)", "y = Add(a, a)"])


def test_chains_are_shared_from_their_beginning_on() -> None:
    text = "g (float[2] x) => (float[2] y) { a = Exp (x)\n b = Exp (x)\n c = Neg (a)\n d = Neg (b)\n y = Add (c, d) }"
    assert applied(share, text) == (2, ["a = Exp(x)", "c = Neg(a)", "y = Add(c, c)"])


def test_other_attributes_and_random_numbers_are_not_shared() -> None:
    text = """g (float[2] x) => (float[2] y, float[2] r, float[2] s) {
        a = Elu<alpha = 1.0> (x)\n b = Elu<alpha = 2.0> (x)\n y = Add (a, b)
        r = RandomNormalLike (x)\n s = RandomNormalLike (x)
    }"""
    model = parsed(text)
    assert share(model, infer(model)) == 0


def test_two_outputs_of_one_value_stay_two_nodes() -> None:
    text = "g (float[2] x) => (float[2] y, float[2] z) { y = Exp (x)\n z = Exp (x) }"
    assert applied(share, text) == (0, ["y = Exp(x)", "z = Exp(x)"])


def test_an_output_that_repeats_an_inner_value_takes_its_place() -> None:
    text = "g (float[2] x) => (float[2] y, float[2] z) { a = Exp (x)\n y = Neg (a)\n z = Exp (x) }"
    assert applied(share, text) == (1, ["z = Exp(x)", "y = Neg(z)"])


def test_sizes_that_are_the_same_are_computed_once_whatever_they_come_from() -> None:
    text = """g (float[n, 4] x) => (int64[3] s) <int64 i = {0}, int64[1] l = {-1}, int64[1] b = {0}, int64[1] e = {1}> {
        r = Relu (x)\n a = Shape (x)\n p = Slice (a, b, e)
        c = Shape (r)\n g = Gather (c, i)\n q = Reshape (g, l)
        s = Concat<axis = 0> (p, q, p)
    }"""
    count, nodes = applied(share, text)
    assert count > 0
    assert nodes[-1] == "s = Concat(p, p, p)"


def test_a_branch_reads_what_the_graph_around_it_has_computed_before() -> None:
    text = """g (float[2] x, bool c) => (float[2] y, float[2] z) {
        a = Exp (x)
        b = If (c) <then_branch = t () => (float[2] d) { e = Exp (x)\n d = Neg (e) },
                    else_branch = f () => (float[2] h) { i = Sin (x)\n h = Neg (i) }>
        y = Add (a, b)\n j = Sin (x)\n z = Abs (j)
    }"""
    assert applied(share, text) == (
        1,
        [
            "a = Exp(x)",
            "b = If(c)",
            "y = Add(a, b)",
            "j = Sin(x)",
            "z = Abs(j)",
            "d = Neg(a)",
            "i = Sin(x)",
            "h = Neg(i)",
        ],
    )


def test_equal_constants_are_one_and_alike_ones_are_not() -> None:
    model = parsed(
        "g (float[300] x, float[300] u, float[300] v, float[300] w) => (float[300] y) { y = Sum (x, u, v, w) }"
    )
    plain = np.ones(300, np.float32)
    other = plain.copy()
    other[150] = 2
    for name, array in (("u", plain), ("v", plain.copy()), ("w", other)):
        value = model.graph.value(name)
        value.constant = Tensor(array)
        model.graph.initializers.add(value)
        model.graph.inputs.remove(value)
    assert applied(share, model) == (1, ["y = Sum(x, u, u, w)"])


def test_constants_of_other_bits_are_not_one() -> None:
    text = """g (float[1] x) => (float[1] y) <float[1] a = {0.0}, float[1] b = {-0.0}>
        { c = Div (x, a)\n d = Div (x, b)\n y = Max (c, d) }"""
    assert applied(share, text)[0] == 0


def test_equal_constants_stay_apart_where_their_names_are_to_stay() -> None:
    text = """g (float[1] x) => (float[1] y) <float[1] a = {1.0}, float[1] b = {1.0}>
        { c = Add (x, a)\n d = Add (x, b)\n e = Add (x, a)\n y = Sum (c, d, e) }"""
    model = parsed(text)
    assert share(model, infer(model), constants=False) == 1
    assert set(model.graph.initializers) == {"a", "b"}
