"""Sorts: the places of the first elements of rows, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from ingot.dtypes import DType
from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import PLACE, Sort, extent
from ingot.loops.kinds import statements
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import definitions, indented, variables
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally

_PASSES = 16
"""Operations for each element of a row that is sorted whole: a few passes."""


def _show(nest: Sort, text: ExpressionText) -> Iterator[str]:
    yield f"sort {variables((*nest.rows, nest.rank))}:"
    lines, (x,) = text.of(nest.x)
    yield f"  place = {'greatest' if nest.descending else 'least'} of {variables((nest.element,))}: {x}"
    yield from definitions(lines)
    yield from indented(statements.show(nest.body, text))


def _parametrise(nest: Sort, parameters: Parameters) -> Sort:
    return replace(
        nest,
        rows=parameters.variables(nest.rows),
        element=parameters.var(nest.element),
        rank=parameters.var(nest.rank, 1),
        x=parameters.load(nest.x),
        body=parameters.statements(nest.body),
        line=parameters.size(nest.line, "line"),
        scratch=parameters.buffers(nest.scratch),
    )


def _cost(nest: Sort, tally: Tally) -> None:
    tally.compute(extent((*nest.rows, nest.element)) * _PASSES)
    tally.expressions([nest.x], 0)
    tally.statements(nest.body, extent((*nest.rows, nest.rank)))


def _verify(nest: Sort, scope: Scope) -> None:
    with scope.inside("rows", (*nest.rows, nest.element)):
        scope.expression(nest.x)
    if nest.element.extent != 1 and nest.x.index.factor(nest.element) != 1:
        scope.refuse("a sort of rows whose elements do not lie side by side")
    with scope.inside("epilogue", (*nest.rows, nest.rank), {PLACE: DType.INT64}):
        scope.statements(nest.body)


KIND = NestKind(_show, _parametrise, _cost, _verify, attrgetter("scratch"))
