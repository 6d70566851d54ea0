"""The report of a quantisation in lines: sizes, layers that stayed in float and why, the error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.cli.units import counted, size_text
from ingot.quantise.error import OutputError
from ingot.quantise.report import Report

MOST_LAYERS = 20
"""Lines of a kind; the rest is counted."""


def report_lines(report: Report) -> Iterator[str]:
    """What was saved, what stayed as it was, and what it costs."""
    factor = report.bytes_before / max(report.bytes_after, 1)
    sizes = f"{size_text(report.bytes_before)} became {size_text(report.bytes_after)}"
    yield f"  tensors of {sizes} ({factor:.1f} times smaller)"
    for layer in report.in_float[:MOST_LAYERS]:
        yield f"  in float: {layer.operator} '{layer.name}': {layer.reason}"
    if len(report.in_float) > MOST_LAYERS:
        yield f"  in float: {len(report.in_float) - MOST_LAYERS:,} more"
    costs = [
        (layer.snr, f"{layer.operator} '{layer.name}'{' (in float)' if layer.reason else ''}")
        for layer in report.layers
        if layer.snr is not None
    ]
    yield from cost_lines(costs, "quantised")
    yield from error_lines(report.errors, report.samples)


def cost_lines(costs: Sequence[tuple[float, str]], change: str) -> Iterator[str]:
    """A table of decibels and products, those that cost most first."""
    if costs:
        yield f"  outputs with one product {change} alone:"
        for decibels, label in sorted(costs)[:MOST_LAYERS]:
            yield f"    {decibels:6.1f} dB  {label}"


def error_lines(errors: Sequence[OutputError], samples: int) -> Iterator[str]:
    """How far each output is from the original's."""
    if errors:
        yield f"  against the original on {counted(samples, 'sample')}:"
        yield from (f"    {error}" for error in errors)
