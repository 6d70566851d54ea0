"""Trips of a loop whose body has a plan: many of them in one job, with the sizes that states have in each.

A body that the reference runs is bound and started from Python each time, which takes longer than a small body does.
Here the steps of the body are written out once for every trip, each with its own slots and scalars, so that the thread
pool walks from trip to trip alone: sizes follow from those of the trip before, and the condition is a jump.

    trip 0                  trip 1                  trip 2
    kernels, go on or end   kernels, go on or end   kernels, go on or end
    x ▸ even buffer         even ▸ odd buffer       odd ▸ even buffer
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from ingot.codegen.job import JobLayout
from ingot.codegen.jumps import CHOOSE, GO, JumpOperands
from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.ops.define import Runs
from ingot.runtime.arena import ALIGN
from ingot.runtime.bind import Binding
from ingot.runtime.entry import Entry
from ingot.runtime.frame import Frame, aligned
from ingot.runtime.guards import GuardFailed
from ingot.runtime.ledger import Ledger
from ingot.runtime.limits import exceeded
from ingot.runtime.plan import Ints, Jump
from ingot.runtime.recent import remember
from ingot.runtime.run import PlanRunner
from ingot.runtime.thread_pool import Job, thread_pool

Shapes = tuple[tuple[int, ...], ...]

_FIRST_TRIPS = 8
"""Trips that are written out before it is known how many a loop makes."""

_MOST_TRIPS = 4096
"""Trips of one job at most."""

_MOST_BYTES = 1 << 22
"""Bytes of the tables and of the collected rows of a job, from which on no more trips are added.

