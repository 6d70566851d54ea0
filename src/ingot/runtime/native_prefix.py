"""The first stages of a plan, up to its first call, as native runs: one for each frame that they run in.

Sizes that kernels compute are assumed to be those of the last run. A native run compares what it reads with these, and
needs no binding; where a number is another, it ends without results, and the stages are run one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ingot.codegen.native_run import InputKind
from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.ops.generator.keys import key_of
from ingot.runtime import native_run
from ingot.runtime.address import address_of
from ingot.runtime.bind import Binding
from ingot.runtime.frame import Frame, fresh_array
from ingot.runtime.large_results import is_large
from ingot.runtime.native_run import Input, Link, NativeRun, Output, Result, input_like
from ingot.runtime.recent import remember
from ingot.runtime.run import PlanRunner
from ingot.runtime.stage import Stage

Readings: TypeAlias = tuple[tuple[int, ...], ...]
"""The numbers that each reading of sizes gives, in order."""

_MOST_RUNS = 128
"""Native runs that a frame has ready."""


@dataclass(frozen=True, eq=False, slots=True)
class PreparedRun:
    """A native run in a frame, for certain readings; none where a kernel is worth several threads, or may not end."""

    readings: Readings
    bindings: tuple[Binding, ...]
    memory: tuple[tuple[int, Array], ...]
    """Memory by slot for what nobody but the stages themselves reads."""
    sizes: dict[str, int]
    """The named sizes that are known after it."""
    needed: int
    """The bytes that it takes."""
    given: int
    """Those of them that its results have."""
    run: NativeRun | None
    keys: Array
    """Those of its random numbers, for the seed of the run that the frame is ready for."""


class NativePrefix:
    """The stages before the first call, and the kernels of the one that makes it."""

    def __init__(
        self,
        runner: PlanRunner,
        inputs: Sequence[Input],
        sizes: Mapping[str, int],
        stages: Sequence[Stage],
        is_body: bool,
        early: Sequence[Input],
    ) -> None:
        """`inputs` are like those of a run that succeeded, and have these sizes; results of `early` calls follow them.

        Of a body, results may be inputs or constants.
        """
        self._early = early
        self._runner = runner
        self._sizes = sizes
        self._inputs = inputs
        self._is_body = is_body
        ends = (place for place, stage in enumerate(stages) if stage.call is not None)
        self.end = next(ends, len(stages))
        """The place of the stage whose call comes next."""
        self.is_whole = self.end == len(stages)
        """Whether no call comes after it."""
        self._stages = stages[: self.end + 1]
        self._read = [stage.arguments[0] for stage in self._stages if stage.reads]
        self.reading_count = len(self._read)
        keys = [stage.prepared.entries for stage in self._stages if stage.draws]
        self._key_slots = [entries[0].slot if entries else None for entries in keys]
        """Where kernels find the address of each key of random numbers, if any reads it."""
        self.draws = len(keys)
        self._slots = {number: each.slot for number, each in enumerate(self._inputs)}
        self._slots.update((number, slot) for stage in self._stages for number, slot, _ in stage.prepared.results)
        read_later = {number for stage in stages[self.end :] for number in stage.arguments}
        seen_outside = read_later.union(runner.outputs)
        produced = [number for stage in self._stages for number, _, _ in stage.prepared.results]
        self._fresh = [number for number in produced if number in seen_outside]
        self.returned = tuple(runner.outputs if self.is_whole else self._fresh)
        """The numbers of the values that a native run returns."""

    def activate(self, frame: Frame, readings: Readings, most_bytes: int) -> PreparedRun | None:
        """Have a frame ready for a native run with these readings; None if there is none of so few bytes."""
        key = self, readings
        prepared = frame.native_runs.get(key)
        if prepared is None:
            prepared = self._prepare(frame, readings)
            remember(frame.native_runs, key, prepared, _MOST_RUNS)
        if prepared.run is None or prepared.needed > most_bytes:
            return None
        self._install(frame, prepared.bindings)
        for slot, array in prepared.memory:
            frame.slots[slot] = address_of(array)
        if self.draws:
            prepared.keys[:] = [key_of(frame.seed, number) for number in range(1, self.draws + 1)]
            for slot, address in zip(self._key_slots, range(address_of(prepared.keys), 1 << 64, 8), strict=False):
                if slot is not None:
                    frame.slots[slot] = address
        return prepared

    def read_instead(self, prepared: PreparedRun, feeds: Mapping[str, Array]) -> Readings | None:
        """What a native run that ended without results read, up to what it did not expect; None if that is lost."""
        memory, readings = dict(prepared.memory), prepared.readings
        for place, (number, expected) in enumerate(zip(self._read, readings, strict=True)):
            is_input = number < len(self._inputs)
            array = feeds[self._inputs[number].name] if is_input else memory.get(self._slots[number])
            if array is None:
                return None  # memory of its own, which is gone
            numbers = tuple(array.tolist())
            if numbers != expected:
                return *readings[:place], numbers
        return None

    def _install(self, frame: Frame, bindings: Sequence[Binding]) -> None:
        bound = [stage for stage in self._stages if stage.has_steps]
        for stage, binding in zip(bound, bindings, strict=True):
            segment = frame.segments[stage.place]
            if segment.binding is not binding:
                segment.install(binding)

    def _prepare(self, frame: Frame, readings: Readings) -> PreparedRun:
        sizes, bindings = dict(self._sizes), []
        values = iter(readings)
        for stage in self._stages:
            if stage.has_steps:
                bindings.append(stage.binding or stage.prepared.binder.bind(sizes))
            if stage.reads:
                sizes.update(zip(stage.prepared.size_names, next(values), strict=True))
        self._install(frame, bindings)
        jobs = [frame.segments[stage.place].job for stage in self._stages if stage.has_steps]
        memory: list[tuple[int, Array]] = []
        run = None
        is_short = all(job is None or (job.threads == 1 and not job.is_interruptible) for job in jobs)
        if is_short and not self._has_large(bindings):
            run = self._native_run(frame, bindings, readings, memory)
        needed = sum(binding.needed for binding in bindings)
        given = needed - sum(binding.layout.total for binding in bindings)
        keys = np.zeros(self.draws, np.uint64)
        return PreparedRun(readings, tuple(bindings), tuple(memory), sizes, needed, given, run, keys)

    def _has_large(self, bindings: Sequence[Binding]) -> bool:
        """Whether memory for one of its results is kept when the caller drops it, which is looked after in Python."""
        bound = [stage.prepared.results for stage in self._stages if stage.has_steps]
        pairs = [
            pair for own, binding in zip(bound, bindings, strict=True) for pair in zip(own, binding.shapes, strict=True)
        ]
        return any(number in self._fresh and is_large(shape, dtype) for (number, _, dtype), shape in pairs)

    def _native_run(
        self, frame: Frame, bindings: Sequence[Binding], readings: Readings, memory: list[tuple[int, Array]]
    ) -> NativeRun:
        results, links = [], []
        bound, values = iter(bindings), iter(readings)
        for stage in self._stages:
            job = None
            if stage.has_steps:
                job = frame.segments[stage.place].job
                for (number, slot, dtype), shape in zip(stage.prepared.results, next(bound).shapes, strict=True):
                    if number in self._fresh:
                        results.append(Result(slot, shape, dtype))
                    else:
                        memory.append((slot, fresh_array(shape, dtype)))
            if stage.reads:
                links.append(Link(job, self._slots[stage.arguments[0]], next(values)))
            elif job is not None:
                links.append(Link(job, 0, ()))
        constants, outputs = self._outputs(len(results))
        return NativeRun(frame, [*self._inputs, *self._early], results, links, constants, outputs)

    def _outputs(self, results: int) -> tuple[list[Array], list[Output]]:
        """What is returned, and the constants in it: copied where others have them, but for those of a body."""
        constants: list[Array] = []
        outputs: list[Output] = []
        is_copy, inputs = not self._is_body, len(self._inputs) + len(self._early)
        for number in self.returned:
            if number < len(self._inputs):
                outputs.append(Output(number, is_copy))
            elif number in self._fresh:
                index = inputs + self._fresh.index(number)
                outputs.append(Output(index, is_copy and any(output.index == index for output in outputs)))
            else:
                outputs.append(Output(inputs + results + len(constants), is_copy))
                constants.append(np.asarray(self._runner.constant(number)))
        return constants, outputs


def native_prefix(
    runner: PlanRunner,
    inputs: Sequence[Any],
    sizes: Mapping[str, int],
    stages: Sequence[Stage],
    is_body: bool,
    early: Sequence[Input] = (),
) -> NativePrefix | None:
    """What can be run natively, after `early` calls; None where inputs are to be looked at otherwise.

    Before a call that comes first that is to compare the inputs, which takes longer in Python.
    """
    if not native_run.is_available():
        return None
    plan = runner.plan
    named = zip(plan.inputs.items(), inputs, strict=True)
    compared = [
        Input(name, len(plan.template) + number, InputKind.ANYTHING, ())
        if is_body and tensor not in plan.placed
        else input_like(name, plan.placed.get(tensor, len(plan.template) + number), value)
        for number, ((name, tensor), value) in enumerate(named)
    ]
    known = [each for each in compared if each is not None]
    if len(known) < len(compared):
        return None
    prefix = NativePrefix(runner, known, sizes, stages, is_body, early)
    can_copy = all(known[number].is_array for number in prefix.returned if number < len(known))
    return prefix if is_body or can_copy else None
