"""Segments ready to run: what all runs of a plan share of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ingot.codegen.jumps import BEGIN, NEXT_RUN, JumpSlots
from ingot.prim.tensor import Call, HostStep, RandomKey, SizeReading, Tensor
from ingot.runtime.bind import Binder
from ingot.runtime.entry import Entry, SizeCheck
from ingot.runtime.guards import GuardFailed
from ingot.runtime.plan import Ints, Jump, KernelStep, Plan, Segment

Caller: TypeAlias = Callable[[Call | RandomKey, list[Any]], Sequence[Any]]
"""Has the reference run the node of a call on its arguments, or draws a key."""


class PreparedSegment:
    """A segment ready to run: its binder, its steps, and the numbers of the values that it reads and writes."""

    def __init__(self, plan: Plan, segment: Segment, numbers: Mapping[Tensor, int], known: frozenset[str]) -> None:
        """`known` are the names of the sizes that are known before it."""
        self.steps = segment.steps
        self.binder = Binder(segment, plan.most_trips)
        self.table = StepTable(self.binder)
        self.results = [
            (numbers[allocation.tensor], allocation.slot, allocation.dtype.numpy)
            for allocation in self.binder.results
            if allocation.tensor is not None
        ]
        self.uploads = [(numbers[copy.tensor], copy.slot) for copy in segment.copies if not copy.to_host]
        self.downloads = [(numbers[copy.tensor], copy.slot) for copy in segment.copies if copy.to_host]
        self.call = segment.call
        self.is_straight = not any(isinstance(step, Jump) for step in segment.steps)
        """Whether all kernels of it run, in order."""
        self.counters = _counters(segment.steps, plan.shared)
        """The slots of the counters of its loops, if sizes alone say what runs; None if results do."""
        results = () if segment.call is None else plan.call_results.get(segment.call, ())
        arguments = () if segment.call is None else segment.call.arguments
        self._arguments = [None if tensor is None else numbers[tensor] for tensor in arguments]
        self._indices = [tensor.index for tensor in results]
        self.entries = [Entry(tensor, numbers[tensor], plan.placed.get(tensor)) for tensor in results]
        self._sizes = [str(size) for size in results[0].shape] if isinstance(segment.call, SizeReading) else []
        known = known.union(*(entry.names for entry in self.entries))
        self._checks: list[SizeCheck] = [check for entry in self.entries for check in entry.checks(known)]

    def make(self, step: HostStep, call: Caller, values: list[Any], sizes: dict[str, int], slots: Any) -> None:
        """Make the call, and admit its results, or read sizes; GuardFailed if they are not as assumed."""
        if isinstance(step, SizeReading):
            self.read(values, sizes)
        else:
            self.admit(call(step, self.arguments(values)), values, sizes, slots)

    def arguments(self, values: list[Any]) -> list[Any]:
        """The arguments of the call."""
        return [None if number is None else values[number] for number in self._arguments]

    def admit(self, results: Sequence[Any], values: list[Any], sizes: dict[str, int], slots: Any) -> None:
        """Note the results of the call; GuardFailed if they are not as assumed."""
        for entry, index in zip(self.entries, self._indices, strict=True):
            entry.admit(results[index], values, sizes, slots)
        self.check(values, sizes)

    @property
    def argument_numbers(self) -> list[int | None]:
        """The numbers of the values that are the arguments of the call; None for one that is omitted."""
        return self._arguments

    @property
    def indexed_entries(self) -> list[tuple[Entry, int]]:
        """The results of the call that are used, with their numbers among all of them."""
        return list(zip(self.entries, self._indices, strict=True))

    def check(self, values: list[Any], sizes: dict[str, int]) -> None:
        """GuardFailed if sizes of the results of the call are not what follows from others."""
        for check in self._checks:
            check.require(values, sizes)

    @property
    def size_names(self) -> list[str]:
        """The names of the sizes that are read."""
        return self._sizes

    def read(self, values: list[Any], sizes: dict[str, int]) -> tuple[int, ...]:
        """Note the elements of a tensor as sizes, and return them."""
        (number,) = self._arguments
        assert number is not None
        elements = values[number].tolist()
        sizes.update(zip(self._sizes, elements, strict=True))
        if elements and min(elements) < 0:
            raise GuardFailed((), sizes, f"a size that a run computes is {min(elements)}")
        return tuple(elements)


def _counters(steps: Sequence[KernelStep | Jump], constants: Collection[int]) -> tuple[int, ...] | None:
    counters = []
    for step in steps:
        if isinstance(step, Jump):
            read = step.slots[JumpSlots.TRIPS : JumpSlots.PAIRS]
            if step.kind not in (BEGIN, NEXT_RUN) or any(slot >= 0 and slot not in constants for slot in read):
                return None
            counters.append(step.slots[JumpSlots.COUNTER])
    return tuple(dict.fromkeys(counters))


class StepTable:
    """The steps of a segment as the thread pool walks them, without the address of their scalars.

    Each row has three addresses: of the code, zero for a jump; of the numbers of its slots; and of its scalars, which
    belong to a frame.
    """

    def __init__(self, binder: Binder) -> None:
        steps = binder.segment.steps
        self.numbers = [number for step in steps for number in step.slots]
        self._slots = np.asarray([*self.numbers, -1], np.int32)  # the rows hold its address
        self.address = place = int(self._slots.ctypes.data)
        rows = []
        for step, scalars in zip(steps, binder.places, strict=True):
            rows.append((getattr(step, "address", 0), place, 8 * scalars))
            place += 4 * len(step.slots)
        self._rows = np.asarray(rows, np.int64).reshape(-1, 3)
        self._no_slot = place

    def at(self, scalars: int) -> Ints:
        """The rows with scalars at an address."""
        rows = self._rows.copy()
        rows[:, 2] += scalars
        return rows

    def replace(self, rows: Ints, replaced: Sequence[int]) -> None:
        """Restore all rows, then make those of `replaced` jumps, which have no slots."""
        rows[:, :2] = self._rows[:, :2]
        for row in replaced:
            rows[row, :2] = 0, self._no_slot
