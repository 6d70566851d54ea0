"""Chains of dependent loads, as in a tree, interleaved: a few independent ones advance in lockstep.

A processor waits for every load of a chain. Of chains one after another it reaches the next only when it is nearly
through; of interleaved ones it waits for all at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.loops.ir import Let, Load, Local, Nest, Scalar, Statement, Store, Var
from ingot.loops.rewrite import Reindexed, operands
from ingot.schedule.jam import Jam

_COUNTS = (8, 7, 6, 5, 4, 3)
"""How many chains are interleaved, the best first: each takes a register or two."""

_LONG = 4
"""Dependent loads that make a chain."""


def interleave_chains(nest: Nest) -> tuple[Sequence[Var], tuple[Statement, ...]] | None:
    """The rows that are left and the statements for each; None if a nest has no chains, or no count divides them."""
    if len(nest.stages) != 1 or nest.stages[0].inner or nest.stages[0].starts or not nest.rows:
        return None
    *rows, last = nest.rows
    count = next((divisor for divisor in _COUNTS if isinstance(last.extent, int) and last.extent % divisor == 0), None)
    if count is None or not isinstance(last.extent, int) or last.extent == 0:
        return None
    body: list[Statement] = []
    change = Reindexed(lambda index: index)
    longest = 0
    for statement in nest.stages[0].body:
        assert isinstance(statement, Store)
        lengths: dict[int, int] = {}
        for value in _in_order(statement.value, set()):
            before = max((lengths[id(operand)] for operand in operands(value)), default=0)
            lengths[id(value)] = before + isinstance(value, Load)
            if isinstance(value, Load) and before:
                body.append(Let(f"l{len(body)}", change.scalar(value)))
                change.replace(value, Local(value.dtype, f"l{len(body) - 1}"))
        longest = max(longest, *lengths.values())
        body.append(change.statement(statement))
    if longest < _LONG:
        return None
    steps = last.extent // count
    split = Jam(last, None if steps == 1 else Var(f"{last.name}s", steps), Var(f"{last.name}t", count), None)
    return [*rows, *([] if split.steps is None else [split.steps])], split.jammed(body)


def _in_order(value: Scalar, seen: set[int]) -> Iterator[Scalar]:
    """Every subexpression of an expression, once, after its operands."""
    if id(value) in seen:
        return
    seen.add(id(value))
    for operand in operands(value):
        yield from _in_order(operand, seen)
    yield value
