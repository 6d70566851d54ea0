"""The work of statements: how often they run, and the operations of each time."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dims import Dim
from ingot.loops.function_costs import operations_in
from ingot.loops.ir import For, Statement
from ingot.schedule.work import TRANSPORT


def rounds_of(statements: Sequence[Statement]) -> Dim:
    """How many times the innermost statements run."""
    total: Dim = 0
    for statement in statements:
        if isinstance(statement, For):
            total = total + statement.var.extent * rounds_of(statement.body)
    return total if total != 0 else 1


def weight_of(statements: Sequence[Statement]) -> int:
    """The operations of an iteration, at most, with its loads and stores."""
    inner = max((weight_of(statement.body) for statement in statements if isinstance(statement, For)), default=0)
    return max(inner, TRANSPORT + operations_of(statements))


def operations_of(statements: Sequence[Statement]) -> int:
    """The operations of statements, loops left out."""
    return operations_in([statement.value for statement in statements if not isinstance(statement, For)])
