"""The fast path: for inputs of types and sizes that ran before, a plan is ready, and nothing is left to check.

The native run of the last inputs is tried first (`native_run.py`): it finds out by itself whether these are like them.
Others are looked up by their types and sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.prim.tensor import Call
from ingot.runtime.direct_calls import DirectCall, direct_calls
from ingot.runtime.feeds import strings_of
from ingot.runtime.frame import Frame
from ingot.runtime.interrupt import Interrupt
from ingot.runtime.plan import Plan
from ingot.runtime.ready_plan import ReadyPlan
from ingot.runtime.recent import remember
from ingot.runtime.run import PlanRunner

_MOST_READY = 32
"""Types and sizes of inputs that are remembered."""


class FastPath:
    """The fast path of a plan: what is ready, by the shapes and types of inputs."""

    def __init__(self, plan: Plan) -> None:
        self._names = tuple(plan.inputs)
        self._are_numbers = all(tensor.dtype is not DType.UNDEFINED for tensor in plan.inputs.values())
        """Whether all inputs are tensors of numbers: no strings, and no sequences."""
        self._ready: dict[tuple[Any, ...], ReadyPlan] = {}
        self._runner: PlanRunner | None = None

    def run(self, feeds: Mapping[str, Any], interrupt: Interrupt | None = None, seed: int = 0) -> list[Any] | None:
        """The outputs for a seed of random numbers; None if this is no fast path.

        That is so for other sizes, other types, and an error that a kernel met.

        Interrupted where `interrupt` ends the run.
        """
        runner = self._runner
        if runner is None:
            return None
        frame = runner.frame()
        frame.seed = seed
        if interrupt is not None:
            interrupt.attach(frame.state)
        results = None
        try:
            native = frame.native
            returned = None if native is None else native(feeds)
            if returned is None:
                results = self._looked_up(frame, feeds, interrupt)
            elif returned is False:
                results = frame.active.run_otherwise(frame, feeds, interrupt)
            elif frame.active.is_whole:
                results = returned
            else:
                results = frame.active.finish(frame, feeds, returned, interrupt)
        finally:
            if interrupt is not None:
                interrupt.detach(frame.state)
            if results is None or interrupt is not None:
                frame.words[0] = frame.words[1] = 0
            runner.frames.append(frame)
        if interrupt is not None:
            interrupt.check()
        return results

    def _looked_up(self, frame: Frame, feeds: Mapping[str, Any], interrupt: Interrupt | None) -> list[Any] | None:
        """The outputs for feeds that are unlike the last ones, or for which there is no native run."""
        if len(feeds) != len(self._names):
            return None
        key: list[Any] = []
        arrays: list[Any] = []
        for name in self._names:
            array = feeds.get(name)
            if type(array) is not np.ndarray:
                if self._are_numbers or (sequence := _key_of_sequence(array)) is None:
                    return None
                key += (type(array), sequence)
                arrays.append(array)
                continue
            if not array.flags.c_contiguous:
                array = np.ascontiguousarray(array)
            if not self._are_numbers and array.dtype.kind in "OU":
                array = strings_of(array)
                if array is None:
                    return None
            key += (array.shape, array.dtype)
            arrays.append(array)
        ready = self._ready.get(tuple(key))
        return None if ready is None else ready.run(frame, dict(zip(self._names, arrays, strict=True)), interrupt)

    def learn(
        self,
        runner: PlanRunner,
        feeds: Mapping[str, Any],
        most_bytes: int,
        direct: Callable[[Call], DirectCall | None],
    ) -> bool:
        """Have the plan ready for inputs like those that ran, if it has a fast path; whether it has.

        A run may take `most_bytes`; `direct` is what computes the node of a call.
        """
        if set(feeds) != set(self._names):
            return False
        arrays = [feeds[name] for name in self._names]
        key = key_of_feeds(arrays)
        if key is None:
            return False
        ready = self._ready.get(key) or _ready(runner, arrays, most_bytes, direct)
        if ready is None:
            return False
        remember(self._ready, key, ready, _MOST_READY)
        self._runner = ready.runner
        return True


def key_of_feeds(feeds: Sequence[Any]) -> tuple[Any, ...] | None:
    """The types and sizes of arrays, and of those in lists; None if there is anything else."""
    parts: list[Any] = []
    for feed in feeds:
        if type(feed) is np.ndarray:
            parts += (feed.shape, feed.dtype)
        elif (sequence := _key_of_sequence(feed)) is not None:
            parts += (type(feed), sequence)
        else:
            return None
    return tuple(parts)


def _key_of_sequence(feed: Any) -> tuple[Any, ...] | None:
    """The types and sizes of the arrays of numbers in a list, of an empty optional none; None for anything else."""
    if feed is None:
        return ()
    if type(feed) is not list:
        return None
    if any(type(item) is not np.ndarray or item.dtype.kind not in "biufc" for item in feed):
        return None
    return tuple((item.shape, item.dtype) for item in feed)


def _ready(
    runner: PlanRunner, inputs: Sequence[Any], most_bytes: int, direct: Callable[[Call], DirectCall | None]
) -> ReadyPlan | None:
    """A plan ready for inputs like these; None if it has no fast path: on a device, or with calls that need more."""
    plan = runner.plan
    if plan.device is not None:
        return None
    calls = direct_calls(plan, direct)
    return None if calls is None else ReadyPlan(runner, inputs, calls, most_bytes)
