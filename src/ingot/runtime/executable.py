"""A plan made ready to run: inputs checked by the caller go in, results come out, and what goes wrong is told apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.dtypes import Array
from ingot.errors import IngotError
from ingot.prim.tensor import Tensor
from ingot.runtime.body import Reference, Unsettled
from ingot.runtime.fast_path import FastPath
from ingot.runtime.plan import GuardFailed, Plan, StepObserver

if TYPE_CHECKING:
    from ingot.ir.model import Model
    from ingot.runtime.evaluate import Evaluation

_POLL = 0.005
"""Seconds between two looks at whether a run is to end."""


class Deoptimised(Exception):
    """What was given is not what was compiled for: an index is out of range, or sizes are not what they seemed.

    The reference runs it, or says what is wrong.
    """


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
        proceed: Callable[[], None] | None,
        observe: StepObserver | None = None,
    ) -> list[Any]:
        """The outputs of the model; `proceed` is asked now and then whether to go on, and raises if not.

        `evaluation` is how the reference runs nodes of a model. `observe` is called after each step of the plan. Failed
        if a kernel met an error.
        """
        state = np.zeros(16, np.int32)
        try:
            with _watched(state, proceed):
                call = Reference(evaluation, self.calls, state, observe).caller(self.plan)
                values = self.plan.run(feeds, call, state, observe, self._most)
        except (GuardFailed, Unsettled):
            raise Deoptimised from None
        if proceed is not None:
            proceed()
        if state[0]:
            raise Deoptimised
        self.fast_path.learn(feeds, self._most)
        return [values[tensor] for tensor in self.outputs]


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
