"""Windows that slide along a row on a GPU: which reductions are such, and along which axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from ingot.dims import Dim
from ingot.loops.ir import (
    LONGEST_WINDOW,
    Index,
    Let,
    Load,
    Nest,
    SlidingWindows,
    Stage,
    Statement,
    Update,
    Var,
)
from ingot.loops.rewrite import indices, parts, stores, values
from ingot.schedule.nest import contiguous_axis

_FARTHEST = 8
"""Elements of a window by which it may slide, or that its elements may lie apart, at most."""


def sliding_windows(nest: Nest) -> SlidingWindows | None:
    """A nest as windows that slide along one of its rows, the longest that do; None if none do."""
    if len(nest.stages) != 2 or not nest.stages[0].inner or nest.stages[1].inner:
        return None
    stage, last = nest.stages
    if not all(isinstance(statement, Let) for statement in stage.starts) or not stage.starts:
        return None
    if not all(isinstance(statement, Update) for statement in stage.body):
        return None
    ends = (*last.starts, *last.body)
    loaded = {load.buffer for load in _loads((*stage.starts, *stage.body, *ends))}
    if not stage.body or any(store.buffer in loaded for store in stores(ends)):
        return None
    lane = contiguous_axis(nest.rows, nest.stages)[0] or _stored_along(nest.rows, ends)
    extents = [var.extent for var in stage.inner]
    if lane is None or not all(isinstance(size, int) and size <= LONGEST_WINDOW for size in extents):
        return None
    best: tuple[Fraction, Var, Var, Fraction] | None = None
    for row in (row for row in nest.rows if row is not lane and row.extent != 1):
        for along in stage.inner:
            ratio = _ratio(stage, row, along, lane)
            if ratio is None or not isinstance(along.extent, int):
                continue
            shared = along.extent / ratio  # windows that read one element
            if shared > 1 and (best is None or shared >= best[0]):
                best = shared, row, along, ratio
    if best is None:
        return None
    _, row, along, ratio = best
    rows = tuple(other for other in nest.rows if other is not row and other is not lane)
    inner = tuple(other for other in stage.inner if other is not along)
    starts, body = stage.starts, stage.body
    return SlidingWindows(rows, row, lane, inner, along, ratio.numerator, ratio.denominator, starts, body, ends)


def _stored_along(rows: Sequence[Var], ends: Sequence[Statement]) -> Var | None:
    """The row along which neighbours are stored."""
    return next((row for row in rows if all(store.index.factor(row) == 1 for store in stores(ends))), None)


def _ratio(stage: Stage, row: Var, along: Var, lane: Var) -> Fraction | None:
    """By how many elements windows slide from one place of `row` to the next; None if there is a load that does not.

    Conditions that slide may move with nothing else that is reduced, and are those of one axis.
    """
    others = [var for var in (*stage.inner, lane) if var is not along]
    ratios: set[Fraction | None] = set()
    for load in _loads(stage.body):
        moved = [load.index, *(condition.index for condition in load.where)]
        if any(not isinstance(term, Var) for index in moved for term, _ in index.terms):
            return None
        if load.index.factor(row) == 0 and not load.where:
            continue
        for number, index in enumerate(moved):
            if index.factor(row) == 0 and index.factor(along) == 0 and number > 0:
                continue
            if number > 0 and any(index.factor(var) != 0 for var in others):
                return None
            ratios.add(_quotient(index.factor(row), index.factor(along)))
    if len(ratios) != 1 or any(_moves(index, row) for index in _positions(stage)):
        return None
    return ratios.pop()


def _quotient(by: Dim, along: Dim) -> Fraction | None:
    """One step through the other where both are small numbers times the same size; None of others."""
    for stride in range(1, _FARTHEST + 1):
        for step in range(1, _FARTHEST + 1):
            if by != 0 and by * step == along * stride:
                return Fraction(stride, step)
    return None


def _positions(stage: Stage) -> Iterator[Index]:
    """The indices in a body that are neither of a load nor of its conditions."""
    of_loads = {id(index) for load in _loads(stage.body) for index in (load.index, *(c.index for c in load.where))}
    return (index for index in indices(*stage.body) if id(index) not in of_loads)


def _moves(index: Index, var: Var) -> bool:
    return index.factor(var) != 0


def _loads(statements: Sequence[Statement]) -> Iterator[Load]:
    return (part for part in parts(list(values(statements))) if isinstance(part, Load))
