"""Scans on an emulated GPU: along rows of any length, from either end."""

from __future__ import annotations

import numpy as np
import pytest

from providers.emulated import HAS_COMPILER
from providers.test_cuda import check, graph, normal

pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")


@pytest.mark.parametrize(
    ("attributes", "shape"),
    [
        ("", (5, 300)),
        ("<exclusive = 1>", (9, 128)),
        ("<reverse = 1>", (3, 7)),
        ("<exclusive = 1, reverse = 1>", (2, 150)),
    ],
)
def test_rows_are_scanned_by_warps(attributes: str, shape: tuple[int, int]) -> None:
    text = graph("float[n, m] x", f"a = Constant <value_int = 1> () y = CumSum {attributes} (x, a)")
    check(text, {"x": normal(*shape)}, rtol=1e-4)


def test_whole_numbers_are_scanned_and_columns_too() -> None:
    text = graph("int64[n, m] x", "a = Constant <value_int = 1> () y = CumSum (x, a)")
    check(text, {"x": np.arange(600).reshape(3, 200)})
    check(graph("float[n, m] x", "a = Constant <value_int = 0> () y = CumSum (x, a)"), {"x": normal(9, 7)})
