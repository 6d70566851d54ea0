"""The time of each kernel of a compiled model, measured one by one over many runs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from ingot.compile import Artifacts
from ingot.dims import Dim
from ingot.errors import InputError
from ingot.loops.cost import cost_of
from ingot.loops.ir import Kernel
from ingot.prim.tensor import Call
from ingot.queries.values import fact
from ingot.runtime.plan import KernelStep
from ingot.runtime.thread_pool import thread_pool
from ingot.session import Cancel, Session
from ingot.tools.inspect.titles import number, title, where
from ingot.tools.inspect.trace import Trace

_LEAST_RUNS = 3
_STARTS = 200


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run: a kernel, or a node that runs by itself, of which neither name nor cost is known."""

    kernel: str | None
    title: str
    nodes: tuple[str, ...]
    seconds: float
    operations: int = 0
    bytes_read: int = 0
    bytes_written: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """One step of one run: when it began, after the run did, and how long it took."""

    step: Step
    begin: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The steps of a model, with the median of their seconds over `runs`.

    `whole` is the median of runs without an observer, `start` what it costs to start a kernel by itself, which is not
    part of the time of steps; `events` are those of one run. `load` is how many processes wanted a core, if known.
    """

    steps: tuple[Step, ...]
    whole: float
    start: float
    runs: int
    threads: int
    events: tuple[Event, ...]
    load: float | None
    provider: str = "cpu"
    limits: tuple[float, float] | None = None
    """Operations and bytes in a second of the device that runs the kernels; None where that is the processor."""

    @property
    def kernels(self) -> float:
        """Seconds in kernels."""
        return sum(step.seconds for step in self.steps if step.kernel is not None)

    @property
    def calls(self) -> float:
        """Seconds in nodes that run one by one."""
        return sum(step.seconds for step in self.steps if step.kernel is None)


def measured(
    session: Session, traced: Trace, feeds: Mapping[str, Any], seconds: float, cancel: Cancel | None = None
) -> Measured:
    """Run a compiled model for so many seconds, with and without an observer in turns.

    InputError if a guard fails for these inputs, so that the reference runs it; Interrupted between two runs, if it was
    cancelled.
    """
    compiled = session.compiled
    assert compiled is not None
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    session.run(None, feeds)
    device = compiled.plan.device
    start = _start(compiled.plan.threads) if device is None else 0.0  # a device times kernels without that
    wholes: list[float] = []
    runs: list[list[_Seen]] = []
    end = perf_counter() + seconds
    while len(runs) < _LEAST_RUNS or perf_counter() < end:
        if cancel is not None:
            cancel.check()
        begin = perf_counter()
        session.run(None, feeds)
        wholes.append(perf_counter() - begin)
        seen: list[_Seen] = []
        first = perf_counter()

        def observe(step: KernelStep | Call, duration: float, known: Mapping[str, int], seen: Any = seen) -> None:
            at = perf_counter() - duration
            seen.append(_Seen(step, at, duration, duration - _inside(seen, at), {} if runs else dict(known)))

        session.run(None, feeds, observe_steps=observe)
        always = {step.name for step in compiled.scheduled.steps if isinstance(step, Kernel)}
        if not seen or not always <= {ran.step.name for ran in seen if isinstance(ran.step, KernelStep)}:
            raise InputError("the reference runs the model for these inputs", hint="give it other sizes: --shape")
        runs.append([replace(ran, at=ran.at - first) for ran in seen])
    order = list(dict.fromkeys(ran.step for ran in runs[0]))
    times = {step: median(_seconds(run, step, start) for run in runs) for step in order}
    kernels = {kernel.name: kernel for kernel in traced.kernels}
    shown = {
        step: _step(step, kernels, traced, [ran.sizes for ran in runs[0] if ran.step is step], duration)
        if isinstance(step, KernelStep)
        else Step(None, _called(step, session, compiled), (step.node.label,), duration)
        for step, duration in times.items()
    }
    middle = sorted(runs, key=lambda run: sum(ran.alone for ran in run))[len(runs) // 2]
    begun = sorted(middle, key=lambda ran: ran.at)  # a step inside of another ends before it
    events = tuple(Event(shown[ran.step], ran.at, ran.took) for ran in begun if ran.step in shown)
    limits = None if device is None else device.limits()
    whole, threads = median(wholes), compiled.plan.threads
    return Measured(tuple(shown.values()), whole, start, len(runs), threads, events, load, session.providers[0], limits)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A step that ran: when, how long, how long without the steps inside of it, and the sizes known then."""

    step: KernelStep | Call
    at: float
    took: float
    alone: float
    sizes: Mapping[str, int]


def _inside(seen: Sequence[_Seen], begin: float) -> float:
    """The time of the last steps that began after a time: those of the bodies of the step that ends now."""
    total = 0.0
    for step in reversed(seen):
        if step.at < begin:
            break
        total += step.alone
    return total


def _called(call: Call, session: Session, compiled: Artifacts) -> str:
    """A node that runs by itself, and on what."""
    facts = [fact(value, compiled.optimised.facts) for value in call.node.inputs]
    provider = session.evaluated_by(call.node, facts)
    return f"{call.node.op_type} {where(provider)}"


def _step(
    step: KernelStep,
    kernels: Mapping[str, Kernel],
    traced: Trace,
    sizes: Sequence[Mapping[str, int]],
    seconds: float,
) -> Step:
    """A step that took so many seconds in all of the times that it ran, for sizes, more than once in a loop."""
    kernel = kernels[step.name]
    work, cost = traced.kernels[kernel], cost_of(kernel)
    nodes = tuple(node.label for node in (*work.nodes, *work.views))
    often = Counter(tuple(sorted(known.items())) for known in sizes)
    numbers = [
        sum(_whole(dim, dict(known)) * count for known, count in often.items())
        for dim in (cost.operations, cost.read, cost.written)
    ]
    return Step(kernel.name, title(kernel, work, sizes[-1]), nodes, seconds, *numbers)


def _whole(dim: Dim, sizes: Mapping[str, int]) -> int:
    size = number(dim, sizes)
    assert isinstance(size, int)  # every size is known after a run
    return size


def _seconds(run: Sequence[_Seen], step: KernelStep | Call, start: float) -> float:
    """The time of a step in a run, over all of the times that it ran."""
    return sum(max(0.0, ran.alone - _price(step, start)) for ran in run if ran.step is step)


def _price(step: KernelStep | Call, start: float) -> float:
    return 0.0 if isinstance(step, Call) else start


def _start(threads: int) -> float:
    """Seconds that starting a kernel takes, when it is none."""
    steps, slots, state = np.zeros((0, 3), np.int64), np.zeros(1, np.int64), np.zeros(16, np.int32)
    times = []
    for _ in range(_STARTS):
        begin = perf_counter()
        thread_pool().run(steps, slots, state, threads)
        times.append(perf_counter() - begin)
    return median(times)
