"""Nests that are not scheduled: loops over rows, and in each row one stage after another."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.loops.expressions import ExpressionText
from ingot.loops.ir import Nest, serial_loops
from ingot.loops.kinds import statements
from ingot.loops.kinds.kind import NestKind
from ingot.loops.parameters import Parameters
from ingot.loops.scope import Scope
from ingot.loops.tally import Tally


def _show(nest: Nest, text: ExpressionText) -> Iterator[str]:
    return statements.show(serial_loops(nest), text)


def _parametrise(_: Nest, __: Parameters) -> Nest:
    raise AssertionError("a kernel is scheduled before its sizes become parameters")


def _cost(nest: Nest, tally: Tally) -> None:
    tally.statements(serial_loops(nest))


def _verify(nest: Nest, scope: Scope) -> None:
    scope.statements(serial_loops(nest))


KIND = NestKind(_show, _parametrise, _cost, _verify)
