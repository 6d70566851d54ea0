"""Packages on PyPI that carry or use ONNX models, unmodified, on ingot.compat and on onnxruntime.

Each is installed into an environment of its own in `build/packages`, which the next run uses again. Its program
(`package_programs`) runs with either engine, and each of its models on random inputs.

    python -m benchmarks packages                  # all; writes benchmarks/results/packages.md
    python -m benchmarks.packages NAME ...         # some: their rows take the place of those in that table
    python -m benchmarks.packages --install        # the environments alone, before the machine is quiet
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.package_list import PACKAGES, Package
from benchmarks.package_programs import differences
from benchmarks.timing import machine

ROOT = Path(__file__).parent.parent
RESULT = Path(__file__).parent / "results" / "packages.md"
ENVIRONMENTS = ROOT / "build" / "packages"
"""A directory for each package, with its environment."""
CLOSE = 1e-3
"""How far apart results may be, as a part of the largest element,"""
SPREADS = 4
"""or how many times as far as onnxruntime is from itself, where a model makes more of differences in rounding."""

HEAD = """\
# Packages

{machine}; `python -m benchmarks packages`

Each package is installed from PyPI, unmodified, into an environment of its own, with ingot and onnxruntime beside it.
Its program, where it has one that needs no network, gives the same answers with `python -m ingot.compat` as without
(numbers within {close:g}). Each model is then run on random inputs by itself:

- `apart` is the largest difference from onnxruntime, as a part of the largest element of an output, and `its own` that
  of onnxruntime from itself without its graph optimisations, or with inputs changed by a millionth; a model agrees if
  the first is at most {close:g}, or {spreads} times the second, as with quantised models, in which a difference in
  rounding becomes one of a whole step.
- `speed` is how often faster than onnxruntime ingot is with one thread, the two taking turns: the geometric mean of the
  models; `slowest` is the least.
- A start is the creation of a session and its first run, in a new process, summed over the models: the first with an
  empty cache, the second after it. `its start` is that of onnxruntime, which has no cache.

{note}\
| package | version | models | program | apart | its own | speed | slowest | first start | second start | its start |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
NOTE = "Measured while other programs were running: to be measured again.\n\n"


@dataclass
class Measured:
    """What was measured of a package."""

    version: str
    models: int = 0
    program: str = "–"
    apart: list[float] = field(default_factory=list)
    spreads: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    first: float = 0.0
    second: float = 0.0
    theirs: float = 0.0
    failures: list[str] = field(default_factory=list)


