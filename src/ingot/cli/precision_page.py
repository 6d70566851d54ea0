"""The report on a precision in lines: layers with the largest errors, what stays in float32, outputs, time."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ingot.cli.units import counted
from ingot.quantise.precision_report import PrecisionReport

_MOST_LAYERS = 20


def lines(report: PrecisionReport, *, every: bool = False) -> Iterator[str]:
    """What a precision costs and brings; of layers the worst alone, unless `every`."""
    shown = report.layers if every else report.layers[:_MOST_LAYERS]
    if shown:
        yield f"{'error':>9}  {'alone':>9}  {'so far':>9}  layer, in {report.precision}"
    for layer in shown:
        yield f"{_share(layer.relative):>9}  {_decibels(layer.snr):>9}  {_decibels(layer.snr_so_far):>9}  " + (
            f"{layer.operator} '{layer.name}'"
        )
    if len(report.layers) > len(shown):
        yield f"and {len(report.layers) - len(shown):,} more with smaller errors (--all shows them)"
    reasons: dict[str, list[str]] = {}
    for staying in report.in_float:
        reasons.setdefault(staying.reason or "", []).append(staying.name)
    for reason, names in reasons.items():
        more = "" if len(names) == 1 else f" and {len(names) - 1:,} more"
        yield f"in float32: '{names[0]}'{more}: {reason}"
    yield f"outputs against float32 on {counted(report.samples, 'sample')}:"
    yield from (f"  {error}" for error in report.outputs)
    yield (
        f"a run takes {report.seconds * 1e3:.2f} ms, in float32 {report.seconds_in_float * 1e3:.2f} ms: "
        f"{report.speedup:.2f} times as fast"
    )


def _share(relative: float) -> str:
    return "0 %" if relative == 0 else f"{100 * relative:.2g} %"


def _decibels(value: float) -> str:
    return "equal" if math.isinf(value) and value > 0 else f"{value:.1f} dB"
