"""Nests of plain statements: loops, locals and stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.loops.expressions import ExpressionText, updated
from ingot.loops.ir import For, Kind, Let, Position, Statement, Store, Update
from ingot.loops.kinds.kind import NestKind
from ingot.loops.kinds.text import indented
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally


def show(statements: Sequence[Statement], text: ExpressionText) -> Iterator[str]:
    """Statements, a line each, and before them what the names in them are."""
    for statement in statements:
        match statement:
            case For():
                how = "" if statement.kind is Kind.SERIAL else f" {statement.kind.value}"
                yield f"for {statement.var.name} < {statement.var.extent}{how}:"
                yield from indented(show(statement.body, text))
            case Let():
                lines, (value,) = text.of(statement.value)
                yield from (*lines, f"{statement.name} = {value}")
            case Update():
                lines, (value,) = text.of(statement.value)
                yield from (*lines, updated(statement.function, statement.name, value))
            case Store():
                lines, (value, place) = text.of(statement.value, Position(statement.index))
                yield from (*lines, f"{statement.buffer.name}[{place}] = {value}")


def _parametrise(statements: tuple[Statement, ...], parameters: Parameters) -> tuple[Statement, ...]:
    return parameters.statements(statements)


def _cost(statements: tuple[Statement, ...], tally: Tally) -> None:
    tally.statements(statements)


def _verify(statements: tuple[Statement, ...], scope: Scope) -> None:
    scope.statements(statements)


KIND = NestKind(show, _parametrise, _cost, _verify)
