"""A plan with everything that a run needs besides inputs, which the caller has checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingot.prim.tensor import Tensor
from ingot.runtime.body import BodyRunners, Calls
from ingot.runtime.fast_path import FastPath
from ingot.runtime.guards import KernelError
from ingot.runtime.plan import Plan, StepObserver
from ingot.runtime.run import ByteLimit, PlanRunner

if TYPE_CHECKING:
    from ingot.ir.model import Model
    from ingot.runtime.evaluate import Evaluation
    from ingot.runtime.interrupt import Interrupt


class Executable:
    """A plan that can be run, by many threads at a time."""

    def __init__(
        self,
        plan: Plan,
        outputs: Sequence[Tensor],
        calls: Callable[[], Model],
        most_bytes: int,
    ) -> None:
        """`calls` gives the model that the nodes of calls belong to; a run may take `most_bytes`."""
        self.plan = plan
        self.outputs = tuple(outputs)
        self.calls = calls
        self.fast_path = FastPath(plan)
        self._limit = ByteLimit(most_bytes)
        self._bodies = BodyRunners(plan)
        self._runner: PlanRunner | None = None

    def run(
        self,
        feeds: Mapping[str, Any],
        evaluation: Callable[[Model], Evaluation],
        interrupt: Interrupt | None,
        observe: StepObserver | None = None,
    ) -> list[Any]:
        """The outputs of the model; Interrupted where `interrupt` ends the run.

        `evaluation` is how the reference runs nodes of a model. `observe` is called after each step of the plan.
        GuardFailed if something is not as was assumed, KernelError if a kernel met an error.
        """
        inputs = [feeds.get(name) for name in self.plan.inputs]
        runner = self.runner
        with runner.running(interrupt) as frame:
            calls = Calls(evaluation, self.calls, frame, observe)
            results = runner.run(frame, inputs, calls.caller(self._bodies), observe, self._limit)
            binding = frame.first.binding
        if results is None:
            raise KernelError
        self.fast_path.learn(runner, feeds, binding, self._limit.left, lambda: calls.evaluation)
        return results

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
