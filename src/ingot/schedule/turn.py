"""Transpositions in blocks: what is read along one axis and stored along another is turned in registers.

A block is as many rows as a vector has lanes. Each of its vectors is loaded whole, along the axis that lies contiguous
where it is read, and stored whole, along the one that lies contiguous where it is stored; no element is gathered.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import (
    Apply,
    CheckedIndex,
    For,
    Index,
    Inside,
    Kind,
    Literal,
    Load,
    Nest,
    Position,
    RuntimeScalar,
    Scalar,
    Statement,
    Store,
    Var,
)
from ingot.loops.near import moves
from ingot.loops.rewrite import Reindexed, parts
from ingot.schedule.jam import fills_reach
from ingot.schedule.target import Target

_NARROWEST = 4
"""Bytes of an element that a vector has at least: narrower ones fill a part of it."""


@dataclass(frozen=True, slots=True)
class Turned:
    """The rows that threads share, and the statements for each."""

    rows: tuple[Var, ...]
    statements: tuple[Statement, ...]


def turned(nest: Nest, target: Target) -> Turned | None:
    """A nest that transposes what it reads, in blocks; None for any other, and where an axis may be too short.

    The last block of an axis that blocks do not divide begins earlier, and stores again what the one before it stored.
    """
    if len(nest.stages) != 1 or nest.stages[0].inner or nest.stages[0].starts or len(nest.stages[0].body) != 1:
        return None
    (store,) = nest.stages[0].body
    if not isinstance(store, Store):
        return None
    lanes = target.lanes(max(_NARROWEST, store.buffer.dtype.numpy.itemsize))
    along = next((row for row in nest.rows if store.index.factor(row) == 1), None)
    if along is None or lanes == 1 or (isinstance(along.extent, int) and along.extent < lanes):
        return None
    across = _across(store, along, nest.rows, target)
    if across is None or not isinstance(across.extent, int) or across.extent < lanes:
        return None
    steps = Var(f"{across.name}s", -(-across.extent // lanes))
    place = Var(f"{across.name}t", lanes)
    start = _start(steps, lanes, across.extent)

    def change(index: Index) -> Index:
        terms = tuple(item for item in index.terms if item[0] is not across)
        return Index(terms, index.offset) + (start + Index(((place, 1),))).times(index.factor(across))

    jammed = For(place, (Reindexed(change).statement(store),), Kind.JAM)
    rows = tuple(steps if row is across else row for row in nest.rows if row is not along)
    return Turned(rows, (For(along, (jammed,), Kind.VECTOR),))


def _across(store: Store, along: Var, rows: Sequence[Var], target: Target) -> Var | None:
    """The row along which all lies contiguous that is read along neither alone; None if there is no such row.

    Every element that depends on both rows is then read at another place than it is stored at: storing it twice is safe
    even where a result lies in the memory of an operand.
    """
    loads: list[Load] = []
    for part in parts([store.value]):
        if isinstance(part, Load):
            loads.append(part)
        elif not isinstance(part, Apply | CheckedIndex | Literal | Position | RuntimeScalar):
            return None
    padded = [load for load in loads if load.where]
    where = [condition for load in padded for condition in load.where]
    indices = [*(load.index for load in padded), *(condition.index for condition in where)]
    if any(not isinstance(term, Var) for index in indices for term, _ in index.terms) or not fills_reach(padded, along):
        return None
    for row in rows:
        both = [load.index for load in loads if _depends(load.index, along) and _depends(load.index, row)]
        if row is along or not both or not all(_turns(condition, along, row, target) for condition in where):
            continue
        if all(_is_turned(index, along, row) for index in both):
            return row
    return None


def _is_turned(index: Index, along: Var, row: Var) -> bool:
    """Whether elements lie contiguous along a row, each such run of them at its own place along `along`."""
    return index.factor(row) == 1 != index.factor(along) and not _is_computed(index, row)


def _depends(index: Index, var: Var) -> bool:
    return index.factor(var) != 0 or _is_computed(index, var)


def _is_computed(index: Index, var: Var) -> bool:
    """Whether a computed place in an index depends on a variable."""
    return any(not isinstance(term, Var) and moves(term, var) for term, _ in index.terms)


def _turns(condition: Inside, along: Var, across: Var, target: Target) -> bool:
    """Whether a condition holds for whole vectors that are read along `across`, or for some lanes of all of a block."""
    factor = condition.index.factor(across)
    return factor == 0 or (target.masks and factor == 1 and condition.index.factor(along) == 0)


def _start(steps: Var, lanes: int, length: Dim) -> Index:
    """Where a block begins: the last one so that it ends with the axis."""
    assert isinstance(length, int)
    first = Index(((steps, lanes),))
    if length % lanes == 0:
        return first
    last: Scalar = Position(Index((), length - lanes))
    return Index(((Apply(DType.INT64, "minimum", (Position(first), last)), 1),))
