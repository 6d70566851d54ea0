"""The report of a pruning in lines: sizes, channels that went, layers that stayed dense and why, the error."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.cli.quantize_page import MOST_LAYERS, cost_lines, error_lines
from ingot.cli.units import size_text
from ingot.pruning.report import Report


def report_lines(report: Report) -> Iterator[str]:
    """What was removed, what stayed as it was, and what it costs."""
    if report.bytes_after != report.bytes_before:
        yield f"  tensors of {size_text(report.bytes_before)} became {size_text(report.bytes_after)}"
    for each in report.channels[:MOST_LAYERS]:
        yield f"  channels: {each.operator} '{each.name}' has {each.after:,} of {each.before:,}"
    if len(report.channels) > MOST_LAYERS:
        yield f"  channels: {len(report.channels) - MOST_LAYERS:,} more"
    for layer in report.dense[:MOST_LAYERS]:
        yield f"  dense: {layer.operator} '{layer.name}': {layer.reason}"
    if len(report.dense) > MOST_LAYERS:
        yield f"  dense: {len(report.dense) - MOST_LAYERS:,} more"
    costs = [
        (layer.snr, f"{layer.operator} '{layer.name}'{' (dense)' if layer.reason else ''}")
        for layer in report.layers
        if layer.snr is not None
    ]
    yield from cost_lines(costs, "pruned")
    yield from error_lines(report.errors, report.samples)
