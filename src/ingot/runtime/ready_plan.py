"""A plan on the fast path: what does not change between runs with inputs of the same shapes.

Its stages up to the first call are one native run (`native_prefix.py`), unless the sizes that kernels compute keep
changing. All others are run one by one: those whose sizes follow from the inputs are bound once, the others in each
run. Calls are direct: without the bookkeeping of an evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ingot.errors import IngotError
from ingot.ops.generator.keys import key_array
from ingot.ops.limit import ALLOWED
from ingot.prim.tensor import Call
from ingot.runtime import float_errors
from ingot.runtime.address import address_of
from ingot.runtime.call_chain import Chain, bytes_of, call_chain
from ingot.runtime.direct_calls import DirectCall, Ending, NotFast, direct_run
from ingot.runtime.early_calls import EarlyCalls, early_calls
from ingot.runtime.frame import Frame, NativeFunction, fresh_array
from ingot.runtime.guards import GuardFailed
from ingot.runtime.interrupt import Interrupted
from ingot.runtime.native_prefix import NativePrefix, Readings, native_prefix
from ingot.runtime.recent import remember
from ingot.runtime.results import owned
from ingot.runtime.run import PlanRunner
from ingot.runtime.stage import Stage, stages
from ingot.runtime.thread_pool import thread_pool

_FAILURE = 4
"""Runs that make good for one that has to be made in full, and so twice."""

_MOST_FAILURES = 8 * _FAILURE
"""Where there are more that were not made good for, all runs are made in full."""

_MOST_READINGS = 64
"""Beginnings of what runs read that are remembered."""


class ReadyPlan:
    """A plan ready for inputs of certain shapes."""

    def __init__(
        self,
        runner: PlanRunner,
        inputs: Sequence[Any],
        calls: Mapping[Call, DirectCall],
        most_bytes: int,
        is_body: bool = False,
    ) -> None:
        """`inputs` are those of a run that succeeded; a run may take `most_bytes`.

        Of a body, inputs that no kernel reads may be anything, and results inputs, constants, or views of them.
        """
        self._runner = runner
        self._most_bytes = most_bytes
        self._failures = 0
        plan = runner.plan
        self._names = tuple(plan.inputs)
        placed = [plan.placed.get(tensor) for tensor in plan.inputs.values()]
        self._slots = [(place, slot) for place, slot in enumerate(placed) if slot is not None]
        self._sizes = runner.sizes_of(inputs)
        self._stages = tuple(stages(runner, self._sizes, calls))
        self._has_functions = any(stage.call is not None and not stage.call.is_bounded for stage in self._stages)
        fresh = {number for segment in runner.segments for number, _, _ in segment.results}
        is_once = len(set(runner.outputs)) == len(runner.outputs)
        self._is_own = is_body or (is_once and all(number in fresh for number in runner.outputs))
        self._constants = (*runner.constants, None)
        self._early: EarlyCalls | None = None
        self._prefix, self._chain = self._native(inputs, is_body)
        self._has_bodies = any(stage.call is not None and stage.call.has_bodies for stage in self._stages)
        self.is_whole = self._prefix is not None and self._prefix.is_whole
        """Whether a native run gives the outputs: there is no call."""
        self._following: dict[Readings, Readings] = {}
        """All that a run read by what it read first, of the latest runs."""
        self._expected: Readings | None = None
        """What the next run is taken to read; None if that may be anything."""
        if self._prefix is not None and not self._prefix.reading_count:
            self._expected = ()

    def _native(self, inputs: Sequence[Any], is_body: bool) -> tuple[NativePrefix | None, Chain | None]:
        """What runs natively, and the calls after it; after early calls if these leave nothing else."""
        runner, most_bytes = self._runner, self._most_bytes
        if not is_body and (early := early_calls(runner, inputs, self._sizes, self._stages)) is not None:
            prefix = native_prefix(runner, inputs, early.sizes, early.stages, is_body, early.inputs)
            if prefix is not None:
                rest = early.stages[prefix.end :]
                chain = call_chain(rest, runner, prefix.returned, most_bytes, is_body) if rest else None
                if chain is not None or prefix.is_whole:
                    self._early = early
                    return prefix, chain
        prefix = native_prefix(runner, inputs, self._sizes, self._stages, is_body)
        if prefix is None or prefix.is_whole:
            return prefix, None
        return prefix, call_chain(self._stages[prefix.end :], runner, prefix.returned, most_bytes, is_body)

    def run(self, frame: Frame, feeds: Mapping[str, Any], ending: Ending) -> list[Any] | None:
        """The outputs for feeds, which are contiguous; None if the run has to be made in full."""
        return self._run(frame, feeds, self._expected, ending)

    def run_otherwise(self, frame: Frame, feeds: Mapping[str, Any], ending: Ending) -> list[Any] | None:
        """The same after a native run, in a frame in which this plan is active, that ended without results."""
        return self._run(frame, feeds, self._read_instead(frame, feeds), ending)

    def _run(
        self, frame: Frame, feeds: Mapping[str, Any], expected: Readings | None, ending: Ending
    ) -> list[Any] | None:
        """The outputs, natively as long as something is expected to be read."""
        if self._failures > _MOST_FAILURES:
            return None
        while expected is not None and (native := self._activate(frame, expected)) is not None:
            results = native(feeds)
            if results is not None and results is not False:
                return results if self.is_whole else self.finish(frame, feeds, results, ending)
            expected = self._read_instead(frame, feeds) if results is False else None
        frame.native = frame.active = None
        if frame.words[0] or frame.words[1]:
            return None
        values = self._values(feeds)
        for place, slot in self._slots:
            frame.slots[slot] = address_of(values[place])
        return self._guarded(frame, values, self._sizes.copy(), 0, ending)

    def _activate(self, frame: Frame, expected: Readings) -> NativeFunction | None:
        """Have a frame ready for a native run that reads these numbers, and return it; None if there is none."""
        assert self._prefix is not None
        frame.native = frame.active = None
        prepared = self._prefix.activate(frame, expected, self._most_bytes)
        if prepared is None or prepared.run is None:
            return None
        native = prepared.run.function if self._early is None else self._early.before(prepared.run.function)
        frame.native, frame.active, frame.prepared = native, self, prepared
        self._expected = expected
        return frame.native

    def _read_instead(self, frame: Frame, feeds: Mapping[str, Any]) -> Readings | None:
        """What a run reads whose native run has just ended without results; None if none before began like it."""
        assert self._prefix is not None
        begin = None if frame.words[0] or frame.words[1] else self._prefix.read_instead(frame.prepared, feeds)
        return None if begin is None else self._following.get(begin)

    def finish(self, frame: Frame, feeds: Mapping[str, Any], results: list[Any], ending: Ending) -> list[Any] | None:
        """The outputs, from the results of a native run in a frame in which this plan is active."""
        prefix, prepared, chain = self._prefix, frame.prepared, self._chain
        if chain is not None:
            outputs = chain(feeds, results, prepared.needed, ending)
            if outputs is None:
                self._failures += _FAILURE
            elif self._failures:
                self._failures -= 1
            return outputs or None
        assert prefix is not None
        values = self._values(feeds)
        for number, array in zip(prefix.returned, results, strict=True):
            values[number] = array
        return self._guarded(frame, values, prepared.sizes.copy(), prepared.needed, ending, prefix.end)

    def _values(self, feeds: Mapping[str, Any]) -> list[Any]:
        """All values by number, as far as they are known before a run, and at the end that of omitted arguments."""
        return [*map(feeds.__getitem__, self._names), *self._constants]

    def _guarded(
        self,
        frame: Frame,
        values: list[Any],
        sizes: dict[str, int],
        held: int,
        ending: Ending,
        call: int | None = None,
    ) -> list[Any] | None:
        """The outputs; None if the run has to be made in full. Interrupted where it has to end.

        `held` bytes are allocated. The first stages have run up to the `call` of one, if that is given.
        """
        inputs = values[: len(self._names)]
        allowed = before = None
        if self._has_functions:
            allowed, before = ALLOWED.set(self._most_bytes), float_errors.ignore()
        try:
            results = self._results(frame, values, sizes, held, ending, call)
        except Interrupted:
            raise
        except (NotFast, GuardFailed, IndexError, IngotError, MemoryError, RecursionError):
            if not frame.words[1]:  # it was not stopped
                self._failures += _FAILURE
            return None
        finally:
            if allowed is not None and before is not None:
                float_errors.restore(before)
                ALLOWED.reset(allowed)
        if self._failures:
            self._failures -= 1
        return results if self._is_own else owned(results, inputs)

    def _results(
        self,
        frame: Frame,
        values: list[Any],
        sizes: dict[str, int],
        held: int,
        ending: Ending,
        first: int | None,
    ) -> list[Any]:
        readings: list[tuple[int, ...]] = []
        drawn = 0 if first is None or self._prefix is None else self._prefix.draws
        run = direct_run(ending, self._runner.plan.most_trips, self._most_bytes) if self._has_bodies else None
        for stage in self._stages if first is None else self._stages[first:]:
            if stage.has_steps and (first is None or stage.place != self._stages[first].place):
                held += self._start(frame, stage, values, sizes, held)
            call = stage.call
            if call is not None:
                if ending is not None:
                    ending.check()
                arguments = [values[number] for number in stage.arguments]
                results = call.results([run, *arguments] if call.has_bodies else arguments)
                for result in results:
                    held += bytes_of(result, call)
                for number, index in stage.passed_on:
                    values[number] = results[index]
                if stage.results:
                    for entry, index in stage.results:
                        entry.admit(results[index], values, sizes, frame.slots)
                    stage.prepared.check(values, sizes)
            elif stage.draws:
                drawn += 1
                stage.prepared.admit([key_array(frame.seed, drawn)], values, sizes, frame.slots)
            elif stage.reads:
                readings.append(stage.prepared.read(values, sizes))
        if held > self._most_bytes:
            raise NotFast
        if first is None and self._prefix is not None and readings:
            self._note(tuple(readings[: self._prefix.reading_count]))
        return [values[number] for number in self._runner.outputs]

    def _note(self, readings: Readings) -> None:
        """Expect the same of the next run, if it was read before, and remember it for runs that begin like this one."""
        self._expected = readings if readings in self._following or not readings else None
        for count in range(1, len(readings) + 1):
            remember(self._following, readings[:count], readings, _MOST_READINGS)

    def _start(self, frame: Frame, stage: Stage, values: list[Any], sizes: dict[str, int], held: int) -> int:
        """Run the kernels of a stage, where so many bytes are held; returns how many more are."""
        prepared, segment = stage.prepared, frame.segments[stage.place]
        binding = stage.binding or prepared.binder.bind(sizes)
        if held + binding.needed > self._most_bytes:
            raise NotFast
        if binding is not segment.binding:
            segment.install(binding)
        for (number, slot, dtype), shape in zip(prepared.results, binding.shapes, strict=True):
            array = values[number] = fresh_array(shape, dtype)
            frame.slots[slot] = address_of(array)
        if segment.job is not None:
            thread_pool().start(segment.job)
            if frame.words[0] or frame.words[1]:
                raise NotFast
        return binding.needed
