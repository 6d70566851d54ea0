"""First starts: a session of a model that was never opened before, and its first run, beside onnxruntime's.

    python -m benchmarks first_start [--zoo FOLDER]

Each start is in a fresh process with an empty cache (bytecode of Python files is there, as in an installed package);
the engines take turns. `benchmarks/opening.py` is what runs in these processes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np

from benchmarks import zoo
from benchmarks.opening import AT_ONCE, BEGUN
from benchmarks.timing import machine
from ingot.format import load
from ingot.tools.bench.inputs import inputs

MOST = 2.0
"""How many times as long as in onnxruntime a first start may take."""
MOST_SECONDS = 0.25
"""How long it may take for a model of one node."""

ENGINES = ("ingot", AT_ONCE, "onnxruntime")
COMPARED = ("ingot", "onnxruntime")

CROWD = ("silero_vad", "magika", "ocr_turn", "lstm")
"""Models that are opened at once."""
MOST_IN_A_CROWD = 1.5
"""How many times the processor time of all of them apart that may take."""

PARTS = (
    *("import", "operators", "key", "load", "check", "upgrade", "type", "specialise", "optimise", "lower", "fuse"),
    *("schedule", "emit", "weights", "link", "plan", "rest"),
)
"""The parts of a first start in their order; the rest is the first run, and threads beside the one that compiles."""


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds of one first start; `whole` is the processor time of its process and of LLVM's, from start to end.

    `llvm` is that of LLVM's alone, with what the process does after its first run; `process` are seconds from its start
    to the end of the first run.
    """

    imported: float
    create: float
    run: float
    process: float
    processor: float
    whole: float
    llvm: float
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """Creation and first run."""
        return self.create + self.run


def first_starts(path: Path, rounds: int) -> tuple[dict[str, list[Start]], Start]:
    """First starts of a model in each engine, in turns, and one of ingot with its parts."""
    with tempfile.TemporaryDirectory() as folder:
        feeds = os.path.join(folder, "feeds.npz")
        arrays, _ = inputs(load(path), {}, {}, seed=0)
        np.savez(feeds, **arrays)
        starts: dict[str, list[Start]] = {engine: [] for engine in ENGINES}
        for turn in range(rounds):
            for engine in ENGINES if turn % 2 else reversed(ENGINES):
                starts[engine].append(_start(engine, str(path), feeds))
        return starts, _start("ingot", str(path), feeds, "parts")


@dataclass(frozen=True, slots=True)
class Crowd:
    """Models opened one after another, and at once in a process each: seconds, and processor time of all."""

    apart: float
    apart_processor: float
    together: float
    together_processor: float


def crowd(paths: Sequence[Path]) -> Crowd:
    """First starts of models, one after another and then all at once."""
    with tempfile.TemporaryDirectory() as folder:
        feeds = []
        for number, path in enumerate(paths):
            feeds.append(os.path.join(folder, f"{number}.npz"))
            np.savez(feeds[-1], **inputs(load(path), {}, {}, seed=0)[0])
        begin = perf_counter()
        apart = [_start("ingot", str(path), file) for path, file in zip(paths, feeds, strict=True)]
        middle = perf_counter()
        with ThreadPoolExecutor(len(paths)) as pool:
            jobs = [pool.submit(_start, "ingot", str(path), file) for path, file in zip(paths, feeds, strict=True)]
            together = [job.result() for job in jobs]
        end = perf_counter()
    return Crowd(
        middle - begin, sum(start.whole for start in apart), end - middle, sum(start.whole for start in together)
    )


def table(folder: Path = zoo.FOLDER, names: Iterable[str] = zoo.NAMES, rounds: int = 5) -> str:
    """The table of first starts of the models of the zoo that are in a folder."""
    return "\n".join(_lines(folder, names, rounds)) + "\n"