class Environment:
    """A Python environment for a package, with ingot and onnxruntime, and a directory that its programs run in."""

    def __init__(self, directory: Path, wheel: Path, package: Package) -> None:
        self._directory = directory
        home = ENVIRONMENTS / package.name
        self._python = str(home / "bin" / "python")
        complete = home / "complete"
        if complete.exists():
            self._install([str(wheel)], "--no-deps", "--force-reinstall")
            return
        venv.create(home, clear=True, with_pip=shutil.which("uv") is None)
        needed = [str(wheel), "onnxruntime", *package.also]
        if package.alone:
            self._install(needed)
            self._install([package.requirement], "--no-deps")
        else:
            self._install([*needed, package.requirement])
        complete.touch()

    def _install(self, requirements: Sequence[str], *options: str) -> None:
        tool = ["uv", "pip", "install", "-q", "-p", self._python]
        if shutil.which("uv") is None:
            tool = [self._python, "-m", "pip", "install", "-q"]
        links = os.environ.get("PIP_FIND_LINKS")
        found = [] if links is None else ["--find-links", links]
        subprocess.run([*tool, *found, *options, *requirements], check=True)

    def run(self, *arguments: str, **variables: str) -> str:
        """The last line that a program prints; RuntimeError with the last error if it fails."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment |= {"INGOT_CACHE": str(self._directory / "cache"), "PYTHONPATH": str(ROOT), **variables}
        done = subprocess.run(
            [self._python, "-W", "ignore", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd=self._directory,
            timeout=900,
        )
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if re.match(r"[A-Za-z_][\w.]*: ", line)]
            raise RuntimeError((lines or [f"exit status {done.returncode}"])[-1].replace(str(self._directory), ""))
        return (done.stdout.strip().splitlines() or [""])[-1]


def measure(package: Package, wheel: Path) -> Measured:
    """Install a package, run its program and its models; what does not work is among the failures."""
    with tempfile.TemporaryDirectory(prefix="packages-") as folder:
        environment = Environment(Path(folder), wheel, package)
        measured = Measured(
            environment.run("-c", f"import importlib.metadata as m; print(m.version({package.name!r}))")
        )
        if package.program:
            _run_program(package, environment, measured)
        files = json.loads(environment.run("-m", "benchmarks.package_programs", "--models", package.name))
        for number, file in enumerate([*files, *map(str, sorted((Path(folder) / "models").rglob("*.onnx")))]):
            measured.models += 1
            cache = str(Path(folder) / f"cache-{number}")
            try:
                _run_model(file, json.dumps(package.inputs_of(file)), environment, cache, measured)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                measured.failures.append(f"{package.name}, {Path(file).name}: {error}")
        return measured


def install(names: Sequence[str] = ()) -> None:
    """Make the environments of packages, of all if none is named; what cannot be installed is reported on stderr."""
    with tempfile.TemporaryDirectory(prefix="packages-") as folder:
        wheel = _wheel(Path(folder))
        for name in names or PACKAGES:
            print(name, file=sys.stderr, flush=True)
            try:
                Environment(Path(folder), wheel, PACKAGES[name])
            except subprocess.SubprocessError as error:
                print(f"  not installed: {error}", file=sys.stderr)


def table(names: Sequence[str] = (), busy: bool = False) -> str:
    """The table of all packages, those named measured now, or all if none is; written after each."""
    rows, remarks = _read() if names else ({}, {})
    text = ""
    with tempfile.TemporaryDirectory(prefix="packages-") as folder:
        wheel = _wheel(Path(folder))
        for name in names or PACKAGES:
            print(name, file=sys.stderr, flush=True)
            try:
                measured = measure(PACKAGES[name], wheel)
                rows[name], remarks[name] = _row(name, measured), measured.failures
            except (RuntimeError, subprocess.SubprocessError) as error:
                rows[name], remarks[name] = f"| {name} | not installed |", [f"{name}: {error}"]
            text = _text(rows, remarks, busy)
            RESULT.write_text(text, "utf-8")
    return text


def _text(rows: dict[str, str], remarks: dict[str, list[str]], busy: bool) -> str:
    head = HEAD.format(machine=machine(), close=CLOSE, spreads=SPREADS, note=NOTE if busy else "")
    lines = [rows[name] for name in PACKAGES if name in rows]
    failures = [failure for name in PACKAGES for failure in remarks.get(name, ())]
    listed = "".join(f"- {failure}\n" for failure in failures)
    return head + "\n".join(lines) + "\n" + (f"\n## What does not work\n\n{listed}" if failures else "")


def _wheel(folder: Path) -> Path:
    command = ["uv", "build", "--wheel", "-q", "-o"] if shutil.which("uv") else [sys.executable, "-m", "pip", "wheel"]
    if command[0] != "uv":
        command += ["-q", "--no-deps", "-w"]
    subprocess.run([*command, str(folder), str(ROOT)], check=True)
    return next(folder.glob("*.whl"))


def _run_program(package: Package, environment: Environment, measured: Measured) -> None:
    program = ["-m", "benchmarks.package_programs", package.name]
    try:
        theirs = json.loads(environment.run(*program))
        ours = json.loads(environment.run("-m", "ingot.compat", *program))
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        measured.program = "fails"
        measured.failures.append(f"{package.name}, its program: {error}")
        return
    apart = differences(theirs["answers"], ours["answers"], CLOSE)
    measured.program = "differs" if apart else "agrees"
    measured.failures += [f"{package.name}, its program: {line}" for line in apart]


def _run_model(file: str, inputs: str, environment: Environment, cache: str, measured: Measured) -> None:
    worker = ["-m", "benchmarks.package_models"]
    first = float(environment.run(*worker, "start", file, inputs, INGOT_CACHE=cache))
    found: dict[str, Any] = json.loads(environment.run(*worker, "compare", file, inputs, INGOT_CACHE=cache))
    measured.apart.append(found["apart"])
    measured.spreads.append(found["spread"])
    measured.ratios.append(found["ratio"])
    measured.first += first
    measured.second += found["start"]
    measured.theirs += found["their start"]
    if not found["apart"] <= max(CLOSE, SPREADS * found["spread"]):
        raise RuntimeError(f"differs by {found['apart']:.2g}, and onnxruntime from itself by {found['spread']:.2g}")


def _row(name: str, measured: Measured) -> str:
    failed = sum(not failure.startswith(f"{name}, its program") for failure in measured.failures)
    models = f"{measured.models}" + (f", {failed} failing" if failed else "")
    cells = [name, measured.version, models, measured.program]
    if measured.ratios:
        mean = math.exp(math.fsum(map(math.log, measured.ratios)) / len(measured.ratios))
        cells += [
            f"{max(measured.apart):.1e}",
            f"{max(measured.spreads):.1e}",
            f"{mean:.2f}",
            f"{min(measured.ratios):.2f}",
        ]
        cells += [f"{seconds:.2f} s" for seconds in (measured.first, measured.second, measured.theirs)]
    else:
        cells += [""] * 7
    return "| " + " | ".join(cells) + " |"


def _read() -> tuple[dict[str, str], dict[str, list[str]]]:
    """The rows of the table there is, and what it says does not work, by package."""
    rows: dict[str, str] = {}
    remarks: dict[str, list[str]] = {}
    for line in RESULT.read_text("utf-8").splitlines() if RESULT.exists() else ():
        name = line.removeprefix("| ").removeprefix("- ").partition(" |")[0].partition(",")[0].partition(":")[0]
        if name in PACKAGES and line.startswith("| "):
            rows[name] = line
        elif name in PACKAGES and line.startswith("- "):
            remarks.setdefault(name, []).append(line.removeprefix("- "))
    return rows, remarks


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.packages", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PACKAGES)}; all, if none is given")
    parser.add_argument("--busy", action="store_true", help="say in the table that other programs were running")
    parser.add_argument("--install", action="store_true", help="make the environments, and measure nothing")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in PACKAGES:
            parser.error(f"no package {name!r}; there are: {', '.join(PACKAGES)}")
    if options.install:
        install(options.names)
        return 0
    print(table(options.names, options.busy))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
