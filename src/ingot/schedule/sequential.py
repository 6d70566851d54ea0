"""The schedule of statements whose order matters: independent loops vectorised or parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.loops.ir import For, Kind, Statement, Store, Var
from ingot.schedule.columns import in_columns
from ingot.schedule.target import Target


def schedule_statements(statements: Sequence[Statement], target: Target) -> tuple[Statement, ...]:
    """Loops marked as independent (`PARALLEL`) are vectorised where memory is contiguous.

    Others of them are shared by threads if they have loops inside, and serial if not.
    """
    return tuple(_loop(statement, target) if isinstance(statement, For) else statement for statement in statements)


def _loop(loop: For, target: Target) -> For:
    body = schedule_statements(loop.body, target)
    if loop.kind is not Kind.PARALLEL:
        return For(loop.var, body, loop.kind)
    if _is_contiguous(loop.body, loop.var):
        is_swept = any(isinstance(statement, For) for statement in body)
        columns = in_columns(loop.var, body, target) if is_swept else None
        return columns or For(loop.var, body, Kind.VECTOR)
    return For(loop.var, body, Kind.PARALLEL if any(isinstance(statement, For) for statement in body) else Kind.SERIAL)


def _is_contiguous(statements: Sequence[Statement], var: Var) -> bool:
    return all(store.index.factor(var) == 1 for store in _stores(statements))


def _stores(statements: Sequence[Statement]) -> Iterator[Store]:
    for statement in statements:
        if isinstance(statement, For):
            yield from _stores(statement.body)
        elif isinstance(statement, Store):
            yield statement
