"""Scales and shifts go into the weights before them; what they compute stays the same but for rounding."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.infer import infer
from ingot.passes.normalisation_folding import fold_scales
from passes.written import applied, parsed


def weighted(text: str, **shapes: tuple[int, ...]) -> ingot.Model:
    """A model whose inputs of these names are constants of random numbers from one to two."""
    generator = np.random.default_rng(1)
    model = parsed(text)
    weights = {name: generator.uniform(1, 2, shape).astype(np.float32) for name, shape in shapes.items()}
    ingot.inputs_to_initializers(model, dict(weights))
    return model


NORMALISED = """g (float[2, 4, 5, 5] x, float[{w}] w, float[6] b, float[6] s, float[6] o, float[6] m, float[6] v)
    => (float[2, 6, h, k] y) {{ a = {op} (x, w{bias})\n y = BatchNormalization (a, s, o, m, v) }}"""


@pytest.mark.parametrize("bias", ["", ", b"])
@pytest.mark.parametrize(
    ("op", "shape"),
    [
        ("Conv", (6, 4, 3, 3)),
        ("Conv<group = 2>", (6, 2, 3, 3)),
        ("ConvTranspose", (4, 6, 3, 3)),
        ("ConvTranspose<group = 2>", (4, 3, 3, 3)),
    ],
)
def test_a_batch_normalisation_goes_into_the_convolution_before_it(op: str, shape: tuple[int, ...], bias: str) -> None:
    text = NORMALISED.format(op=op, w=", ".join(map(str, shape)), bias=bias)
    rows = dict.fromkeys("bsomv", (6,))
    count, nodes = applied(fold_scales, weighted(text, w=shape, **rows))
    assert (count, len(nodes)) == (1, 1)
    assert nodes[0].startswith(f"y = {op.split('<')[0]}(x, ")


def test_one_that_is_trained_or_whose_convolution_others_read_stays() -> None:
    rows = dict.fromkeys("bsomv", (6,))
    text = NORMALISED.format(op="Conv", w="6, 4, 3, 3", bias="")
    read = text.replace("=> (", "=> (float[2, 6, h, k] a, ")
    assert applied(fold_scales, weighted(read, w=(6, 4, 3, 3), **rows))[0] == 0
    trained = text.replace("y = BatchNormalization", "y, p, q = BatchNormalization<training_mode = 1>")
    assert applied(fold_scales, weighted(trained, w=(6, 4, 3, 3), **rows))[0] == 0


@pytest.mark.parametrize(
    ("operation", "folds"),
    [
        ("Mul (a, c)", True),
        ("Mul (c, a)", True),
        ("Div (a, c)", True),
        ("Div (c, a)", False),
        ("Add (a, c)", True),
        ("Sub (a, c)", True),
        ("Sub (c, a)", True),
        ("Mul (a, rows)", False),
        ("Add (a, wide)", False),
    ],
)
def test_what_is_done_with_a_constant_for_each_channel_goes_into_a_convolution(operation: str, folds: bool) -> None:
    text = f"""g (float[2, 4, 5, 5] x, float[6, 4, 3, 3] w, float[6, 1, 1] c, float[3] rows, float[2, 1, 1, 1] wide)
        => (float[2, 6, 3, 3] y) {{ a = Conv (x, w)\n y = {operation} }}"""
    model = weighted(text, w=(6, 4, 3, 3), c=(6, 1, 1), rows=(3,), wide=(2, 1, 1, 1))
    count, nodes = applied(fold_scales, model)
    assert (count, len(nodes)) == ((1, 1) if folds else (0, 2))


@pytest.mark.parametrize("transposed", [0, 1])
def test_scales_and_shifts_go_into_a_gemm_with_its_factors(transposed: int) -> None:
    shape = (6, 4) if transposed else (4, 6)
    text = f"""g (float[2, 4] x, float[{shape[0]}, {shape[1]}] w, float[6] b, float[6] c, float[6] d)
        => (float[2, 6] y) {{
        a = Gemm<alpha = 0.5, beta = 2.0, transB = {transposed}> (x, w, b)\n e = Mul (a, c)\n y = Add (e, d)
    }}"""
    count, nodes = applied(fold_scales, weighted(text, w=shape, b=(6,), c=(6,), d=(6,)))
    assert (count, len(nodes)) == (2, 1)


def test_a_scale_after_the_bias_of_a_product_of_many_axes_goes_into_both() -> None:
    text = """g (float[2, 3, 4] x, float[4, 6] w, float[6] b, float[6] c) => (float[2, 3, 6] y) {
        a = MatMul (x, w)\n d = Add (b, a)\n y = Mul (d, c)
    }"""
    count, nodes = applied(fold_scales, weighted(text, w=(4, 6), b=(6,), c=(6,)))
    assert count == 1
    assert [node.split("(")[0].split(" = ")[1] for node in nodes] == ["MatMul", "Add"]


def test_a_weight_that_others_read_is_not_kept_twice() -> None:
    text = """g (float[300, 300] x, float[300, 300] w, float[300] c) => (float[300, 300] y, float[300, 300] z) {
        a = MatMul (x, w)\n y = Mul (a, c)\n z = MatMul (w, x)
    }"""
    assert applied(fold_scales, weighted(text, w=(300, 300), c=(300,)))[0] == 0


def test_weights_that_would_overflow_stay() -> None:
    model = parsed("g (float16[2, 1] x, float16[1, 1] w) => (float16[2, 1] y) { a = MatMul (x, w)\n y = Add (a, a) }")
    ingot.inputs_to_initializers(model, {"w": np.full((1, 1), 60000, np.float16)})
    add = model.graph.nodes[1]
    add.op_type = "Mul"
    add.replace_input(1, model.graph.add_initializer("c", np.float16(4)))
    assert fold_scales(model, infer(model)) == 0
