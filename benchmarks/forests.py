"""Forests of every kind: how long a call takes beside onnxruntime, for one row and for many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import thread_time
from typing import Any

import numpy as np

import ingot
from benchmarks.forest_models import FEATURES, TRAINED_ON, Forest, converted, operators
from benchmarks.tables.peer import peer_session
from benchmarks.timing import machine

ROWS = (1, 100, 10_000)
_ROUND, _ROUNDS, _MOST = 2e-3, 15, 1.5
"""Seconds of a round of calls, rounds of each engine, and the seconds that all rounds may take if a call is long."""

_WARM_UP = 3
"""Calls before: the first may run drafts of kernels, and the second wait for the kernels."""


def table() -> str:
    lines = [
        "# Forests",
        "",
        f"{machine()}. Models fitted to {TRAINED_ON:,} random rows of {FEATURES} features, converted by",
        "`ingot.convert`; then random forests of 100 trees of depth 6 in each form of the operators. Both engines run",
        "with one thread, in turns: the least processor time of a call. Written by `python -m benchmarks forests`.",
        "",
        "| model | rows | ingot | onnxruntime | times as fast |",
        "|---|---:|---:|---:|---:|",
        *lines_of(),
        "",
    ]
    return "\n".join(lines)


def lines_of(chosen: Callable[[str], bool] = lambda _: True) -> Iterator[str]:
    """A line for each forest with a chosen name and number of rows; the last has the geometric mean."""
    random = np.random.default_rng(0)
    x = random.normal(size=(max(ROWS), FEATURES)).astype(np.float32)
    ratios: list[float] = []
    for forests in (converted(x, chosen), operators()):
        for forest in forests:
            if chosen(forest.name):
                for rows, ours, theirs in _compared(forest, x):
                    ratios.append(theirs / ours)
                    times = f"{1e6 * ours:,.1f} µs | {1e6 * theirs:,.1f} µs"
                    yield f"| {forest.name} | {rows:,} | {times} | {theirs / ours:.2f} |"
    yield f"| geometric mean of {len(ratios)}, least {min(ratios):.2f} | | | | {np.exp(np.mean(np.log(ratios))):.2f} |"


def _compared(forest: Forest, x: Any) -> Iterator[tuple[int, float, float]]:
    ours = ingot.Session(forest.data, providers=("cpu", "reference"), threads=1)
    theirs = peer_session(forest.data)
    (name,) = ours.inputs
    for rows in ROWS:
        feeds = {name: x[:rows].astype(forest.dtype)}
        least = _least(partial(ours.run, None, feeds), partial(theirs.run, None, feeds))
        yield rows, *least


def _least(*runs: Callable[[], object]) -> tuple[float, float]:
    """The least processor time of a call of two functions, which take turns."""
    for run in runs:
        _time(run, _WARM_UP)
    counts = [max(1, int(_ROUND / max(1e-6, _time(run, 1)))) for run in runs]
    least = [float("inf")] * len(runs)
    spent = 0.0
    for _ in range(_ROUNDS):
        for which, (run, count) in enumerate(zip(runs, counts, strict=True)):
            seconds = _time(run, count)
            least[which] = min(least[which], seconds)
            spent += seconds * count
        if spent > _MOST:
            break
    return least[0], least[1]


def _time(run: Callable[[], object], count: int) -> float:
    start = thread_time()
    for _ in range(count):
        run()
    return (thread_time() - start) / count
