"""Loops, branches and sequences: how long a call takes beside onnxruntime, and how much of it is machine code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import exp, log
from time import perf_counter

import numpy as np

import ingot
from benchmarks.control_flow_models import Case, cases
from benchmarks.tables.peer import peer_session
from benchmarks.timing import machine

_ROUND = 4e-4
"""Seconds of a round."""


def table() -> str:
    rows = [row for case in cases() for row in measured(case)]
    slower = sum(row.ratio < 1 for row in rows)
    mean = exp(sum(log(row.ratio) for row in rows) / len(rows))
    lines = [
        "# Control flow",
        "",
        f"{machine()}. Both engines run with one thread, in turns; the least of 51 rounds. *Calls* are the nodes",
        "of the model, bodies included, that the reference computes. Written by `python -m benchmarks control_flow`.",
        "",
        f"Geometric mean: {mean:.2f} times as fast as onnxruntime; {slower} of {len(rows)} rows are slower. What is",
        "left of Python is about 35 µs for a Loop that is a call, and 9 µs in every trip for each time that a body",
        "computes a size. A result of unknown rank takes what reads it to the reference.",
        "",
        "| model | run | ingot | onnxruntime | times as fast | calls |",
        "|---|---|---:|---:|---:|---|",
        *(str(row) for row in rows),
        "",
    ]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Row:
    """One run of a model: seconds of either engine, how many times as fast ours is, and the calls of the reference."""

    model: str
    run: str
    ours: float
    theirs: float
    ratio: float
    calls: str

    def __str__(self) -> str:
        times = f"{1e6 * self.ours:,.1f} µs | {1e6 * self.theirs:,.1f} µs"
        return f"| {self.model} | {self.run} | {times} | {self.ratio:.2f} | {self.calls} |"


def measured(case: Case, rounds: int = 51) -> Iterator[Row]:
    """The rows of a model; AssertionError where the two engines do not agree."""
    data = ingot.encode(ingot.parse_model(case.text))
    ours = ingot.Session(data, providers=("cpu", "reference"), threads=1)
    theirs = peer_session(data)
    for run, feeds in case.feeds.items():
        for mine, peer in zip(ours.run(None, feeds), theirs.run(None, feeds), strict=True):
            np.testing.assert_allclose(mine, peer, rtol=1e-4, atol=1e-5, err_msg=case.name)
        mine, peer = _least(partial(ours.run, None, feeds), partial(theirs.run, None, feeds), rounds)
        yield Row(case.name, run, mine, peer, peer / mine, _calls(ours))


def _least(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """The least seconds a call of either takes, in rounds of less than a millisecond, if it takes no longer."""
    least = []
    for run in (ours, theirs):
        start = perf_counter()
        run()
        least.append(perf_counter() - start)
    counts = [max(1, round(_ROUND / seconds)) for seconds in least]
    for _ in range(rounds):
        for place, run in enumerate((ours, theirs)):
            start = perf_counter()
            for _ in range(counts[place]):
                run()
            least[place] = min(least[place], (perf_counter() - start) / counts[place])
    return least[0], least[1]


def _calls(session: ingot.Session) -> str:
    """The operators that the reference computes, in bodies too."""
    assert session.compiled is not None
    pending, operators = [session.compiled], []
    while pending:
        artifacts = pending.pop()
        operators += [node.op_type for node in artifacts.program.calls]
        pending += [body for bodies in artifacts.bodies.values() for body in bodies if body is not None]
    return ", ".join(operators) or "none"
