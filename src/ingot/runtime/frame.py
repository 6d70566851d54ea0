"""Frames: the memory of one run of a plan, reused by the next run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from ingot.codegen.jumps import BEGIN, JumpSlots
from ingot.dtypes import Array
from ingot.runtime.arena import ALIGN
from ingot.runtime.bind import Binding, Layout
from ingot.runtime.device import Block
from ingot.runtime.large_results import is_large, result_memory
from ingot.runtime.plan import Ints, Jump, KernelStep, Placement, Plan
from ingot.runtime.provider import DeviceMemory
from ingot.runtime.recent import remember
from ingot.runtime.segment import PreparedSegment
from ingot.runtime.thread_pool import Job

NativeFunction: TypeAlias = Callable[[Any], list[Any] | Literal[False] | None]
"""A native run, from feeds to outputs; None for other feeds, False where the run ended without results."""

_STATE_WORDS = 16

_MOST_REPLAYS = 8
"""Bindings whose kernels a device begins all at once, for each segment of a frame."""

_MANY_TRIPS = 100_000
"""Trips of a loop from which on Ctrl-C is looked for meanwhile."""


class SegmentFrame:
    """A segment in a frame: its steps and their scalars, its arena, and the job that runs it."""

    __slots__ = (
        "_block",
        "_device",
        "_layout",
        "_numbers",
        "_replays",
        "_scalars",
        "_shared",
        "_slots",
        "_table",
        "_threads",
        "arena",
        "binding",
        "job",
        "prepared",
        "rows",
    )

    def __init__(
        self,
        prepared: PreparedSegment,
        slots: Ints,
        words: memoryview,
        state: Array,
        threads: int,
        device: DeviceMemory | None,
    ) -> None:
        """`words` are `slots` as a memory view, which is quicker to write to."""
        self.prepared = prepared
        self.binding: Binding | None = None
        self.arena: Array | None = None
        self._block: Block | None = None
        scalars: Any = np.zeros(max(1, prepared.binder.words), np.int64)
        self.rows = prepared.table.at(scalars.ctypes.data)
        is_endless = any(map(_may_be_endless, prepared.steps))
        self.job = Job(self.rows, slots, state, 1, is_interruptible=is_endless) if len(self.rows) else None
        self._scalars = memoryview(scalars).cast("B")[: 8 * prepared.binder.words]
        self._layout: Layout | None = None
        self._slots = words
        self._threads = threads
        self._device = device
        self._table = slots
        self._numbers = np.asarray(prepared.table.numbers, np.int64)
        self._replays: dict[tuple[int, bytes, int], tuple[Binding, Callable[[], None] | None]] = {}
        self._shared = [] if device is None else self._share(device)

    def install(self, binding: Binding) -> None:
        """Prepare to run with a binding: write its scalars, and place its allocations in the arena."""
        previous, self.binding = self.binding, None  # there may be no memory
        if binding.layout is not self._layout:
            self._layout = None
            self._place(binding.layout)
            self._layout = binding.layout
        self._scalars[:] = binding.scalars
        if binding.replaced or (previous is not None and previous.replaced):
            self.prepared.table.replace(self.rows, binding.replaced)
        if self._threads > 1 and self.job is not None:
            self.job.divide(self._threads)
        self.binding = binding

    @property
    def memory_address(self) -> int:
        """Where its arena on a device is; zero if it has none."""
        return 0 if self._block is None else self._block.address

    def begin(self, device: DeviceMemory, start: Callable[[Job], None]) -> None:
        """Begin the kernels of the job: by `start`, or all at once, where they ran before at the same addresses."""
        job, binding = self.job, self.binding
        assert job is not None
        assert binding is not None
        if not self.prepared.is_straight or binding.replaced:
            start(job)
            return
        key = id(binding), self._table[self._numbers].tobytes(), int(job.state.ctypes.data)
        if key not in self._replays:
            start(job)
            remember(self._replays, key, (binding, None), _MOST_REPLAYS)
            return
        replay = self._replays[key][1] or device.capture(lambda: start(job))
        if replay is None:
            start(job)
        else:
            self._replays[key] = binding, replay
            replay()

    def _place(self, layout: Layout) -> None:
        if not layout.total:
            return
        start = self._arena_at(layout.total)
        for allocation, offset in zip(self.prepared.binder.arena, layout.offsets, strict=True):
            self._slots[allocation.slot] = start + offset

    def _arena_at(self, size: int) -> int:
        """The address of an arena of so many bytes: that of before, if it is large enough."""
        if self._device is not None:
            if self._block is None or self._block.size < size:
                self._block = None  # before there is another
                self._block = Block(self._device, size)
            return self._block.address
        if self.arena is None or not is_enough(self.arena, size):
            self.arena = None
            self.arena = aligned(size)
        return int(self.arena.ctypes.data)

    def _share(self, device: DeviceMemory) -> list[Block]:
        """Place what the device and jumps share: single numbers, as jumps read no more."""
        blocks = []
        for allocation in self.prepared.binder.segment.allocations:
            if allocation.placement is Placement.SHARED:
                blocks.append(Block(device, allocation.dtype.numpy.itemsize, shared=True))
                self._slots[allocation.slot] = blocks[-1].address
        return blocks


class Frame:
    """Memory for one run of a plan at a time: the table of slots, the state of the run, and its segments.

    The first word of the state is set by kernels that met an error, the second, by anybody, to stop them. `values` and
    `sizes` are what is known before the inputs are: constants, captured values, and the named sizes of both.
    `trips` are the jobs of a loop whose body the plan is (`runtime/trips.py`). `native` is the native run that it is
    ready for, of the plan that is `active` in it; `native_runs` are all of them (`runtime/native_prefix.py`), on a
    device those of `runtime/device_path.py`, which are staged in `boxes`. `seed` is that of the random numbers of a run
    on the fast path.
    """

    __slots__ = (
        "_state_block",
        "active",
        "boxes",
        "first",
        "native",
        "native_runs",
        "prepared",
        "seed",
        "segments",
        "sizes",
        "slots",
        "state",
        "table",
        "trips",
        "values",
        "words",
    )

    def __init__(self, plan: Plan, segments: Sequence[PreparedSegment]) -> None:
        self.table = plan.template.copy()
        table: Any = self.table
        self.slots = memoryview(table).cast("B").cast("q")
        self._state_block = None if plan.device is None else Block(plan.device, 4 * _STATE_WORDS, shared=True)
        self.state = np.zeros(_STATE_WORDS, np.int32) if self._state_block is None else _words_at(self._state_block)
        self.words = _words(self.state)
        self.segments = [
            SegmentFrame(segment, self.table, self.slots, self.state, plan.threads, plan.device) for segment in segments
        ]
        self.first = self.segments[0]
        self.values: list[Any] = []
        self.sizes: dict[str, int] = {}
        self.trips: dict[Any, Any] = {}
        self.native: NativeFunction | None = None
        self.active: Any = None
        self.prepared: Any = None
        self.native_runs: dict[Any, Any] = {}
        self.boxes: Any = None
        self.seed = 0

    def share(self, state: Array) -> None:
        """Use the state of another frame, whose run this one is part of."""
        if state is not self.state:
            self.state = state
            self.words = _words(state)
            for segment in self.segments:
                if segment.job is not None:
                    segment.job.use(state)


def _words_at(block: Block) -> Array:
    """The memory of a state that a device shares, as an array."""
    memory: Any = (ctypes.c_int32 * _STATE_WORDS).from_address(block.address)
    words: Array = np.frombuffer(memory, np.int32)
    words[:] = 0
    return words


def _may_be_endless(step: KernelStep | Jump) -> bool:
    """Whether a step begins a loop whose trips are a number that a run computes, or so large that it takes long."""
    if not isinstance(step, Jump) or step.kind != BEGIN:
        return False
    return step.slots[JumpSlots.TRIPS] >= 0 or (isinstance(step.trips, int) and step.trips > _MANY_TRIPS)


def _words(state: Any) -> memoryview:
    return memoryview(state).cast("B").cast("i")


def is_enough(arena: Array, size: int) -> bool:
    """Whether an arena that is there can be used for so many bytes."""
    return arena.nbytes >= size + ALIGN


def fresh_array(shape: tuple[int, ...], dtype: Any) -> Array:
    """Memory for a result, which will be the caller's."""
    return result_memory().array(shape, dtype) if is_large(shape, dtype) else np.empty(shape, dtype)


def aligned(size: int) -> Array:
    """Bytes that begin at a cache line, and one more line that may be read past the end."""
    memory = np.empty(size + 2 * ALIGN, np.uint8)
    start = -memory.ctypes.data % ALIGN
    return memory[start : start + size + ALIGN]
