"""CDist in machine code: as near to the reference for rows that nearly meet as for any other."""

from __future__ import annotations

import numpy as np
import pytest

from lower.machine import runs

METRICS = ("sqeuclidean", "euclidean", "cityblock", "chebyshev")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["float", "double"])
@pytest.mark.parametrize("sizes", [(1, 5, 3), (3, 70, 9), (6, 24, 20), (33, 130, 40), (4, 1, 1), (5, 37, 0)])
def test_distances_of_every_size(metric: str, kind: str, sizes: tuple[int, int, int]) -> None:
    rows, others, length = sizes
    rng = np.random.default_rng(3)
    dtype = np.float32 if kind == "float" else np.float64
    feeds = {"a": rng.normal(size=(rows, length)).astype(dtype), "b": rng.normal(size=(others, length)).astype(dtype)}
    for shapes in ((f"{rows}, {length}", f"{others}, {length}"), ("m, d", "n, d")):
        runs(_graph(kind, metric, *shapes), feeds, rtol=2e-6 if kind == "float" else 1e-14)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["float", "double"])
def test_distances_of_rows_that_nearly_meet_do_not_cancel(metric: str, kind: str) -> None:
    dtype = np.float32 if kind == "float" else np.float64
    a = np.random.default_rng(4).normal(1000, 1, (20, 30)).astype(dtype)
    b = np.concatenate([a, np.nextafter(a, dtype(np.inf)), a[::-1]])
    runs(_graph(kind, metric, "m, 30", "n, 30"), {"a": a, "b": b}, rtol=2e-6 if kind == "float" else 1e-14)


def _graph(kind: str, metric: str, left: str, right: str) -> str:
    return f'g ({kind}[{left}] a, {kind}[{right}] b) => (y) {{ y = com.microsoft.CDist <metric = "{metric}"> (a, b) }}'
