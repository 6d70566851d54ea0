"""The fast path: for inputs of types and sizes that ran before, a plan is ready, and nothing is left to check.

The native run of the last inputs is tried first (`native_run.py`): it finds out by itself whether these are like them.
Others are looked up by their types and sizes. Where only the sizes are new, the plan itself checks all that there is to
check, and binds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ingot.dtypes import DType
from ingot.errors import IngotError
from ingot.prim.tensor import Call, RandomKey
from ingot.runtime.call_chain import Chain, whole_chain
from ingot.runtime.direct_calls import DirectCall, Ending, direct_calls
from ingot.runtime.feeds import strings_of
from ingot.runtime.frame import Frame
from ingot.runtime.guards import GuardFailed
from ingot.runtime.interrupt import Interrupt
from ingot.runtime.plan import Plan
from ingot.runtime.ready_plan import ReadyPlan
from ingot.runtime.recent import remember
from ingot.runtime.results import owned
from ingot.runtime.run import ByteLimit, PlanRunner

_MOST_READY = 32
"""Types and sizes of inputs that are remembered."""


class FastPath:
    """The fast path of a plan: what is ready, by the shapes and types of inputs."""

    def __init__(self, plan: Plan, is_body: bool = False) -> None:
        """Of a body, inputs that no kernel reads need no checks, and results may be inputs, constants, or views."""
        self._names = tuple(plan.inputs)
        placed = frozenset(name for name, tensor in plan.inputs.items() if tensor in plan.placed)
        self._compared = placed if is_body else frozenset(self._names)
        self._is_body = is_body
        self._are_numbers = all(tensor.dtype is not DType.UNDEFINED for tensor in plan.inputs.values())
        """Whether all inputs are tensors of numbers: no strings, and no sequences."""
        self._ready: dict[tuple[Any, ...], ReadyPlan | None] = {}
        """The types and sizes of inputs that ran, and the plan ready for them, once such inputs came again."""
        self._runner: PlanRunner | None = None
        self._calls: Mapping[Call, DirectCall] | None = None
        self.chain: Chain | None = None
        """The whole of a body that only makes calls, for inputs of all kinds."""
        self.is_closed = False
        """Whether there never is one: a call needs more of a run than its inputs."""
        self._limit = ByteLimit(0)
        self._kinds: dict[tuple[Any, ...], None] = {}
        """The types and ranks of inputs that ran."""
        self._draws = any(isinstance(segment.call, RandomKey) for segment in plan.segments)
        self._checks_all = is_body or (self._are_numbers and len(placed) == len(self._names))
        """Whether the plan itself checks every input that there is something to check of."""
        self._can_bind = self._checks_all and not self._draws
        """Whether it runs inputs of new sizes by itself, too."""

    def run(
        self,
        feeds: Mapping[str, Any],
        interrupt: Interrupt | None = None,
        seed: int = 0,
        on_device: bool = False,  # noqa: ARG002 - on the host results stay where they are
    ) -> list[Any] | None:
        """The outputs for a seed of random numbers; None if this is no fast path.

        That is so for other sizes, other types, and an error that a kernel met.

        Interrupted where `interrupt` ends the run.
        """
        runner = self._runner
        if runner is None:
            return None
        frame = runner.frame()
        if frame.seed != seed:
            frame.seed = seed
            if self._draws:  # a native run has the keys of a seed
                frame.native = frame.active = None
        if interrupt is not None:
            interrupt.attach(frame.state)
        results = None
        try:
            results = self.run_in(frame, feeds, interrupt)
        finally:
            if interrupt is not None:
                interrupt.detach(frame.state)
            if results is None or interrupt is not None:
                frame.words[0] = frame.words[1] = 0
            runner.frames.append(frame)
        if interrupt is not None:
            interrupt.check()
        return results

    def run_in(self, frame: Frame, feeds: Mapping[str, Any], ending: Ending) -> list[Any] | None:
        """The same in a frame, whose state the caller has to look after."""
        native = frame.native
        return self.complete(frame, feeds, None if native is None else native(feeds), ending)

    def complete(
        self, frame: Frame, feeds: Mapping[str, Any], returned: list[Any] | Literal[False] | None, ending: Ending
    ) -> list[Any] | None:
        """The same after the native run that a frame is ready for, if there is one, returned this."""
        if returned is None:
            return self._looked_up(frame, feeds, ending)
        active: ReadyPlan = frame.active
        if returned is False:
            return active.run_otherwise(frame, feeds, ending)
        return returned if active.is_whole else active.finish(frame, feeds, returned, ending)

    def _looked_up(self, frame: Frame, feeds: Mapping[str, Any], ending: Ending) -> list[Any] | None:
        """The outputs for feeds that are unlike the last ones, or for which there is no native run."""
        if len(feeds) != len(self._names):
            return None
        key: list[Any] = []
        arrays: list[Any] = []
        for name in self._names:
            array = feeds.get(name)
            if name not in self._compared:
                arrays.append(array)
                continue
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
        ready = self._prepared(tuple(key), arrays)
        if ready is None:
            return self._bound_anew(frame, tuple(key), arrays)
        return ready.run(frame, dict(zip(self._names, arrays, strict=True)), ending)

    def _bound_anew(self, frame: Frame, key: tuple[Any, ...], inputs: list[Any]) -> list[Any] | None:
        """The outputs for inputs of new sizes, but of types and ranks that ran; None if there is more to check."""
        if not self._can_bind or self._calls or self._kinds_of(inputs) not in self._kinds:
            return None
        runner = self._runner
        assert runner is not None
        frame.native = frame.active = None
        try:
            results = runner.run(frame, inputs, _no_call, None, self._limit)
        except (GuardFailed, IngotError):
            return None
        if results is not None:
            remember(self._ready, key, None, _MOST_READY)
        is_own = results is None or self._is_body or runner.gives_fresh_arrays
        return results if results is None or is_own else owned(results, inputs)

    def _prepared(self, key: tuple[Any, ...], inputs: list[Any]) -> ReadyPlan | None:
        """The plan for inputs of a key; None if such inputs never ran."""
        ready = self._ready.get(key)
        if ready is None and key in self._ready:
            assert self._runner is not None
            assert self._calls is not None
            ready = ReadyPlan(self._runner, inputs, self._calls, self._limit.left, self._is_body)
            remember(self._ready, key, ready, _MOST_READY)
        return ready

    def learn(
        self,
        runner: PlanRunner,
        feeds: Mapping[str, Any],
        most_bytes: int,
        direct: Callable[[Call], DirectCall | None],
    ) -> bool:
        """Note that inputs like these ran, if the plan has a fast path; whether it has.

        A run may take `most_bytes`; `direct` is what computes the node of a call.
        """
        if set(feeds) != set(self._names):
            return False
        arrays = [feeds[name] for name in self._names]
        key = key_of_feeds([feeds[name] for name in self._names if name in self._compared])
        if key is None:
            return False
        if self._runner is None:
            calls = None if runner.plan.device is not None else direct_calls(runner.plan, direct)
            if calls is None:
                self.is_closed = True
                return False
            self._calls, self._limit, self._runner = calls, ByteLimit(most_bytes), runner
            if self._is_body:
                self.chain = whole_chain(runner, calls, most_bytes)
        if self._checks_all:
            remember(self._kinds, self._kinds_of(arrays), None, _MOST_READY)
        remember(self._ready, key, self._ready.get(key), _MOST_READY)
        return True

    def _kinds_of(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The types and ranks of the arrays among the inputs that are compared."""
        named = zip(self._names, inputs, strict=True)
        return tuple([(array.dtype, array.ndim) for name, array in named if name in self._compared])


def _no_call(call: Call | RandomKey, _arguments: list[Any]) -> Sequence[Any]:
    raise AssertionError(f"a plan without calls makes {call}")


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
