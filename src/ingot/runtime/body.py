"""Calls of a plan: nodes that the reference runs, and their subgraphs, which may have plans of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.ir.sort import captures
from ingot.ops.control.carried import HEADS
from ingot.ops.control.trip_inputs import element_rank
from ingot.prim.tensor import Call, RandomKey
from ingot.runtime.body_path import body_path
from ingot.runtime.body_run import BodyRun
from ingot.runtime.direct_bodies import DirectBody, direct_bodies
from ingot.runtime.direct_calls import DirectCall, direct_call
from ingot.runtime.guard_failures import GuardFailures
from ingot.runtime.guards import GuardFailed
from ingot.runtime.observed_types import OpenResults, TypeNotes, open_results
from ingot.runtime.plan import Body, Plan, StepObserver
from ingot.runtime.run import PlanRunner
from ingot.runtime.segment import Caller
from ingot.runtime.trips import trip_runner

if TYPE_CHECKING:
    from ingot.ir.graph import Graph
    from ingot.ir.model import Model
    from ingot.ir.value import Value
    from ingot.ops.define import Runs
    from ingot.runtime.evaluate import Evaluation, Rule
    from ingot.runtime.frame import Frame
    from ingot.runtime.interrupt import Interrupt


class BodyRunners:
    """The bodies of a plan ready to run, and what the nodes of its calls read; each is prepared by the first call."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._prepared: dict[Call, PreparedCall] = {}
        self._open_results = cache(partial(open_results, plan))

    def of(self, call: Call) -> PreparedCall:
        """What all calls of a node share."""
        prepared = self._prepared.get(call)
        if prepared is None:
            new = PreparedCall(call, self._plan.bodies.get(call), self._open_results().get(call, ()))
            prepared = self._prepared.setdefault(call, new)
        return prepared


class PreparedCall:
    """A call ready to be made: the values that it reads, in order, and the bodies of its node that have plans."""

    def __init__(self, call: Call, bodies: Sequence[Body | None] | None, open_results: OpenResults) -> None:
        node = call.node
        self.open_results = open_results
        outer = [value for graph in node.subgraphs for value in dict.fromkeys(captures(graph))]
        self.node = node
        self.reads: list[Value | None] = [*node.inputs, *outer]
        runners = [] if bodies is None else [None if body is None else BodyRunner(body) for body in bodies]
        self.bodies: dict[Graph, BodyRunner | None] = dict(zip(node.subgraphs, runners, strict=bodies is not None))
        self.is_compiled = bool(self.bodies) and all(
            runner is not None and runner.runner is not None for runner in self.bodies.values()
        )
        """Whether all that its node runs has plans."""
        self.inputs = len(node.inputs)
        while self.inputs and node.inputs[self.inputs - 1] is None:
            self.inputs -= 1
        self.wanted = tuple(bool(value.name) for value in node.outputs)
        self.places = places = {value: place for place, value in enumerate(self.reads) if value is not None}
        """Where the arguments of the call have the values that it reads."""
        self.captured: dict[Graph, list[int]] = {}
        """Where the arguments of the call have what each body captures."""
        for graph, runner in self.bodies.items():
            names = {value.name: places[value] for value in captures(graph)}
            self.captured[graph] = [] if runner is None else [names[name] for name in runner.body.captured]
        self.rule: Rule | None = None
        """How its node is computed, once it was."""
        self._direct: tuple[DirectCall | None] | None = None

    def direct(self, evaluation: Evaluation) -> DirectCall | None:
        """What computes its node from its inputs alone; None if it needs more of a run."""
        if self._direct is None:
            self._direct = (self._with_bodies(evaluation) if self.bodies else direct_call(self.node, evaluation),)
        return self._direct[0]

    def _with_bodies(self, evaluation: Evaluation) -> DirectCall | None:
        """The same of a node with bodies: None if one is not on a fast path, or many trips of a Loop are one job."""
        bodies: dict[Graph, DirectBody] = {}
        for graph, runner in self.bodies.items():
            if runner is None or runner.path is None or runner.path.fast_path.is_closed:
                return None
            if runner.trips is not None and self.node.applies("Loop"):
                return None
            once = runner.invariant
            if once is not None and once.path is None:
                return None
            captured, invariant = tuple(self.captured[graph]), None if once is None else once.path
            around = tuple((value, self.places[value]) for value in dict.fromkeys(captures(graph)))
            counted, kept = 0, tuple[int, ...]()
            if self.node.applies("Loop") and graph.inputs:
                carried = len(graph.inputs) - HEADS
                counted = element_rank(graph.inputs[0])
                kept = tuple(place for place, wanted in enumerate(self.wanted, 1) if wanted and place > carried)
            bodies[graph] = DirectBody(runner.path, invariant, captured, runner.body.nodes, around, counted, kept)
        return direct_bodies(self.node, bodies, self.inputs, self.wanted, evaluation)


class BodyRunner:
    """A body ready to run: what all runs of it share."""

    def __init__(self, body: Body) -> None:
        self.body = body
        fixed = len(body.captured) + (0 if body.invariant is None else len(body.invariant.outputs))
        self.runner = None if body.plan is None else PlanRunner(body.plan, body.outputs, body.parameters, fixed)
        self.bodies = None if body.plan is None else BodyRunners(body.plan)
        self.invariant = None if body.invariant is None else BodyRunner(body.invariant)
        inputs = len(body.parameters) - fixed
        self.trips = None if self.runner is None else trip_runner(self.runner, inputs)
        self.path = body_path(body)
        self.failures = GuardFailures()


