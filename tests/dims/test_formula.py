"""Sizes as the text of Python expressions."""

from __future__ import annotations

import pytest

from ingot.dims import evaluate, formula, parse

NAMES = {"n": "a0", "m": "a1", "seq len": "a2"}
SIZES = {"n": 11, "m": 3, "seq len": 7}


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-5",
        "n",
        "2*n*m**2 - m + 1",
        "(n + 1)//2*((n - 3)//4 + m)",
        "max(n, m, 4)*5 + n % 3",
        "min(`seq len`//2, (m//3 + n)//5)",
        "-(n//2)*m",
    ],
)
def test_a_formula_has_the_value_of_its_size(text: str) -> None:
    dim = parse(text)
    values = {NAMES[name]: size for name, size in SIZES.items()}
    assert eval(formula(dim, NAMES), {"max": max, "min": min}, values) == evaluate(dim, SIZES)


def test_a_symbol_without_a_name_is_refused() -> None:
    with pytest.raises(KeyError, match="k"):
        formula(parse("n + k"), NAMES)
