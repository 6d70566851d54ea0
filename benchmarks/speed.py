"""The zoo on ingot, onnxruntime and openvino: times, ratios, start-up, memory and differences.

    python -m benchmarks zoo

writes the models that are missing, measures all and keeps the table;

    python -m benchmarks.speed [--folder FOLDER] [--threads 1,2] [--seconds S] [NAME...]

measures some of them and prints theirs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import ingot
from benchmarks import zoo
from ingot.cli.bench import case_of, run_cases
from ingot.cli.bench_page import COLUMNS, cells, operations_text
from ingot.cli.units import counted
from ingot.tools.bench.cores import allowed
from ingot.tools.bench.results import Report

ENGINES = ["ingot", "onnxruntime", "openvino"]
SECONDS = 3.0


def table(
    names: Sequence[str] = zoo.NAMES,
    folder: Path = zoo.FOLDER,
    threads: Sequence[int] | None = None,
    seconds: float = SECONDS,
) -> str:
    """The figures as a page; models that cannot be written here are named at its end."""
    missing: list[str] = []
    cases = {}
    for name in names:
        try:
            path = zoo.write(name, folder)
        except ImportError as error:
            missing.append(f"{name} was not measured: {error}")
            continue
        cases[name] = case_of(ingot.load(path), path, {}, {}, 0)
    counts = [n for n in (1, 2) if n <= len(allowed())] if threads is None else list(threads)
    report = run_cases(cases, ENGINES, counts, seconds)
    return "\n".join([*_head(report), *_rows(report), "", *_means(report), *(f"- {line}" for line in missing), ""])


def _head(report: Report) -> Iterator[str]:
    limits = ", ".join(f"{rate / 1e9:.0f} with {counted(n, 'thread')}" for n, rate in report.limits.items())
    versions = {row.engine: row.version for model in report.models for row in model.rows if row.version}
    peers = ", ".join(f"{engine} {version}" for engine, version in versions.items())
    yield from ("# Zoo", "")
    yield f"{report.processor}, Python {report.python}; {peers}. `python -m benchmarks zoo`"
    yield ""
    yield "Medians and half the distance of the quartiles; engines take turns, each in a process of its own. A ratio"
    yield "above 1 says that ingot is faster. `limit` is the share of the float32 operations a second that a loop of"
    yield f"multiply-adds reaches ({limits}, in GFLOP/s), with the"
    yield "arithmetic of products counted as it stands in the model. `cold` and `warm` are the creation of a session"
    yield "without and with compiled code on disk; `apart` is how far from onnxruntime, as a part of the largest"
    yield "element of the output."
    yield ""


def _rows(report: Report) -> Iterator[str]:
    heads = ("model", "arithmetic", "threads", *COLUMNS)
    yield _line(heads)
    yield _line(("---",) * len(heads))
    for model in report.models:
        for row in model.rows:
            shown = (model.model, operations_text(model.arithmetic), str(row.threads))
            if row.measured is not None:
                yield _line((*shown, *cells(row)))
            else:
                failed = " ".join((row.failure or "").split()).replace("|", "\\|")[:120]
                yield _line((*shown, row.engine, f"failed: {failed}", *[""] * (len(COLUMNS) - 2)))


def _line(parts: Sequence[str]) -> str:
    return "| " + " | ".join(parts) + " |"


def _means(report: Report) -> Iterator[str]:
    for engine, by_threads in report.means.items():
        for threads, mean in by_threads.items():
            yield f"- geometric mean of the ratios of {engine}, {counted(threads, 'thread')}: {mean:.2f}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of the zoo; all, if none is given")
    parser.add_argument("--folder", type=Path, default=zoo.FOLDER, help="where the models are")
    parser.add_argument("--threads", type=lambda text: [int(part) for part in text.split(",")], help="as in 1,2")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for the runs of an engine on a model")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in zoo.NAMES:
            parser.error(f"no model {name!r}; there are: {', '.join(zoo.NAMES)}")
    print(table(options.names or zoo.NAMES, options.folder, options.threads, options.seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
