"""Operators are recognised in the forms exporters write, and in no form that means something else."""

from __future__ import annotations

import pytest

from ingot.passes.recognise import recognise
from passes.written import applied

ROOT = "float[n, 8] x"
GELU = {
    "x * 0.5 * (1 + erf)": "a = Div (x, r)\n b = Erf (a)\n c = Add (b, o)\n d = Mul (x, h)\n y = Mul (d, c)",
    "x * (1 + erf) * 0.5": "a = Div (x, r)\n b = Erf (a)\n c = Add (o, b)\n d = Mul (c, x)\n y = Mul (d, h)",
    "x * (0.5 * (1 + erf))": "a = Mul (q, x)\n b = Erf (a)\n c = Add (b, o)\n d = Mul (h, c)\n y = Mul (x, d)",
}
TANH = {
    "pow": "p = Pow (x, three)\n a = Mul (p, k)\n b = Add (x, a)\n c = Mul (b, s)",
    "products": "q2 = Mul (x, x)\n p = Mul (q2, x)\n a = Mul (k, p)\n b = Add (x, a)\n c = Mul (s, b)",
    "one after another": "q2 = Mul (k, x)\n p = Mul (x, q2)\n a = Mul (x, p)\n b = Add (x, a)\n c = Mul (s, b)",
    "factored": "q2 = Mul (x, x)\n a = Mul (k, q2)\n b = Add (a, o)\n i = Mul (x, s)\n c = Mul (i, b)",
}
NUMBERS = """<float r = {1.41421354}, float q = {0.707106769}, float o = {1}, float h = {0.5}, float three = {3},
    float k = {0.044715}, float s = {0.797884583}, float two = {2}, float e = {1e-5}, int64[1] last = {-1},
    int64[1] first = {0}, float zero = {0}, float six = {6}>"""


def rewritten(body: str, inputs: str = ROOT, result: str = "n, 8") -> list[str]:
    return applied(recognise, f"g ({inputs}) => (float[{result}] y) {NUMBERS} {{ {body} }}")[1]


@pytest.mark.parametrize("name", GELU)
def test_gelu_is_recognised(name: str) -> None:
    assert rewritten(GELU[name]) == ["y = Gelu(x)"]


@pytest.mark.parametrize("name", TANH)
def test_gelu_with_tanh_is_recognised(name: str) -> None:
    end = "t = Tanh (c)\n u = Add (t, o)\n v = Mul (x, u)\n y = Mul (v, h)"
    assert rewritten(f"{TANH[name]}\n {end}") == ["y = Gelu(x)"]


@pytest.mark.parametrize(
    "change", [("Div (x, r)", "Div (x, o)"), ("Add (b, o)", "Add (b, h)"), ("Mul (x, h)", "Mul (x, two)")]
)
def test_another_number_is_no_gelu(change: tuple[str, str]) -> None:
    body = GELU["x * 0.5 * (1 + erf)"].replace(*change)
    assert len(rewritten(body)) == 5


def test_a_form_whose_parts_others_read_is_left() -> None:
    text = f"g ({ROOT}) => (float[n, 8] y, float[n, 8] b) {NUMBERS} {{ {GELU['x * 0.5 * (1 + erf)']} }}"
    assert applied(recognise, text)[0] == 0


NORMAL = (
    "m = ReduceMean (x, last)\n d = Sub (x, m)\n {square}\n v = ReduceMean (p, last)\n w = Add (v, e)\n r2 = Sqrt (w)"
)
SQUARES = ["p = Pow (d, two)", "p = Mul (d, d)"]
QUOTIENTS = ["z = Div (d, r2)", "i = Reciprocal (r2)\n z = Mul (d, i)", "i = Div (o, r2)\n z = Mul (i, d)"]


@pytest.mark.parametrize("square", SQUARES)
@pytest.mark.parametrize("quotient", QUOTIENTS)
def test_layer_normalisation_is_recognised(square: str, quotient: str) -> None:
    body = f"{NORMAL.format(square=square)}\n {quotient}\n"
    inputs = f"{ROOT}, float[8] g, float[8] b"
    assert rewritten(f"{body} t = Mul (g, z)\n y = Add (t, b)", inputs) == ["y = LayerNormalization(x, g, b)"]
    assert rewritten(f"{body} y = Mul (z, g)", inputs) == ["y = LayerNormalization(x, g)"]
    assert rewritten(f"{body} y = Identity (z)", inputs)[0].startswith("z = LayerNormalization(x, [1.0, 1.0")


def test_a_mean_over_another_axis_is_no_layer_normalisation() -> None:
    body = NORMAL.format(square=SQUARES[0]).replace("ReduceMean (x, last)", "ReduceMean (x, first)")
    nodes = rewritten(f"{body}\n z = Div (d, r2)\n y = Mul (z, g)", f"{ROOT}, float[8] g")
    assert nodes == ["m = ReduceMean(x, [0])", "d = Sub(x, m)", "y = RMSNormalization(d, g)"]


def test_a_scale_that_is_no_row_stays_outside() -> None:
    body = f"{NORMAL.format(square=SQUARES[0])}\n z = Div (d, r2)\n y = Mul (z, g)"
    nodes = rewritten(body, f"{ROOT}, float[n, 1] g")
    assert nodes[-1] == "y = Mul(z, g)"
    assert nodes[0].startswith("z = LayerNormalization")


@pytest.mark.parametrize("quotient", ["z = Div (x, r2)", "i = Reciprocal (r2)\n z = Mul (x, i)"])
def test_root_mean_square_normalisation_is_recognised(quotient: str) -> None:
    body = f"p = Pow (x, two)\n v = ReduceMean (p, last)\n w = Add (v, e)\n r2 = Sqrt (w)\n {quotient}\n y = Mul (g, z)"
    assert rewritten(body, f"{ROOT}, float[8] g") == ["y = RMSNormalization(x, g)"]


@pytest.mark.parametrize(
    "body",
    [
        "a = Add (x, three)\n b = Clip (a, zero, six)\n c = Mul (x, b)\n y = Div (c, six)",
        "a = Add (x, three)\n b = Clip (a, zero, six)\n c = Div (b, six)\n y = Mul (c, x)",
        "a = HardSigmoid<alpha = 0.16666667> (x)\n y = Mul (x, a)",
    ],
)
def test_hard_swish_is_recognised(body: str) -> None:
    assert rewritten(body) == ["y = HardSwish(x)"]


def test_another_slope_is_no_hard_swish() -> None:
    assert len(rewritten("a = HardSigmoid (x)\n y = Mul (x, a)")) == 2
    assert len(rewritten("a = Add (x, three)\n b = Clip (a, o, six)\n c = Mul (x, b)\n y = Div (c, six)")) == 4


def test_softmax_is_recognised() -> None:
    body = "m = ReduceMax (x, last)\n d = Sub (x, m)\n p = Exp (d)\n t = ReduceSum (p, last)\n y = Div (p, t)"
    assert rewritten(body) == ["y = Softmax(x)"]
    assert len(rewritten(body.replace("last", "first"))) == 5
