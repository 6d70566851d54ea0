"""Sizes that a model declares and a run computes: what the run computes is right, whatever is declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.session import Session

HEAD = '<ir_version: 9, opset_import: ["" : 18]>'
X = np.arange(8, dtype=np.float32)
IMAGE = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)


def i64(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "Slice": (
        "g (float[8] x, int64[1] e) => (float[5] z) <int64[1] zero = {0}> { z = Slice (x, zero, e) }",
        {"e": i64(2)},
    ),
    "Slice of a named size": (
        "g (float[n] x, int64[1] e) => (float[n] z) <int64[1] zero = {0}> { y = Slice (x, zero, e) z = Neg (y) }",
        {"e": i64(2)},
    ),
    "Expand": ("g (float[1] x, int64[1] e) => (float[5] z) { z = Expand (x, e) }", {"x": X[:1], "e": i64(2)}),
    "Reshape": ("g (float[8] x, int64[2] e) => (float[2, 4] z) { z = Reshape (x, e) }", {"e": i64(4, 2)}),
    "Resize": (
        "g (float[1, 1, 4, 4] x, int64[4] e) => (float[1, 1, 8, 8] z) { z = Resize (x, , , e) }",
        {"x": IMAGE, "e": i64(1, 1, 2, 2)},
    ),
    "Split": (
        "g (float[8] x, int64[2] e) => (float[4] z, float[4] w) { z, w = Split <axis = 0> (x, e) }",
        {"e": i64(2, 6)},
    ),
    "Unsqueeze": ("g (float[8] x, int64[1] e) => (float[1, 8] z) { z = Unsqueeze (x, e) }", {"e": i64(1)}),
    "Squeeze": ("g (float[1, 1] x, int64[k] e) => (float z) { z = Squeeze (x, e) }", {"x": X[:1, None], "e": i64(1)}),
    "OneHot": (
        "g (int64[3] x, int64 e) => (float[3, 5] z) <float[2] v = {0, 1}> { z = OneHot (x, e, v) }",
        {"x": i64(1, 1, 0), "e": np.array(2)},
    ),
    "CenterCropPad": ("g (float[8] x, int64[1] e) => (float[5] z) { z = CenterCropPad (x, e) }", {"e": i64(2)}),
    "MaxUnpool": (
        """g (float[1, 1, 1, 1] x, int64[1, 1, 1, 1] j, int64[4] e) => (float[1, 1, 5, 5] z)
            { z = MaxUnpool <kernel_shape = [2, 2]> (x, j, e) }""",
        {"x": IMAGE[:, :, :1, :1], "j": np.zeros((1, 1, 1, 1), np.int64), "e": i64(1, 1, 2, 2)},
    ),
    "Pad": ("g (float[8] x, int64[2] e) => (float[9] z) { z = Pad (x, e) }", {"e": i64(2, 2)}),
    "Tile": ("g (float[8] x, int64[1] e) => (float[8] z) { z = Tile (x, e) }", {"e": i64(2)}),
    "in a loop": (
        """g (float[8] x, int64[1] e, int64 m) => (float[5] z) <int64[1] zero = {0}> {
            z = Loop (m, , x) <body = b (int64 i, bool c, float[k] s) => (bool d, float[5] o)
                { d = Identity (c) o = Slice (s, zero, e) }>
        }""",
        {"e": i64(2), "m": np.array(3)},
    ),
    "in a branch": (
        """g (float[8] x, int64[1] e, bool c) => (float[5] z) <int64[1] zero = {0}, int64[1] five = {5}> {
            z = If (c) <
                then_branch = a () => (float[5] o) { o = Slice (x, zero, e) },
                else_branch = b () => (float[5] p) { p = Slice (x, zero, five) }
            >
        }""",
        {"e": i64(2), "c": np.array(True)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_size_that_a_run_computes_is_not_the_declared_one(name: str) -> None:
    graph, own = CASES[name]
    feeds = {"x": X, **own}
    model = ingot.parse_model(f"{HEAD} {graph}")
    expected = Session(model, providers=("reference",)).run(None, feeds)
    session = Session(model, providers=("cpu", "reference"), fallback=False)
    for _ in range(2):
        for result, array in zip(session.run(None, feeds), expected, strict=True):
            assert result.shape == array.shape
            np.testing.assert_array_equal(result, array)
