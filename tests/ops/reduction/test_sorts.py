"""TopK in machine code: every way to sort a row gives the places and elements of the reference, bit by bit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.dtypes import Array
from ingot.ir.text import parse_model
from ingot.session import Session

KINDS = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    **{name: np.dtype(name) for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")},
}
SIZES = [(0, 0), (5, 2), (5, 5), (79, 3), (80, 3), (111, 111), (130, 0), (130, 30), (700, 40), (700, 400), (5000, 100)]
"""Elements of a row and how many are asked for: compared with all others, next ones looked for, radix, left out."""


def rows_of(dtype: Any, many: int, kind: str, generator: np.random.Generator) -> Array:
    """Rows of random elements, of a few that come often, or in an order that makes each the best so far."""
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        if kind == "ties":
            return generator.choice(np.array([limits.min, limits.max, 1, 2], dtype), (3, many))
        x = generator.integers(limits.min, limits.max, (3, many), dtype, endpoint=True)
    else:
        x = generator.standard_normal((3, many)).astype(dtype)
        if kind == "ties":
            special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1, -1], dtype)
            return np.where(generator.random((3, many)) < 0.5, generator.choice(special, (3, many)), x)
    return np.sort(x, axis=1) if kind == "rising" else np.sort(x, axis=1)[:, ::-1].copy() if kind == "falling" else x


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("largest", [0, 1])
def test_rows_of_any_kind_and_length_are_sorted_as_by_the_reference(name: str, largest: int) -> None:
    text = f"""<ir_version: 10, opset_import: ["" : 24]>
        g ({name}[m, n] x, int64[1] k) => ({name}[m, K] v, int64[m, K] i) {{
        v, i = TopK <largest = {largest}> (x, k) }}"""
    compiled = Session(parse_model(text), providers=("cpu", "reference"), fallback=False, threads=1)
    assert compiled.compiled is not None
    assert not compiled.compiled.program.calls
    reference = Session(parse_model(text), providers=("reference",))
    generator = np.random.default_rng(largest)
    for many, wanted in SIZES:
        for kind in ("random", "ties", "rising", "falling"):
            x = rows_of(KINDS[name], many, kind, generator)
            values, places = compiled(x, np.array([wanted]))
            expected, expected_places = reference(x, np.array([wanted]))
            np.testing.assert_array_equal(places, expected_places, err_msg=f"{wanted} of {many}, {kind}")
            assert values.tobytes() == expected.tobytes()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_any_axis_is_sorted_along(axis: int) -> None:
    text = f"""<ir_version: 10, opset_import: ["" : 21]>
        g (float[a, b, c] x) => (v, i) <int64[1] k = {{4}}> {{
        y = Neg (x) v, i = TopK <axis = {axis}, sorted = 0> (y, k) }}"""
    x = np.random.default_rng(0).integers(0, 9, (6, 130, 5)).astype(np.float32)
    for threads in (1, 2):
        session = Session(parse_model(text), providers=("cpu", "reference"), fallback=False, threads=threads)
        for mine, other in zip(session(x), Session(parse_model(text), providers=("reference",))(x), strict=True):
            np.testing.assert_array_equal(mine, other)
