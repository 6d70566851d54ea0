"""Graphs inside of nodes that the reference runs, as plans: how they are run, over and over, with little in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.dims import Dim, evaluate, symbols
from ingot.dtypes import Array
from ingot.ir.sort import captures
from ingot.prim.tensor import Call, Tensor
from ingot.runtime.address import address_of
from ingot.runtime.limits import exceeded
from ingot.runtime.piece import Piece
from ingot.runtime.plan import Body, Mistaken, Plan, StepObserver, fresh_array
from ingot.runtime.team import team

if TYPE_CHECKING:
    from ingot.ir.graph import Graph
    from ingot.ir.model import Model
    from ingot.ir.value import Value
    from ingot.runtime.evaluate import Evaluation


class Unsettled(Exception):
    """A graph was changed for sizes that were taken to be equal and are not: the reference has to run all of it."""


class Reference:
    """What the reference runs of a plan and of the plans in it, in one run of a model."""

    def __init__(
        self,
        begin: Callable[[Model], Evaluation],
        calls: Callable[[], Model],
        state: Array,
        observe: StepObserver | None,
    ) -> None:
        """`begin` is how nodes of a model are evaluated, `calls` gives the model, `state` is as in `Plan.run`."""
        self._begin = begin
        self._calls = calls
        self._begun: Evaluation | None = None
        self.state = state
        words: Any = state
        self.words = memoryview(words).cast("B").cast("i")
        self.observe = observe

    @property
    def evaluation(self) -> Evaluation:
        if self._begun is None:
            self._begun = self._begin(self._calls())
        return self._begun

    def caller(self, plan: Plan, depth: int = 0) -> Callable[[Call, list[Any]], Sequence[Any]]:
        """How calls of a plan are made, that of a body so many graphs deep."""
        evaluation = self.evaluation if depth else None

        def call(step: Call, arguments: list[Any]) -> Sequence[Any]:
            node = step.node
            read = plan.reads.get(step)
            if read is None:
                outer = [value for graph in node.subgraphs for value in dict.fromkeys(captures(graph))]
                read = plan.reads[step] = [*node.inputs, *outer]
            values = {value: given for value, given in zip(read, arguments, strict=True) if value is not None}
            bodies = plan.bodies.get(step)
            inside = {} if bodies is None else dict(zip(node.subgraphs, bodies, strict=True))
            within = _Within(self, inside) if inside else None
            if evaluation is None:
                return self.evaluation.step(node, values, within)
            return evaluation.inner(node, values, within, depth)

        return call


@dataclass(frozen=True, slots=True)
class _Within:
    """The bodies of a node."""

    reference: Reference
    bodies: Mapping[Graph, Body | None]

    def begin(self, graph: Graph, around: Mapping[Value, Any], depth: int) -> Running | None:
        """A body made ready to be run, so many graphs deep, with the values around it; None if it has no plan."""
        body = self.bodies.get(graph)
        if body is None:
            return None
        if body.plan is None:
            raise Unsettled
        named = {value.name: value for value in captures(graph)} if body.captured else {}
        return Running(body, body.plan, [around[named[name]] for name in body.captured], self.reference, depth)


class Running:
    """A body that is run for the values around it, which stay, and for inputs that change."""

    def __init__(self, body: Body, plan: Plan, captured: Sequence[Any], reference: Reference, depth: int) -> None:
        self._body = body
        self._plan = plan
        self._reference = reference
        self._evaluation = reference.evaluation
        self._call = reference.caller(plan, depth)
        self._captured = captured
        self._frame: _Frame | None = None
        self._known: dict[str, int] = {"threads": plan.threads, "runs": plan.runs}
        self._values: dict[Tensor, Any] = dict(plan.constants)

    def run(self, inputs: Sequence[Any]) -> list[Any] | None:
        """What the body gives; None if the reference has to say, or to run it."""
        evaluation, body, words = self._evaluation, self._body, self._reference.words
        evaluation.proceed(1 + body.nodes)
        drawn = evaluation.drawn
        try:
            values = self._observed(inputs) if self._reference.observe is not None else self._run(inputs)
        except Mistaken:
            values = None
        if words[1]:
            evaluation.proceed()
        if values is None or words[0]:
            words[0] = 0
            if body.strict:
                raise Unsettled
            evaluation.drawn = drawn
            return None
        return [values[tensor] for tensor in body.outputs]

    def close(self) -> None:
        """Leave to others what was needed to run it."""
        if self._frame is not None:
            frame, self._frame = self._frame, None
            self._plan.frames.append(frame)

    def _run(self, inputs: Sequence[Any]) -> dict[Tensor, Any] | None:
        frame = self._frame
        if frame is None:
            frame = self._begin()
        known, values, slots, words = self._known.copy(), self._values.copy(), frame.words, self._reference.words
        for given, entry in zip(inputs, frame.entries, strict=True):
            entry.take(given, values, known, slots)
        for size, tensor, axis in frame.checks:
            if evaluate(size, known) != values[tensor].shape[axis]:
                raise Mistaken
        left, charge = self._evaluation.ledger.left, self._evaluation.ledger.charge_new
        for piece in frame.pieces:
            piece.ready(known)
            left -= piece.needed
            if left < 0:
                said = f"the values of a run of a body take {piece.needed:,} bytes, {left + piece.needed:,} are left"
                raise exceeded(said, "memory", f"{self._evaluation.ledger.live + piece.needed:_}")
            for slot, tensor, shape, dtype in piece.fresh:
                array = values[tensor] = fresh_array(shape, dtype)
                slots[slot] = address_of(array)
                charge(array)
            if piece.job is not None:
                team().start(piece.job)
                if words[0] or words[1]:
                    return None
            if piece.call is not None:
                self._plan.make(piece.call, self._call, frame.slots, values, known)
        return values

    def _begin(self) -> _Frame:
        """A table of slots, with what is captured in it."""
        frames = self._plan.frames
        frame = self._frame = frames.pop() if frames else _Frame(self._plan, self._body)
        for piece in frame.pieces:
            piece.use(self._reference.state)
        for given, entry in zip(self._captured, frame.captured, strict=True):
            entry.take(given, self._values, self._known, frame.words)
        return frame

    def _observed(self, inputs: Sequence[Any]) -> dict[Tensor, Any]:
        feeds = dict(zip(self._body.taken, (*inputs, *self._captured), strict=True))
        reference = self._reference
        ledger = self._evaluation.ledger
        values = self._plan.run(feeds, self._call, reference.state, reference.observe, ledger.left)
        ledger.charge(values.get(tensor) for tensor in self._body.outputs)
        return values


@dataclass(slots=True)
class _Entry:
    """An input of a plan: the tensor it is, its slot if it has one, and the names or numbers of its sizes."""

    tensor: Tensor
    slot: int | None
    dtype: Any
    sizes: tuple[str | int | None, ...]

    def take(self, given: Any, values: dict[Tensor, Any], known: dict[str, int], slots: Any) -> None:
        """Note an array; Mistaken if it is of another type, or of other sizes than there are."""
        values[self.tensor] = given
        if self.slot is None:
            return
        if type(given) is not np.ndarray or not given.flags.c_contiguous:
            given = values[self.tensor] = np.ascontiguousarray(given).reshape(np.shape(given))
        shape = given.shape
        if len(shape) != len(self.sizes) or given.dtype != self.dtype:
            raise Mistaken
        slots[self.slot] = address_of(given)
        for size, real in zip(self.sizes, shape, strict=True):
            if (known.setdefault(size, real) if type(size) is str else real if size is None else size) != real:
                raise Mistaken


@dataclass(slots=True)
class _Frame:
    """What one run at a time needs: a table of slots, and the segments that are made ready with it."""

    plan: Plan
    body: Body
    slots: Any = field(init=False)
    words: Any = field(init=False)
    entries: list[_Entry] = field(init=False)
    captured: list[_Entry] = field(init=False)
    checks: list[tuple[Dim, Tensor, int]] = field(init=False)
    pieces: list[Piece] = field(init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        self.slots = plan.template.copy()
        self.words = memoryview(self.slots).cast("B").cast("q")
        entries = [_entry(plan.inputs[name], plan) for name in self.body.taken]
        count = len(entries) - len(self.body.captured)
        self.entries, self.captured = entries[:count], entries[count:]
        self.checks = [
            (size, entry.tensor, axis)
            for entry in entries
            if entry.slot is not None
            for axis, size in enumerate(entry.tensor.shape)
            if not isinstance(size, int) and symbols(size) != {str(size)}
        ]
        self.pieces = [Piece(plan, segment, self.slots, self.words) for segment in plan.segments]


def _entry(tensor: Tensor, plan: Plan) -> _Entry:
    sizes = tuple(size if isinstance(size, int) else str(size) if _is_name(size) else None for size in tensor.shape)
    slot = plan.placed.get(tensor)
    return _Entry(tensor, slot, None if slot is None else tensor.dtype.numpy, sizes)


def _is_name(size: Dim) -> bool:
    return symbols(size) == {str(size)}