class Calls:
    """The calls of one run of a model: those of its plan and of the plans of bodies, evaluated node by node."""

    def __init__(
        self,
        begin: Callable[[Model], Evaluation],
        model: Callable[[], Model],
        frame: Frame,
        observe: StepObserver | None,
        notes: TypeNotes | None = None,
        interrupt: Interrupt | None = None,
        recompiles: bool = False,
    ) -> None:
        """`begin` is how nodes of a model are evaluated, `model` returns it, `frame` is that of the run.

        `notes` are taken of the results whose rank is unknown. The run may end by `interrupt`. Where it `recompiles`,
        a body whose guards fail too often ends it by GuardFailed, so that the model is compiled otherwise.
        """
        self._begin = begin
        self._model = model
        self._begun: Evaluation | None = None
        self.state = frame.state
        self.words = frame.words
        self.observe = observe
        self._notes = notes
        self.interrupt = interrupt
        self.recompiles = recompiles

    @property
    def evaluation(self) -> Evaluation:
        if self._begun is None:
            self._begun = self._begin(self._model())
        return self._begun

    def caller(self, bodies: BodyRunners, depth: int = 0) -> Caller:
        """The function that makes the calls of a plan, that of a body `depth` subgraphs deep."""

        def call(step: Call | RandomKey, arguments: list[Any]) -> Sequence[Any]:
            if isinstance(step, RandomKey):
                return [np.array([self.evaluation.key(None)], np.uint64)]
            prepared = bodies.of(step)
            results = None
            if prepared.is_compiled and self.observe is None:
                results = self._run_bodies(prepared, arguments, depth)
            if results is None and not prepared.bodies and self.observe is None:
                direct = prepared.direct(self.evaluation)
                results = None if direct is None else self.evaluation.computed(step.node, direct, arguments)
            if results is None:
                pairs = zip(prepared.reads, arguments, strict=True)
                values = {value: argument for value, argument in pairs if value is not None}
                within = _Within(self, prepared, arguments) if prepared.bodies else None
                results = self.evaluation.step(step.node, values, within, depth)
            if prepared.open_results and self._notes is not None:
                self._notes.note(prepared.open_results, results)
            return results

        return call

    def _run_bodies(self, prepared: PreparedCall, arguments: list[Any], depth: int) -> Sequence[Any] | None:
        """The results of a node all of whose bodies have plans; None if the reference has to evaluate it."""
        evaluation = self.evaluation
        if depth >= evaluation.nesting:
            return None
        runtime = _BodyRuntime(self, prepared, arguments, depth + 1)
        drawn = evaluation.drawn
        try:
            rule = prepared.rule = prepared.rule or evaluation.rule_of(prepared.node)
            return evaluation.run_bodies(prepared.node, rule, arguments[: prepared.inputs], runtime)
        except (_NoPlan, MemoryError):
            evaluation.drawn = drawn
            return None
        finally:
            runtime.close()


class _NoPlan(Exception):
    """The reference has to run a body after all."""


class _BodyRuntime:
    """What a node may ask whose bodies all have plans."""

    def __init__(self, calls: Calls, prepared: PreparedCall, arguments: list[Any], depth: int) -> None:
        self._calls = calls
        self._prepared = prepared
        self._arguments = arguments
        self._depth = depth
        self._begun: dict[Graph, BodyRun] = {}
        self.wanted = prepared.wanted

    def run(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        results = self._running(graph).run(inputs)
        if results is None:
            raise _NoPlan
        return results

    def repeat(self, graph: Graph, first: int, most: int, conditional: bool, states: Sequence[Any]) -> Runs | None:
        return self._running(graph).repeat(first, most, conditional, states)

    def around(self, graph: Graph) -> list[tuple[Value, tuple[int, ...]]]:
        values = dict(zip(self._prepared.reads, self._arguments, strict=True))
        arrays = {value: values.get(value) for value in captures(graph)}
        return [(value, array.shape) for value, array in arrays.items() if isinstance(array, np.ndarray)]

    def gradient(self, xs: Sequence[str], y: str, values: Mapping[str, Any]) -> list[Any]:  # noqa: ARG002
        raise _NoPlan

    def key(self, seed: float | None) -> int:
        return self._calls.evaluation.key(seed)

    def generator(self, seed: float | None) -> np.random.Generator:  # noqa: ARG002
        raise _NoPlan

    def close(self) -> None:
        for running in self._begun.values():
            running.close()

    def _running(self, graph: Graph) -> BodyRun:
        running = self._begun.get(graph)
        if running is None:
            running = self._begun[graph] = _begin(self._calls, self._prepared, graph, self._arguments, self._depth)
        return running


def _begin(calls: Calls, prepared: PreparedCall, graph: Graph, arguments: Sequence[Any], depth: int) -> BodyRun:
    """A run of a body that has a plan, `depth` subgraphs deep; GuardFailed if that was not compiled."""
    runner = prepared.bodies[graph]
    assert runner is not None
    if runner.runner is None:
        raise GuardFailed((), {}, f"graph '{graph.name}' was changed for assumed sizes and is not compiled")
    captured = [arguments[place] for place in prepared.captured[graph]]
    return BodyRun(runner, runner.runner, captured, calls, depth)


@dataclass(frozen=True, slots=True)
class _Within:
    """The bodies of a node, for the reference."""

    calls: Calls
    prepared: PreparedCall
    arguments: Sequence[Any]

    def begin(self, graph: Graph, depth: int) -> BodyRun | None:
        """A run of a body, `depth` subgraphs deep; None if the reference runs it."""
        if self.prepared.bodies.get(graph) is None:
            return None
        return _begin(self.calls, self.prepared, graph, self.arguments, depth)