def _lines(folder: Path, names: Iterable[str], rounds: int) -> Iterator[str]:
    yield "# First starts\n"
    yield f"{machine()}, {len(os.sched_getaffinity(0))} processors. `python -m benchmarks first_start`\n"
    yield (
        "Seconds of creating a session and of its first run, nothing cached, each in a fresh process; least of "
        f'{rounds}, the engines in\nturns. `at once` is with `start="at once"`. `process` is what a user waits for who '
        "starts Python, imports the engine and numpy,\ncreates the session and runs it. `processor` is the processor "
        "time of creation and first run in that process, `whole` that of all\nits life with LLVM's processes. "
        f"The bar is {MOST:g} times onnxruntime's creation and first run, and {MOST_SECONDS} s for `one_node`.\n"
    )
    yield (
        "| model | ingot | onnxruntime | ratio | at once | process | onnxruntime | processor | onnxruntime | whole "
        "| onnxruntime | bar |"
    )
    yield "|" + "---|" * 12
    parts: dict[str, Start] = {}
    for name in names:
        path = folder / f"{name}.onnx"
        if not path.exists():
            continue
        starts, parts[name] = first_starts(path, rounds)
        mine, early, peer = (min(start.total for start in starts[engine]) for engine in ENGINES)
        most = MOST_SECONDS if name == "one_node" else MOST * peer
        cells = (
            *(name, f"{mine:.3f}", f"{peer:.3f}", f"{mine / peer:.1f}", f"{early:.3f}"),
            *(f"{min(start.process for start in starts[engine]):.3f}" for engine in COMPARED),
            *(f"{min(start.processor for start in starts[engine]):.3f}" for engine in COMPARED),
            *(f"{min(start.whole for start in starts[engine]):.3f}" for engine in COMPARED),
            "kept" if mine <= most else f"missed: {most:.3f}",
        )
        print(" ".join(cells), file=sys.stderr, flush=True)
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield (
        "The processor time of the parts of one start of ingot, in milliseconds: imports apart from the stages that "
        "need them, and\nin the last column that of LLVM's processes, which work beside it.\n"
    )
    yield f"| model | {' | '.join(PARTS)} | LLVM |"
    yield "|" + "---|" * (len(PARTS) + 2)
    for name, start in parts.items():
        seconds = {**start.parts, "LLVM": start.llvm}
        seconds["rest"] = start.processor - sum(start.parts.values())
        yield f"| {name} | {' | '.join(f'{1000 * seconds.get(part, 0):.0f}' for part in (*PARTS, 'LLVM'))} |"
    crowded = [folder / f"{name}.onnx" for name in CROWD]
    if all(path.exists() for path in crowded):
        found = crowd(crowded)
        ratio = found.together / found.apart_processor
        yield (
            f"\n{', '.join(CROWD)}, each in a process of its own: {found.apart:.2f} s one after another, with "
            f"{found.apart_processor:.2f} s of\nprocessor time; {found.together:.2f} s at once, with "
            f"{found.together_processor:.2f} s. That is {ratio:.2f} of the processor time apart (at most "
            f"{MOST_IN_A_CROWD})."
        )
    imports = [start.imported for start in parts.values()]
    if imports:
        yield f"\n`import ingot` itself, with numpy, takes {statistics.median(imports):.3f} s before that."


def _start(engine: str, path: str, feeds: str, *options: str) -> Start:
    with tempfile.TemporaryDirectory() as cache:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.opening", engine, path, feeds, *options],
            env={**environment, "INGOT_CACHE": cache, BEGUN: str(monotonic())},
            cwd=Path(__file__).parent.parent,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        printed = process.stdout.read()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{engine} ended with {process.returncode} on {path}")
    found: dict[str, Any] = json.loads(printed)
    whole = usage.ru_utime + usage.ru_stime
    return Start(
        *(found["import"], found["create"], found["run"], found["process"], found["processor"]),
        *(whole, whole - found["own"], found.get("parts", {})),
    )
