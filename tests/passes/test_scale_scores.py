"""Queries and keys that are scaled: scores are, instead."""

from __future__ import annotations

import pytest

from ingot.passes.scale_scores import scale_scores
from passes.written import applied

_TEXT = """g (float[b, s, 8] q, float[b, t, 8] k, float[b, s, t] m) => (float[b, s, t] y)
    <float c = {0.5}, float d = {0.25}, float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
    %s
    a = MatMul (p, u)
    n = Add (a, m)
    y = Softmax (n)
}"""
_KEYS = "r = Transpose <perm = [0, 2, 1]> (k)\n "


def products(scaling: str) -> tuple[int, list[str]]:
    count, nodes = applied(scale_scores, _TEXT % (_KEYS + scaling))
    return count, [node for node in nodes if " = Mul(" in node or " = Div(" in node]


@pytest.mark.parametrize(
    ("scaling", "factor"),
    [
        ("p = Mul (q, c)\n u = Mul (d, r)", 0.125),
        ("p = Div (q, d)\n u = Mul (r, d)", 1.0),
        ("p = Identity (q)\n u = Mul (r, c)", 0.5),
    ],
)
def test_scores_are_multiplied_by_the_product_of_the_numbers(scaling: str, factor: float) -> None:
    count, nodes = products(scaling)
    assert count == 1
    [product] = nodes
    assert product.endswith(f"(a, {factor})")


@pytest.mark.parametrize(
    "scaling",
    ["p = Mul (q, w)\n u = Identity (r)", "p = Div (c, q)\n u = Identity (r)", "p = Mul (q, q)\n u = Identity (r)"],
)
def test_what_is_multiplied_by_no_number_stays(scaling: str) -> None:
    assert products(scaling)[0] == 0


def test_a_product_without_a_softmax_stays() -> None:
    text = (_TEXT % (_KEYS + "p = Mul (q, c)\n u = Identity (r)")).replace("Softmax", "Relu")
    assert applied(scale_scores, text)[0] == 0
