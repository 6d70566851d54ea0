"""Loop: a graph run over and over, carrying states, until a count is reached or a condition fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.builder import inserting
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, UnsupportedError
from ingot.ir.clone import copy_graph
from ingot.ir.graph import Graph
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.control.carried import (
    HEADS,
    Collection,
    V,
    after_runs,
    as_true_as,
    bound,
    constant_element,
    forwarded,
    moved,
    named_sizes,
    outward,
    require_arity,
    scalar,
    truth,
)
from ingot.ops.control.regions import Regions, require_all, require_same_shapes, require_tensors
from ingot.ops.control.trip_inputs import counter, element_rank, truths
from ingot.ops.define import AtLeast, Heterogeneous, Runtime, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.shapes import is_natural
from ingot.ops.typesets import ALL_3, BOOL, INT64, types
from ingot.prim.make import reshape
from ingot.prim.make_region import repeated
from ingot.prim.region import BodyArgument
from ingot.prim.tensor import Constant, Refused, Tensor
from ingot.prim.tensor import scalar as prim_scalar

I: TypeAlias = Annotated[Array, types("I", INT64)]  # noqa: E741
B: TypeAlias = Annotated[Array, types("B", BOOL)]
V1: TypeAlias = Annotated[Array, types("V", ALL_3)]

_OMITTED = Fact(present=False)
_ENDLESS = 1 << 62
"""Trips of a loop that only its condition ends."""


@operator("Loop", since=(11, 13, 16, 19, 21, 23, 24, 25))
def loop(
    m: I | None = None,
    cond: B | None = None,
    /,
    *v_initial: Annotated[V, Heterogeneous(), AtLeast(0)],
    body: Graph,
    runtime: Runtime,
) -> Annotated[tuple[V, ...], Heterogeneous()]:
    """The states after the last run of `body(i, going, *states) -> going, *states, *collected`; then what was
    collected, each stacked along a new first axis.

    It runs at most `m` times, and as long as the condition holds; without `cond`, what the body says of it is ignored.
    """
    return _Trips(body).run(m, cond, *v_initial, runtime=runtime)


class _Trips:
    """What all runs of one body share."""

    def __init__(self, body: Graph) -> None:
        self.body = body
        self.inputs, self.outputs = len(body.inputs), list(body.outputs)
        heads = list(body.inputs)[:HEADS]
        self.ranks = tuple(map(element_rank, heads)) if len(heads) == HEADS else (0, 0)

    def run(
        self, m: Array | None = None, cond: Array | None = None, /, *v_initial: Any, runtime: Runtime
    ) -> tuple[Any, ...]:
        """The results of the loop for its inputs."""
        _require_end(m is not None, cond is not None)
        carried = 1 + len(v_initial)
        if self.inputs != 1 + carried or len(self.outputs) < carried:
            require_arity(self.body, 1 + carried, carried)
        limit = None if m is None else scalar(m, "the trip count")
        going = cond is None or bool(scalar(cond, "the condition"))
        counted, known_truths = self.ranks[0], truths(self.ranks[1])
        states: list[Any] = list(v_initial)
        collected = self._collections(carried, v_initial, runtime) if len(self.outputs) > carried else {}
        step, repeats = 0, True
        condition = known_truths[going]
        while (limit is None or step < limit) and (cond is None or going):
            runs = None
            if repeats:
                most = _ENDLESS if limit is None else limit - step
                runs = runtime.repeat(self.body, step, most, cond is not None, [condition, *states])
                repeats = runs is not None
            if runs is not None:
                condition, *states = runs.states
                going = bool(scalar(condition, "the condition the body gives"))
                for place, collection in collected.items():
                    collection.extend(runs.rows[place])
                step += runs.count
                continue
            outputs = runtime.run(self.body, [counter(step, counted), condition, *states])
            if outputs[0] is not condition:  # a body that passes it on returns the array itself
                going = bool(scalar(outputs[0], "the condition the body gives"))
                condition = known_truths[going]
            states = outputs[1:carried]
            for place, collection in collected.items():
                collection.add(outputs[place])
            step += 1
        places = range(carried, len(self.outputs))
        return (*states, *[collected[place].stacked() if place in collected else None for place in places])

    def _collections(self, carried: int, v_initial: Sequence[Any], runtime: Runtime) -> dict[int, Collection]:
        """What is collected of the outputs of the body that anybody wants, by their places."""

        def known() -> dict[str, int]:
            own = zip(list(self.body.inputs)[HEADS:], map(np.shape, v_initial), strict=True)
            return {**named_sizes(*runtime.around(self.body)), **named_sizes(*own)}

        return {
            place: Collection(self.outputs[place], place, known)
            for place, is_wanted in enumerate(runtime.wanted, 1)
            if is_wanted and carried <= place < len(self.outputs)
        }


@loop.bind
def bind(*, body: Graph) -> Callable[..., tuple[Any, ...]]:
    """The same for one body, which is looked at once."""
    return _Trips(body).run


@loop.infer
def infer(m: Fact = _OMITTED, cond: Fact = _OMITTED, /, *states: Fact, body: Graph) -> list[Inferred]:
    _require_end(m.present, cond.present)
    require_arity(body, 2 + len(states), 1 + len(states))
    body_inputs = [value.type for value in body.inputs][2:]
    body_outputs = [value.type for value in body.outputs][1:]
    final = [after_runs(fact.type, a, b) for fact, a, b in zip(states, body_inputs, body_outputs, strict=False)]
    names = bound(zip(body_inputs, final, strict=True))
    count = _count(m, cond, body)
    results: list[Inferred] = [*final]
    for type_ in body_outputs[len(states) :]:
        element = outward(type_, names)
        if not isinstance(element, TensorType):
            results.append(None)
        else:
            results.append(TensorType(element.dtype, None if element.shape is None else (count, *element.shape)))
    return results


@loop.body
def into_body(m: Fact = _OMITTED, cond: Fact = _OMITTED, /, *states: Fact, body: Graph) -> list[Inferred]:
    """The count, the condition, and the states, of which only the shape may change from one run to the next."""
    del m, cond, body
    counted: list[Inferred] = [TensorType(DType.INT64, ()), TensorType(DType.BOOL, ())]
    return counted + [TensorType(fact.dtype) if fact.dtype is not None else None for fact in states]


@loop.downgrade
def downgrade(
    op: Any,
    m: Value | None = None,
    cond: Value | None = None,
    /,
    *v_initial: Value,
    body: Graph,
    version: int,
) -> Any:
    """A state that stays what it is, for a loop that has none: the first version carried at least one."""
    if version >= loop.since[0]:
        raise UnsupportedError("it does not carry values of this type")
    if v_initial:
        return op.Loop(m, cond, *v_initial, body=moved(body, "body"))
    state = Value(body.root.fresh_name("state"), TensorType(DType.INT64, ()))
    body.inputs.append(state)
    with inserting(at_end_of=body):
        body.outputs.insert(1, op.Identity(state).value)
    results = op.Loop(m, cond, np.int64(0), body=moved(body, "body"))
    return results[1:]


@loop.lower
def lower(
    m: Tensor | None = None,
    cond: Tensor | None = None,
    /,
    *v_initial: Tensor | None,
    body: Graph,
    facts: Sequence[Fact],
    regions: Regions,
) -> list[Tensor]:
    """A region that repeats: states that every run passes on as they are stay outside of it.

    With collected outputs their number must be known before, so that there is memory for all.
    """
    require_tensors([m, cond, *v_initial])
    initial = require_all(v_initial)
    body = copy_graph(body)
    carried = len(initial)
    invariant = [forwarded(body.outputs[1 + place]) is body.inputs[2 + place] for place in range(carried)]
    number = BodyArgument(DType.INT64, (), "number")
    states = [BodyArgument(start.dtype, start.shape, f"state{place}") for place, start in enumerate(initial)]
    goes_on = _goes_on(body)
    if cond is None and not goes_on and body.inputs[1].uses:
        raise Refused("a condition that is looked at but does not end the loop")
    heads = [_as_declared(body.inputs[0], number), _as_declared(body.inputs[1], prim_scalar(True, DType.BOOL))]
    inner = [initial[place] if invariant[place] else states[place] for place in range(carried)]
    results = regions.body(body, [*heads, *inner])
    wanted = list(regions.wanted)[carried:]
    rows = [row for row, is_wanted in zip(results[1 + carried :], wanted, strict=False) if is_wanted]
    count = _known_count(facts, body, regions) if rows else 0
    changing = [place for place in range(carried) if not invariant[place]]
    require_same_shapes([initial[place] for place in changing], [results[1 + place] for place in changing])
    trips: Dim | Tensor | None = count if rows else None if m is None else reshape(m, ())
    if isinstance(trips, Constant):
        trips = max(int(trips.array), 0)
    last, stacked = repeated(
        trips,
        None if cond is None or rows else cond,
        [initial[place] for place in changing],
        number,
        [states[place] for place in changing],
        None if cond is None or goes_on else results[0],
        [results[1 + place] for place in changing],
        rows,
        count,
    )
    finals, collected = iter(last), iter(stacked)
    ends = [initial[place] if invariant[place] else next(finals) for place in range(carried)]
    unread = prim_scalar(0, DType.INT64)
    return ends + [next(collected) if is_wanted else unread for is_wanted in wanted]


def _known_count(facts: Sequence[Fact], body: Graph, regions: Regions) -> Dim:
    """How many rows a loop collects; Refused if the trip count is data-dependent, whatever sizes the model declares."""
    m, cond = (*facts[:2], _OMITTED, _OMITTED)[:2]
    count = _count(m, cond, body)
    if count is None or not regions.is_known(count):
        raise Refused("a data-dependent trip count")
    return count


def _as_declared(value: Value, tensor: Tensor) -> Tensor:
    """A single element with the axes an input of a body declares: none, or one."""
    return reshape(tensor, (1,) * element_rank(value))


def _count(m: Fact, cond: Fact, body: Graph) -> Dim | None:
    """How often the body runs, where a known count alone decides it."""
    if not m.elements or (cond.present and not (truth(cond.constant) and _goes_on(body))):
        return None
    count = m.elements[0]
    if isinstance(count, int):
        return max(count, 0)
    return count if is_natural(count) else None


def _goes_on(body: Graph) -> bool:
    """Whether the body gives the condition back as it takes it, or a constant true."""
    source = as_true_as(body.outputs[0])
    return source is body.inputs[1] or truth(constant_element(source)) is True


def _require_end(counted: bool, conditional: bool) -> None:
    if not counted and not conditional:
        raise CheckError("a Loop with neither a trip count nor a condition never ends", hint="give one of them")


@operator("Loop", since=1)
def loop_1(
    m: I | None = None, cond: B | None = None, /, *v_initial: Annotated[V1, Heterogeneous()], body: Graph
) -> Annotated[tuple[V1, ...], Heterogeneous()]:
    """The same with at least one state."""
    raise superseded()


@loop_1.upgrade
def upgrade(op: Any, m: Value | None, cond: Value | None, /, *v_initial: Value, body: Graph) -> Any:
    return op.Loop(m, cond, *v_initial, body=moved(body, "body"))
