"""A segment of a plan for one run after another, of other sizes each time: what follows from these is computed anew."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ingot.dims import Dim, formula, lower_bound
from ingot.dtypes import Array
from ingot.prim.tensor import Tensor
from ingot.runtime.arena import ALIGN, Life, offsets
from ingot.runtime.plan import (
    MOST_BYTES,
    MOST_STEPS,
    Allocation,
    GuardFailed,
    Jump,
    KernelStep,
    Plan,
    Segment,
    bind,
    jump_operands,
    unequal,
)
from ingot.runtime.thread_pool import Job

_Sizes = tuple[int, ...]
_Follows = Callable[..., tuple[_Sizes, _Sizes, _Sizes, _Sizes, _Sizes, _Sizes, _Sizes, tuple[_Sizes, ...]]]
"""From the sizes that a segment depends on to both sides of its claims, what kernels and turns are told, sizes that may
come out negative, the bytes of rooms in the arena and of fresh ones, and the shapes of the latter."""


class Rebinding:
    """A segment with a table of slots; `fresh` is what has to have memory of its own before `job` is started."""

    fresh: Sequence[tuple[int, Tensor, Any, tuple[int, ...]]]

    def __init__(self, plan: Plan, segment: Segment, slots: Any, words: Any) -> None:
        """`words` are `slots` as a memory view."""
        self.call = segment.call
        self.fresh = ()
        self.needed = 0
        self._plan = plan
        self._segment = segment
        self._slots, self._words = slots, words
        self._state = np.zeros(16, np.int32)
        self._key: _Sizes | None = None
        self._arena: Any = None
        self._inside = [room for room in segment.rooms if room.fresh is None]
        self._outside = [(r.slot, r.fresh, r.dtype.numpy) for r in segment.rooms if r.fresh is not None]
        self._rooms: _Sizes = (0,) * len(self._inside)
        self._whole = 0
        self._follows = None if segment.sides else _follows(segment, plan.runs)
        kernels = segment.kernels
        ordered = sorted(kernels, key=lambda kernel: isinstance(kernel, Jump))
        told = {
            each: each.sizes if isinstance(each, KernelStep) else jump_operands(each, plan.runs) for each in ordered
        }
        count = sum(map(len, told.values()))
        self._told: Any = np.zeros(count + 1, np.int64)
        self._pack = struct.Struct(f"{count}q").pack_into
        places: dict[KernelStep | Jump, int] = {}
        place = int(self._told.ctypes.data)
        for kernel, own in told.items():
            places[kernel] = place
            place += 8 * len(own)
        which = [np.asarray(kernel.which, np.int32) for kernel in segment.kernels]
        rows = [
            (kernel.address if isinstance(kernel, KernelStep) else 0, each.ctypes.data, places[kernel])
            for kernel, each in zip(segment.kernels, which, strict=True)
        ]
        steps = np.asarray(rows, np.int64).reshape(-1, 3)
        self._which = which
        self._bound: Any = None
        self._job = self.job = Job(steps, slots, self._state, 1) if rows else None

    def use(self, state: Array) -> None:
        """Have kernels say in `state` that they met an error, and look there whether to stop."""
        self._state = state
        for job in (self._job, self.job):
            if job is not None:
                job.use(state)

    def ready(self, known: Mapping[str, int]) -> None:
        """Make ready for sizes, by name; GuardFailed if they are not such as were taken for granted."""
        key = tuple([known[name] for name in self._segment.names])
        if key == self._key:
            return
        self._key = None
        if not self._quickly(key):
            self._slowly(known)
        if self.job is not None:
            self.job.divide(self._plan.threads)
        self._key = key

    def _quickly(self, key: _Sizes) -> bool:
        """Whether that could be done with what there is: rooms that are empty, and branches, are rare."""
        if self._follows is None:
            return False
        try:
            one, other, told, turns, signs, inside, outside, shapes = self._follows(*key)
        except ZeroDivisionError:
            return False
        if one != other:
            pairs = zip(self._segment.claims, one, other, strict=True)
            raise GuardFailed(next(unequal(*pair, a, b) for pair, a, b in pairs if a != b))
        if told and (max(told) > MOST_STEPS or min(told) < -MOST_STEPS):
            return False
        if (signs and min(signs) < 0) or 0 in inside or 0 in outside or sum(inside) + sum(outside) > MOST_BYTES:
            return False
        self._pack(self._told, 0, *told, *turns)
        self.job = self._job
        for size, room in zip(inside, self._rooms, strict=True):
            if size > room:
                self._place(inside)
                break
        self.fresh = [(*room, shape) for room, shape in zip(self._outside, shapes, strict=True)]
        self.needed = self._whole + sum(outside)
        return True

    def _place(self, sizes: _Sizes) -> None:
        """Find places in the arena for buffers that may grow by an eighth before this has to be done again."""
        rooms = tuple(_rounded(size) for size in sizes)
        self._rooms = (0,) * len(rooms)
        lives = [Life(size, room.first, room.last) for size, room in zip(rooms, self._inside, strict=True)]
        places, self._whole = offsets(lives)
        self._take(self._whole)
        start = self._arena.ctypes.data
        for room, place in zip(self._inside, places, strict=True):
            self._words[room.slot] = start + place
        self._rooms = rooms  # only now: there may have been no memory

    def _slowly(self, known: Mapping[str, int]) -> None:
        bound = bind(self._segment, known)
        self.job = Job(bound.steps, self._slots, self._state, 1) if len(bound.steps) else None
        self._bound = bound
        self._rooms = (0,) * len(self._inside)
        if bound.arena:
            self._take(bound.arena)
            self._slots[bound.slots] = bound.offsets + self._arena.ctypes.data
        self.fresh = [(slot, tensor, dtype, shape) for slot, tensor, shape, dtype in bound.fresh]
        self.needed = bound.needed

    def _take(self, size: int) -> None:
        if self._arena is None or self._arena.nbytes < size:
            self._arena, before = self._plan.take(size), self._arena
            if before is not None:
                self._plan.give_back(before)


def _rounded(size: int) -> int:
    """A size with all but its first three bits rounded up."""
    step = max(ALIGN, 1 << max(0, size.bit_length() - 4))
    return -(-size // step) * step


def _follows(segment: Segment, runs: int) -> _Follows:
    """What follows from the sizes that a segment depends on, as a function of them in order."""
    names = {name: f"a{place}" for place, name in enumerate(segment.names)}

    def listed(dims: Sequence[Dim]) -> str:
        return "(" + "".join(f"{formula(dim, names)}, " for dim in dims) + ")"

    def total(room: Allocation) -> str:
        return "*".join([str(room.dtype.numpy.itemsize), *(f"({formula(dim, names)})" for dim in room.shape)])

    kernels = segment.kernels
    inside = [room for room in segment.rooms if room.fresh is None]
    outside = [room for room in segment.rooms if room.fresh is not None]
    parts = [
        listed([one for one, _ in segment.claims]),
        listed([other for _, other in segment.claims]),
        listed([dim for kernel in kernels if isinstance(kernel, KernelStep) for dim in kernel.sizes]),
        listed([dim for kernel in kernels if isinstance(kernel, Jump) for dim in jump_operands(kernel, runs)]),
        listed([dim for room in segment.rooms for dim in room.shape if not _is_natural(dim)]),
        "(" + "".join(f"{total(room)}, " for room in inside) + ")",
        "(" + "".join(f"{total(room)}, " for room in outside) + ")",
        "(" + "".join(f"{listed(room.shape)}, " for room in outside) + ")",
    ]
    found: _Follows = eval(f"lambda {', '.join(names.values())}: ({', '.join(parts)})", {"max": max, "min": min})
    return found


def _is_natural(dim: Dim) -> bool:
    """Whether a size cannot be negative."""
    least = lower_bound(dim)
    return least is not None and least >= 0
