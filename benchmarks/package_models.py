"""One model of a package on ingot and on onnxruntime, in the environment of the package; run by `benchmarks.packages`.

python package_models.py start MODEL INPUTS      # seconds in which ingot creates a session and runs once
python package_models.py compare MODEL INPUTS    # how far apart, and the ratio of speeds
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

ROUNDS = 9
ENOUGH = 0.01
"""Seconds that one side of a round takes at least: short runs are repeated."""

NUDGE = 1e-6
"""The part of an element by which it is changed, in the order of what arithmetic rounds."""

DTYPES = {"float": "float32", "double": "float64", "float16": "float16", "int64": "int64", "int32": "int32"}


def session(module: Any, path: str, plain: bool = False) -> Any:
    """A session with one thread; a plain one runs the graph as it is."""
    options = module.SessionOptions()
    if plain:
        options.graph_optimization_level = module.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return module.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feeds(of: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """An array for each input: of the shape or the value asked for, else of what is declared, 1 for an unknown size.

    Floats are normal, those of pictures waves over the two last axes of four; integers are 0 or 1.
    """
    arrays = {}
    for value in of.get_inputs():
        rng = np.random.default_rng(list(value.name.encode()))
        dtype = np.dtype(DTYPES[value.type.removeprefix("tensor(").removesuffix(")")])
        wanted = asked.get(value.name)
        if isinstance(wanted, int | float):
            arrays[value.name] = np.full([size if isinstance(size, int) else 1 for size in value.shape], wanted, dtype)
            continue
        shape = wanted or [size if isinstance(size, int) else 1 for size in value.shape]
        numbers = rng.standard_normal(shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
        if dtype.kind == "f" and len(shape) == 4:
            y, x = np.mgrid[: shape[2], : shape[3]]
            numbers = np.sin(x / 7) * np.cos(y / 11) + numbers / 10
        arrays[value.name] = numbers.astype(dtype)
    return arrays


def started(module: Any, path: str, asked: dict[str, Any]) -> tuple[Any, float]:
    """A session that has run once, and the seconds it took from nothing; the import of the package does not count."""
    begin = perf_counter()
    opened = session(module, path)
    opened.run(None, feeds(opened, asked))
    return opened, perf_counter() - begin


def compare(path: str, asked: dict[str, Any]) -> dict[str, float]:
    """The largest difference as a part of the largest element, how often faster ingot is, and how long starts take.

    `spread` is how far onnxruntime is from itself when it leaves the graph as it is, or elements change by `NUDGE`.
    """
    peer = import_module("onnxruntime")
    theirs, their_start = started(peer, path, asked)
    ours, our_start = started(import_module("ingot.compat.onnxruntime"), path, asked)
    given = feeds(theirs, asked)
    expected = theirs.run(None, given)
    apart = distance(ours.run(None, given), expected)
    spread = max(
        distance(session(peer, path, plain=True).run(None, given), expected),
        distance(theirs.run(None, {name: _nudged(x) for name, x in given.items()}), expected),
    )
    times = [
        (_seconds(lambda: ours.run(None, given)), _seconds(lambda: theirs.run(None, given))) for _ in range(ROUNDS)
    ]
    ratio = statistics.median(their_time / our_time for our_time, their_time in times)
    return {"apart": apart, "spread": spread, "ratio": ratio, "start": our_start, "their start": their_start}


def distance(ours: Any, theirs: Any) -> float:
    """How far apart two outputs are, as a part of the largest finite element; infinite if they are not comparable."""
    if isinstance(theirs, list):
        if len(ours) != len(theirs):
            return float("inf")
        return max((distance(a, b) for a, b in zip(ours, theirs, strict=True)), default=0.0)
    if isinstance(theirs, dict):
        return distance(list(ours.values()), list(theirs.values())) if ours.keys() == theirs.keys() else float("inf")
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.dtype.kind in "OSU":
        return 0.0 if np.array_equal(a, b) else float("inf")
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    largest = float(np.max(np.abs(b[finite]), initial=0.0))
    return float(np.max(np.abs(a[finite] - b[finite]), initial=0.0)) / (largest or 1.0)


def _nudged(array: Any) -> Any:
    """Each element a little larger or smaller; integers as they are."""
    if array.dtype.kind != "f":
        return array
    signs = np.random.default_rng(0).choice([-1.0, 1.0], array.shape)
    return np.asarray(array * (1 + NUDGE * signs), array.dtype)


def _seconds(run: Callable[[], object]) -> float:
    """Of one run; repeated until it took long enough to be measured."""
    count, begin = 0, perf_counter()
    while (passed := perf_counter() - begin) < ENOUGH:
        run()
        count += 1
    return passed / count


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["start", model, inputs]:
            print(started(import_module("ingot.compat.onnxruntime"), model, json.loads(inputs))[1])
        case ["compare", model, inputs]:
            print(json.dumps(compare(model, json.loads(inputs))))
        case _:
            sys.exit(__doc__)
