"""Running again what ran before: for inputs of sizes seen already, only the memory of inputs and results is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.dtypes import Array
from ingot.prim.tensor import Tensor
from ingot.runtime.address import address_of
from ingot.runtime.plan import Plan, fresh_array
from ingot.runtime.thread_pool import Job, thread_pool

if TYPE_CHECKING:
    from ingot.runtime.interrupt import Interrupt

_MOST_KNOWN = 32
"""Sizes of inputs that are remembered."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What follows from the types and sizes of inputs: where their addresses go, what is returned, and idle frames."""

    steps: Array
    places: tuple[int, ...]
    fresh: tuple[tuple[int, tuple[int, ...], Any], ...]
    order: tuple[int, ...]
    slots: Array
    offsets: Array
    arena: int
    idle: list[_Frame]


@dataclass(frozen=True, slots=True)
class _Frame:
    """What one run at a time needs: a table of addresses, memory, a word for errors."""

    slots: Any
    state: Array
    job: Job
    arena: Array


class FastPath:
    """The quick way through a plan: one piece without calls, whose results are all computed."""

    def __init__(self, plan: Plan, outputs: Sequence[Tensor]) -> None:
        self._plan = plan
        self._outputs = outputs
        self._names = tuple(plan.inputs)
        self._known: dict[tuple[Any, ...], _Known] = {}
        self._takes = len(plan.segments) == 1 and plan.segments[0].call is None
        self._takes &= all(tensor in plan.placed or not tensor.shape for tensor in plan.inputs.values())

    def run(self, feeds: Mapping[str, Any], interrupt: Interrupt | None = None) -> list[Any] | None:
        """The results; None if this has to go the long way: other sizes, other types, or something to complain of.

        Interrupted where `interrupt` ends the run.
        """
        if not self._known or len(feeds) != len(self._names):
            return None
        key: list[Any] = []
        arrays: list[Array] = []
        for name in self._names:
            array = feeds.get(name)
            if type(array) is not np.ndarray or not array.flags.c_contiguous:
                return None
            key += (array.shape, array.dtype)
            arrays.append(array)
        known = self._known.get(tuple(key))
        if known is None:
            return None
        frame = _one_of(known.idle) or self._frame(known)
        slots = frame.slots
        for place, array in zip(known.places, arrays, strict=True):
            slots[place] = address_of(array)
        results: list[Any] = []
        for slot, shape, dtype in known.fresh:
            result = fresh_array(shape, dtype)
            slots[slot] = address_of(result)
            results.append(result)
        if interrupt is None:
            thread_pool().start(frame.job)
        else:
            self._interruptible(frame, interrupt)
        if frame.state[0]:
            frame.state[0] = 0
            known.idle.append(frame)
            return None
        known.idle.append(frame)
        return [results[index] for index in known.order]

    def _interruptible(self, frame: _Frame, interrupt: Interrupt) -> None:
        """Run a frame; it is not used again once it was stopped."""
        state = frame.state
        interrupt.attach(state)
        try:
            thread_pool().start(frame.job)
        finally:
            interrupt.detach(state)
        if state[1]:
            self._plan.give_back(frame.arena)
        interrupt.check()

    def learn(self, feeds: Mapping[str, Any], most: int) -> None:
        """Remember what follows from inputs that ran, unless that takes more than `most` bytes."""
        if not self._takes or set(feeds) != set(self._names) or len(self._known) >= _MOST_KNOWN:
            return
        plan = self._plan
        arrays = [feeds[name] for name in self._names]
        if any(type(array) is not np.ndarray for array in arrays):
            return
        bound = plan.bound(feeds)
        made = [tensor for _, tensor, _, _ in bound.fresh]
        if bound.needed > most or any(tensor not in made for tensor in self._outputs):
            return
        if len(set(self._outputs)) != len(self._outputs):
            return
        places = tuple(plan.placed.get(plan.inputs[name], len(plan.template) - 1) for name in self._names)
        fresh = tuple((slot, shape, dtype) for slot, _, shape, dtype in bound.fresh)
        order = tuple(made.index(tensor) for tensor in self._outputs)
        key = tuple(part for array in arrays for part in (array.shape, array.dtype))
        self._known[key] = _Known(bound.steps, places, fresh, order, bound.slots, bound.offsets, bound.arena, [])

    def _frame(self, known: _Known) -> _Frame:
        """A new frame; those of other sizes give their memory back, so that it is not kept once for each."""
        for other in self._known.values():
            while other is not known and (frame := _one_of(other.idle)) is not None:
                self._plan.give_back(frame.arena)
        slots = self._plan.template.copy()
        arena = self._plan.take(known.arena)
        slots[known.slots] = known.offsets + arena.ctypes.data
        state = np.zeros(16, np.int32)
        job = Job(known.steps, slots, state, self._plan.threads)
        words: Any = slots
        return _Frame(memoryview(words).cast("B").cast("q"), state, job, arena)


def _one_of(idle: list[_Frame]) -> _Frame | None:
    """A frame that is not in use; None if there is none. To look first is no use: other threads take them too."""
    try:
        return idle.pop()
    except IndexError:
        return None
