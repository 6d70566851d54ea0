"""The page of a table: a summary by cause, and rows from the slowest to the fastest."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.tables.measure import Row
from benchmarks.timing import machine

MANY_STEPS = 4
_CALL = 12e-6
"""Seconds below which a run of a few kernels is mostly what every call costs."""


def page(title: str, about: Sequence[str], rows: Sequence[Row], left_out: Sequence[str], threads: int) -> str:
    """A table in Markdown. `left_out` are names of cases that onnxruntime cannot run, which are counted."""
    timed = sorted((row for row in rows if np.isfinite(row.ratio)), key=lambda row: row.ratio)
    return "\n".join(
        [
            f"# {title}",
            "",
            *about,
            "",
            f"{machine()}; {threads} thread{'s' * (threads > 1)}. The engines take turns in one process, and the least",
            "time of either counts: with one thread its processor time, which other load hardly changes. A ratio above",
            "1 says that ingot is faster. `steps` are those of the plan, with the kinds of its kernels; `reference`",
            "are nodes that it leaves to the reference, and why.",
            "",
            *_figures(timed, rows, left_out),
            "",
            "## Summary by cause",
            "",
            "Rows below 1.0 by what their plans look like.",
            "",
            *_causes(timed),
            "",
            *_wrong(rows),
            "## Rows",
            "",
            "| operator | form | size | ingot µs | onnxruntime µs | ratio | steps | reference |",
            "|---|---|---|---:|---:|---:|---|---|",
            *map(_line, timed),
            "",
        ]
    )


def cause(row: Row) -> str:
    """Why a row may be slow, as far as its plan shows it."""
    if row.reference:
        return f"on the reference: {row.reference[0]}"
    if row.steps > MANY_STEPS:
        return "many steps"
    if row.ours < _CALL:
        return "a call"
    return f"one slow kernel: {' and '.join(row.kinds) or 'none'}"


def geometric_mean(rows: Sequence[Row]) -> float:
    return math.exp(sum(math.log(row.ratio) for row in rows) / len(rows)) if rows else math.nan


def _figures(timed: Sequence[Row], rows: Sequence[Row], left_out: Sequence[str]) -> Iterator[str]:
    below = [sum(row.ratio < bar for row in timed) / max(1, len(timed)) for bar in (1.0, 0.9, 0.5)]
    yield f"- rows: {len(rows):,}; cases left out, as onnxruntime cannot run them: {len(left_out):,}"
    yield f"- geometric mean of the ratios: {geometric_mean(timed):.2f}"
    yield f"- below 1.0: {below[0]:.1%}; below 0.9: {below[1]:.1%}; below 0.5: {below[2]:.1%}"
    referred = [row for row in timed if row.reference]
    mean = f", geometric mean {geometric_mean(referred):.2f}" if referred else ""
    yield f"- rows with a node on the reference: {len(referred):,}{mean}"
    yield f"- rows with other results than onnxruntime's: {sum(row.wrong is not None for row in rows):,}"
    for size in dict.fromkeys(row.size for row in timed):
        part = [row for row in timed if row.size == size]
        slower = sum(row.ratio < 1 for row in part) / len(part)
        yield f"- {size}: geometric mean {geometric_mean(part):.2f}, below 1.0: {slower:.1%}"


def _causes(timed: Sequence[Row]) -> Iterator[str]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in timed:
        if row.ratio < 1:
            groups[cause(row)].append(row)
    yield "| cause | rows | geometric mean | worst | operators |"
    yield "|---|---:|---:|---:|---|"
    for name, group in sorted(groups.items(), key=lambda item: sum(math.log(row.ratio) for row in item[1])):
        operators = list(dict.fromkeys(row.operator for row in group))
        shown = ", ".join(operators[:8]) + (f", {len(operators) - 8} more" if len(operators) > 8 else "")
        yield f"| {name} | {len(group)} | {geometric_mean(group):.2f} | {group[0].ratio:.2f} | {shown} |"


def _wrong(rows: Sequence[Row]) -> Iterator[str]:
    wrong = [row for row in rows if row.wrong is not None]
    if wrong:
        yield from ("## Other results than onnxruntime's", "", "| operator | form | size | difference |")
        yield "|---|---|---|---|"
        yield from (f"| {r.operator} | {r.form} | {r.size} | {(r.wrong or '').replace('|', '/')} |" for r in wrong)
        yield ""


def _line(row: Row) -> str:
    steps = f"{row.steps}: {', '.join(row.kinds)}" if row.kinds else str(row.steps)
    times = f"{1e6 * row.ours:,.1f} | {1e6 * row.theirs:,.1f} | {row.ratio:.2f}"
    return f"| {row.operator} | {row.form} | {row.size} | {times} | {steps} | {'; '.join(row.reference)} |"
