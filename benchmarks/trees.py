"""Two trees of ingot, measured in turns: what a change costs or gains.

    python -m benchmarks.trees OLD NEW [--zoo FOLDER] [--threads 1 2] [NAME...]

OLD and NEW are folders of source, such as `src` of two checkouts. Each has a process of its own; the two take turns, so
that whatever else the machine does befalls both. Prints, for every model of the zoo, the median time of a run with each
and their ratio (above 1: NEW is faster), the same for one node, and the geometric mean.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from math import exp, log
from pathlib import Path

from benchmarks.zoo import FOLDER

ROUNDS = 7
SECONDS = 0.35
"""How long each process runs a model in a round."""

_WORKER = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
import ingot
path, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
session = ingot.Session(path, providers=("cpu", "reference"), threads=threads)
asked = json.loads(session.model.metadata.get("ingot.bench", "{}"))
rng = np.random.default_rng(0)
feeds = {}
for name, type_ in session.inputs.items():
    shape = asked.get("shapes", {}).get(name) or [d if isinstance(d, int) else 1 for d in type_.shape]
    value = asked.get("values", {}).get(name)
    dtype = type_.dtype.numpy
    if value is not None:
        feeds[name] = np.full(shape, value, dtype)
    elif dtype.kind == "f":
        feeds[name] = rng.standard_normal(shape).astype(dtype)
    else:
        feeds[name] = np.ones(shape, dtype)
for _ in range(3):
    session.run(None, feeds)
print("ready", flush=True)
for line in sys.stdin:
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        begin = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - begin)
    times.sort()
    print(json.dumps(times[len(times) // 2]), flush=True)
"""


class Worker:
    """A process that runs one model with one tree."""

    def __init__(self, tree: Path, model: Path, threads: int) -> None:
        environment = {**os.environ, "PYTHONPATH": str(tree), "INGOT_CACHE": str(tree / ".." / "build" / "trees")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(model), str(threads), str(SECONDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        if self._line() != "ready":
            raise RuntimeError(f"{tree} cannot run {model.name}")

    def measure(self) -> float:
        """The median time of a run in one round."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return float(json.loads(self._line()))

    def close(self) -> None:
        self._process.communicate(timeout=30)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def compared(trees: list[Path], model: Path, threads: int) -> tuple[float, float, float]:
    """The median time of a run with each tree, and the median of the ratios of the rounds."""
    workers = [Worker(tree, model, threads) for tree in trees]
    rounds = [[worker.measure() for worker in workers] for _ in range(ROUNDS)]
    for worker in workers:
        worker.close()
    old, new = (statistics.median(column) for column in zip(*rounds, strict=True))
    return old, new, statistics.median(before / after for before, after in rounds)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--zoo", type=Path, default=FOLDER, help="where the models are")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args(arguments)
    models = sorted(path for path in options.zoo.glob("*.onnx") if not options.names or path.stem in options.names)
    print("| model | threads | old | new | ratio |\n| --- | --- | --- | --- | --- |", flush=True)
    for threads in options.threads:
        ratios: list[float] = []
        for model in models:
            old, new, ratio = compared([options.old.absolute(), options.new.absolute()], model, threads)
            ratios.append(ratio)
            print(f"| {model.stem} | {threads} | {_text(old)} | {_text(new)} | {ratio:.3f} |", flush=True)
        mean = exp(sum(map(log, ratios)) / len(ratios))
        print(f"| geometric mean | {threads} | | | {mean:.3f} (least {min(ratios):.3f}) |", flush=True)
    return 0


def _text(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
