"""Reductions of windows that slide along a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd

from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import LONGEST_WINDOW, For, Kind, SlidingWindows, Statement, Var
from ingot.loops.kinds import statements
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import indented, variables
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally


def _show(nest: SlidingWindows, text: ExpressionText) -> Iterator[str]:
    yield f"slide {variables((nest.along,))} by {nest.stride}/{nest.step} along {variables((nest.row,))}:"
    yield from indented(statements.show(_loops(nest), text))


def _parametrise(nest: SlidingWindows, parameters: Parameters) -> SlidingWindows:
    """The extent of the axis along which windows slide stays in the code, and so do small ones beside it."""
    return replace(
        nest,
        rows=parameters.variables(nest.rows),
        row=parameters.var(nest.row),
        lane=parameters.var(nest.lane),
        inner=parameters.windows(nest.inner),
        along=parameters.var(nest.along, LONGEST_WINDOW),
        starts=parameters.statements(nest.starts),
        body=parameters.statements(nest.body),
        ends=parameters.statements(nest.ends),
    )


def _cost(nest: SlidingWindows, tally: Tally) -> None:
    tally.statements(_loops(nest))


def _verify(nest: SlidingWindows, scope: Scope) -> None:
    if nest.stride < 1 or nest.step < 1 or gcd(nest.stride, nest.step) > 1:
        scope.refuse(f"windows that slide by {nest.stride}/{nest.step}")
    if not isinstance(nest.along.extent, int):
        scope.refuse("windows of unknown length that slide")
    scope.statements(_loops(nest))


def _loops(nest: SlidingWindows) -> tuple[Statement, ...]:
    """The nest as loops."""
    body = (*nest.starts, *_around((*nest.inner, nest.along), nest.body, Kind.SERIAL), *nest.ends)
    return _around((*nest.rows, nest.row, nest.lane), body, Kind.PARALLEL)


def _around(variables_: tuple[Var, ...], body: tuple[Statement, ...], kind: Kind) -> tuple[Statement, ...]:
    for var in reversed(variables_):
        body = (For(var, body, kind),)
    return body


KIND = NestKind(_show, _parametrise, _cost, _verify)
