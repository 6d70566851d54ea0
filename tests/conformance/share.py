"""How much of the standard's node cases ran as machine code, from what each test of them notes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

COMPILED = "nodes compiled, and run by the reference"
"""The property of a test under which it notes both numbers."""


def compiled_share(reports: Iterable[Any]) -> str | None:
    """The share of cases and of nodes, in words; None if no such case is among the reports."""
    found = [
        value
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == COMPILED and report.when == "call"
    ]
    if not found:
        return None
    nodes, called = (sum(each[place] for each in found) for place in (0, 1))
    whole = sum(not each[1] for each in found)
    cases = f"{whole:,} of {len(found):,} cases ran compiled whole ({whole / len(found):.1%})"
    return f"{cases}; {nodes:,} of {nodes + called:,} nodes ({nodes / max(1, nodes + called):.1%})"
