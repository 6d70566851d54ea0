"""Rows that are gone through one by one, several columns of them at a time."""

from __future__ import annotations

from ingot.loops.ir import For, Index, Kind, Statement, Var
from ingot.loops.rewrite import Reindexed
from ingot.schedule.target import Target

_COLUMNS = 8
"""Columns of rows that are reduced at the same time."""

_LONG_ROW = 1024
"""Bytes of a row from which on that pays."""

_FLOAT = 4
"""Bytes of a float32, which most rows are of."""


def in_columns(across: Var, body: tuple[Statement, ...], target: Target) -> For | None:
    """A loop in vectors along rows, whose body goes from row to row, over several columns; None where it is short.

    A step to the next row is to another page of memory, or to the same few places of a cache: with several columns
    there are fewer of them.
    """
    length = across.extent
    if not isinstance(length, int) or length % (_COLUMNS * target.lanes(_FLOAT)) or length * _FLOAT < _LONG_ROW:
        return None
    lanes = target.lanes(_FLOAT)
    block, place = Var(f"{across.name}s", length // (_COLUMNS * lanes)), Var(f"{across.name}t", _COLUMNS)
    lane = Var(across.name, lanes)

    def change(index: Index) -> Index:
        terms = tuple(item for item in index.terms if item[0] is not across)
        own = Index(((block, _COLUMNS * lanes), (place, lanes), (lane, 1)))
        return Index(terms, index.offset) + own.times(index.factor(across))

    jammed = tuple(map(Reindexed(change).statement, body))
    return For(block, (For(lane, (For(place, jammed, Kind.JAM),), Kind.VECTOR),), Kind.PARALLEL)
