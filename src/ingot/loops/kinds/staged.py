"""Windows that read scratch memory, to which what they slide over is copied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import For, Kind, Staged, Statement, extent
from ingot.loops.kinds import statements
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import indented, variables
from ingot.loops.parameters import Parameters
from ingot.loops.rewrite import within
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally

_MOST_UNROLLED = 64
"""Rows of a window up to which their number stays in the code."""


def _show(nest: Staged, text: ExpressionText) -> Iterator[str]:
    yield f"stage in {nest.length} of {nest.scratch[0].name}:"
    yield from indented(statements.show(nest.filled, text))
    yield f"for {variables(nest.rows)} parallel:"
    yield from indented(statements.show((*nest.copied, *nest.body), text))


def _parametrise(nest: Staged, parameters: Parameters) -> Staged:
    """The innermost loops, over the rows of a window, are unrolled; those around them, over its columns, are not."""
    parameters.keep_layouts(nest.scratch)
    windows = [loop for loop in _jammed(nest.body) if isinstance(loop, For)]
    for loop in windows:
        is_innermost = not any(isinstance(inner, For) for inner in loop.body)
        parameters.var(loop.var, _MOST_UNROLLED if is_innermost else -1)
    return replace(
        nest,
        rows=parameters.variables(nest.rows),
        filled=parameters.statements(nest.filled),
        copied=parameters.statements(nest.copied),
        body=parameters.statements(nest.body),
        scratch=parameters.buffers(nest.scratch),
    )


def _jammed(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """What is in the jammed loops of statements."""
    for statement in within(body):
        if isinstance(statement, For) and statement.kind is Kind.JAM:
            yield from within(statement.body)


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
