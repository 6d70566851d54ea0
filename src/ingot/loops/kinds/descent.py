"""Decision trees: rows of features go down all of them, and the votes of leaves are reduced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from ingot.dtypes import DType
from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import VOTES, Descent, Load
from ingot.loops.kinds import statements
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import definitions, indented, variables
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally

_STEP = 4
"""Operations of a step from a node to the next: two loads, a comparison, the place of the next."""


def _show(nest: Descent, text: ExpressionText) -> Iterator[str]:
    how = f", {nest.chunk} rows at a time" if nest.scratch else ""
    how += f", by bits of {nest.leaves} leaves" if nest.tests is not None else ""
    yield f"descend {nest.trees} trees, {variables((nest.row, nest.column))}{how}:"
    lines, (x,) = text.of(nest.x)
    yield f"  votes = {nest.function} over leaves by {variables((nest.feature,))}: {x}"
    yield from definitions(lines)
    yield from indented(statements.show(nest.body, text))


def _parametrise(nest: Descent, parameters: Parameters) -> Descent:
    def optional(load: Load | None) -> Load | None:
        return None if load is None else parameters.load(load)

    return replace(
        nest,
        row=parameters.var(nest.row),
        column=parameters.var(nest.column, 1),
        feature=parameters.var(nest.feature),
        x=parameters.load(nest.x),
        nodes=parameters.load(nest.nodes),
        shift=nest.shift if nest.wide else parameters.size(nest.shift, "shift"),
        roots=parameters.load(nest.roots),
        votes=parameters.load(nest.votes),
        targets=optional(nest.targets),
        trees=parameters.size(nest.trees, "trees"),
        steps=0,
        body=parameters.statements(nest.body),
        tests=optional(nest.tests),
        spans=optional(nest.spans),
        exits=optional(nest.exits),
        chunk=parameters.size(nest.chunk, "chunk"),
        lines=(parameters.size(nest.lines[0], 0), parameters.size(nest.lines[1], 1)),
        scratch=parameters.buffers(nest.scratch),
    )


def _tables(nest: Descent) -> list[Load]:
    tables = (nest.nodes, nest.roots, nest.votes, nest.targets, nest.tests, nest.spans, nest.exits)
    return [table for table in tables if table is not None]


def _cost(nest: Descent, tally: Tally) -> None:
    tally.compute(nest.row.extent * nest.trees * (nest.steps * _STEP + 1))
    tally.expressions([nest.x], 0)
    for table in _tables(nest):
        tally.read_whole(table.buffer)
    tally.statements(nest.body, nest.row.extent * nest.column.extent)


def _verify(nest: Descent, scope: Scope) -> None:
    with scope.inside("features", (nest.row, nest.feature)):
        scope.expression(nest.x)
    for table in _tables(nest):
        scope.expression(table)
    with scope.inside("epilogue", (nest.row, nest.column), {VOTES: DType.FLOAT64}):
        scope.statements(nest.body)


KIND = NestKind(_show, _parametrise, _cost, _verify, attrgetter("scratch"))
