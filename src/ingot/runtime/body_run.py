"""Runs of one body of a node, one after the other: the captured values stay the same, the inputs change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ingot.errors import CheckError, InputError
from ingot.ops.define import Runs
from ingot.prim.tensor import Call
from ingot.runtime.body_path import FastBodyRun
from ingot.runtime.direct_calls import DirectCall
from ingot.runtime.frame import Frame
from ingot.runtime.guards import GuardFailed, KernelError
from ingot.runtime.run import PlanRunner
from ingot.runtime.trips import TripRun

if TYPE_CHECKING:
    from ingot.runtime.body import BodyRunner, Calls


class BodyRun:
    """Runs of one body: the captured values stay the same, the inputs change."""

    def __init__(
        self, shared: BodyRunner, runner: PlanRunner, captured: Sequence[Any], calls: Calls, depth: int
    ) -> None:
        assert shared.bodies is not None
        self._shared = shared
        self._runner = runner
        self._calls = calls
        self._evaluation = calls.evaluation
        self._call = calls.caller(shared.bodies, depth)
        self._nodes = 1 + shared.body.nodes
        self._observe = calls.observe
        self._ledger = self._evaluation.ledger
        self._words = calls.words
        self._captured = captured
        self._frame: Frame | None = None
        self._depth = depth
        self._fixed: list[Any] | None = None
        path = shared.path if calls.observe is None else None
        self._fast = (
            None if path is None or path.fast_path.is_closed else FastBodyRun(path, self._ledger, calls.interrupt)
        )
        self._trips: TripRun | None = None
        self._repeats = shared.trips is not None and calls.observe is None

    def run(self, inputs: Sequence[Any]) -> list[Any] | None:
        """The outputs of the body; None if the reference has to run it: a guard failed, or a kernel met an error.

        GuardFailed or KernelError if the reference cannot run it either, as the body is specialised. GuardFailed too
        where guards fail so often that the model is to be compiled otherwise.
        """
        evaluation = self._evaluation
        evaluation.proceed(self._nodes)
        drawn, fast, failures = evaluation.drawn, self._fast, self._shared.failures
        try:
            if fast is not None:
                results = fast.run([*inputs, *self._last()])
                if results is not None:
                    if failures.excess:
                        failures.forgive()
                    return results
            frame = self._frame or self._begin()
            results = self._runner.run(frame, inputs, self._call, self._observe, self._ledger)
        except GuardFailed as failed:
            if self._shared.body.specialised:
                raise
            if failures.note(failed, self._calls.recompiles):
                raise GuardFailed(failed.guards, failed.sizes, str(failed), of_body=True) from failed
            results = None
        if results is not None:
            if failures.excess:
                failures.forgive()
            if fast is not None:
                fast.learn([*inputs, *self._last()], self._direct)
                if fast.is_closed:
                    fast.close()
                    self._fast = None
            return results
        if self._words[1]:
            evaluation.proceed()
        if self._words[0]:
            self._words[0] = 0
            if self._shared.body.specialised:
                raise KernelError
        evaluation.drawn = drawn
        return None

    def repeat(self, first: int, most: int, conditional: bool, states: Sequence[Any]) -> Runs | None:
        """Runs of the body of a loop as in `Runtime.repeat`; None if the next has to be run by itself."""
        affordable = self._evaluation.runs_left(self._nodes)
        if not self._repeats or self._shared.trips is None or not affordable:
            return None
        try:
            frame = self._frame or self._begin()
            if self._trips is None:
                self._trips = self._shared.trips.begin(frame)
            runs = self._trips.run(first, min(most, affordable), conditional, states, self._ledger)
        except GuardFailed:
            runs = None
        if self._words[1]:
            self._evaluation.proceed()
        self._words[0] = 0
        if runs is None:
            self._repeats = False
            return None
        self._shared.failures.excess = 0
        self._evaluation.proceed(self._nodes * runs.count)
        return runs

    def close(self) -> None:
        """Give the frames back."""
        if self._fast is not None:
            self._fast.close()
        if self._frame is not None:
            frame, self._frame = self._frame, None
            self._runner.release(frame)

    def _begin(self) -> Frame:
        """A frame with the captured values and the invariants; GuardFailed if they are not as assumed."""
        fixed = self._last()
        frame = self._runner.frame()
        frame.share(self._calls.state)
        self._frame = frame
        try:
            self._runner.fix(frame, fixed)
        except GuardFailed:
            self.close()
            raise
        return frame

    def _last(self) -> list[Any]:
        """The last parameters, which are the same in all runs: the captured values and the invariants."""
        if self._fixed is None:
            self._fixed = [*self._captured, *self._invariant()]
        return self._fixed

    def _direct(self, call: Call) -> DirectCall | None:
        """What computes the node of a call of the body from its inputs alone; None if it needs more of a run."""
        assert self._shared.bodies is not None
        return self._shared.bodies.of(call).direct(self._evaluation)

    def _invariant(self) -> Sequence[Any]:
        """The invariants, computed once; GuardFailed if that fails: the body may fail before it needs them."""
        shared = self._shared.invariant
        if shared is None:
            return ()
        assert shared.runner is not None
        once = BodyRun(shared, shared.runner, (), self._calls, self._depth)
        try:
            results = once.run(self._captured)
        except (CheckError, InputError):
            results = None
        finally:
            once.close()
        if results is None:
            raise GuardFailed((), {}, "what all runs of a body share cannot be computed once")
        return results
