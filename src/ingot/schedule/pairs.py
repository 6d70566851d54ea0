"""Reductions of pairs in tiles: several rows and several vectors of columns at a time, each loaded once for all others.

Of a sum over `f(x[i, k], y[k, j])`, as a matrix of distances is, each step loads an element of every row and a vector
of every column of a tile, and adds to all their results, which stay in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import (
    Apply,
    For,
    Index,
    Kind,
    Load,
    Nest,
    Position,
    Statement,
    Store,
    Var,
)
from ingot.loops.rewrite import parts, stores, values, with_index
from ingot.schedule.target import Target

_ROWS = 4
"""Rows of a tile. Its columns are as many vectors as half of the registers hold results of."""

_MOST_FUNCTIONS = 8
"""Functions in the sums and in their epilogue, up to which these are unrolled for a tile."""

_NARROWEST = 4
"""Bytes of an element that a vector has at least."""


def pairs_in_tiles(
    nest: Nest, across: Var, body: tuple[Statement, ...], target: Target
) -> tuple[Sequence[Var], tuple[Statement, ...]] | None:
    """The rows that threads share, and the loops of each over vectors along `across`; None for any other reduction.

    The last tile of rows that tiles do not divide computes the last row again.
    """
    rows = [row for row in nest.rows if row is not across]
    sums = sum(len(stage.starts) for stage in nest.stages)
    columns = target.registers // 2 // (_ROWS * max(1, sums))
    if not rows or not sums or columns < 1 or not _is_paired(nest, rows[-1], across):
        return None
    if sum(isinstance(part, Apply) for part in parts(list(values(body)))) > _MOST_FUNCTIONS:
        return None
    row = rows[-1]
    if isinstance(row.extent, int) and row.extent < _ROWS:
        return None
    width = max(_NARROWEST, *(store.buffer.dtype.numpy.itemsize for store in stores(body)))
    lanes = target.lanes(width)
    steps, place = Var(f"{row.name}s", (row.extent + (_ROWS - 1)) // _ROWS), Var(f"{row.name}t", _ROWS)
    jammed = with_index(body, row, _row_of(steps, place, row.extent))
    loops: list[Statement] = []
    start: Dim = 0
    while columns > 1:
        blocks = (across.extent - start) // (columns * lanes)
        if blocks != 0:
            loops.append(_tiles(across, start, blocks, place, jammed, columns, lanes))
            start = start + blocks * (columns * lanes)
        columns //= 2
    if start != across.extent:
        rest = Var(f"{across.name}r", across.extent - start)
        end = with_index(jammed, across, Index(((rest, 1),), start))
        loops.append(For(rest, (For(place, end, Kind.JAM),), Kind.VECTOR))
    return [*rows[:-1], steps], tuple(loops)


def _tiles(
    across: Var, start: Dim, blocks: Dim, place: Var, body: tuple[Statement, ...], columns: int, lanes: int
) -> For:
    """The loop over tiles of one width, from a column on."""
    block, column = Var(f"{across.name}s", blocks), Var(f"{across.name}t", columns)
    lane = Var(across.name, lanes)
    tile = with_index(body, across, Index(((block, columns * lanes), (column, lanes), (lane, 1)), start))
    jammed = For(place, (For(column, tile, Kind.JAM),), Kind.JAM)
    return For(block, (For(lane, (jammed,), Kind.VECTOR),))


def _is_paired(nest: Nest, row: Var, across: Var) -> bool:
    """Whether all that a reduction reads in every step depends on one of the two alone, and on each something does."""
    loads = [
        part
        for stage in nest.stages
        if stage.inner
        for part in parts(list(values(stage.body)))
        if isinstance(part, Load) and any(part.index.factor(var) != 0 for var in stage.inner)
    ]
    if any(load.where or any(not isinstance(term, Var) for term, _ in load.index.terms) for load in loads):
        return False
    sides = {(load.index.factor(row) != 0, load.index.factor(across)) for load in loads}
    return sides == {(True, 0), (False, 1)} and all(
        isinstance(statement, Store) and statement.index.factor(across) == 1
        for stage in nest.stages
        if not stage.inner
        for statement in stage.body
    )


def _row_of(steps: Var, place: Var, extent: Dim) -> Index:
    """The row of a place in a tile: the last one where there are no more."""
    row = Index(((steps, _ROWS), (place, 1)))
    if isinstance(extent, int) and extent % _ROWS == 0:
        return row
    last = Position(Index((), extent - 1))
    return Index(((Apply(DType.INT64, "minimum", (Position(row), last)), 1),))
