"""The report of a quantisation in lines: sizes, layers that stayed in float and why, the error."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.cli.change_page import layer_lines
from ingot.cli.units import size_text
from ingot.quantise.report import Report


def report_lines(report: Report) -> Iterator[str]:
    """What was saved, what stayed as it was, and what it costs."""
    factor = report.bytes_before / max(report.bytes_after, 1)
    sizes = f"{size_text(report.bytes_before)} became {size_text(report.bytes_after)}"
    yield f"  tensors of {sizes} ({factor:.1f} times smaller)"
    yield from layer_lines(report, "quantised", "in float")
