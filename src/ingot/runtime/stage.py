"""Stages: the segments of a plan on the fast path, for inputs of certain shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ingot.dataclass import dataclass
from ingot.prim.tensor import Call, RandomKey
from ingot.runtime.bind import Binding
from ingot.runtime.direct_calls import DirectCall
from ingot.runtime.entry import Entry
from ingot.runtime.lookup import lookup_of
from ingot.runtime.run import PlanRunner
from ingot.runtime.segment import PreparedSegment


@dataclass(frozen=True, eq=False, slots=True)
class Stage:
    """A segment: its binding, if it follows from the inputs, and the call after it, if it is one."""

    place: int
    prepared: PreparedSegment
    has_steps: bool
    binding: Binding | None
    reads: bool
    """Whether sizes are read after it."""
    draws: bool
    """Whether a key of random numbers is drawn after it."""
    call: DirectCall | None
    arguments: tuple[int, ...]
    """The numbers of what is read, or of the arguments of the call; -1 for one that is omitted, whose value is None."""
    results: tuple[tuple[Entry, int], ...]
    """The results of the call that are placed, with their numbers among all of them."""
    passed_on: tuple[tuple[int, int], ...]
    """The numbers of the values of others, which no kernel reads."""


def stages(runner: PlanRunner, sizes: Mapping[str, int], calls: Mapping[Call, DirectCall]) -> Iterator[Stage]:
    """The stages of a plan for inputs that have these sizes, but for segments that do nothing."""
    for place, prepared in enumerate(runner.segments):
        names, step = prepared.binder.segment.names, prepared.call
        has_steps = bool(prepared.steps or prepared.results or prepared.binder.segment.guards)
        if not has_steps and step is None:
            continue
        binding = prepared.binder.bind(sizes) if has_steps and set(names) <= sizes.keys() else None
        call = _direct(runner, prepared, calls[step]) if isinstance(step, Call) else None
        numbers = prepared.argument_numbers
        if call is not None and not call.has_bodies:
            numbers = numbers[: call.inputs]
        results = tuple((entry, index) for entry, index in prepared.indexed_entries if entry.is_placed)
        others = tuple((entry.number, index) for entry, index in prepared.indexed_entries if not entry.is_placed)
        arguments = tuple(-1 if number is None else number for number in numbers)
        draws = isinstance(step, RandomKey)
        reads = step is not None and call is None and not draws
        yield Stage(place, prepared, has_steps, binding, reads, draws, call, arguments, results, others)


def _direct(runner: PlanRunner, prepared: PreparedSegment, call: DirectCall) -> DirectCall:
    """A call, as a lookup where it is one."""
    lookup = lookup_of(runner, prepared)
    return (
        call
        if lookup is None
        else DirectCall(lambda _, places: lookup.read(places), 2, False, moves=True, is_fresh=True, is_bounded=True)
    )
