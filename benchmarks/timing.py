"""Measuring against a peer: the two take turns in one run, and the medians are compared."""

from __future__ import annotations

import gc
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from ingot.codegen.llvm.host import host


@dataclass(frozen=True, slots=True)
class Duel:
    """Median seconds of either, and the median of the ratios of each round."""

    ours: float
    theirs: float
    ratio: float


def duel(ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 11) -> Duel:
    """Run both `rounds` times in turns, after one round that does not count."""
    pairs = []
    for turn in range(rounds + 1):
        pair = []
        for run in (ours, theirs) if turn % 2 else (theirs, ours):
            gc.collect()
            start = perf_counter()
            result = run()
            pair.append(perf_counter() - start)
            del result
        if turn:
            pairs.append(tuple(pair if turn % 2 else reversed(pair)))
    mine, peer = zip(*pairs, strict=True)
    return Duel(statistics.median(mine), statistics.median(peer), statistics.median(m / p for m, p in pairs))


def turns(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    rounds: int = 7,
    seconds: float = 0.01,
    clock: Callable[[], float] = perf_counter,
) -> tuple[float, float]:
    """The least seconds a call of either, of `rounds` in turns; each round repeats calls for about `seconds`.

    Calls that take long have fewer rounds, two at least.
    `clock` may be `thread_time`, of calls that run in this thread alone, on a machine that others use.
    """
    counts = []
    for run in (ours, theirs):
        run()
        run()  # the first one runs drafts of kernels, and this one waits for the kernels
        start = perf_counter()
        run()
        counts.append(max(1, min(1000, int(seconds / (perf_counter() - start)))))
    least = [float("inf"), float("inf")]
    spent = 0.0
    for turn in range(rounds):
        if turn >= 2 and spent > 20 * seconds:
            break
        for who, run in enumerate((ours, theirs)):
            start = clock()
            for _ in range(counts[who]):
                run()
            took = clock() - start
            spent += took
            least[who] = min(least[who], took / counts[who])
    return least[0], least[1]


def in_fresh_process(script: str, repeat: int = 1) -> float:
    """The median of the number that `script` prints, each time in a new interpreter, after one that does not count.

    The interpreters share a cache of bytecode, as an installed package has one.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = cache
        command = [sys.executable, "-c", script]
        found = [
            float(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
            for _ in range(repeat + 1)
        ]
    return statistics.median(found[1:])


def machine() -> str:
    """What the numbers were measured on, without naming it: the processor, as LLVM calls it too, and Python."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model} ({host().cpu}), Python {platform.python_version()}"
