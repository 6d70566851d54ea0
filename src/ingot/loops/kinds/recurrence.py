"""Recurrences: loops inside of a kernel, over statements and contractions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import Buffer, Contraction, Cycle, Recurrence
from ingot.loops.kinds import contraction, statements
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import indented, variables
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally


def _kind(nest: object) -> NestKind[Any]:
    return contraction.KIND if isinstance(nest, Contraction) else statements.KIND


def _show(nest: Recurrence, text: ExpressionText) -> Iterator[str]:
    for cycle in nest.cycles:
        pairs = ", ".join(f"{one.name} and {other.name}" for one, other in cycle.swapped)
        yield f"repeat {variables((cycle.time,))}{f', swapping {pairs}' if pairs else ''}:"
        for inner in cycle.nests:
            yield from indented(_kind(inner).show(inner, text))


def _parametrise(nest: Recurrence, parameters: Parameters) -> Recurrence:
    return Recurrence(parameters.size(nest.rows, "rows", 1), tuple(_cycle(cycle, parameters) for cycle in nest.cycles))


def _cycle(cycle: Cycle, parameters: Parameters) -> Cycle:
    return Cycle(
        parameters.var(cycle.time),
        tuple(_kind(inner).parametrise(inner, parameters) for inner in cycle.nests),
        tuple((parameters.buffer(one), parameters.buffer(other)) for one, other in cycle.swapped),
        tuple(parameters.size(line, "line") for line in cycle.lines),
    )


def _cost(nest: Recurrence, tally: Tally) -> None:
    for cycle in nest.cycles:
        once = Tally()
        for inner in cycle.nests:
            _kind(inner).cost(inner, once)
        tally.repeat(once, cycle.time.extent)


def _verify(nest: Recurrence, scope: Scope) -> None:
    for number, cycle in enumerate(nest.cycles):
        with scope.inside(f"cycle {number}", (cycle.time,)):
            for inner in cycle.nests:
                _kind(inner).verify(inner, scope)
        if len(cycle.lines) != len(cycle.swapped):
            scope.refuse("a cycle that swaps buffers of unknown size")
        for pair in cycle.swapped:
            scope.loaded.update(dict.fromkeys(pair))
            scope.stored.update(dict.fromkeys(pair))
        if nest.rows != 1 and not all(isinstance(inner, Contraction) for inner in cycle.nests):
            scope.refuse("a cycle of rows with statements that have none")
        for inner in cycle.nests:
            if isinstance(inner, Contraction) and (not inner.packed or inner.batch or len(inner.m) > 1):
                scope.refuse("a cycle with a contraction that packs, or has several axes of rows")


def _of_inner(buffers: Callable[[NestKind[Any]], Callable[[Any], tuple[Buffer, ...]]]) -> Callable[[Recurrence], Any]:
    def of(nest: Recurrence) -> tuple[Buffer, ...]:
        inner = [inner for cycle in nest.cycles for inner in cycle.nests]
        return tuple(buffer for each in inner for buffer in buffers(_kind(each))(each))

    return of


KIND = NestKind(
    _show, _parametrise, _cost, _verify, _of_inner(lambda kind: kind.scratch), _of_inner(lambda kind: kind.zeros)
)
