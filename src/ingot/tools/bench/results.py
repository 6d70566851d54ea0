"""What was measured, in seconds and bytes. The fields are the keys of `ingot bench --json`: keep their names."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ingot.tools.bench.arithmetic import Arithmetic
from ingot.tools.bench.difference import Difference


@dataclass(frozen=True, slots=True)
class Spread:
    """Repeated measurements: the middle one, the quartiles, the least, and how many there were."""

    median: float
    lower: float
    upper: float
    least: float
    count: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One engine that ran a model."""

    run: Spread
    first_run: float
    created_cold: Spread
    """Opening the model with nothing compiled before."""
    created_warm: Spread
    """Opening it in a process after one that has run it."""
    imported: float
    memory: int | None
    """The most bytes its process ever held, compiling or running: Python, the inputs and the engine."""
    memory_warm: int | None
    """The same where nothing had to be compiled."""
    memory_before: int | None
    """Before the engine was imported."""
    difference: Difference | None
    """From the outputs of the engine that others are compared with; None for itself, and where there is none."""
    limit_share: float | None
    """Operations a second, of those that the multiply-add loop reaches on as many cores."""


@dataclass(frozen=True, slots=True)
class Row:
    """One engine at one number of threads: what was measured, or why nothing was."""

    engine: str
    version: str
    threads: int
    failure: str | None
    measured: Measured | None
    ratio: float | None
    """Its median, divided by that of the first engine: above one, the first engine is faster."""


@dataclass(frozen=True, slots=True)
class ModelRows:
    """All engines on one model."""

    model: str
    inputs: dict[str, str]
    arithmetic: Arithmetic
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run: `limits` are the float32 operations a second by number of threads."""

    processor: str
    python: str
    load: float | None
    """Processes that wanted a core in the minute before, on average; None where the system does not say."""
    limits: dict[int, float]
    models: list[ModelRows]
    means: dict[str, dict[int, float]]
    """The geometric mean of the ratios of each engine but the first, by number of threads."""


def spread(samples: Sequence[float]) -> Spread:
    """The spread of at least one measurement."""
    if len(samples) == 1:
        [only] = samples
        return Spread(only, only, only, only, 1)
    lower, median, upper = statistics.quantiles(samples, n=4, method="inclusive")
    return Spread(median, lower, upper, min(samples), len(samples))


def means(models: Sequence[ModelRows]) -> dict[str, dict[int, float]]:
    """Of each engine but the first of a model: by number of threads, the geometric mean of its ratios."""
    ratios: dict[str, dict[int, list[float]]] = {}
    for model in models:
        for row in model.rows:
            if row.ratio is not None and row.engine != model.rows[0].engine:
                ratios.setdefault(row.engine, {}).setdefault(row.threads, []).append(row.ratio)
    return {
        engine: {threads: statistics.geometric_mean(ratios) for threads, ratios in by_threads.items()}
        for engine, by_threads in ratios.items()
    }
