"""The report of a quantisation in lines: sizes, layers that stayed in float and why, the error."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.cli.units import counted, size_text
from ingot.quantise.report import Report

_MOST_LAYERS = 20


def report_lines(report: Report) -> Iterator[str]:
    """What was saved, what stayed as it was, and what it costs."""
    factor = report.bytes_before / max(report.bytes_after, 1)
    sizes = f"{size_text(report.bytes_before)} became {size_text(report.bytes_after)}"
    yield f"  tensors of {sizes} ({factor:.1f} times smaller)"
    for layer in report.in_float[:_MOST_LAYERS]:
        yield f"  in float: {layer.operator} '{layer.name}': {layer.reason}"
    if len(report.in_float) > _MOST_LAYERS:
        yield f"  in float: {len(report.in_float) - _MOST_LAYERS:,} more"
    costs = [layer for layer in report.layers if layer.snr is not None]
    if costs:
        yield "  outputs with one product quantised alone:"
        for layer in sorted(costs, key=lambda layer: layer.snr or 0.0)[:_MOST_LAYERS]:
            yield f"    {layer.snr:6.1f} dB  {layer.operator} '{layer.name}'{' (in float)' if layer.reason else ''}"
    for note in report.notes:
        yield f"  {note}"
    if report.errors:
        yield f"  against the original on {counted(report.samples, 'sample')}:"
        yield from (f"    {error}" for error in report.errors)
