"""Graphs inside of nodes that the reference runs, as plans: how they are run, over and over, with little in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.dims import Dim, evaluate, symbols
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError
from ingot.ir.sort import captures
from ingot.prim.tensor import Call, Tensor
from ingot.runtime.address import address_of
from ingot.runtime.limits import LimitError, exceeded
from ingot.runtime.plan import Body, GuardFailed, Plan, StepObserver, described, fresh_array
from ingot.runtime.rebinding import Rebinding
from ingot.runtime.thread_pool import thread_pool

if TYPE_CHECKING:
    from ingot.ir.graph import Graph
    from ingot.ir.model import Model
    from ingot.ir.value import Value
    from ingot.runtime.evaluate import Evaluation


_FEW_BYTES = 1 << 16
"""Less than that is counted when it is there."""


class Unsettled(Exception):
    """A graph was changed for sizes that are not as assumed, as the message says: the reference has to run all."""


KERNEL_ERROR = "a kernel met an index out of range, or a branch that these sizes rule out"


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
            raise Unsettled(f"graph '{graph.name}' was changed for assumed sizes and is not compiled")
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
        self._count = 1 + body.nodes
        self._ledger = self._evaluation.ledger
        self._pool = thread_pool()
        self._observes = reference.observe is not None
        self._captured = captured
        self._frame: _Frame | None = None
        self._known: dict[str, int] = {"threads": plan.threads, "runs": plan.runs}
        self._values: dict[Tensor, Any] = dict(plan.constants)
        self._fixed: dict[Tensor, Any] = {}
        self._depth = depth
        self._waiting = body.first is not None

    def run(self, inputs: Sequence[Any]) -> list[Any] | None:
        """What the body gives; None if the reference has to say, or to run it."""
        evaluation, words = self._evaluation, self._reference.words
        evaluation.proceed(self._count)
        drawn = evaluation.drawn
        results: list[Any] | None = None
        reason = KERNEL_ERROR
        try:
            if self._waiting:
                self._compute_first()
            if self._observes:
                results = self._observed(inputs)
            else:
                frame = self._frame or self._begin()
                results = self._run(frame, inputs) if frame.results is None else self._once(frame, inputs)
        except GuardFailed as mistaken:
            reason = str(mistaken)
        if words[1]:
            evaluation.proceed()
        if words[0] or words[1] or results is None:
            words[0] = 0
            if self._body.strict:
                raise Unsettled(reason)
            evaluation.drawn = drawn
            return None
        return results

    def close(self) -> None:
        """Leave to others what was needed to run it."""
        if self._frame is not None:
            frame, self._frame = self._frame, None
            self._plan.frames.append(frame)

    def _compute_first(self) -> None:
        """Have what every run would compute alike, when there is a first run; GuardFailed if that goes wrong."""
        first = self._body.first
        assert first is not None
        assert first.plan is not None
        once = Running(first, first.plan, (), self._reference, self._depth)
        try:
            found = once.run(self._captured)
        except (CheckError, InputError):  # perhaps something else goes wrong before it
            found = None
        finally:
            once.close()
        if found is None:
            raise GuardFailed("what all runs of a body share cannot be computed once")
        self._captured = [*self._captured, *found]
        self._waiting = False

    def _once(self, frame: _Frame, inputs: Sequence[Any]) -> list[Any]:
        """The results of a plan that is one segment."""
        known, slots = self._known.copy(), frame.words
        given: list[Any] | None = None
        for place, entry in frame.placed:
            array = inputs[place]
            if type(array) is not np.ndarray or not array.flags.c_contiguous:
                given = given or list(inputs)
                array = given[place] = _contiguous(array)
            entry.note(array, known, slots)
        piece = frame.pieces[0]
        piece.ready(known)
        ledger = self._ledger
        if piece.needed > _FEW_BYTES and piece.needed > ledger.left:
            raise self._excess(piece.needed, ledger.left)
        made = []
        for slot, _, dtype, shape in piece.fresh:
            array = fresh_array(shape, dtype)
            slots[slot] = address_of(array)
            ledger.charge_new(array)
            made.append(array)
        if piece.job is not None:
            self._pool.start(piece.job)
        assert frame.results is not None
        sources = (given or inputs, made, self._fixed)
        return [sources[which][place] for which, place in frame.results]

    def _run(self, frame: _Frame, inputs: Sequence[Any]) -> list[Any] | None:
        known, values, slots, words = self._known.copy(), self._values.copy(), frame.words, self._reference.words
        for given, entry in zip(inputs, frame.entries, strict=True):
            entry.take(given, values, known, slots)
        for size, tensor, axis in frame.checks:
            if (assumed := evaluate(size, known)) != (real := values[tensor].shape[axis]):
                raise GuardFailed(f"axis {axis} of an input of a body is {real}, {size} = {assumed} was assumed")
        left, charge = self._ledger.left, self._ledger.charge_new
        for piece in frame.pieces:
            piece.ready(known)
            left -= piece.needed
            if left < 0:
                raise self._excess(piece.needed, left + piece.needed)
            for slot, tensor, dtype, shape in piece.fresh:
                array = values[tensor] = fresh_array(shape, dtype)
                slots[slot] = address_of(array)
                charge(array)
            if piece.job is not None:
                self._pool.start(piece.job)
                if words[0] or words[1]:
                    return None
            if piece.call is not None:
                self._plan.make(piece.call, self._call, frame.slots, values, known)
        return [values[tensor] for tensor in self._body.outputs]

    def _excess(self, needed: int, left: int) -> LimitError:
        said = f"the values of a run of a body take {needed:,} bytes, {left:,} are left"
        return exceeded(said, "memory", f"{self._ledger.live + needed:_}")

    def _begin(self) -> _Frame:
        """A table of slots, with what is captured in it."""
        try:
            frame: _Frame = self._plan.frames.pop()
        except IndexError:  # in use, all of them
            frame = _Frame(self._plan, self._body)
        for piece in frame.pieces:
            piece.use(self._reference.state)
        for given, entry in zip(self._captured, frame.captured, strict=True):
            entry.take(given, self._values, self._known, frame.words)
        self._fixed = {tensor: self._values.get(tensor) for tensor in self._body.outputs}
        self._frame = frame
        return frame

    def _observed(self, inputs: Sequence[Any]) -> list[Any] | None:
        feeds = dict(zip(self._body.taken, (*inputs, *self._captured), strict=True))
        reference = self._reference
        ledger = self._ledger
        values = self._plan.run(feeds, self._call, reference.state, reference.observe, ledger.left)
        if reference.words[0] or reference.words[1]:
            return None
        results = [values[tensor] for tensor in self._body.outputs]
        ledger.charge(results)
        return results


@dataclass(slots=True)
class _Entry:
    """An input of a plan: the tensor it is, its slot if it has one, and the names or numbers of its sizes."""

    tensor: Tensor
    slot: int | None
    dtype: Any
    sizes: tuple[str | int | None, ...]

    def take(self, given: Any, values: dict[Tensor, Any], known: dict[str, int], slots: Any) -> None:
        """Note an array; GuardFailed if it is of another type, or of other sizes than there are."""
        values[self.tensor] = given
        if self.slot is None:
            return
        if type(given) is not np.ndarray or not given.flags.c_contiguous:
            given = values[self.tensor] = _contiguous(given)
        self.note(given, known, slots)

    def note(self, array: Array, known: dict[str, int], slots: Any) -> None:
        """Note where an array is, and the sizes it tells; GuardFailed if it is of another type, or of other sizes."""
        shape = array.shape
        if len(shape) != len(self.sizes) or (array.dtype is not self.dtype and array.dtype != self.dtype):
            raise self._mistaken(array)
        slots[self.slot] = address_of(array)
        for size, real in zip(self.sizes, shape, strict=True):
            if type(size) is str:
                if known.setdefault(size, real) != real:
                    raise self._mistaken(array)
            elif size is not None and size != real:
                raise self._mistaken(array)

    def _mistaken(self, array: Array) -> GuardFailed:
        shown = f"{array.dtype}{list(array.shape)}"
        return GuardFailed(f"an input of a body is {shown}, {described(self.tensor)} was assumed")


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
    pieces: list[Rebinding] = field(init=False)
    placed: list[tuple[int, _Entry]] = field(init=False)
    """The inputs that have slots, with their places among all."""
    results: list[tuple[int, Any]] | None = field(init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        self.slots = plan.template.copy()
        self.words = memoryview(self.slots).cast("B").cast("q")
        entries = [_entry(plan.inputs[name], plan) for name in self.body.taken]
        inside = 0 if self.body.first is None else len(self.body.first.outputs)
        count = len(entries) - len(self.body.captured) - inside
        self.entries, self.captured = entries[:count], entries[count:]
        self.checks = [
            (size, entry.tensor, axis)
            for entry in entries
            if entry.slot is not None
            for axis, size in enumerate(entry.tensor.shape)
            if not isinstance(size, int) and symbols(size) != {str(size)}
        ]
        self.pieces = [Rebinding(plan, segment, self.slots, self.words) for segment in plan.segments]
        self.placed = [(place, entry) for place, entry in enumerate(self.entries) if entry.slot is not None]
        self.results = self._results()

    def _results(self) -> list[tuple[int, Any]] | None:
        """Where each result comes from, if the plan is one segment: an input, what is made, or something fixed."""
        if len(self.plan.segments) != 1 or self.plan.segments[0].call is not None or self.checks:
            return None
        given = {entry.tensor: (0, place) for place, entry in enumerate(self.entries)}
        made = [room.fresh for room in self.plan.segments[0].rooms if room.fresh is not None]
        known = {tensor: (1, place) for place, tensor in enumerate(made)} | given
        return [known.get(tensor, (2, tensor)) for tensor in self.body.outputs]


def _entry(tensor: Tensor, plan: Plan) -> _Entry:
    sizes = tuple(size if isinstance(size, int) else str(size) if _is_name(size) else None for size in tensor.shape)
    slot = plan.placed.get(tensor)
    return _Entry(tensor, slot, None if slot is None else tensor.dtype.numpy, sizes)


def _contiguous(given: Any) -> Array:
    return np.ascontiguousarray(given).reshape(np.shape(given))


def _is_name(size: Dim) -> bool:
    return symbols(size) == {str(size)}
