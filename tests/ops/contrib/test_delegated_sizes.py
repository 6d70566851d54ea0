"""Operators whose rules are those of the standard's read sizes while the model runs, as these do."""

from __future__ import annotations

import numpy as np

import ingot


def test_a_range_of_computed_bounds_is_compiled() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
    g (int64 a, int64 b, int64 s) => (int64[n] y) { y = com.microsoft.Range (a, b, s) }"""
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False, threads=1)
    assert session(np.int64(2), np.int64(9), np.int64(3)).tolist() == [2, 5, 8]
    assert session.compiled is not None
    assert not session.compiled.program.calls
