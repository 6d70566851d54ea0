"""A plan: kernels and calls in order, with everything about sizes and memory that does not change from run to run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ingot.codegen.elf import LinkedCode
from ingot.codegen.jumps import FAIL, GO
from ingot.dims import Dim, evaluate, symbols
from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.prim.tensor import Call, CallResult, Tensor
from ingot.runtime.arena import ALIGN, Life, offsets
from ingot.runtime.limits import RunLimits, exceeded
from ingot.runtime.thread_pool import thread_pool

if TYPE_CHECKING:
    from ingot.ir.value import Value

Ints = np.ndarray[Any, np.dtype[np.int64]]

MOST_BYTES = 1 << 46
MOST_STEPS = 1 << 62
MOST_RUNS = (1 << 63) - 1
"""More often than that nothing is run."""

_MOST_BINDINGS = 64
"""Sizes that a plan remembers what follows from."""


@dataclass(frozen=True, eq=False, slots=True)
class KernelStep:
    """A kernel in a plan: where its code is, which slots it reads and writes, and the sizes it is told."""

    name: str
    address: int
    which: tuple[int, ...]
    sizes: tuple[Dim, ...]
    writes: tuple[int, ...] = ()
    """Those of the slots that it writes to, if it is for nothing where these are empty."""


@dataclass(frozen=True, eq=False, slots=True)
class Jump:
    """A step that says which comes next, by its row: it begins a loop or its next run, or chooses; see `codegen`."""

    name: str
    does: int
    which: tuple[int, ...]
    yes: int
    no: int = 0
    trips: Dim = MOST_RUNS
    pairs: int = 0


@dataclass(frozen=True, slots=True)
class Arm:
    """The rows of one side of a choice, from `first` to before `end`; it is not run where its claims do not hold."""

    first: int
    end: int
    claims: tuple[tuple[Dim, Dim], ...]


@dataclass(frozen=True, slots=True)
class Allocation:
    """A slot that memory is found for: in the arena of its segment, or (`fresh`) an array of its own."""

    slot: int
    dtype: DType
    shape: tuple[Dim, ...]
    first: int
    last: int
    fresh: Tensor | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Segment:
    """Kernels that run without a stop, the memory they need first, and the call that follows them."""

    kernels: tuple[KernelStep | Jump, ...]
    rooms: tuple[Allocation, ...]
    names: tuple[str, ...]
    """The named sizes that all this depends on."""
    claims: tuple[tuple[Dim, Dim], ...]
    """Sizes that were taken to be equal."""
    call: Call | None
    sides: tuple[Arm, ...] = ()
    base: int = 0
    """What rooms call the first of the kernels."""


@dataclass(frozen=True, eq=False, slots=True)
class Body:
    """A graph inside of a node, as a plan: `taken` are the inputs of the graph, then what it captures.

    `captured` are the names of the latter around the node, `nodes` is what a run of it counts for. Where sizes are not
    as they were taken to be, the reference runs the graph; if it is `strict`, all of the model, as the graph has been
    changed for these sizes. One without a plan is never as it was taken to be. `first` is what every run would compute
    alike: it takes what is captured, and what it gives is taken after that.
    """

    plan: Plan | None
    taken: tuple[str, ...]
    captured: tuple[str, ...]
    outputs: tuple[Tensor, ...]
    nodes: int
    strict: bool = False
    first: Body | None = None


class GuardFailed(Exception):
    """Sizes that were taken to be equal are not, as the message says: the reference has to say what that means."""


StepObserver: TypeAlias = Callable[[KernelStep | Call, float, Mapping[str, int]], None]
"""Called after each step with it, the seconds it took, and the named sizes known by then."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A segment for certain sizes."""

    steps: Ints
    keep: tuple[Any, ...]
    slots: Ints
    offsets: Ints
    arena: int
    fresh: tuple[tuple[int, Tensor, tuple[int, ...], Any], ...]
    needed: int
    """Bytes of the arena and of what is fresh."""


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """How the results of a model are computed.

    `slots` is how many places of memory there are; `template` holds the addresses of constants, which `keep` owns.
    `placed` tells the slot of each tensor that a caller gives or a call makes, `made` what a call makes; `results` are
    returned.
    """

    segments: tuple[Segment, ...]
    inputs: Mapping[str, Tensor]
    placed: Mapping[Tensor, int]
    results: tuple[Tensor, ...]
    template: Ints
    constants: Mapping[Tensor, Array]
    made: Mapping[Call, Sequence[CallResult]]
    keep: tuple[Any, ...]
    threads: int
    memory: tuple[tuple[int, Array], ...] = ()
    """The arrays that constants are in, by slot."""
    codes: Mapping[int, LinkedCode] = field(default_factory=dict)
    """The code of kernels, by its address; none where it is no plain code."""
    runs: int = MOST_RUNS
    """How often the bodies of loops are run, all together, before the reference is asked what to say of it."""
    bodies: Mapping[Call, tuple[Body | None, ...]] = field(default_factory=dict)
    """The graphs inside of nodes that the reference runs, in order, where they have plans of their own."""
    reads: dict[Call, list[Value | None]] = field(default_factory=dict)
    """What the nodes of calls, and the graphs in them, read: found when they are made."""
    frames: list[Any] = field(default_factory=list)
    """What runs of it need and have left."""
    _bound: dict[tuple[int, tuple[int, ...]], Bound] = field(default_factory=dict)
    _arenas: list[Array] = field(default_factory=list)
    _lock: Any = field(default_factory=threading.Lock)

    def run(
        self,
        feeds: Mapping[str, Any],
        call: Callable[[Call, list[Any]], Sequence[Any]],
        state: Array,
        observe: StepObserver | None = None,
        most: int | None = None,
    ) -> dict[Tensor, Any]:
        """What every result holds, for the given inputs; `call` runs what the reference has to.

        `state` is of 32-bit words: the first is set by kernels that met an error, the second, by anybody, to stop.
        With `observe`, kernels are started one by one, each when all threads are done with the one before. LimitError,
        before anything is allocated for it, if a segment needs more than `most` bytes, by default those of `RunLimits`.
        """
        most = RunLimits().most_bytes if most is None else most
        values: dict[Tensor, Any] = dict(self.constants)
        slots = self.template.copy()
        known: dict[str, int] = {"threads": self.threads, "runs": self.runs}
        for name, tensor in self.inputs.items():
            given = feeds.get(name)
            values[tensor] = given
            if tensor in self.placed:
                self._given(tensor, given, slots, values, known)
        for tensor in self.inputs.values():  # a size may be told by an input that comes later
            if tensor in self.placed:
                self._require_sizes(tensor, values[tensor], known)
        arenas: list[Array] = []
        try:
            for number, segment in enumerate(self.segments):
                bound = self._bind(number, segment, known)
                if bound.needed > most:
                    said = f"the values of this run take {bound.needed:,} bytes, the limit is {most:,}"
                    raise exceeded(said, "memory", f"{bound.needed:_}")
                most -= bound.needed
                if bound.arena:
                    arena = self.take(bound.arena)
                    arenas.append(arena)
                    slots[bound.slots] = bound.offsets + arena.ctypes.data
                for slot, tensor, shape, dtype in bound.fresh:
                    array = values[tensor] = fresh_array(shape, dtype)
                    slots[slot] = array.ctypes.data
                if observe is not None:
                    self._observed(segment, bound, slots, state, known, observe)
                elif len(bound.steps):
                    thread_pool().run(bound.steps, slots, state, self.threads)
                if state[0] or state[1]:
                    break
                if segment.call is not None:
                    begin = perf_counter()
                    self.make(segment.call, call, slots, values, known)
                    if observe is not None:
                        observe(segment.call, perf_counter() - begin, known)
        finally:
            with self._lock:
                self._arenas.extend(arenas)
        return values

    def _observed(
        self,
        segment: Segment,
        bound: Bound,
        slots: Ints,
        state: Array,
        known: Mapping[str, int],
        observe: StepObserver,
    ) -> None:
        place = 0
        while place < len(segment.kernels) and not (state[0] or state[1]):
            kernel = segment.kernels[place]
            begin = perf_counter()
            following = thread_pool().run(bound.steps[place : place + 1], slots, state, self.threads)
            if isinstance(kernel, Jump):
                place = following
            else:
                observe(kernel, perf_counter() - begin, known)
                place += 1

    def make(
        self,
        step: Call,
        call: Callable[[Call, list[Any]], Sequence[Any]],
        slots: Ints,
        values: dict[Tensor, Any],
        known: dict[str, int],
    ) -> None:
        """Make a call, and note what it gives; GuardFailed if that is not what it was taken to be."""
        results = call(step, [None if tensor is None else values[tensor] for tensor in step.arguments])
        for tensor in self.made.get(step, ()):
            values[tensor] = results[tensor.index]
            if tensor in self.placed:
                self._given(tensor, values[tensor], slots, values, known)
        for tensor in self.made.get(step, ()):
            if tensor in self.placed:
                self._require_sizes(tensor, values[tensor], known)

    def _given(self, tensor: Tensor, given: Any, slots: Ints, values: dict[Tensor, Any], known: dict[str, int]) -> None:
        """Take an array as what a tensor is: its memory, and the sizes it has; GuardFailed if it is of another type."""
        array = np.ascontiguousarray(given)
        values[tensor] = array if array.shape == np.shape(given) else array.reshape(np.shape(given))
        slots[self.placed[tensor]] = array.ctypes.data
        shape = values[tensor].shape
        if len(shape) != tensor.rank or array.dtype != tensor.dtype.numpy:
            raise GuardFailed(f"{self._label(tensor)} is {array.dtype}{list(shape)}, {described(tensor)} was assumed")
        for size, real in zip(tensor.shape, shape, strict=True):
            if symbols(size) == {str(size)}:
                known.setdefault(str(size), real)

    def _require_sizes(self, tensor: Tensor, array: Array, known: Mapping[str, int]) -> None:
        """GuardFailed if an array has other sizes than a tensor; those with an unknown name are no kernel's."""
        for axis, (size, real) in enumerate(zip(tensor.shape, array.shape, strict=True)):
            if symbols(size) <= known.keys():
                assumed = size if isinstance(size, int) else evaluate(size, known)
                if assumed != real:
                    shown = f"{size} = {assumed}" if size is not assumed else str(size)
                    raise GuardFailed(f"axis {axis} of {self._label(tensor)} is {real}, {shown} was assumed")

    def _label(self, tensor: Tensor) -> str:
        """What a tensor that has been given is called in messages."""
        if isinstance(tensor, CallResult):
            return f"result {tensor.index} of {tensor.call.node.op_type} '{tensor.call.node.label}'"
        return next((f"input '{name}'" for name, each in self.inputs.items() if each is tensor), "a tensor")

    def bound(self, feeds: Mapping[str, Any]) -> Bound:
        """What follows from inputs for the first segment; GuardFailed if they are not what was compiled for."""
        known: dict[str, int] = {"threads": self.threads, "runs": self.runs}
        values: dict[Tensor, Any] = {}
        for name, tensor in self.inputs.items():
            if tensor in self.placed:
                self._given(tensor, feeds[name], self.template.copy(), values, known)
        return self._bind(0, self.segments[0], known)

    def _bind(self, number: int, segment: Segment, known: Mapping[str, int]) -> Bound:
        key = (number, tuple(known[name] for name in segment.names))
        bound = self._bound.get(key)
        if bound is None:
            bound = bind(segment, known)
            with self._lock:
                if len(self._bound) >= _MOST_BINDINGS * len(self.segments):
                    self._bound.clear()
                self._bound[key] = bound
        return bound

    def give_back(self, arena: Array) -> None:
        """Leave memory to the next run."""
        with self._lock:
            self._arenas.append(arena)

    def take(self, size: int) -> Array:
        """Memory of at least so many bytes, that of an earlier run if it is large enough."""
        with self._lock:
            for index, arena in enumerate(self._arenas):
                if arena.nbytes >= size:
                    return self._arenas.pop(index)
            self._arenas.clear()
        return aligned(size)


