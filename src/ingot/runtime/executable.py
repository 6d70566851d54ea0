"""A plan made ready to run: inputs checked by the caller go in, results come out, and what goes wrong is told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.prim.tensor import Tensor
from ingot.runtime.body import KERNEL_ERROR, Reference, Unsettled
from ingot.runtime.fast_path import FastPath
from ingot.runtime.plan import GuardFailed, Plan, StepObserver

if TYPE_CHECKING:
    from ingot.ir.model import Model
    from ingot.runtime.evaluate import Evaluation
    from ingot.runtime.interrupt import Interrupt


class Deoptimised(Exception):
    """What was given is not what was compiled for: an index is out of range, or sizes are not as the message says.

    If a guard failed (`is_guard`), another plan may run it; else the reference does, or says what is wrong.
    """

    def __init__(self, reason: str, *, is_guard: bool) -> None:
        super().__init__(reason)
        self.is_guard = is_guard


class Executable:
    """A plan with all that a run needs beside inputs: the nodes that the reference runs."""

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
        self.fast_path = FastPath(plan, self.outputs)
        self._most = most_bytes

    def run(
        self,
        feeds: Mapping[str, Any],
        evaluation: Callable[[Model], Evaluation],
        interrupt: Interrupt | None,
        observe: StepObserver | None = None,
    ) -> list[Any]:
        """The outputs of the model; Interrupted where `interrupt` ends the run.

        `evaluation` is how the reference runs nodes of a model. `observe` is called after each step of the plan.
        Deoptimised if a kernel met an error, or sizes are not as assumed.
        """
        state = np.zeros(16, np.int32)
        if interrupt is not None:
            interrupt.attach(state)
        try:
            call = Reference(evaluation, self.calls, state, observe).caller(self.plan)
            values = self.plan.run(feeds, call, state, observe, self._most)
        except (GuardFailed, Unsettled) as reason:
            raise Deoptimised(str(reason), is_guard=True) from None
        finally:
            if interrupt is not None:
                interrupt.detach(state)
        if interrupt is not None:
            interrupt.check()
        if state[0]:
            raise Deoptimised(KERNEL_ERROR, is_guard=False)
        self.fast_path.learn(feeds, self._most)
        return [values[tensor] for tensor in self.outputs]
