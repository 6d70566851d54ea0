"""A plan with everything that a run needs besides inputs, which the caller has checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.prim.guard import BROADCASTS
from ingot.prim.tensor import Call, Tensor
from ingot.runtime.assumptions import Assumptions
from ingot.runtime.body import BodyRunners, Calls
from ingot.runtime.device_path import DevicePath
from ingot.runtime.direct_calls import DirectCall
from ingot.runtime.fast_path import FastPath, key_of_feeds
from ingot.runtime.guards import GuardFailed, KernelError
from ingot.runtime.observed_types import TypeNotes
from ingot.runtime.plan import Plan, StepObserver
from ingot.runtime.recent import remember
from ingot.runtime.results import owned
from ingot.runtime.run import ByteLimit, PlanRunner

if TYPE_CHECKING:
    from ingot.ir.model import Model
    from ingot.runtime.evaluate import Evaluation
    from ingot.runtime.interrupt import Interrupt

_MOST_KEYS = 32
"""Types and sizes of inputs that are remembered."""


class Executable:
    """A plan that can be run, by many threads at a time."""

    def __init__(
        self,
        plan: Plan,
        outputs: Sequence[Tensor],
        calls: Callable[[], Model],
        most_bytes: int,
        assumptions: Assumptions | None = None,
    ) -> None:
        """`calls` gives the model that the nodes of calls belong to; a run may take `most_bytes`.

        `assumptions` are what the plan was compiled with.
        """
        self.plan = plan
        self.outputs = tuple(outputs)
        self.calls = calls
        self.fast_path = _fast_path(plan)
        self._limit = ByteLimit(most_bytes)
        self._bodies = BodyRunners(plan)
        self._runner: PlanRunner | None = None
        self._names = tuple(plan.inputs)
        self._ran: dict[tuple[Any, ...], None] = {}
        self.assumptions = assumptions or Assumptions()
        self._recompiles = BROADCASTS not in self.assumptions.reversed_choices

    def run(
        self,
        feeds: Mapping[str, Any],
        evaluation: Callable[[Model], Evaluation],
        interrupt: Interrupt | None,
        observe: StepObserver | None = None,
        notes: TypeNotes | None = None,
    ) -> list[Any]:
        """The outputs of the model; Interrupted where `interrupt` ends the run.

        `evaluation` is how the reference runs nodes of a model. `observe` is called after each step of the plan,
        `notes` are taken of results of unknown rank.
        GuardFailed if something is not as was assumed, or a body is never as was assumed and may be compiled otherwise;
        KernelError if a kernel met an error.
        """
        inputs = [feeds.get(name) for name in self.plan.inputs]
        runner = self.runner
        with runner.running(interrupt) as frame:
            calls = Calls(evaluation, self.calls, frame, observe, notes, interrupt, self._recompiles)
            results = runner.run(frame, inputs, calls.caller(self._bodies), observe, self._limit)
        if results is None:
            raise KernelError

        def direct(call: Call) -> DirectCall | None:
            return self._bodies.of(call).direct(calls.evaluation)

        if not self.fast_path.learn(runner, feeds, self._limit.left, direct) or self.plan.bodies:
            key = self._key(feeds)
            if key is not None:
                remember(self._ran, key, None, _MOST_KEYS)
        return results

    def run_again(
        self, feeds: Mapping[str, Any], evaluation: Callable[[Model], Evaluation], interrupt: Interrupt | None
    ) -> list[Any] | None:
        """The same for inputs of types and sizes that ran before, and so need no checks; None if these are others.

        None too where a guard fails or a kernel met an error. The results belong to the caller alone.
        """
        if not self._ran:
            return None
        key = self._key(feeds)
        if key is None or key not in self._ran:
            return None
        runner = self.runner
        inputs = [feeds[name] for name in self._names]
        try:
            with runner.running(interrupt) as frame:
                call = Calls(evaluation, self.calls, frame, None, None, interrupt, self._recompiles).caller(
                    self._bodies
                )
                results = runner.run(frame, inputs, call, None, self._limit)
        except GuardFailed:
            return None
        return results if results is None or runner.gives_fresh_arrays else owned(results, inputs)

    def forget(self) -> None:
        """Make the next runs in full, as if there had been none before."""
        self.fast_path = _fast_path(self.plan)
        self._ran = {}

    def _key(self, feeds: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """The types and sizes of the inputs; None if one is missing, or has to be looked at: strings, and maps."""
        if len(feeds) != len(self._names):
            return None
        arrays = [feeds.get(name) for name in self._names]
        if any(type(array) is np.ndarray and array.dtype.kind in "OUS" for array in arrays):
            return None
        return key_of_feeds(arrays)

    @property
    def runner(self) -> PlanRunner:
        """What runs the plan; it takes longer to build than a model that is in the cache takes to open.

        Threads that ask at once may each build one, which are as good as each other: a lock may be held when the
        process forks, and would be for ever.
        """
        runner = self._runner
        if runner is None:
            runner = self._runner = PlanRunner(self.plan, self.outputs)
        return runner


def _fast_path(plan: Plan) -> FastPath | DevicePath:
    return FastPath(plan) if plan.device is None else DevicePath(plan, plan.device)