A job whose states take more is the only one that a frame keeps.
"""

_MOST_SECONDS = 0.02
"""Seconds that a job of several trips may take, about, and as many to write it: signals are handled between jobs."""

_BRIEF = 0.005
"""Seconds up to which nobody waits for a job to be interrupted, as long as it takes no longer than the last time."""

_JOBS = 8
"""Jobs that a frame keeps for the next run, by the sizes of states."""

_FORESEEN = 48
"""Trips after those of a job whose memory is looked at: as often can a state be doubled."""

_OPERANDS = 6
"""Words of the operands of a jump."""


@dataclass(frozen=True, slots=True)
class _State:
    """A state of a loop, or its condition: where it enters, and the result it becomes; None if it stays as it is."""

    entry: Entry
    result: int | None


class TripRunner:
    """A plan of the body of a loop, ready for many trips at a time: what all runs of it share."""

    def __init__(self, runner: PlanRunner, entries: Sequence[Entry], states: list[_State], rows: list[int]) -> None:
        """`entries` are those of the inputs, the fixed ones last; `rows` are the results that are collected."""
        self.runner = runner
        self.prepared = runner.segments[0]
        self.number = entries[0]
        self.states = states
        self.rows = rows
        self.entries = [state.entry for state in states if state.entry.is_placed]
        same = [*(state.entry for state in states if state.result is None), *entries[1 + len(states) :]]
        self.same = _slots_of(same)
        self.changing = _slots_of(state.entry for state in states if state.result is not None)
        self.trips = _FIRST_TRIPS
        """How many trips are written out at first: as many as the loop made before."""

    def begin(self, frame: Frame) -> TripRun:
        """The trips of a loop with a frame whose last inputs are fixed."""
        return TripRun(self, frame)


def trip_runner(runner: PlanRunner, inputs: int) -> TripRunner | None:
    """The runner of many trips of a body with so many inputs beside the fixed ones; None if it cannot be run so.

    The body has to be one segment of kernels, and what it gives results of them, or states that it leaves alone.
    """
    if runner.plan.device is not None or len(runner.segments) != 1 or inputs < 2:
        return None
    (prepared,) = runner.segments
    if prepared.call is not None or not prepared.steps:
        return None
    places = {number: place for place, (number, _, _) in enumerate(prepared.results)}
    states: list[_State] = []
    for entry, number in zip(runner.entries[1:inputs], runner.outputs, strict=False):
        place = places.get(number)
        if place is None and number != entry.number and (states or not runner.is_true(number)):
            return None
        if place is not None and entry.is_placed and prepared.results[place][2] != entry.tensor.dtype.numpy:
            return None
        states.append(_State(entry, place))
    rows = [places.get(number, -1) for number in runner.outputs[len(states) :]]
    return None if -1 in rows else TripRunner(runner, runner.entries, states, rows)


def _slots_of(entries: Iterable[Entry]) -> list[int]:
    return [entry.slot for entry in entries if entry.slot is not None]


class TripRun:
    """The trips of one loop, with a frame whose last inputs are fixed."""

    def __init__(self, shared: TripRunner, frame: Frame) -> None:
        self._shared = shared
        self._frame = frame
        self._fixed = tuple(frame.sizes.values())
        self._most = _MOST_TRIPS
        self._so_far = 0

    def run(self, first: int, most: int, conditional: bool, states: Sequence[Any], ledger: Ledger) -> Runs | None:
        """At most so many trips from number `first` on, as in `Runtime.repeat`; None if the state says that they ended.

        GuardFailed if not even one trip can be made so: states are not as assumed, or there is no memory for it.
        LimitError, at once, if a later trip, which no condition keeps the loop from, takes more memory than is left.
        """
        shared, frame = self._shared, self._frame
        values, sizes = frame.values.copy(), frame.sizes.copy()
        for state, array in zip(shared.states, states, strict=True):
            state.entry.admit(array, values, sizes, frame.slots)
        arrays = [values[state.entry.number] for state in shared.states]
        shapes = tuple([getattr(array, "shape", ()) for array in arrays])
        wanted = min(most, self._most, max(shared.trips, 2 * self._so_far))
        key = (shapes, self._fixed, conditional)
        job = frame.trips.get(key)
        if (
            job is None
            or (job.trips < wanted and not job.is_complete)
            or (job.needed > ledger.few and job.needed > ledger.left)
        ):
            frame.trips.pop(key, None)
            course = _Course(shared, frame, ledger.left)
            course.follow(shapes, wanted)
            if not (conditional and shared.states[0].result is not None):
                course.look_ahead(min(most - wanted, _FORESEEN))
            if course.excess:
                amounts = f"{course.excess:,} bytes, {ledger.left:,} are left"
                raise exceeded(f"the values of a run of a body take {amounts}", "memory", f"{course.excess:_}")
            if not course.bindings:
                raise GuardFailed((), sizes, "not one trip of a loop is as it was assumed")
            if course.offsets()[-1] > _MOST_BYTES:
                frame.trips.clear()  # before there is another
            job = _Job(shared, frame, course, conditional)
            remember(frame.trips, key, job, _JOBS)
        begin = perf_counter()
        count = job.run(frame, first, min(most, job.trips))
        if count is None:
            return None
        seconds = perf_counter() - begin
        job.is_interruptible = seconds > _BRIEF
        if seconds > _MOST_SECONDS:
            self._most = max(1, int(count * _MOST_SECONDS / seconds))
        self._so_far += count
        shared.trips = max(_FIRST_TRIPS, min(self._so_far, _MOST_TRIPS))
        charge = ledger.charge_new
        after = arrays
        for place, state in enumerate(shared.states):
            if state.result is not None:
                after[place] = job.result(state.result, count - 1)
                charge(after[place])
        rows = {}
        for place, result in enumerate(shared.rows, len(after)):
            rows[place] = job.collected(result, count)
            charge(rows[place])
        return Runs(count, after, rows)


class _Course:
    """Trips that follow each other: their bindings, and the memory they need behind the arena.

    Results that are `stacked` have memory for each trip, one after the other; others for two trips, which take turns.
    """

    def __init__(self, shared: TripRunner, frame: Frame, left: int) -> None:
        """A course that may take `left` bytes."""
        self.bindings: list[Binding] = []
        self.arena = 0
        self.sizes = [0] * len(shared.prepared.results)
        self.is_complete = False
        """Whether no more trips can follow in one job."""
        self.excess = 0
        """The bytes of a trip ahead that takes more than are left even alone; 0 if none is known."""
        condition = shared.states[0].result
        self.stacked = frozenset([*shared.rows, *(() if condition is None else (condition,))])
        self._shared = shared
        self._frame = frame
        self._left = left
        self._next: Shapes = ()
        prepared = shared.prepared
        self._of_a_table = (
            8 * len(frame.table)
            + 4 * len(prepared.table.numbers)
            + 24 * len(prepared.steps)
            + 8 * prepared.binder.words
        )

    def follow(self, shapes: Shapes, most: int) -> None:
        """Add trips until there are so many, the first with states of these shapes, or time is up."""
        end = thread_time() + _MOST_SECONDS
        while len(self.bindings) < most and not self.is_complete:
            is_late = bool(self.bindings) and thread_time() > end
            binding = None if is_late else self._bound(shapes)
            if binding is None:
                self.is_complete = True
                break
            before, shapes = shapes, self._after(binding, shapes)
            self.is_complete = not self._add(binding, most - len(self.bindings) if shapes == before else 1)
            self._next = before if self.is_complete else shapes

    def look_ahead(self, most: int) -> None:
        """Find out whether one of so many trips that come after these takes more bytes than are left."""
        shapes = self._next
        for _ in range(most if self.bindings else 0):
            binding = self._bound(shapes)
            if binding is None or self.excess:
                break
            self.excess = self._excess_of(binding)
            before, shapes = shapes, self._after(binding, shapes)
            if before == shapes:
                break

    def offsets(self) -> list[int]:
        """Where each result begins, then where the numbers of trips do, and the end."""
        trips, offsets = len(self.bindings), [_lines(self.arena)]
        for place, size in enumerate(self.sizes):
            own = trips * size if place in self.stacked else min(trips, 2) * _lines(size)
            offsets.append(offsets[-1] + _lines(own))
        return [*offsets, offsets[-1] + _lines(8 * trips)]

    def _bound(self, shapes: Shapes) -> Binding | None:
        """The binding of a trip; None if states of these shapes are not as assumed."""
        sizes = self._frame.sizes.copy()
        shared = self._shared
        own = {state.entry.number: shape for state, shape in zip(shared.states, shapes, strict=True)}
        own[shared.number.number] = (1,) * shared.number.tensor.rank
        for entry in (shared.number, *shared.entries):
            shape = own[entry.number]
            if entry.is_placed and (len(shape) != entry.tensor.rank or not entry.fits(shape, sizes)):
                return None
        for check in shared.runner.checks:
            if check.entry.number in own and not check.holds(own[check.entry.number], sizes):
                return None
        try:
            return shared.prepared.binder.bind(sizes)
        except (GuardFailed, InputError):
            return None

    def _after(self, binding: Binding, shapes: Shapes) -> Shapes:
        """The shapes of states after a trip."""
        pairs = zip(self._shared.states, shapes, strict=True)
        return tuple([shape if state.result is None else binding.shapes[state.result] for state, shape in pairs])

    def _add(self, binding: Binding, count: int) -> bool:
        """Add as many of these trips as there is memory for; whether that is all of them."""
        trips = len(self.bindings)
        if trips and any(binding.shapes[place] != self.bindings[0].shapes[place] for place in self.stacked):
            return False
        own = self._bytes_of(binding)
        arena, sizes = max(self.arena, binding.layout.total), list(map(max, self.sizes, own))
        of_rows = 8 + sum(sizes[place] for place in self.stacked)
        turns = 1 if trips + count == 1 else 2
        of_states = sum(turns * _lines(size) for place, size in enumerate(sizes) if place not in self.stacked)
        spare = self._left - _lines(arena) - of_states - (len(sizes) + 2) * ALIGN
        most = min(spare // of_rows, max(1, _MOST_BYTES // (self._of_a_table + of_rows)))
        added: int = min(count, most - trips)
        if added > 0:
            self.bindings += [binding] * added
            self.arena, self.sizes = arena, sizes
        return added == count

    def _bytes_of(self, binding: Binding) -> list[int]:
        """The bytes of each result of a trip."""
        results = zip(binding.shapes, self._shared.prepared.results, strict=True)
        return [prod(shape) * dtype.itemsize for shape, (_, _, dtype) in results]

    def _excess_of(self, binding: Binding) -> int:
        """The bytes of a trip, if they are more than are left; else 0."""
        needed = binding.layout.total + sum(self._bytes_of(binding))
        return needed if needed > self._left else 0


class _Job:
    """Trips written out, ready to be walked over and over."""

    def __init__(self, shared: TripRunner, frame: Frame, course: _Course, conditional: bool) -> None:
        self.trips = trips = len(course.bindings)
        self.is_complete = course.is_complete
        self._shared = shared
        self._shapes = [binding.shapes for binding in course.bindings]
        *starts, numbers, self.needed = course.offsets()
        self._memory = aligned(self.needed)
        self._address = int(self._memory.ctypes.data)
        every = np.arange(trips, dtype=np.int64)
        self._offsets = [
            start + (every * size if place in course.stacked else every % 2 * _lines(size))
            for place, (start, size) in enumerate(zip(starts, course.sizes, strict=True))
        ]
        self._numbers = self._memory[numbers : numbers + 8 * trips].view(np.int64)
        self._numbers[:] = every
        self._first = 0
        condition = shared.states[0].result if conditional else None
        self._flags = None if condition is None else self._memory[starts[condition] : starts[condition] + trips]
        self._slots = self._table(frame, course)
        table: Any = self._slots
        self._first_slots = memoryview(table).cast("B").cast("q")
        self._same: list[int] = []
        self._steps, self._keep = self._written(frame, course, condition)
        threads = shared.runner.plan.threads
        self._job = Job(self._steps, self._slots, frame.state, threads, is_interruptible=True)
        self._state = frame.state
        self._most = trips

    @property
    def is_interruptible(self) -> bool:
        """Whether Ctrl-C ends it, or it is over soon."""
        return self._job.is_interruptible

    @is_interruptible.setter
    def is_interruptible(self, is_interruptible: bool) -> None:
        self._job.is_interruptible = is_interruptible

    def run(self, frame: Frame, first: int, most: int) -> int | None:
        """Make at most so many trips; how many there were, or None if the state says that the run ended."""
        shared, flags, addresses = self._shared, self._flags, frame.slots
        for slot in shared.changing:
            self._first_slots[slot] = addresses[slot]
        same = [addresses[slot] for slot in shared.same]
        if same != self._same:
            self._slots[:, shared.same] = self._same = same
        if first != self._first:
            self._numbers[:] = np.arange(first, first + self.trips)
            self._first = first
        if flags is not None:
            flags[:] = 1
        if frame.state is not self._state:
            self._state = frame.state
            self._job.use(frame.state)
        if most != self._most:
            self._job.words[JobLayout.STEP_COUNT] = most * (len(shared.prepared.steps) + 1)
            self._most = most
        thread_pool().start(self._job)
        if frame.words[0] or frame.words[1]:
            return None
        if flags is None:
            return most
        last = int(flags[:most].argmin())
        return most if flags[last] else last + 1

    def result(self, place: int, trip: int) -> Array:
        """A copy of a result of a trip."""
        return self._view(place, trip, self._shapes[trip][place]).copy()

    def collected(self, place: int, count: int) -> Array:
        """A copy of a result of each of the first trips, which all have the same sizes."""
        return self._view(place, 0, (count, *self._shapes[0][place])).copy()

    def _view(self, place: int, trip: int, shape: tuple[int, ...]) -> Array:
        begin, dtype = int(self._offsets[place][trip]), self._shared.prepared.results[place][2]
        return self._memory[begin : begin + prod(shape) * dtype.itemsize].view(dtype).reshape(shape)

    def _table(self, frame: Frame, course: _Course) -> Ints:
        """The slots of every trip; those of the states before the first are left to the run."""
        shared, prepared = self._shared, self._shared.prepared
        slots = np.tile(frame.table, (self.trips, 1))
        layouts = [binding.layout.offsets for binding in course.bindings]
        if prepared.binder.arena:
            columns = [allocation.slot for allocation in prepared.binder.arena]
            slots[:, columns] = self._address + np.array(layouts, np.int64).reshape(self.trips, -1)
        for (_, slot, _), offsets in zip(prepared.results, self._offsets, strict=True):
            slots[:, slot] = self._address + offsets
        for state in shared.states:
            if state.result is not None and state.entry.slot is not None:
                slots[1:, state.entry.slot] = self._address + self._offsets[state.result][:-1]
        if shared.number.slot is not None:
            slots[:, shared.number.slot] = int(self._numbers.ctypes.data) + 8 * np.arange(self.trips)
        return slots

    def _written(self, frame: Frame, course: _Course, condition: int | None) -> tuple[Ints, tuple[Any, ...]]:
        """The steps of all trips, and the arrays that they point to: slot numbers and scalars.

        Behind the steps of a trip is a jump to the next trip, or out of the last one where the condition fails.
        """
        prepared, trips = self._shared.prepared, self.trips
        binder, table = prepared.binder, prepared.table
        per_trip = len(prepared.steps) + 1
        bases = np.arange(trips, dtype=np.int64) * per_trip
        own = -1 if condition is None else prepared.results[condition][1]
        numbers = np.array([*table.numbers, own], np.int32)
        shifts = (np.arange(trips, dtype=np.int64) * len(frame.table))[:, np.newaxis]
        slot_numbers = np.where(numbers < 0, numbers, numbers + shifts).astype(np.int32)
        words = np.zeros((trips, binder.words + _OPERANDS), np.int64)
        packed = b"".join([binding.scalars for binding in course.bindings])
        words[:, : binder.words] = np.frombuffer(packed, np.int64).reshape(trips, -1)
        jumps = [place for step, place in zip(prepared.steps, binder.places, strict=True) if isinstance(step, Jump)]
        for place in (*jumps, binder.words):
            for operand in (JumpOperands.TARGET, JumpOperands.OTHERWISE):
                words[:, place + operand] += bases
        words[:, binder.words + JumpOperands.KIND] = GO if condition is None else CHOOSE
        words[:, binder.words + JumpOperands.TARGET] = bases + per_trip
        words[:, binder.words + JumpOperands.OTHERWISE] = trips * per_trip
        steps = np.empty((trips, per_trip, 3), np.int64)
        steps[:, :-1] = table.at(0)
        steps[:, :-1, 1] -= table.address
        steps[:, -1] = 0, 4 * (len(numbers) - 1), 8 * binder.words
        for trip, binding in enumerate(course.bindings):
            for row in binding.replaced:
                steps[trip, row, :2] = 0, 4 * (len(numbers) - 1)
                if not isinstance(prepared.steps[row], Jump):
                    words[trip, binder.places[row] + JumpOperands.TARGET] += bases[trip]
        steps[:, :, 1] += slot_numbers.ctypes.data + 4 * len(numbers) * np.arange(trips)[:, np.newaxis]
        steps[:, :, 2] += words.ctypes.data + 8 * words.shape[1] * np.arange(trips)[:, np.newaxis]
        return steps.reshape(-1, 3), (slot_numbers, words)


def _lines(size: int) -> int:
    """A size rounded up to cache lines."""
    return -(-size // ALIGN) * ALIGN
