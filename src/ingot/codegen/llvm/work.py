"""The work in statements: how often they run, and what they take each time."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dims import Dim
from ingot.loops.ir import Apply, CheckedIndex, For, Scalar, Select, Statement

_TRANSPORT = 4
"""What it takes to read and write an element, in functions."""


def rounds_of(statements: Sequence[Statement]) -> Dim:
    """How many times the innermost statements run."""
    total: Dim = 0
    for statement in statements:
        if isinstance(statement, For):
            total = total + statement.var.extent * rounds_of(statement.body)
    return total if total != 0 else 1


def weight_of(statements: Sequence[Statement]) -> int:
    """What it takes each time, at most: functions, and the transport."""
    inner = max((weight_of(each.body) for each in statements if isinstance(each, For)), default=0)
    return max(inner, _TRANSPORT + functions_in(statements))


def functions_in(statements: Sequence[Statement]) -> int:
    """How many functions there are in statements, not counting loops."""
    seen: set[int] = set()
    pending: list[Scalar] = [each.value for each in statements if not isinstance(each, For)]
    count = 0
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Apply):
            count += 1 if value.function not in ("exp", "tanh", "erf", "log", "sigmoid") else 12
            pending.extend(value.arguments)
        elif isinstance(value, Select | CheckedIndex):
            pending.append(value.value)
    return count
