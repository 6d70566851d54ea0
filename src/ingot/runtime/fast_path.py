"""The fast path: for inputs of types and sizes that ran before, a frame is ready, and nothing is left to check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.runtime.address import address_of
from ingot.runtime.bind import Binding
from ingot.runtime.frame import Frame, fresh_array
from ingot.runtime.interrupt import Interrupt, Interrupted
from ingot.runtime.run import PlanRunner
from ingot.runtime.team import Job, team

_MOST_READY = 32
"""Types and sizes of inputs that are remembered."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What follows from the types and sizes of inputs: their slots, the results, and the order of the outputs."""

    binding: Binding
    inputs: tuple[int, ...]
    results: tuple[tuple[int, tuple[int, ...], Any], ...]
    outputs: tuple[int, ...]


class FastPath:
    """The fast path of a plan that is one segment without a call, and computes all of its outputs, each once."""

    def __init__(self, runner: PlanRunner) -> None:
        plan = runner.plan
        self._runner = runner
        self._frames = runner.frames
        self._names = tuple(plan.inputs)
        self._ready: dict[tuple[Any, ...], Ready] = {}
        stages = runner.stages
        numbers = [number for stage in stages for number, _, _ in stage.results]
        self._is_open = (
            len(stages) == 1
            and stages[0].call is None
            and stages[0].binder.words > 0
            and all(tensor in plan.placed or not tensor.shape for tensor in plan.inputs.values())
            and len(set(runner.outputs)) == len(runner.outputs)
            and all(number in numbers for number in runner.outputs)
        )

    def run(self, feeds: Mapping[str, Any], interrupt: Interrupt | None = None) -> list[Any] | None:
        """The outputs; None if this has to go the long way: other sizes, other types, or an error that a kernel met.

        Interrupted where `interrupt` ends the run.
        """
        if not self._ready or len(feeds) != len(self._names):
            return None
        key: list[Any] = []
        arrays: list[Array] = []
        for name in self._names:
            array = feeds.get(name)
            if type(array) is not np.ndarray or not array.flags.c_contiguous:
                return None
            key += (array.shape, array.dtype)
            arrays.append(array)
        ready = self._ready.get(tuple(key))
        if ready is None:
            return None
        frame = self._runner.frame()
        segment = frame.first
        if segment.binding is not ready.binding:
            segment.install(ready.binding)
        slots = frame.slots
        for slot, array in zip(ready.inputs, arrays, strict=True):
            slots[slot] = address_of(array)
        results: list[Any] = []
        for slot, shape, dtype in ready.results:
            result = fresh_array(shape, dtype)
            slots[slot] = address_of(result)
            results.append(result)
        assert segment.job is not None
        if interrupt is None:
            team().start(segment.job)
        else:
            self._start(frame, segment.job, interrupt)
        if frame.words[0]:
            frame.words[0] = 0
            self._frames.append(frame)
            return None
        self._frames.append(frame)
        return [results[index] for index in ready.outputs]

    def _start(self, frame: Frame, job: Job, interrupt: Interrupt) -> None:
        interrupt.attach(frame.state)
        try:
            team().start(job)
        finally:
            interrupt.detach(frame.state)
        try:
            interrupt.check()
        except Interrupted:
            frame.words[0] = frame.words[1] = 0
            self._frames.append(frame)
            raise

    def learn(self, feeds: Mapping[str, Any], binding: Binding | None) -> None:
        """Remember the binding that inputs ran with."""
        if binding is None or not self._is_open or len(self._ready) >= _MOST_READY or set(feeds) != set(self._names):
            return
        arrays = [feeds[name] for name in self._names]
        if any(type(array) is not np.ndarray for array in arrays):
            return
        plan, (stage,) = self._runner.plan, self._runner.stages
        unread = len(plan.template) - 1  # the last slot is nobody's
        inputs = tuple(plan.placed.get(plan.inputs[name], unread) for name in self._names)
        shapes = zip(stage.results, binding.shapes, strict=True)
        results = tuple((slot, shape, dtype) for (_, slot, dtype), shape in shapes)
        numbers = [number for number, _, _ in stage.results]
        outputs = tuple(numbers.index(number) for number in self._runner.outputs)
        key = tuple(part for array in arrays for part in (array.shape, array.dtype))
        self._ready[key] = Ready(binding, inputs, results, outputs)
