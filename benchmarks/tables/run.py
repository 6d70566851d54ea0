"""Cases measured one after another, with progress."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from benchmarks.tables.case import Case
from benchmarks.tables.measure import Row, measured


def run(cases: Iterable[Case], threads: int) -> tuple[list[Row], list[str]]:
    """The rows of cases, and the names of those that onnxruntime cannot run; progress to stderr."""
    rows, left_out = [], []
    for number, case in enumerate(cases, 1):
        row = measured(case, threads)
        if row is None:
            left_out.append(case.name)
        else:
            rows.append(row)
            if row.wrong:
                print(f"\r{case.name}: {row.wrong}", file=sys.stderr)
        print(f"\r{number:5} {case.name[:70]:70}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows, left_out
