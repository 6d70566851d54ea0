"""Calls of a plan: nodes that the reference runs, and their subgraphs, which may have plans of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ingot.dataclass import dataclass
from ingot.errors import CheckError, InputError
from ingot.ir.sort import captures
from ingot.ops.define import Runs
from ingot.prim.tensor import Call
from ingot.runtime.guards import GuardFailed, KernelError
from ingot.runtime.plan import Body, Plan, StepObserver
from ingot.runtime.run import PlanRunner
from ingot.runtime.segment import Caller
from ingot.runtime.trips import TripRun, trip_runner

if TYPE_CHECKING:
    from ingot.ir.graph import Graph
    from ingot.ir.model import Model
    from ingot.ir.value import Value
    from ingot.runtime.evaluate import Evaluation
    from ingot.runtime.frame import Frame


class BodyRunners:
    """The bodies of a plan ready to run, and what the nodes of its calls read; each is prepared by the first call."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._reads: dict[Call, list[Value | None]] = {}
        self._runners: dict[Call, tuple[BodyRunner | None, ...]] = {}

    def reads(self, call: Call) -> list[Value | None]:
        """The values that a node and its subgraphs read, in the order of the arguments of its call."""
        reads = self._reads.get(call)
        if reads is None:
            outer = [value for graph in call.node.subgraphs for value in dict.fromkeys(captures(graph))]
            reads = self._reads[call] = [*call.node.inputs, *outer]
        return reads

    def inside(self, call: Call) -> Mapping[Graph, BodyRunner | None]:
        """The subgraphs of the node of a call that have plans."""
        bodies = self._plan.bodies.get(call)
        if bodies is None:
            return {}
        runners = self._runners.get(call)
        if runners is None:
            runners = tuple(None if body is None else BodyRunner(body) for body in bodies)
            runners = self._runners.setdefault(call, runners)
        return dict(zip(call.node.subgraphs, runners, strict=True))


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


class Calls:
    """The calls of one run of a model: those of its plan and of the plans of bodies, evaluated node by node."""

    def __init__(
        self,
        begin: Callable[[Model], Evaluation],
        model: Callable[[], Model],
        frame: Frame,
        observe: StepObserver | None,
    ) -> None:
        """`begin` is how nodes of a model are evaluated, `model` returns it, `frame` is that of the run."""
        self._begin = begin
        self._model = model
        self._begun: Evaluation | None = None
        self.state = frame.state
        self.words = frame.words
        self.observe = observe

    @property
    def evaluation(self) -> Evaluation:
        if self._begun is None:
            self._begun = self._begin(self._model())
        return self._begun

    def caller(self, bodies: BodyRunners, depth: int = 0) -> Caller:
        """The function that makes the calls of a plan, that of a body `depth` subgraphs deep."""
        evaluation = self.evaluation if depth else None

        def call(step: Call, arguments: list[Any]) -> Sequence[Any]:
            pairs = zip(bodies.reads(step), arguments, strict=True)
            values = {value: argument for value, argument in pairs if value is not None}
            inside = bodies.inside(step)
            within = _Within(self, inside) if inside else None
            if evaluation is None:
                return self.evaluation.step(step.node, values, within)
            return evaluation.inner(step.node, values, within, depth)

        return call


@dataclass(frozen=True, slots=True)
class _Within:
    """The bodies of a node, for the reference."""

    calls: Calls
    bodies: Mapping[Graph, BodyRunner | None]

    def begin(self, graph: Graph, around: Mapping[Value, Any], depth: int) -> BodyRun | None:
        """A run of a body, `depth` subgraphs deep, with the values around it; None if the reference runs it."""
        runner = self.bodies.get(graph)
        if runner is None:
            return None
        if runner.runner is None:
            raise GuardFailed((), {}, f"graph '{graph.name}' was changed for assumed sizes and is not compiled")
        captured = runner.body.captured
        named = {value.name: value for value in captures(graph)} if captured else {}
        return BodyRun(runner, runner.runner, [around[named[name]] for name in captured], self.calls, depth)


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
        self._trips: TripRun | None = None
        self._repeats = shared.trips is not None and calls.observe is None

    def run(self, inputs: Sequence[Any]) -> list[Any] | None:
        """The outputs of the body; None if the reference has to run it: a guard failed, or a kernel met an error.

        GuardFailed or KernelError if the reference cannot run it either, as the body is specialised.
        """
        evaluation = self._evaluation
        evaluation.proceed(self._nodes)
        drawn = evaluation.drawn
        try:
            frame = self._frame or self._begin()
            results = self._runner.run(frame, inputs, self._call, self._observe, self._ledger)
        except GuardFailed:
            if self._shared.body.specialised:
                raise
            results = None
        if results is not None:
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
        self._evaluation.proceed(self._nodes * runs.count)
        return runs

    def close(self) -> None:
        """Give the frame back."""
        if self._frame is not None:
            frame, self._frame = self._frame, None
            self._runner.release(frame)

    def _begin(self) -> Frame:
        """A frame with the captured values and the invariants; GuardFailed if they are not as assumed."""
        fixed = [*self._captured, *self._invariant()]
        frame = self._runner.frame()
        frame.share(self._calls.state)
        self._frame = frame
        try:
            self._runner.fix(frame, fixed)
        except GuardFailed:
            self.close()
            raise
        return frame

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
