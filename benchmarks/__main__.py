"""Run benchmarks: `python -m benchmarks [NAME...]`; each prints its table and keeps it in benchmarks/results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    control_flow,
    exports,
    few_bits,
    first_start,
    forests,
    inference,
    int8,
    operators,
    packages,
    patterns,
    precisions,
    recurrent,
    speed,
    zoo,
)
from benchmarks import format as format_benchmark
from benchmarks.viewers import page as viewers

RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; all, if none is given")
    parser.add_argument("--exports", type=Path, default=exports.FOLDER, help="where the exported models are kept")
    parser.add_argument("--wheels", type=Path, default=inference.WHEELS, help="where the old wheels of onnx are kept")
    parser.add_argument(
        "--zoo", type=Path, default=zoo.FOLDER, help="where the models that speed is judged by are kept"
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="PATTERN",
        help="print the rows of operators, patterns or viewers whose name has this",
    )
    parser.add_argument("--nncf", metavar="PYTHON", help="an interpreter that has nncf, for int8")
    parser.add_argument("--threads", type=int, default=1, help="of either engine, for operators and patterns")
    options = parser.parse_args(arguments)
    benchmarks: dict[str, Callable[[], str]] = {
        "format": format_benchmark.table,
        "inference": lambda: inference.table(options.exports, options.wheels),
        "forests": forests.table,
        "operators": lambda: operators.table(options.only, options.threads),
        "control_flow": control_flow.table,
        "packages": packages.table,
        "few_bits": few_bits.table,
        "recurrent": lambda: recurrent.table(options.threads),
        "patterns": lambda: patterns.table(options.only, options.threads),
        "precisions": lambda: precisions.table(options.zoo),
        "int8": lambda: int8.table(options.zoo, options.nncf),
        "zoo": lambda: speed.table(folder=options.zoo),
        "first_start": lambda: first_start.table(options.zoo),
        "viewers": lambda: viewers.table(options.only),
    }
    unknown = [name for name in options.names if name not in benchmarks]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(benchmarks)}", file=sys.stderr)
        return 2
    RESULTS.mkdir(exist_ok=True)
    for name in options.names or benchmarks:
        table = benchmarks[name]()
        if not options.only:  # a part of a table does not take the place of all of it
            threads = "" if options.threads == 1 else f"_{options.threads}_threads"
            (RESULTS / f"{name}{threads}.md").write_text(table, "utf-8")
        print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
