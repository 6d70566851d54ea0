"""What exporters write around operators, in three sizes, on both engines.

    python -m benchmarks patterns [--only PATTERN] [--threads N]

Patterns are small functions in `tables/patterns`, by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchmarks.tables.case import Case
from benchmarks.tables.page import page
from benchmarks.tables.patterns import PATTERNS
from benchmarks.tables.run import run


def table(only: str = "", threads: int = 1) -> str:
    """The page; with `only`, of cases whose name has this regular expression."""
    rows, left_out = run(cases(only), threads)
    about = [
        "What exporters write around operators, in sizes from a few elements (tiny) over those of models (typical) to",
        "some megabytes (large). Written by `python -m benchmarks patterns`.",
    ]
    return page("Patterns", about, rows, left_out, threads)


def cases(only: str = "") -> Iterator[Case]:
    """The cases whose names have a regular expression, built one after another."""
    for name, pattern in PATTERNS.items():
        yield from (case for case in pattern.cases(name) if re.search(only, case.name))
