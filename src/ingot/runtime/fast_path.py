"""The fast path: for inputs of types and sizes that ran before, a frame is ready, and nothing is left to check.

A plan of one segment is only started; for one of several, see `ready_plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.prim.tensor import Call
from ingot.runtime.address import address_of
from ingot.runtime.bind import Binding
from ingot.runtime.direct_calls import DirectCall, direct_calls
from ingot.runtime.feeds import strings_of
from ingot.runtime.frame import Frame, fresh_array
from ingot.runtime.interrupt import Interrupt, Interrupted
from ingot.runtime.lookup import Lookup, lookup_of
from ingot.runtime.plan import Plan
from ingot.runtime.ready_plan import ReadyPlan
from ingot.runtime.recent import remember
from ingot.runtime.run import PlanRunner
from ingot.runtime.thread_pool import Job, thread_pool

_MOST_READY = 32
"""Types and sizes of inputs that are remembered."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What a run on the fast path needs: the slots of inputs, the results to allocate, and the order of outputs.

    A lookup appends to the results the elements of its table that one of them is the indices of.
    """

    runner: PlanRunner
    binding: Binding
    inputs: tuple[int, ...]
    results: tuple[tuple[int, tuple[int, ...], Any], ...]
    lookups: tuple[tuple[Lookup, int], ...]
    outputs: tuple[int, ...]


class FastPath:
    """The fast path of a plan: the inputs that it has a frame ready for, by their shapes and types."""

    def __init__(self, plan: Plan) -> None:
        self._names = tuple(plan.inputs)
        self._are_numbers = all(tensor.dtype is not DType.UNDEFINED for tensor in plan.inputs.values())
        """Whether all inputs are tensors of numbers: no strings, and no sequences."""
        self._ready: dict[tuple[Any, ...], Ready | ReadyPlan] = {}

    def run(self, feeds: Mapping[str, Any], interrupt: Interrupt | None = None, seed: int = 0) -> list[Any] | None:
        """The outputs for a seed of random numbers; None if this is no fast path.

        That is so for other sizes, other types, and an error that a kernel met.
        Interrupted where `interrupt` ends the run.
        """
        if not self._ready or len(feeds) != len(self._names):
            return None
        key: list[Any] = []
        arrays: list[Any] = []
        for name in self._names:
            array = feeds.get(name)
            if type(array) is not np.ndarray:
                if self._are_numbers or (sequence := _key_of_sequence(array)) is None:
                    return None
                key += (type(array), sequence)
                arrays.append(array)
                continue
            if not array.flags.c_contiguous:
                array = np.ascontiguousarray(array)
            if not self._are_numbers and array.dtype.kind in "OU":
                array = strings_of(array)
                if array is None:
                    return None
            key += (array.shape, array.dtype)
            arrays.append(array)
        ready = self._ready.get(tuple(key))
        if ready is None:
            return None
        if isinstance(ready, ReadyPlan):
            return ready.run(arrays, interrupt, seed)
        frame = ready.runner.frame()
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
            thread_pool().start(segment.job)
        else:
            _start(ready.runner, frame, segment.job, interrupt)
        if frame.words[0]:
            frame.words[0] = 0
            ready.runner.frames.append(frame)
            return None
        ready.runner.frames.append(frame)
        if ready.lookups:
            try:
                results += [lookup.read(results[index]) for lookup, index in ready.lookups]
            except IndexError:
                return None
        return [results[index] for index in ready.outputs]

    def learn(
        self,
        runner: PlanRunner,
        feeds: Mapping[str, Any],
        binding: Binding | None,
        most_bytes: int,
        direct: Callable[[Call], DirectCall | None],
    ) -> bool:
        """Remember the binding that inputs ran with, if the plan has a fast path; whether it has.

        A run may take `most_bytes`; `direct` is what computes the node of a call.
        """
        if set(feeds) != set(self._names):
            return False
        arrays = [feeds[name] for name in self._names]
        key = key_of_feeds(arrays)
        if key is None:
            return False
        lookups = _lookups(runner)
        if lookups is None:
            several = self._ready.get(key) or _several(runner, arrays, most_bytes, direct)
            if several is not None:
                remember(self._ready, key, several, _MOST_READY)
            return several is not None
        if binding is None or not self._are_numbers:
            return False
        plan, segment = runner.plan, runner.segments[0]
        unread = len(plan.template) - 1  # the last slot is nobody's
        inputs = tuple(plan.placed.get(plan.inputs[name], unread) for name in self._names)
        shapes = zip(segment.results, binding.shapes, strict=True)
        results = tuple((slot, shape, dtype) for (_, slot, dtype), shape in shapes)
        numbers = [number for number, _, _ in segment.results]
        tables = tuple((lookup, numbers.index(lookup.index)) for lookup in lookups)
        numbers += [lookup.result for lookup in lookups]
        outputs = tuple(numbers.index(number) for number in runner.outputs)
        remember(self._ready, key, Ready(runner, binding, inputs, results, tables, outputs), _MOST_READY)
        return True


def key_of_feeds(feeds: Sequence[Any]) -> tuple[Any, ...] | None:
    """The types and sizes of arrays, and of those in lists; None if there is anything else."""
    parts: list[Any] = []
    for feed in feeds:
        if type(feed) is np.ndarray:
            parts += (feed.shape, feed.dtype)
        elif (sequence := _key_of_sequence(feed)) is not None:
            parts += (type(feed), sequence)
        else:
            return None
    return tuple(parts)


def _key_of_sequence(feed: Any) -> tuple[Any, ...] | None:
    """The types and sizes of the arrays of numbers in a list, of an empty optional none; None for anything else."""
    if feed is None:
        return ()
    if type(feed) is not list:
        return None
    if any(type(item) is not np.ndarray or item.dtype.kind not in "biufc" for item in feed):
        return None
    return tuple((item.shape, item.dtype) for item in feed)


def _several(
    runner: PlanRunner, inputs: Sequence[Any], most_bytes: int, direct: Callable[[Call], DirectCall | None]
) -> ReadyPlan | None:
    """The fast path of a plan of several segments; None if it has none."""
    plan = runner.plan
    if plan.device is not None or any(tensor not in plan.placed and tensor.shape for tensor in plan.inputs.values()):
        return None
    calls = direct_calls(plan, direct)
    return None if calls is None else ReadyPlan(runner, inputs, calls, most_bytes)


def _lookups(runner: PlanRunner) -> list[Lookup] | None:
    """The lookups behind the kernels of a plan, where these and nothing else compute all outputs, each once.

    None if there is more than one segment of kernels, a copy, or another call.
    """
    segments, plan = runner.segments, runner.plan
    if plan.device is not None or not segments or not segments[0].binder.words:
        return None
    if any(tensor not in plan.placed and tensor.shape for tensor in plan.inputs.values()):
        return None
    numbers = {number for number, _, _ in segments[0].results}
    lookups: list[Lookup] = []
    for segment in segments:
        if segment is not segments[0] and (segment.binder.words or segment.results):
            return None
        if segment.call is not None:
            lookup = lookup_of(runner, segment)
            if lookup is None or lookup.index not in numbers:
                return None
            lookups.append(lookup)
    computed = numbers.union(lookup.result for lookup in lookups)
    are_all = len(set(runner.outputs)) == len(runner.outputs) and computed.issuperset(runner.outputs)
    return lookups if are_all else None


def _start(runner: PlanRunner, frame: Frame, job: Job, interrupt: Interrupt) -> None:
    interrupt.attach(frame.state)
    try:
        thread_pool().start(job)
    finally:
        interrupt.detach(frame.state)
    try:
        interrupt.check()
    except Interrupted:
        frame.words[0] = frame.words[1] = 0
        runner.frames.append(frame)
        raise
