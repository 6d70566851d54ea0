"""Direct calls of nodes with bodies: If, Loop, Scan, SequenceMap on the fast path, whose bodies are on theirs.

Limits are counted roughly, as if nothing were ever given back: where they may not hold, the run is made in full.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.runtime.body_path import BodyPath
from ingot.runtime.direct_calls import DirectCall, DirectRun, NotFast

if TYPE_CHECKING:
    from ingot.ir.graph import Graph
    from ingot.ir.node import Node
    from ingot.ir.value import Value
    from ingot.ops.define import Runs
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
        evaluate: Callable[..., Any] = operator.evaluate if not attributes else partial(operator.evaluate, **attributes)
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
        fast = self._begun.get(graph)
        if fast is None:
            body = self._bodies[graph]
            fixed = [self._arguments[place] for place in body.captured]
            if body.invariant is not None:
                once = _FastRun(body.invariant, (), self._run, body.nodes)
                try:
                    fixed += once.results(fixed)
                finally:
                    once.close()
            fast = self._begun[graph] = _FastRun(body.path, fixed, self._run, body.nodes)
        return fast.results(inputs)

    def repeat(self, graph: Graph, first: int, most: int, conditional: bool, states: Sequence[Any]) -> Runs | None:  # noqa: ARG002
        return None

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
        self._names: tuple[str, ...] = ()
        self._feeds: dict[str, Any] = {}
        if self._chain is None:
            self._names = path.names[: len(path.names) - len(fixed)]
            self._feeds.update(zip(path.names[len(self._names) :], fixed, strict=True))
        self._run = run
        self._nodes = 1 + nodes
        self._frames: list[Frame] = []
        self._trip = 0

    def results(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of the body; NotFast if inputs like these never ran, or limits may not hold."""
        run, chain = self._run, self._chain
        run.proceed(self._nodes)
        if chain is None:
            results = self._in_a_frame(inputs, run)
        else:
            results = chain((*inputs, *self._fixed), (), 0, run) or None
        if results is None:
            raise NotFast
        for result in results:
            if type(result) is np.ndarray:
                run.bytes_left -= result.nbytes
        if run.bytes_left < 0:
            raise NotFast
        return results

    def _in_a_frame(self, inputs: Sequence[Any], run: DirectRun) -> list[Any] | None:
        """The outputs by kernels: in the frame of the same trip of the run before, which is ready for such sizes."""
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
        if native is None:
            return path.fast_path.complete(frame, feeds, None, run)
        returned = native(feeds)
        if returned:  # all went as in the run before
            active: ReadyPlan = frame.active
            return returned if active.is_whole else active.finish(frame, feeds, returned, run)
        results = path.fast_path.complete(frame, feeds, returned, run)
        if frame.native is not None and frame.native is not native:
            path.varies = frame.prepared.needed <= _FEW_BYTES
        return results

    def close(self) -> None:
        for frame in reversed(self._frames):  # the last one is the first that the next run gets
            self._run.detach(frame.state)
            frame.words[0] = frame.words[1] = 0
            self._path.runner.release(frame)
