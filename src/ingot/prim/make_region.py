"""Constructors of regions: bodies that run over and over, or of which one runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.prim.guard import Guards
from ingot.prim.make import reshape
from ingot.prim.region import BodyArgument, Branch, RegionResult, Repeat
from ingot.prim.tensor import AssumeShape, Refused, Tensor, assume_shape
from ingot.prim.walk import in_order

Body = Callable[[Tensor, tuple[Tensor, ...]], tuple[Sequence[Tensor], Sequence[Tensor]]]
"""From the number of a run and the states to the new states, and the rows that are collected."""


def repeat(trips: Dim, initial: Sequence[Tensor], body: Body) -> tuple[list[Tensor], list[Tensor]]:
    """The states after `trips` runs of a body, and the rows that each run adds along a new first axis.

    Refused if a state changes its type or size.
    """
    number = BodyArgument(DType.INT64, (), "number")
    states = tuple(BodyArgument(tensor.dtype, tensor.shape, f"state{place}") for place, tensor in enumerate(initial))
    results, rows = body(number, states)
    return repeated(trips, None, initial, number, states, None, results, rows, trips)


def repeated(
    trips: Dim | Tensor | None,
    condition: Tensor | None,
    initial: Sequence[Tensor],
    number: BodyArgument,
    states: Sequence[BodyArgument],
    going: Tensor | None,
    results: Sequence[Tensor],
    rows: Sequence[Tensor],
    count: Dim,
) -> tuple[list[Tensor], list[Tensor]]:
    """The results of a repetition whose body is an expression of `number` and `states`; it collects `count` rows."""
    inside = _dependent_on({number, *states}, [*results, *rows])
    next_states: list[Tensor] = []
    for state, result in zip(states, results, strict=True):
        if result.dtype is not state.dtype or result.rank != state.rank:
            raise Refused("a state that changes its type")
        fits = assume_shape(result, state.shape)
        own = fits in inside and fits not in next_states and not isinstance(fits, BodyArgument | RegionResult)
        next_states.append(fits if own else copied(fits))
    region = Repeat(
        trips,
        None if condition is None else copied(reshape(condition, ())),
        tuple(map(copied, initial)),
        number,
        tuple(states),
        None if going is None else copied(reshape(going, ())),
        tuple(next_states),
        tuple(map(copied, rows)),
    )
    last: list[Tensor] = [
        RegionResult(tensor.dtype, tensor.shape, region, place) for place, tensor in enumerate(initial)
    ]
    collected: list[Tensor] = [
        RegionResult(tensor.dtype, (count, *tensor.shape), region, place)
        for place, tensor in enumerate(rows, len(initial))
    ]
    return last, collected


def branch(
    condition: Tensor,
    then: Sequence[Tensor],
    otherwise: Sequence[Tensor],
    guards: tuple[Guards, Guards] = ((), ()),
) -> list[Tensor]:
    """The results of one of two bodies; Refused if they have different types or sizes."""
    for one, other in zip(then, otherwise, strict=True):
        if one.dtype is not other.dtype or one.shape != other.shape:
            raise Refused("branches that make different sizes")
    region = Branch(reshape(condition, ()), tuple(map(copied, then)), tuple(map(copied, otherwise)), guards)
    return [RegionResult(tensor.dtype, tensor.shape, region, place) for place, tensor in enumerate(then)]


def copied(x: Tensor) -> Tensor:
    """The same elements as a tensor of its own."""
    return AssumeShape(x.dtype, x.shape, x)


def _dependent_on(arguments: set[Tensor], results: Sequence[Tensor]) -> set[Tensor]:
    """The tensors that depend on the arguments of a body."""
    dependent = set(arguments)
    for tensor in in_order(results):
        if any(operand in dependent for operand in tensor.reads):
            dependent.add(tensor)
    return dependent
