"""Direct calls of nodes with bodies: If, Loop, Scan, SequenceMap on the fast path, whose bodies are on theirs.

Limits are counted roughly, as if nothing were ever given back: where they may not hold, the run is made in full.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.ops.control.carried import scalar
from ingot.ops.control.trip_inputs import counter, truths
from ingot.ops.define import Operator, Runs
from ingot.runtime.body_path import BodyPath
from ingot.runtime.direct_calls import DirectCall, DirectRun, NotFast

if TYPE_CHECKING:
    from ingot.ir.graph import Graph
    from ingot.ir.node import Node
    from ingot.ir.value import Value
    from ingot.runtime.evaluate import Evaluation
    from ingot.runtime.frame import Frame
    from ingot.runtime.ready_plan import ReadyPlan


_MOST_FRAMES = 16
"""Frames of a body whose sizes change from trip to trip: one for each of the first trips."""

_FEW_BYTES = 1 << 18
"""What a trip may take for that."""


@dataclass(frozen=True, slots=True)
class DirectBody:
    """A body on its fast path: where the arguments of its node have what it captures, and how many nodes it has.

    `invariant` computes the rest of its parameters from these, once. `around` are the values that its graph reads, and
    where the arguments have them.
    """

    path: BodyPath
    invariant: BodyPath | None
    captured: tuple[int, ...]
    nodes: int
    around: tuple[tuple[Value, int], ...]
    counted: int = 0
    """The axes that the number of a trip has, in the body of a Loop."""
    kept: tuple[int, ...] = ()
    """The outputs of each trip that are collected, if it is one."""


def direct_bodies(
    node: Node, bodies: Mapping[Graph, DirectBody], inputs: int, wanted: tuple[bool, ...], evaluation: Evaluation
) -> DirectCall | None:
    """What computes a node with bodies, of so many inputs; None if it may be computed by several evaluators."""
    if not evaluation.first_takes_all or any(attribute.ref for attribute in node.attributes.values()):
        return None
    operator, attributes = evaluation.rule_of(node)
    name = operator.runtime
    if name is None:
        return None
    evaluator = evaluation.evaluators[0] if evaluation.evaluators else None
    if evaluator is None or hasattr(evaluator, "bind"):  # which takes the definition as it is
        evaluate: Callable[..., Any] = _bound(operator, attributes)
    else:

        def evaluate(*values: Any, **runtime: Any) -> Any:
            return evaluator.compute(node, operator, values, {**attributes, **runtime})

    def compute(run: DirectRun, *arguments: Any) -> Any:
        runtime = _DirectRuntime(bodies, arguments, run, wanted)
        try:
            return evaluate(*arguments[:inputs], **{name: runtime})
        finally:
            runtime.close()

    return DirectCall(compute, len(node.inputs), operator.returns_several, has_bodies=True)


def _bound(operator: Operator, attributes: Mapping[str, Any]) -> Callable[..., Any]:
    """The definition of an operator with its attributes, by the rule that makes it ready for many runs if any does."""
    if "bind" in operator.rules:
        bound: Callable[..., Any] = operator.rules["bind"](**{**operator.defaults, **attributes})
        return bound
    return partial(operator.evaluate, **attributes) if attributes else operator.evaluate


class _DirectRuntime:
    """What a node may ask whose bodies are on their fast paths."""

    def __init__(
        self, bodies: Mapping[Graph, DirectBody], arguments: Sequence[Any], run: DirectRun, wanted: tuple[bool, ...]
    ) -> None:
        self._bodies = bodies
        self._arguments = arguments
        self._run = run
        self._begun: dict[Graph, _FastRun] = {}
        self.wanted = wanted

    def run(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        body = self._bodies[graph]
        chain = body.path.fast_path.chain
        if chain is None or body.invariant is not None:
            fast = self._begun.get(graph)
            return (fast or self._begin(graph)).results(inputs)
        arguments, run = self._arguments, self._run
        run.proceed(1 + body.nodes)
        results = chain((*inputs, *[arguments[place] for place in body.captured]), (), 0, run)
        if not results:
            raise NotFast
        _charge(run, results)
        return results

    def repeat(self, graph: Graph, first: int, most: int, conditional: bool, states: Sequence[Any]) -> Runs | None:
        return self._begin(graph).repeat(self._bodies[graph], first, most, conditional, states)

    def _begin(self, graph: Graph) -> _FastRun:
        body = self._bodies[graph]
        fixed = [self._arguments[place] for place in body.captured]
        if body.invariant is not None:
            once = _FastRun(body.invariant, (), self._run, body.nodes)
            try:
                fixed += once.results(fixed)
            finally:
                once.close()
        fast = self._begun[graph] = _FastRun(body.path, fixed, self._run, body.nodes)
        return fast

    def around(self, graph: Graph) -> list[tuple[Value, tuple[int, ...]]]:
        pairs = [(value, self._arguments[place]) for value, place in self._bodies[graph].around]
        return [(value, array.shape) for value, array in pairs if isinstance(array, np.ndarray)]

    def gradient(self, xs: Sequence[str], y: str, values: Mapping[str, Any]) -> list[Any]:  # noqa: ARG002
        raise NotFast

    def key(self, seed: float | None) -> int:  # noqa: ARG002
        raise NotFast

    def generator(self, seed: float | None) -> np.random.Generator:  # noqa: ARG002
        raise NotFast

    def close(self) -> None:
        for fast in self._begun.values():
            fast.close()


class _FastRun:
    """Runs of one body: the last parameters stay the same."""

    __slots__ = ("_chain", "_feeds", "_fixed", "_frames", "_names", "_nodes", "_path", "_run", "_trip")

    def __init__(self, path: BodyPath, fixed: Sequence[Any], run: DirectRun, nodes: int) -> None:
        self._path = path
        self._chain = path.fast_path.chain
        self._fixed = fixed
        self._names: tuple[str, ...] = path.names
        self._feeds: dict[str, Any] = {}
        self._frames: list[Frame] = []
        if self._chain is None:
            if fixed:
                self._names = path.names[: len(path.names) - len(fixed)]
                self._feeds.update(zip(path.names[len(self._names) :], fixed, strict=True))
            self._frames = path.take_frames()
            if run.is_interruptible:
                for frame in self._frames:
                    run.attach(frame.state)
        self._run = run
        self._nodes = 1 + nodes
        self._trip = 0

    def repeat(self, body: DirectBody, first: int, most: int, conditional: bool, states: Sequence[Any]) -> Runs:
        """All trips of a Loop from one on, from the condition and the states before it; NotFast as `results` says."""
        condition, *after = states
        going, counted, carried = True, body.counted, len(states)
        collected: list[tuple[int, list[Any]]] = [(place, []) for place in body.kept]
        results = self.results
        trip, end = first, first + most
        while trip < end and going:
            outputs = results((counter(trip, counted), condition, *after))
            trip += 1
            if outputs[0] is not condition:  # a body that passes it on returns the array itself
                is_true = bool(scalar(outputs[0], "the condition the body gives"))
                condition, going = truths(condition.ndim)[is_true], is_true or not conditional
            after = outputs[1:carried]
            for place, items in collected:
                items.append(outputs[place])
        rows = {place: self._stacked(items) for place, items in collected}
        return Runs(trip - first, [condition, *after], rows)

    def _stacked(self, items: Sequence[Any]) -> Array:
        """Arrays along a new first axis; NotFast for anything else, and for what takes too much."""
        first = items[0]
        if type(first) is not np.ndarray:
            raise NotFast
        shape, dtype = first.shape, first.dtype
        for item in items:
            if type(item) is not np.ndarray or item.shape != shape or item.dtype is not dtype:
                raise NotFast
        self._run.bytes_left -= len(items) * first.nbytes
        if self._run.bytes_left < 0:
            raise NotFast
        return np.array(items, dtype)

    def results(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of the body; NotFast if inputs like these never ran, or limits may not hold."""
        run = self._run
        run.proceed(self._nodes)
        results: list[Any] | None
        if self._chain is not None:
            results = self._chain((*inputs, *self._fixed), (), 0, run) or None
        else:
            path, frames, feeds = self._path, self._frames, self._feeds
            for name, value in zip(self._names, inputs):  # noqa: B905  # a check would take as long
                feeds[name] = value
            place = self._trip % _MOST_FRAMES if path.varies else 0
            self._trip += 1
            if place >= len(frames):
                place = len(frames)
                frames.append(path.runner.frame())
                run.attach(frames[place].state)
            frame = frames[place]
            native = frame.native
            returned = None if native is None else native(feeds)
            if returned and frame.active.is_whole:  # all went as in the run before
                run.bytes_left -= frame.prepared.given
                if run.bytes_left < 0:
                    raise NotFast
                return returned
            results = self._completed(frame, returned)
        if results is None:
            raise NotFast
        _charge(run, results)
        return results

    def _completed(self, frame: Frame, returned: list[Any] | Literal[False] | None) -> list[Any] | None:
        """The outputs by a frame whose native run, if it is ready for one, returned this.

        Where sizes change from trip to trip, each trip has the frame of the same trip of the run before.
        """
        path, native = self._path, frame.native
        if returned:
            active: ReadyPlan = frame.active
            return active.finish(frame, self._feeds, returned, self._run)
        results = path.fast_path.complete(frame, self._feeds, returned, self._run)
        if native is not None and frame.native is not None and frame.native is not native:
            path.varies = frame.prepared.needed <= _FEW_BYTES
        return results

    def close(self) -> None:
        """Give the frames back."""
        if not self._frames:
            return
        if self._run.is_interruptible:
            for frame in self._frames:
                self._run.detach(frame.state)
        for frame in self._frames:
            frame.words[0] = frame.words[1] = 0
        self._path.give_back(self._frames)


def _charge(run: DirectRun, results: Sequence[Any]) -> None:
    """Count the arrays among the outputs of a body; NotFast if they may take too much."""
    for result in results:
        if type(result) is np.ndarray:
            run.bytes_left -= result.nbytes
    if run.bytes_left < 0:
        raise NotFast
