"""A plan with all that a run needs beside inputs: inputs checked by the caller go in, outputs come out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ingot.dtypes import Array
from ingot.errors import IngotError
from ingot.prim.tensor import Tensor
from ingot.runtime.body import BodyRunners, Reference
from ingot.runtime.fast_path import FastPath
from ingot.runtime.guards import KernelError
from ingot.runtime.plan import Plan, StepObserver
from ingot.runtime.run import ByteLimit, PlanRunner

if TYPE_CHECKING:
    from ingot.ir.model import Model
    from ingot.runtime.evaluate import Evaluation

_POLL = 0.005
"""Seconds between two looks at whether a run is to end."""


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
        self._limit = ByteLimit(most_bytes)
        self._runner = PlanRunner(plan, self.outputs)
        self._bodies = BodyRunners(plan)
        self.fast_path = FastPath(self._runner)

    def run(
        self,
        feeds: Mapping[str, Any],
        evaluation: Callable[[Model], Evaluation],
        proceed: Callable[[], None] | None,
        observe: StepObserver | None = None,
    ) -> list[Any]:
        """The outputs of the model; `proceed` is asked now and then whether to go on, and raises if not.

        `evaluation` is how the reference runs nodes of a model. `observe` is called after each step of the plan.
        GuardFailed if something is not as was assumed, KernelError if a kernel met an error.
        """
        frame = self._runner.frame()
        try:
            with _watched(frame.state, proceed):
                call = Reference(evaluation, self.calls, frame.state, observe).caller(self._bodies)
                inputs = [feeds.get(name) for name in self.plan.inputs]
                results = self._runner.run(frame, inputs, call, observe, self._limit)
            if proceed is not None:
                proceed()
            if results is None:
                raise KernelError
            self.fast_path.learn(feeds, frame.first.binding)
        finally:
            frame.words[0] = frame.words[1] = 0
            self._runner.release(frame)
        return results


@contextmanager
def _watched(state: Array, proceed: Callable[[], None] | None) -> Iterator[None]:
    """While it is open, another thread asks whether to go on, and stops the kernels if not."""
    if proceed is None:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_POLL):
            try:
                proceed()
            except IngotError:
                state[1] = 1
                return

    watcher = threading.Thread(target=watch, daemon=True, name="ingot-watch")
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
