"""Operands whose sizes have to agree and are not known to: they are assumed to, and a guard checks it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import IngotError
from lower.agreement import agree

X = np.arange(12, dtype=np.float32).reshape(3, 4)
CASES = {
    "ScatterElements": (
        "g (float[n, 4] x, int64[m, 4] i, float[k, 4] u) => (y) { y = ScatterElements (x, i, u) }",
        {"x": X, "i": np.full((2, 4), 1), "u": -X[:2]},
    ),
    "ScatterND": (
        "g (float[n, 4] x, int64[m, 1] i, float[k, 4] u) => (y) { y = ScatterND (x, i, u) }",
        {"x": X, "i": np.array([[2], [0]]), "u": -X[:2]},
    ),
    "ReverseSequence": (
        "g (float[4, n] x, int64[m] i) => (y) { y = ReverseSequence (x, i) }",
        {"x": X.T.copy(), "i": np.array([1, 4, 2])},
    ),
    "GridSample": (
        "g (float[n, 1, 3, 4] x, float[m, 2, 2, 2] i) => (y) { y = GridSample (x, i) }",
        {"x": X.reshape(1, 1, 3, 4), "i": np.linspace(-1, 1, 8, dtype=np.float32).reshape(1, 2, 2, 2)},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_sizes_with_other_names_are_assumed_to_agree(case: tuple[str, dict[str, Any]]) -> None:
    graph, feeds = case
    agree(graph, 1e-6, 1e-6, **feeds)


@pytest.mark.parametrize("name", ["ScatterElements", "ScatterND", "ReverseSequence"])
def test_a_run_says_where_they_do_not(name: str) -> None:
    graph, feeds = CASES[name]
    last = list(feeds)[-1]
    model = ingot.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {graph}')
    session = ingot.Session(model, providers=("cpu", "reference"))
    session.run(None, feeds)
    with pytest.raises(IngotError):
        session.run(None, {**feeds, last: feeds[last][:1]})
