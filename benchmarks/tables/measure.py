"""One case on ingot and on onnxruntime, in turns in one process: times, agreement, and what became of its nodes."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter, thread_time
from typing import Any

import numpy as np

import ingot
from benchmarks.tables.case import Case
from benchmarks.tables.peer import peer_session
from ingot.compile import Artifacts
from ingot.errors import FallbackWarning
from ingot.loops.ir import Attention, CheckedIndex, Contraction, Kernel, Staged, Update, Winograd, kernels_in
from ingot.loops.walk import walk
from ingot.tools.bench.difference import difference
from ingot.tools.inspect.bodies import bodies_in

BUDGET = 0.04
"""Seconds for all timed runs of a case, beyond the rounds that every case gets."""
ROUNDS = 3
_SLICE = 0.0015
"""Seconds of runs of one engine before the other takes its turn: what one tick of a clock or an interrupt disturbs."""

_TOLERANCES = {"float16": 2e-2, "float32": 2e-3, "float64": 1e-6}
"""Of the largest element of an output; onnxruntime sums in other orders, and its functions have errors of their own."""

_STEPS = 2 / 127
"""The same where values are quantised on the way: a rounding tie is a step of 127, and a sum may have two."""


@dataclass(frozen=True, slots=True)
class Row:
    """What became of a case: seconds a run of either, the parts of its plan, and where results differ."""

    operator: str
    form: str
    size: str
    ours: float = np.nan
    theirs: float = np.nan
    steps: int = 0
    kinds: tuple[str, ...] = ()
    """The kinds of its kernels."""
    reference: tuple[str, ...] = ()
    """`operator: reason` for each node that the reference runs."""
    wrong: str | None = None
    """How the results differ, or how ingot fails."""

    @property
    def ratio(self) -> float:
        """How many times as fast as onnxruntime."""
        return self.theirs / self.ours


def measured(case: Case, threads: int = 1, budget: float = BUDGET) -> Row | None:
    """The row of a case; None if onnxruntime cannot run it.

    One thread is measured by its processor time, which other load on the machine hardly changes.
    """
    try:
        theirs = peer_session(case.data, threads)
        expected = theirs.run(None, case.feeds)
    except Exception:  # whatever it has against a model
        return None
    row = Row(case.operator, case.form, case.size)
    try:
        row, ours = opened(case, row, expected, threads)
    except Exception as error:  # a defect, which must be seen beside the others
        return replace(row, wrong=" ".join(f"{type(error).__name__}: {error}".split())[:200])
    clock = thread_time if threads == 1 else perf_counter
    mine, peer = in_turns(lambda: ours.run(None, case.feeds), lambda: theirs.run(None, case.feeds), budget, clock)
    return replace(row, ours=mine, theirs=peer)


def opened(case: Case, row: Row, expected: Sequence[Any], threads: int) -> tuple[Row, ingot.Session]:
    """A session of a case that has run, and what its plan is made of and how its results differ."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours = ingot.Session(case.data, threads=threads, providers=("cpu", "reference"))
        results = ours.run(None, case.feeds)
        results = ours.run(None, case.feeds)
    fallbacks = [f"whole model: {each.message}" for each in caught if issubclass(each.category, FallbackWarning)]
    compiled = ours.compiled
    steps, kinds, calls = (0, (), ()) if compiled is None else plan_of(compiled)
    wrong = apart(results, expected, case)
    return replace(row, steps=steps, kinds=kinds, reference=(*map(_brief, fallbacks), *calls), wrong=wrong), ours


def plan_of(compiled: Artifacts) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """The number of steps of a plan, the kinds of its kernels, and the nodes that it leaves to the reference."""
    every = [compiled, *(body for _, body in bodies_in(compiled))]
    segments = [segment for artifacts in every for segment in artifacts.plan.segments]
    steps = sum(len(segment.steps) + (segment.call is not None) for segment in segments)
    kinds = {kind_of(kernel) for artifacts in every for kernel in kernels_in(artifacts.scheduled.steps)}
    calls = [call for artifacts in every for call in artifacts.program.calls.items()]
    return steps, tuple(sorted(kinds)), tuple(_brief(f"{node.op_type}: {call.reason}") for node, call in calls)


def kind_of(kernel: Kernel) -> str:
    """What a kernel spends its time on."""
    kinds = {Contraction: "contraction", Winograd: "contraction", Attention: "attention", Staged: "reduction"}
    for nest in kernel.nests:
        if type(nest) in kinds:
            return kinds[type(nest)]
    statements = [nest for nest in kernel.nests if isinstance(nest, tuple)]
    parts = [part for nest in statements for part in walk(*nest)]
    if any(isinstance(part, Update) for part in parts):
        return "reduction"
    return "gather" if any(isinstance(part, CheckedIndex) for part in parts) else "elementwise"


def apart(ours: Sequence[Any], theirs: Sequence[Any], case: Case) -> str | None:
    """In words, where results of a case differ by more than rounding."""
    if case.random:
        shapes = [[(item.dtype, item.shape) for item in side] for side in (ours, theirs)]
        return None if shapes[0] == shapes[1] else f"{shapes[0]}, not {shapes[1]}"
    quantised = any("Quantize" in node.op_type or node.op_type.startswith("Q") for node in case.model.graph.node)
    for place, (mine, peer) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(mine, np.ndarray) and isinstance(peer, np.ndarray) and mine.dtype.kind != peer.dtype.kind:
            return f"output {place} is {mine.dtype}, not {peer.dtype}"
        name = str(getattr(peer, "dtype", "float32"))
        found = difference([mine], [peer])
        if found.kind is not None:
            return found.kind.replace("output 0", f"output {place}")
        if quantised and name in ("int8", "uint8") and found.absolute <= 1:
            continue  # a rounding tie of a quantised result
        tolerance = _TOLERANCES.get(name, 0.0)
        if found.relative > (max(tolerance, _STEPS) if quantised and tolerance else tolerance):
            return f"output {place} differs by {found.relative:.1e} of its largest element"
    return None


def in_turns(
    ours: Callable[[], object], theirs: Callable[[], object], budget: float, clock: Callable[[], float]
) -> tuple[float, float]:
    """The least seconds a run of either, of rounds in turns within a budget."""
    repeats = [max(1, round(_SLICE / max(_seconds(run, 1, clock), 1e-7))) for run in (ours, theirs)]
    best = [np.inf, np.inf]
    collecting = gc.isenabled()
    gc.disable()
    try:
        end, turn = clock() + budget, 0
        while turn < ROUNDS or clock() < end:
            for side in (0, 1) if turn % 2 else (1, 0):
                best[side] = min(best[side], _seconds((ours, theirs)[side], repeats[side], clock))
            turn += 1
            if sum(best[side] * repeats[side] for side in (0, 1)) > 10 * budget:
                break
    finally:
        if collecting:
            gc.enable()
    return best[0], best[1]


def _seconds(run: Callable[[], object], repeat: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(repeat):
        run()
    return (clock() - start) / repeat


def _brief(text: str) -> str:
    """A reason without what differs between cases of one cause."""
    plain = re.sub(r"'[^']*'", "'…'", " ".join(text.split()))
    return re.sub(r"\b\d\d+\b", "n", plain)[:160].replace("|", "/")
