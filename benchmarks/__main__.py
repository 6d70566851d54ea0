"""Run benchmarks: `python -m benchmarks [NAME...]`; each prints its table and keeps it in benchmarks/results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import format as format_benchmark

BENCHMARKS: dict[str, Callable[[], str]] = {"format": format_benchmark.table}
RESULTS = Path(__file__).parent / "results"


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    RESULTS.mkdir(exist_ok=True)
    for name in names or BENCHMARKS:
        table = BENCHMARKS[name]()
        (RESULTS / f"{name}.md").write_text(table, "utf-8")
        print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
