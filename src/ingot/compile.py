"""From a model to machine code that runs: the stages in order, each a function whose result can be shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingot.codegen.llvm.target import Target, host
from ingot.dtypes import Array
from ingot.errors import CompileError, IngotError
from ingot.infer import infer
from ingot.ir.model import Model
from ingot.ir.sort import captures
from ingot.ir.tensor import Tensor as Held
from ingot.ir.types import Shape, map_shapes
from ingot.ir.value import Value
from ingot.lower.fuse import Fused, fuse
from ingot.lower.graph import Program, lower_graph
from ingot.ops.catalog import Catalog
from ingot.prim.tensor import Call, Result, Tensor
from ingot.prim.walk import in_order
from ingot.providers.cpu import plan_of
from ingot.runtime.again import Again
from ingot.runtime.evaluate import Evaluation
from ingot.runtime.limits import RunLimits
from ingot.runtime.plan import Mistaken, Plan, StepObserver
from ingot.runtime.team import processors

_POLL = 0.005
"""Seconds between two looks at whether a run is to end."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A plan, and the stages it came from; `model` is what was lowered."""

    model: Model
    program: Program
    fused: Fused
    plan: Plan
    outputs: tuple[Tensor, ...]


def compile_model(model: Model, catalog: Catalog, target: Target, threads: int) -> Compiled:
    """A plan for the outputs of a model that is in the newest operators; it is typed here, on its own values."""
    _forget_negative_sizes(model)
    facts = infer(model, catalog=catalog)
    program = lower_graph(model, facts, catalog)
    outputs = tuple(program.values[value] for value in model.graph.outputs)
    stored = _stored(outputs)
    fused = fuse(stored)
    return Compiled(model, program, fused, plan_of(program, fused, stored, target, threads), outputs)


def _forget_negative_sizes(model: Model) -> None:
    """Take declared sizes below zero for what they are meant to be: unknown."""
    for graph in model.graphs():
        for value in graph.values():
            if value.type is not None:
                value.type = map_shapes(value.type, _without_negatives)


def _without_negatives(shape: Shape) -> Shape:
    return tuple(None if isinstance(size, int) and size < 0 else size for size in shape)


def _stored(outputs: Sequence[Tensor]) -> list[Tensor]:
    """The outputs, and what calls on the way to them are given: these are seen from outside."""
    found: dict[Tensor, None] = {}
    for tensor in in_order(outputs):
        if isinstance(tensor, Result):
            found.update(dict.fromkeys(each for each in tensor.call.arguments if each is not None))
    found.update(dict.fromkeys(outputs))
    return list(found)


class Failed(Exception):
    """What was given is not what was compiled for: an index is out of range, or sizes are not what they seemed.

    The reference runs it, or says what is wrong.
    """


class Executable:
    """A model compiled: in the newest operators and of checked structure, it is typed and changed here."""

    def __init__(
        self, model: Model, catalog: Catalog, threads: int | None = None, limits: RunLimits | None = None
    ) -> None:
        """CompileError if that goes wrong: a fault of ingot's, not of the model's."""
        self._model = model
        self._most = (limits or RunLimits()).most_bytes
        self.threads = threads or processors()
        try:
            self.compiled: Compiled = compile_model(model, catalog, host(), self.threads)
        except IngotError:
            raise
        except Exception as error:
            raise CompileError(f"the model could not be compiled: {type(error).__name__}: {error}") from error
        self._defaults = {
            value.name: value.constant.numpy() for value in model.graph.inputs if isinstance(value.constant, Held)
        }
        self.again = Again(self.compiled.plan, self.compiled.outputs)

    def run(
        self,
        feeds: Mapping[str, Any],
        evaluation: Evaluation,
        proceed: Callable[[], None] | None,
        observe: StepObserver | None = None,
    ) -> list[Any]:
        """The outputs of the model; `proceed` is asked now and then whether to go on, and raises if not.

        `observe` is called after each step of the plan. Failed if a kernel met an error.
        """
        state = np.zeros(16, np.int32)
        compiled = self.compiled
        try:
            with _watched(state, proceed):
                values = compiled.plan.run(
                    {**self._defaults, **feeds}, self._caller(evaluation), state, observe, self._most
                )
        except Mistaken:
            raise Failed from None
        if proceed is not None:
            proceed()
        if state[0]:
            raise Failed
        self.again.learn(feeds, self._most)
        return [values[tensor] for tensor in compiled.outputs]

    def _caller(self, evaluation: Evaluation) -> Callable[[Call, list[Any]], Sequence[Any]]:
        def call(step: Call, arguments: list[Any]) -> Sequence[Any]:
            node = step.node
            outer = [value for graph in node.subgraphs for value in dict.fromkeys(captures(graph))]
            read: list[Value | None] = [*node.inputs, *outer]
            values = {value: given for value, given in zip(read, arguments, strict=True) if value is not None}
            return evaluation.step(node, values)

        return call


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
