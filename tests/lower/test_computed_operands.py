"""Products whose right operand a run computes: few rows read it where it lies, and columns are transposed in blocks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
FORMS = {
    "columns": "g ({t}[m, k] x, {t}[k, n] y) => (z) {{ p = MatMul (x, y) z = Neg (p) }}",
    "transposed": "g ({t}[m, k] x, {t}[n, k] y) => (z) {{ t = Transpose <perm = [1, 0]> (y) z = MatMul (x, t) }}",
    "batched": "g ({t}[b, m, k] x, {t}[b, n, k] y) => (z) {{ t = Transpose <perm = [0, 2, 1]> (y) z = MatMul (x, t) }}",
    "with a bias": "g ({t}[m, k] x, {t}[n, k] y, {t}[n] c) => (z) {{ g = Gemm <transB = 1> (x, y, c) z = Relu (g) }}",
    "left transposed": "g ({t}[k, m] x, {t}[n, k] y) => (z) {{ z = Gemm <transA = 1, transB = 1> (x, y) }}",
    "two axes": 'g ({t}[m, 3, k] x, {t}[n, 3, k] y) => (z) {{ z = Einsum <equation = "mak,nak->mn"> (x, y) }}',
}


def operands(form: str, m: int, k: int, n: int) -> dict[str, tuple[int, ...]]:
    match form:
        case "columns":
            return {"x": (m, k), "y": (k, n)}
        case "batched":
            return {"x": (3, m, k), "y": (3, n, k)}
        case "with a bias":
            return {"x": (m, k), "y": (n, k), "c": (n,)}
        case "left transposed":
            return {"x": (k, m), "y": (n, k)}
        case "two axes":
            return {"x": (m, 3, k), "y": (n, 3, k)}
    return {"x": (m, k), "y": (n, k)}


@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("threads", [1, 2])
def test_products_of_every_size_agree_with_the_reference(form: str, dtype: str, threads: int) -> None:
    model = ingot.parse_model(f"{HEAD} {FORMS[form].format(t=dtype)}")
    compiled = ingot.Session(model, providers=("cpu", "reference"), fallback=False, threads=threads)
    reference = ingot.Session(model, providers=("reference",))
    random = np.random.default_rng(0)
    for m, k, n in product((1, 3, 6, 7, 17), (1, 7, 16, 37, 64), (1, 7, 16, 47, 48, 100)):
        feeds: dict[str, Array] = {
            name: random.integers(-4, 5, shape).astype(np.float32 if dtype == "float" else np.float64)
            for name, shape in operands(form, m, k, n).items()
        }
        (result,), (expected,) = compiled.run(None, feeds), reference.run(None, feeds)
        np.testing.assert_array_equal(result, expected, err_msg=f"{m} × {k} × {n}")  # sums of integers are exact


def test_nothing_outside_of_the_operands_counts() -> None:
    """Infinities in columns next to those of a tile stay there."""
    session = ingot.Session(ingot.parse_model(f"{HEAD} {FORMS['transposed'].format(t='float')}"), threads=1)
    x, y = np.ones((9, 40), np.float32), np.ones((50, 40), np.float32)
    y[49], y[3] = np.inf, np.nan
    (z,) = session.run(None, {"x": x, "y": y})
    assert np.isposinf(z[:, 49]).all()
    assert np.isnan(z[:, 3]).all()
    assert (np.delete(z, [3, 49], axis=1) == 40).all()
