"""A plan of several segments on the fast path: what does not change between runs with inputs of the same shapes.

Segments whose sizes follow from those of the inputs are bound once; others, after a call or computed sizes, in each
run. Calls are direct: without the bookkeeping of an evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import IngotError
from ingot.ops.generator.keys import key_array
from ingot.ops.limit import ALLOWED
from ingot.prim.tensor import Call, RandomKey
from ingot.runtime import float_errors
from ingot.runtime.address import address_of
from ingot.runtime.bind import Binding
from ingot.runtime.direct_calls import DirectCall
from ingot.runtime.entry import Entry
from ingot.runtime.frame import Frame, fresh_array
from ingot.runtime.guards import GuardFailed
from ingot.runtime.interrupt import Interrupt, Interrupted
from ingot.runtime.lookup import lookup_of
from ingot.runtime.results import owned
from ingot.runtime.run import PlanRunner
from ingot.runtime.segment import PreparedSegment
from ingot.runtime.thread_pool import thread_pool

_MOST_FAILURES = 8
"""Runs that may have to be made in full, and twice, before all are."""


_STRING_BYTES = 128
"""More bytes than a string takes besides its characters, which take at most four each."""


class _Failure(Exception):
    """The run has to be made in full, which says what is wrong, if anything."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """A segment: its binding, if it follows from the inputs, and the call after it, if it is one."""

    place: int
    prepared: PreparedSegment
    has_steps: bool
    binding: Binding | None
    call: DirectCall | None
    arguments: tuple[int, ...]
    """The numbers of the arguments of the call; -1 for one that is omitted, whose value is None."""
    results: tuple[tuple[Entry, int], ...]
    """The results of the call that are placed, with their numbers among all of them."""
    passed_on: tuple[tuple[int, int], ...]
    """The numbers of the values of others, which no kernel reads."""


class ReadyPlan:
    """A plan ready for inputs of certain shapes."""

    def __init__(
        self, runner: PlanRunner, inputs: Sequence[Any], calls: Mapping[Call, DirectCall], most_bytes: int
    ) -> None:
        """`inputs` are those of a run that succeeded; a run may take `most_bytes`."""
        self._runner = runner
        self._most_bytes = most_bytes
        self._has_calls = bool(calls)
        self._failures = 0
        plan = runner.plan
        used = {slot for segment in plan.segments for step in segment.steps for slot in step.slots}
        placed = [plan.placed.get(tensor) for tensor in plan.inputs.values()]
        self._slots = [(place, slot) for place, slot in enumerate(placed) if slot is not None and slot in used]
        self._sizes = runner.sizes_of(inputs)
        stages = []
        for place, prepared in enumerate(runner.segments):
            names, step = prepared.binder.segment.names, prepared.call
            binding = prepared.binder.bind(self._sizes) if set(names) <= self._sizes.keys() else None
            has_steps = bool(prepared.steps or prepared.results or prepared.binder.segment.guards)
            if not has_steps and step is None:
                continue
            call = _direct(runner, prepared, calls[step]) if isinstance(step, Call) else None
            numbers = prepared.argument_numbers if call is None else prepared.argument_numbers[: call.inputs]
            results = tuple((entry, index) for entry, index in prepared.indexed_entries if entry.is_placed)
            others = tuple((entry.number, index) for entry, index in prepared.indexed_entries if not entry.is_placed)
            arguments = tuple(-1 if number is None else number for number in numbers)
            stages.append(_Stage(place, prepared, has_steps, binding, call, arguments, results, others))
        self._stages = tuple(stages)
        fresh = {number for segment in runner.segments for number, _, _ in segment.results}
        is_once = len(set(runner.outputs)) == len(runner.outputs)
        self._is_own = is_once and all(number in fresh for number in runner.outputs)

    def run(self, inputs: list[Any], interrupt: Interrupt | None, seed: int) -> list[Any] | None:
        """The outputs for a seed of random numbers; None if the run has to be made in full.

        Interrupted where `interrupt` ends the run.
        """
        if self._failures > _MOST_FAILURES:
            return None
        runner = self._runner
        frame = runner.frame()
        if interrupt is not None:
            interrupt.attach(frame.state)
        allowed = before = None
        if self._has_calls:
            allowed, before = ALLOWED.set(self._most_bytes), float_errors.ignore()
        try:
            results = self._results(frame, inputs, interrupt, seed)
        except Interrupted:
            raise
        except (_Failure, GuardFailed, IndexError, IngotError, MemoryError, RecursionError):
            results = None
            self._failures += 1
        finally:
            if allowed is not None and before is not None:
                float_errors.restore(before)
                ALLOWED.reset(allowed)
            if interrupt is not None:
                interrupt.detach(frame.state)
            frame.words[0] = frame.words[1] = 0
            runner.frames.append(frame)
        if interrupt is not None:
            interrupt.check()
        if results is None or self._is_own or _are_own(results, inputs):
            return results
        return owned(results, inputs)

    def _results(self, frame: Frame, inputs: list[Any], interrupt: Interrupt | None, seed: int) -> list[Any]:
        slots, words, segments, start = frame.slots, frame.words, frame.segments, thread_pool().start
        values = [*inputs, *frame.values[len(inputs) :], None]
        for place, slot in self._slots:
            slots[slot] = address_of(inputs[place])
        sizes, held, drawn = self._sizes.copy(), 0, 0
        for stage in self._stages:
            prepared = stage.prepared
            if stage.has_steps:
                segment = segments[stage.place]
                binding = stage.binding or prepared.binder.bind(sizes)
                held += binding.needed
                if held > self._most_bytes:
                    raise _Failure
                if binding is not segment.binding:
                    segment.install(binding)
                for (number, slot, dtype), shape in zip(prepared.results, binding.shapes, strict=True):
                    array = values[number] = fresh_array(shape, dtype)
                    slots[slot] = address_of(array)
                if segment.job is not None:
                    start(segment.job)
                    if words[0] or words[1]:
                        raise _Failure
            call = stage.call
            if call is not None:
                if interrupt is not None:
                    interrupt.check()
                results = call.results([values[number] for number in stage.arguments])
                for result in results:
                    held += _bytes(result)
                for number, index in stage.passed_on:
                    values[number] = results[index]
                if stage.results:
                    for entry, index in stage.results:
                        entry.admit(results[index], values, sizes, slots)
                    prepared.check(values, sizes)
            elif isinstance(prepared.call, RandomKey):
                drawn += 1
                prepared.admit([key_array(seed, drawn)], values, sizes, slots)
            elif prepared.call is not None:
                prepared.read(values, sizes)
        if held > self._most_bytes:
            raise _Failure
        return [values[number] for number in self._runner.outputs]


def _direct(runner: PlanRunner, prepared: PreparedSegment, call: DirectCall) -> DirectCall:
    """A call, as a lookup where it is one."""
    lookup = lookup_of(runner, prepared)
    return call if lookup is None else DirectCall(lambda values: lookup.read(values[1]), 2, False)


def _bytes(result: Any) -> int:
    """The bytes of a result, of a sequence those of the arrays in it; _Failure for what is neither."""
    if type(result) is np.ndarray or isinstance(result, np.generic):
        return result.nbytes if result.dtype.kind != "O" else _most_bytes(np.asarray(result))
    if result is None:
        return 0
    if type(result) is not list:
        raise _Failure
    return sum([_bytes(item) for item in result if type(item) is not dict])


def _most_bytes(strings: Array) -> int:
    """No fewer bytes than an array of strings takes."""
    return strings.nbytes + _STRING_BYTES * strings.size + 4 * sum(map(len, strings.reshape(-1).tolist()))


def _are_own(results: Sequence[Any], inputs: Sequence[Any]) -> bool:
    """Whether it is plain to see that results are contiguous arrays, or lists of maps, that nothing else references."""
    for place, result in enumerate(results):
        if type(result) is list:
            if any(type(item) is not dict for item in result):
                return False
        elif type(result) is not np.ndarray or result.base is not None or not result.flags.carray:
            return False
        for other in inputs:
            if result is other:
                return False
        for other in results[:place]:
            if result is other:
                return False
    return True
