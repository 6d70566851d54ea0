"""The page that `ingot bench` prints: a table for each model and number of threads, and the means of all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from ingot.cli.printable import one_line
from ingot.cli.show import heading, rows
from ingot.cli.units import counted, size_text
from ingot.tools.bench.arithmetic import Arithmetic
from ingot.tools.bench.results import ModelRows, Report, Row, Spread

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS = ("engine", "median", "spread", "ratio", "limit", "cold", "warm", "memory", "apart")
BUSY = 1.0
"""The load from which on other processes spoil what is measured."""
_RIGHT = tuple(range(1, len(COLUMNS)))


def page(report: Report) -> Iterator[RenderableType]:
    """The parts of the page, top to bottom."""
    for model in report.models:
        for threads in dict.fromkeys(row.threads for row in model.rows):
            yield heading(f"{model.model}, {counted(threads, 'thread')}", _about(model))
            yield from _table([row for row in model.rows if row.threads == threads])
    if len(report.models) > 1 and report.means:
        yield heading("geometric mean of the ratios")
        yield rows(_means(report), right=(1,))
    if report.limits:
        reached = ", ".join(f"{rate / 1e9:.0f} with {counted(n, 'thread')}" for n, rate in report.limits.items())
        yield heading("limit", f"float32 GFLOP/s of a loop of multiply-adds: {reached}")
    yield from busy(report.load)


def busy(load: float | None) -> Iterator[RenderableType]:
    """A line that says so, if other processes spoiled what was measured."""
    if load is not None and load >= BUSY:
        yield heading("busy", f"{load:.1f} other processes wanted a core: measure again when they are done")


def seconds_text(seconds: float) -> str:
    """`812 ns`, `1.25 ms`, `12.5 s`: three digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * scale:
            return f"{_digits(seconds / scale)} {unit}"
    return f"{_digits(seconds * 1e9)} ns"


def operations_text(arithmetic: Arithmetic) -> str:
    """`3.63 GFLOP`, `at least 1.00 MFLOP`."""
    amount, units = float(arithmetic.operations), ["", "k", "M", "G", "T"]
    while amount >= 999.5 and len(units) > 1:
        amount = amount / 1000
        del units[0]
    return f"{'' if arithmetic.complete else 'at least '}{_digits(amount) if units[0] else int(amount)} {units[0]}FLOP"


def spread_text(spread: Spread) -> str:
    """Half the distance of the quartiles, in per cent of the median."""
    return f"±{(spread.upper - spread.lower) / 2 / spread.median:.0%}" if spread.median and spread.count > 1 else ""


def cells(row: Row) -> tuple[str, ...]:
    """What `COLUMNS` name, of an engine that ran."""
    measured = row.measured
    assert measured is not None
    apart = measured.difference
    return (
        row.engine,
        seconds_text(measured.run.median),
        spread_text(measured.run),
        "" if row.ratio is None else _ratio(row.ratio),
        "" if measured.limit_share is None else f"{measured.limit_share:.0%}",
        seconds_text(measured.created_cold.median),
        seconds_text(measured.created_warm.median),
        "" if measured.memory is None else _whole_size(measured.memory),
        "" if apart is None or not math.isfinite(apart.relative) else f"{apart.relative:.1e}",
    )


def _ratio(ratio: float) -> str:
    """Two digits behind the point, or as many as there have to be for one that is not zero."""
    return f"{ratio:.2f}" if ratio >= 0.005 else f"{ratio:.0e}"


def _whole_size(count: int) -> str:
    """`133 MiB`, `1.5 GiB`: no fractions of a MiB, so that the table fits 80 columns."""
    return size_text(count) if count < 1 << 20 or count >= 1023.5 * (1 << 20) else f"{count / (1 << 20):.0f} MiB"


def _table(rows_measured: list[Row]) -> Iterator[RenderableType]:
    shown: list[tuple[str | Text, ...]] = [tuple(Text(name, style="dim") for name in COLUMNS)]
    shown += [cells(row) for row in rows_measured if row.measured is not None]
    yield rows(shown, right=_RIGHT)
    notes = [(row.engine, f"failed: {one_line(row.failure, 400)}") for row in rows_measured if row.failure is not None]
    notes += [(row.engine, row.measured.difference.kind) for row in rows_measured if _unlike(row)]  # type: ignore[union-attr,misc]
    if notes:
        yield rows((engine, Text(note, style="yellow")) for engine, note in notes)


def _unlike(row: Row) -> bool:
    return row.measured is not None and row.measured.difference is not None and row.measured.difference.kind is not None


def _about(model: ModelRows) -> str:
    parts = [f"{name} {type_}" for name, type_ in model.inputs.items()]
    shown = parts if len(parts) <= 4 else [*parts[:3], f"{len(parts) - 3} more"]
    return ", ".join([*shown, operations_text(model.arithmetic)])


def _means(report: Report) -> Iterator[tuple[str, str]]:
    for engine, by_threads in report.means.items():
        for threads, mean in by_threads.items():
            yield f"{engine}, {counted(threads, 'thread')}", f"{mean:.2f}"


def _digits(amount: float) -> str:
    return f"{amount:.0f}" if amount >= 99.95 else f"{amount:.1f}" if amount >= 9.995 else f"{amount:.2f}"