def bind(segment: Segment, known: Mapping[str, int]) -> Bound:
    """What follows from sizes: those that kernels are told, and where buffers lie.

    InputError if a buffer would be out of all proportion, GuardFailed if sizes are not equal that were taken to be.
    """

    def size(dim: Dim) -> int:
        return dim if isinstance(dim, int) else evaluate(dim, known)

    for one, other in segment.claims:
        if size(one) != size(other):
            raise GuardFailed(unequal(one, other, size(one), size(other)))
    closed = [side for side in segment.sides if not _holds(side, segment, size)]
    rooms = [
        ((0,), 0) if _is_in(room, closed, segment.base) else _roomy(room, tuple(size(dim) for dim in room.shape))
        for room in segment.rooms
    ]
    empty = {room.slot for room, (_, total) in zip(segment.rooms, rooms, strict=True) if not total}
    rows, keep = [], []
    for place, kernel in enumerate(segment.kernels):
        if any(side.first <= place < side.end for side in closed):
            kernel = _REFUSAL
        elif isinstance(kernel, KernelStep) and kernel.writes and empty.issuperset(kernel.writes):
            kernel = Jump("nothing", GO, (-1,), place + 1)  # however many steps of its outer loops there are
        which = np.asarray(kernel.which, np.int32)
        own = kernel.sizes if isinstance(kernel, KernelStep) else jump_operands(kernel, known.get("runs", MOST_RUNS))
        told = [size(dim) for dim in own]
        if isinstance(kernel, KernelStep) and max(map(abs, told), default=0) > MOST_STEPS:
            raise InputError(f"a computation over these sizes takes {max(map(abs, told)):,} steps")
        sizes = np.asarray(told or [0], np.int64)
        keep += [which, sizes]
        rows.append((kernel.address if isinstance(kernel, KernelStep) else 0, which.ctypes.data, sizes.ctypes.data))
    lives, slots, fresh = [], [], []
    for room, (shape, total) in zip(segment.rooms, rooms, strict=True):
        if room.fresh is not None:
            fresh.append((room.slot, room.fresh, shape, room.dtype.numpy))
        else:
            lives.append(Life(total, room.first, room.last))
            slots.append(room.slot)
    places, whole = offsets(lives)
    needed = whole + sum(total for room, (_, total) in zip(segment.rooms, rooms, strict=True) if room.fresh is not None)
    steps = np.asarray(rows, np.int64).reshape(-1, 3)
    spots = np.asarray(slots, np.int64), np.asarray(places, np.int64)
    return Bound(steps, tuple(keep), *spots, whole, tuple(fresh), needed)


