"""The report of a pruning in lines: sizes, channels that went, layers that stayed dense and why, the error."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.cli.change_page import layer_lines, listed
from ingot.cli.units import size_text
from ingot.pruning.report import Report


def report_lines(report: Report) -> Iterator[str]:
    """What was removed, what stayed as it was, and what it costs."""
    if report.bytes_after != report.bytes_before:
        yield f"  tensors of {size_text(report.bytes_before)} became {size_text(report.bytes_after)}"
    shrunk = [f"{each.operator} '{each.name}' has {each.after:,} of {each.before:,}" for each in report.channels]
    yield from listed("channels", shrunk)
    yield from layer_lines(report, "pruned", "dense")
