"""The lines that reports of quantised and of pruned models share: what stayed as it was and why, costs, the error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.cli.units import counted
from ingot.pruning.report import Report as PruningReport
from ingot.quantise.report import Report as QuantisationReport

_MOST = 20
"""Lines of a kind; the rest is counted."""


def listed(kind: str, texts: Sequence[str]) -> Iterator[str]:
    """A line for each text, under its kind; how many more there are, if these are too many."""
    for text in texts[:_MOST]:
        yield f"  {kind}: {text}"
    if len(texts) > _MOST:
        yield f"  {kind}: {len(texts) - _MOST:,} more"


def layer_lines(report: QuantisationReport | PruningReport, changed: str, unchanged: str) -> Iterator[str]:
    """Products that stayed `unchanged`, and why; what each costs if it alone is `changed`; the error of the outputs."""
    left = [layer for layer in report.layers if layer.reason is not None]
    yield from listed(unchanged, [f"{layer.operator} '{layer.name}': {layer.reason}" for layer in left])
    costs = [
        (layer.snr, f"{layer.operator} '{layer.name}'{f' ({unchanged})' if layer.reason else ''}")
        for layer in report.layers
        if layer.snr is not None
    ]
    if costs:
        yield f"  outputs with one product {changed} alone:"
        for decibels, label in sorted(costs)[:_MOST]:
            yield f"    {decibels:6.1f} dB  {label}"
    if report.errors:
        yield f"  against the original on {counted(report.samples, 'sample')}:"
        yield from (f"    {error}" for error in report.errors)
