"""The fast path of a body: its plan is ready for inputs of shapes that ran before, from one trip to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ingot.prim.tensor import Call, RandomKey
from ingot.runtime.direct_calls import DirectCall
from ingot.runtime.fast_path import FastPath
from ingot.runtime.frame import Frame
from ingot.runtime.plan import Body
from ingot.runtime.run import PlanRunner

if TYPE_CHECKING:
    from ingot.runtime.interrupt import Interrupt
    from ingot.runtime.ledger import Ledger

_MOST_BYTES = 1 << 24
"""Bytes that a run on the fast path may take: one of a body that takes more takes long."""


class BodyPath:
    """The fast path of a body, which all runs of it share."""

    def __init__(self, body: Body) -> None:
        assert body.plan is not None
        self.names = body.parameters
        self.fast_path = FastPath(body.plan, is_body=True)
        self.runner = PlanRunner(body.plan, body.outputs)
        self.varies = False
        """Whether sizes were seen to change from trip to trip."""
        self._frames: list[list[Frame]] = []

    def take_frames(self) -> list[Frame]:
        """The frames of a run before that were given back, one for each of its first trips; or none."""
        try:
            return self._frames.pop()  # to look first is no use: other threads take them too
        except IndexError:
            return []

    def give_back(self, frames: list[Frame]) -> None:
        """Leave frames, which are the caller's alone, to the next run."""
        self._frames.append(frames)


def body_path(body: Body) -> BodyPath | None:
    """The fast path of a body; None if it has no plan, draws random numbers, or runs on a device."""
    plan = body.plan
    if plan is None or plan.device is not None or tuple(plan.inputs) != body.parameters:
        return None
    return None if any(isinstance(segment.call, RandomKey) for segment in plan.segments) else BodyPath(body)


class FastBodyRun:
    """Runs of a body on its fast path, in one frame.

    Small results are not followed by the ledger one by one: there is a limit on all of them together.
    """

    __slots__ = ("_few", "_frame", "_interrupt", "_ledger", "_path", "_uncounted")

    def __init__(self, path: BodyPath, ledger: Ledger, interrupt: Interrupt | None) -> None:
        self._path = path
        self._ledger = ledger
        self._interrupt = interrupt
        self._frame: Frame | None = None
        self._few = ledger.few
        self._uncounted = (ledger.left - _MOST_BYTES) // 4

    def run(self, values: Sequence[Any]) -> list[Any] | None:
        """The outputs of the body for all its parameters; None if these are not like those of a run before."""
        if self._uncounted < 0:
            return None
        path = self._path
        frame = self._frame or self._begin()
        results = path.fast_path.run_in(frame, dict(zip(path.names, values, strict=True)), self._interrupt)
        if results is None:
            frame.words[0] = frame.words[1] = 0
            return None
        for result in results:
            size = getattr(result, "nbytes", 0)
            if size > self._few:
                self._ledger.charge([result])
            else:
                self._uncounted -= size
        return results

    def learn(self, values: Sequence[Any], direct: Callable[[Call], DirectCall | None]) -> None:
        """Note that parameters like these ran; `direct` is what computes the node of a call."""
        feeds = dict(zip(self._path.names, values, strict=True))
        self._path.fast_path.learn(self._path.runner, feeds, _MOST_BYTES, direct)

    @property
    def is_closed(self) -> bool:
        """Whether there is no fast path."""
        return self._path.fast_path.is_closed

    def close(self) -> None:
        """Give the frame back."""
        if self._frame is not None:
            if self._interrupt is not None:
                self._interrupt.detach(self._frame.state)
                self._frame.words[0] = self._frame.words[1] = 0
            self._path.runner.release(self._frame)
            self._frame = None

    def _begin(self) -> Frame:
        frame = self._frame = self._path.runner.frame()
        if self._interrupt is not None:
            self._interrupt.attach(frame.state)
        return frame
