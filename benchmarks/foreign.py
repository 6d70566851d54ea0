"""All kernels of the zoo compiled for machines other than this one.

    python -m benchmarks.foreign [--folder FOLDER] [NAME...]

compiles the models named, or all, for each target, with an empty cache and a process for each model, and writes
benchmarks/results/foreign.md. What was found before about models that are not named stays in the table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.timing import machine
from benchmarks.zoo import FOLDER, NAMES, write

TARGETS = ("x86-64-v3", "aarch64", "wasm32")
RESULTS = Path(__file__).parent / "results" / "foreign.md"
FOUND = Path(__file__).parent.parent / "build" / "foreign.json"
"""What was found, by model, between runs."""


def compiled(path: Path) -> dict[str, Any]:
    """How many kernels a model has, and how many have code of their own; for each target the seconds, or an error."""
    from ingot.deploy.compiled import compiled_for, parts_of
    from ingot.errors import IngotError
    from ingot.loops.ir import kernels_in
    from ingot.schedule.target import named

    row: dict[str, Any] = {"targets": {}}
    for name in TARGETS:
        begin = perf_counter()
        try:
            made = compiled_for(str(path), named(name))
        except IngotError as error:
            row["targets"][name] = str(error).partition("\n")[0]
            continue
        row["targets"][name] = perf_counter() - begin
        parts = list(parts_of(made))
        row["kernels"] = sum(len(list(kernels_in(part.scheduled.steps))) for part in parts)
        row["templates"] = len({address for part in parts for address in part.plan.codes})
    return row


def in_a_process(path: Path) -> dict[str, Any]:
    """What `compiled` says of a model, in a process that finds nothing in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.foreign", "--one", str(path)]
        done = subprocess.run(command, env={**os.environ, "INGOT_CACHE": folder}, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
        return {"targets": dict.fromkeys(TARGETS, said[0])}
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def table(rows: dict[str, dict[str, Any]]) -> str:
    """The page about some models."""
    lines = [
        "# Code for other machines",
        "",
        f"{machine()}. All kernels of each model, compiled on one machine for three: seconds from the file to linked",
        "code (x86-64-v3, AArch64) or to object files that need nothing else (WebAssembly), with nothing in the cache.",
        "`python -m benchmarks.foreign`; tests/codegen/test_qemu.py runs models for AArch64 in an emulator.",
        "",
        f"| model | kernels | of their own | {' | '.join(TARGETS)} |",
        f"| --- | ---: | ---: | {' | '.join(['---:'] * len(TARGETS))} |",
    ]
    for name, row in rows.items():
        cells = [f"{said:.1f} s" if isinstance(said, float) else said for said in row["targets"].values()]
        lines.append(f"| {name} | {row.get('kernels', '')} | {row.get('templates', '')} | {' | '.join(cells)} |")
    failed = sum(isinstance(said, str) for row in rows.values() for said in row["targets"].values())
    lines += ["", f"{len(rows)} models, {failed} failures."]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.foreign", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all, if none is given")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the models are")
    parser.add_argument("--one", type=Path, metavar="FILE", help="say what is found about a model, for programs")
    options = parser.parse_args(arguments)
    if options.one is not None:
        print(json.dumps(compiled(options.one)))
        return 0
    rows = json.loads(FOUND.read_text("utf-8")) if FOUND.exists() else {}
    for name in options.names or NAMES:
        rows[name] = in_a_process(write(name, options.folder))
        print(name, rows[name], flush=True)
        FOUND.parent.mkdir(exist_ok=True)
        FOUND.write_text(json.dumps(rows), "utf-8")
    RESULTS.write_text(table({name: rows[name] for name in NAMES if name in rows}), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
