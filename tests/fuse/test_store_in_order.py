"""What is stored in the order of another tensor's axes, and then has to be in its own, is decided again."""

from __future__ import annotations

import numpy as np
import pytest

import ingot

HEAD = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 4]>'
NEIGHBOURS = """g (float[n, 3] x) => (values, places)
<int64[1] k = {2}, int64[1] last = {1}, float[4, 3] fitted = {0, 0, 0, 1, 1, 1, 2, 0, 1, 5, 5, 5}> {
    u, rows = Scan <num_scan_inputs = 1, body = b (float[n, 3] points, float[3] row) => (same, far) {
        same = Identity (points)
        apart = Sub (points, row)
        far = ReduceSumSquare <keepdims = 0> (apart, last)
    }> (x, fitted)
    columns = Transpose <perm = [1, 0]> (rows)
    distances = Sqrt (columns)
    values, places = TopK <largest = 0> (distances, k)
}"""
TRANSPOSED = """g (float[m, n] x) => (values, places, product) <int64[1] k = {2}> {
    e = Exp (x)
    t = Transpose <perm = [1, 0]> (e)
    s = Sqrt (t)
    values, places = TopK (s, k)
    product = MatMul (x, s)
}"""


@pytest.mark.parametrize("text", [NEIGHBOURS, TRANSPOSED])
def test_rows_that_were_columns_are_sorted_by_machine_code(text: str) -> None:
    model = ingot.parse_model(f"{HEAD} {text}")
    compiled = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    reference = ingot.Session(model, providers=("reference",))
    for rows in (1, 2, 7):
        x = np.random.default_rng(rows).normal(size=(rows if "fitted" in text else 5, 3)).astype(np.float32)
        for result, expected in zip(compiled.run(None, {"x": x}), reference.run(None, {"x": x}), strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-5)