def unequal(one: Dim, other: Dim, first: int, second: int) -> str:
    """That two sizes differ that were assumed to be equal."""
    sides = [f"{dim} = {size}" if dim is not size else str(dim) for dim, size in ((one, first), (other, second))]
    return f"sizes that were assumed to be equal are not: {sides[0]}, {sides[1]}"


def described(tensor: Tensor) -> str:
    """The element type and the sizes of a tensor, in messages."""
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def jump_operands(step: Jump, most: int) -> tuple[Dim, ...]:
    """What a step is told that says which comes next."""
    return (step.does, step.yes, step.no, step.trips, step.pairs, most)


_REFUSAL = Jump("refusal", FAIL, (-1,), 0)


def _holds(side: Arm, segment: Segment, size: Callable[[Dim], int]) -> bool:
    """Whether one side of a choice can be run: its sizes are such as there can be, and equal where they have to be."""
    try:
        if any(size(one) != size(other) for one, other in side.claims):
            return False
        inside = [room for room in segment.rooms if _is_in(room, [side], segment.base)]
        return all(size(dim) >= 0 for room in inside for dim in room.shape)
    except ValueError:
        return False


def _is_in(room: Allocation, sides: Sequence[Arm], base: int) -> bool:
    return any(side.first <= room.first - base and room.last - base < side.end for side in sides)


def _roomy(room: Allocation, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """The sizes of a room, and the bytes it takes; InputError if these are out of all proportion."""
    total = room.dtype.numpy.itemsize
    for each in shape:
        total *= max(each, 0)
    if total > MOST_BYTES:
        raise InputError(f"a value of sizes {list(shape)} takes {total:,} bytes")
    return shape, total


def fresh_array(shape: tuple[int, ...], dtype: Any) -> Array:
    """Memory for a result, which will be the caller's."""
    return np.empty(shape, dtype)


def aligned(size: int) -> Array:
    """Bytes that begin at a cache line, and one more line that may be read past the end."""
    room = np.empty(size + 2 * ALIGN, np.uint8)
    start = -room.ctypes.data % ALIGN
    return room[start : start + size + ALIGN]
