"""Rows that are gone through one by one, several columns of them at a time."""

from __future__ import annotations

from ingot.dims import Dim
from ingot.loops.ir import Apply, For, Index, Kind, Load, Nest, Stage, Statement, Var
from ingot.loops.rewrite import parts, values, with_index
from ingot.schedule.target import Target

_COLUMNS = (8, 4, 2)
"""Vectors of columns that are reduced at the same time: as many as a row has of them."""

_LONG_ROW = 1024
"""Bytes of a row from which on that pays where the rows are all of one matrix, which threads share by its columns."""

_FEW_ROWS = 16
"""Rows below which these hardly differ from what is done before and after them."""

_MOST_FUNCTIONS = 8
"""Functions in the sums and in their epilogue, up to which these are unrolled for several columns."""

_FLOAT = 4
"""Bytes of a float32, which most rows are of."""


def in_columns(across: Var, body: tuple[Statement, ...], target: Target) -> For | None:
    """A loop in vectors along rows, whose body goes from row to row, over several columns; None where it is short.

    A step to the next row is to another page of memory, or to the same few places of a cache: with several columns
    there are fewer of them.
    """
    length, lanes = across.extent, target.lanes(_FLOAT)
    whole = _COLUMNS[0] * lanes
    if not isinstance(length, int) or length % whole or length * _FLOAT < _LONG_ROW:
        return None
    return _columns(across, 0, length // whole, body, _COLUMNS[0], lanes, Kind.PARALLEL)


def in_columns_of_each(
    nest: Nest, across: Var, body: tuple[Statement, ...], target: Target
) -> tuple[Statement, ...] | None:
    """The same for each of many matrices, of any length: loops over fewer columns at a time, and vectors, for the rest.

    None where rows are few or not whole, and where that would be more code than it saves time.
    """
    length, lanes = across.extent, target.lanes(_FLOAT)
    sums = sum(len(stage.starts) for stage in nest.stages)
    counts = [count for count in _COLUMNS if sums * count <= target.registers // 2]
    if not counts or not all(_sweeps(stage, across) for stage in nest.stages if stage.inner):
        return None
    functions = sum(isinstance(part, Apply) for part in parts(list(values(body))))
    if functions > _MOST_FUNCTIONS or (isinstance(length, int) and length < counts[-1] * lanes):
        return None
    loops: list[Statement] = []
    start: Dim = 0
    for count in counts:
        blocks = (length - start) // (count * lanes)
        if blocks != 0:
            loops.append(_columns(across, start, blocks, body, count, lanes))
            start = start + blocks * (count * lanes)
    if start != length:
        rest = Var(f"{across.name}r", length - start)
        loops.append(For(rest, with_index(body, across, Index(((rest, 1),), start)), Kind.VECTOR))
    return tuple(loops)


def _sweeps(stage: Stage, across: Var) -> bool:
    """Whether a stage goes from row to row of what it reads, of many, each of which has all its columns."""
    if len(stage.inner) > 1 or (isinstance(stage.inner[0].extent, int) and stage.inner[0].extent < _FEW_ROWS):
        return False
    loads = [part for part in parts(list(values(stage.body))) if isinstance(part, Load)]
    return all(not load.where and load.index.factor(across) in (0, 1) for load in loads)


def _columns(
    across: Var,
    start: Dim,
    blocks: Dim,
    body: tuple[Statement, ...],
    count: int,
    lanes: int,
    kind: Kind = Kind.SERIAL,
) -> For:
    """The loop over blocks of columns, `count` vectors each, from `start` on."""
    block, place = Var(f"{across.name}s", blocks), Var(f"{across.name}t", count)
    lane = Var(across.name, lanes)
    jammed = with_index(body, across, Index(((block, count * lanes), (place, lanes), (lane, 1)), start))
    return For(block, (For(lane, (For(place, jammed, Kind.JAM),), Kind.VECTOR),), kind)
