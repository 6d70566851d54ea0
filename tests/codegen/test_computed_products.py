"""Products whose right operand a run computes: read where it lies or packed, in all layouts, sizes and machines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Session, parse_model
from ingot.codegen.llvm.host import host
from ingot.ir.model import Model
from ingot.providers.cpu import Cpu
from ingot.schedule.target import named

LAYOUTS = {
    "plain": ("m, k", "k, n", "y = MatMul (a, b)"),
    "columns": ("m, k", "n, k", "t = Transpose <perm = [1, 0]> (b) y = MatMul (a, t)"),
    "rows of columns": ("k, m", "k, n", "t = Transpose <perm = [1, 0]> (a) y = MatMul (t, b)"),
    "stacked": ("m, k", "n, k", "y = Gemm <transB = 1> (a, b)"),
    "padded": ("m, k", "n, k", "t = Transpose <perm = [1, 0]> (b) p = Pad (a, pads) y = MatMul (p, t)"),
}
TARGETS = ["here"] + [name for name in ("x86-64-v2", "x86-64-v3", "x86-64-v4") if host().machine == "x86_64"]
ROWS = (1, 2, 4, 5, 6, 7, 13, 40)
COLUMNS_AND_TERMS = ((1, 1), (3, 2), (4, 8), (5, 3), (8, 17), (9, 64), (31, 5), (64, 33), (100, 130))


def product(layout: str, kind: str, columns: str = "n") -> Model:
    left, right, body = LAYOUTS[layout]
    inputs = f"{kind}[{left}] a, {kind}[{right.replace('n', columns)}] b"
    pads = "<int64[4] pads = {2, 0, 1, 0}>"
    return parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => (y) {pads} {{ {body} }}')


def operands(layout: str, rows: int, columns: int, terms: int, kind: Any) -> tuple[dict[str, Any], Any]:
    """Both operands as the model takes them, and their product in float64; integers, so that every sum is exact."""
    rng = np.random.default_rng(rows * 1000 + columns)
    a, b = rng.integers(-9, 9, (rows, terms)).astype(kind), rng.integers(-9, 9, (terms, columns)).astype(kind)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    if layout == "padded":
        expected = np.pad(expected, ((2, 1), (0, 0)))
    feeds = {
        "a": a.T.copy() if layout == "rows of columns" else a,
        "b": b if layout in ("plain", "rows of columns") else b.T.copy(),
    }
    return feeds, expected


@pytest.mark.parametrize("kind", ["float", "double"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("target", TARGETS)
def test_a_product_of_computed_operands_is_exact_for_integers(target: str, layout: str, kind: str) -> None:
    machine = host() if target == "here" else named(target)
    if machine.vector > host().vector:
        pytest.skip("this machine has no vectors of that length")
    dtype = np.float32 if kind == "float" else np.float64
    models = [product(layout, kind), *(product(layout, kind, str(columns)) for columns in (3, 9))]
    for model, sizes in zip(models, (COLUMNS_AND_TERMS, ((3, 70),), ((9, 33),)), strict=True):
        session = Session(model, providers=(Cpu(machine),), fallback=False, threads=1)
        for columns, terms in sizes:
            for rows in ROWS:
                feeds, expected = operands(layout, rows, columns, terms, dtype)
                (actual,) = session.run(None, feeds)
                np.testing.assert_array_equal(actual, expected, err_msg=f"{rows} rows, {columns} columns of {terms}")
