"""Windows that read scratch memory, to which what they slide over is copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import For, Kind, Staged, extent
from ingot.loops.kinds import statements
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import indented, variables
from ingot.loops.parameters import Parameters
from ingot.loops.rewrite import within
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally


def _show(nest: Staged, text: ExpressionText) -> Iterator[str]:
    yield f"stage in {nest.length} of {nest.scratch[0].name}:"
    yield from indented(statements.show(nest.filled, text))
    yield f"for {variables(nest.rows)} parallel:"
    yield from indented(statements.show((*nest.copied, *nest.body), text))


def _parametrise(nest: Staged, parameters: Parameters) -> Staged:
    """Rows of windows, the innermost loops, are unrolled; the loops around them, over columns, are not."""
    parameters.keep_layouts(nest.scratch)
    for loop in within(nest.body):
        if isinstance(loop, For) and loop.kind is Kind.SERIAL and any(isinstance(inner, For) for inner in loop.body):
            parameters.var(loop.var)
    return replace(
        nest,
        rows=parameters.variables(nest.rows),
        filled=parameters.statements(nest.filled),
        copied=parameters.statements(nest.copied),
        body=parameters.statements(nest.body),
        scratch=parameters.buffers(nest.scratch),
    )


def _cost(nest: Staged, tally: Tally) -> None:
    tally.statements(nest.copied, extent(nest.rows))
    tally.statements(nest.body, extent(nest.rows))


def _verify(nest: Staged, scope: Scope) -> None:
    scope.statements(nest.filled)
    with scope.inside("rows", nest.rows):
        scope.statements(nest.copied)
    with scope.inside("rows", nest.rows, parallel=True):
        scope.statements(nest.body)


KIND = NestKind(_show, _parametrise, _cost, _verify, attrgetter("scratch"))
