"""The register tile of a contraction: how many rows and vectors of columns are summed at once."""

from __future__ import annotations

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import Tile
from ingot.schedule.target import Target

_SMALLER = (4, 2, 1)
"""Rows of the tiles that take what is left of the rows."""

_HALF = 1.02
"""How much longer sums take in halves of registers, which twice as many instructions are for."""

_LATENCY = 4
"""Cycles from one sum to the next one in the same register."""

_PACK = 1.0
"""Cycles to pack a vector of columns."""


def heights(tile: Tile, compact: bool = False) -> tuple[int, ...]:
    """The rows of a tile and of the smaller ones for what is left of the rows, the largest first.

    Where little code counts for more than fast code, there is one smaller tile at most.
    """
    smaller = _SMALLER[-1:] if compact else _SMALLER
    return (tile.rows, *(rows for rows in smaller if rows < tile.rows))


MOST_GROUPS = 4
"""Groups of columns that a tile has at most: a vector of each."""


def tile_of(
    dtype: DType,
    rows: Dim | None,
    columns: Dim,
    target: Target,
    groups: int = 1,
    narrows: bool = False,
    reads_once: bool = False,
) -> Tile:
    """The tile for a product of so many rows and columns, the latter in each of `groups`.

    Sums, a row of columns and one broadcast element must fit the registers; wide tiles of few rows read less of the
    rows, narrow ones of many rows less of the columns. Few columns leave out what a wider tile would compute in vain,
    and half of a register does where that takes half the time. `rows` is None for a product of transformed tiles, of
    which any rest has its own and whose transforms take whole registers. Each group has as many vectors. With
    `narrows`, one vector of columns that is left has a tile of one vector. With `reads_once`, columns are packed only
    if there are more rows than the tile has.
    """
    whole = target.lanes(dtype.numpy.itemsize)
    shapes = [(whole, vectors) for vectors in (4, 3, 2, 1) if vectors % groups == 0]
    if target.halves and rows is not None and isinstance(columns, int) and columns >= whole // 2:
        shapes += [
            (whole // 2, vectors) for vectors in ((5, 3, 1) if groups == 1 else (4, 3, 2)) if vectors % groups == 0
        ]
    best: tuple[float, Tile] | None = None
    for lanes, vectors in shapes:
        most = (target.registers - 1 - vectors) // vectors
        height = max(1, min(most, {5: 5, 4: 6, 3: 8, 2: 12, 1: 14}[vectors]))
        if isinstance(rows, int):
            height = min(height, max(rows, 1))
        tile = Tile(height, vectors, lanes)
        cost = _cycles(height, vectors)
        if isinstance(columns, int):
            own = tile.columns // groups
            if narrows and 0 < columns % own <= lanes:
                cost = (columns // own * own * cost + lanes * _cycles(height, 1)) / columns
            else:
                cost *= -(-columns // own) * own / max(columns, 1)
        if reads_once and isinstance(rows, int) and rows > height:
            cost += _PACK / rows
        if isinstance(rows, int):
            cost *= _summed_rows(rows, tile) / max(rows, 1)
        if lanes < whole:
            cost *= _HALF
        cost *= 1 + 0.02 * (24 - height * vectors if height * vectors < 24 else 0) / 24
        if best is None or cost < best[0] - 1e-9:
            best = (cost, tile)
    assert best is not None
    return best[1]


def _cycles(height: int, vectors: int) -> float:
    """Cycles for each vector of sums, a tile having so many: two are added, and two vectors loaded, in one cycle."""
    sums = height * vectors
    return max(sums / 2, (height + vectors) / 2, _LATENCY) / sums


def _summed_rows(rows: int, tile: Tile) -> int:
    """The rows that are summed for so many: those that are left have a smaller tile, the last of them perhaps twice."""
    rest = rows % tile.rows
    return rows - rest + min((height for height in heights(tile) if height >= rest), default=0) * (rest > 0)


_ROUNDED_ROWS = 4
"""Rows of a tile that multiplies bytes by codes: its sums are in registers twice, as int32 and as float32."""


def code_tile(rows: Dim, columns: Dim, target: Target, rounded: bool) -> Tile:
    """The tile for a product with codes of few bits: wide, since every word of codes is read and unpacked by itself.

    `rounded` is whether rows are rounded to bytes.
    """
    lanes = target.lanes(4)
    vectors = 4
    while vectors > 1 and isinstance(columns, int) and columns <= lanes * vectors // 2:
        vectors //= 2
    height = max(1, min({4: 6, 2: 12, 1: 14}[vectors], (target.registers - 1 - vectors) // vectors))
    height = min(height, _ROUNDED_ROWS) if rounded else height
    return Tile(min(height, max(rows, 1)) if isinstance(rows, int) else height, vectors, lanes)


def attention_tile(dtype: DType, target: Target) -> Tile:
    """The tile for both products of attention: two vectors wide, since heads are narrow, of as many rows as fit."""
    return Tile(min(12, (target.registers - 3) // 2), 2, target.lanes(dtype.numpy.itemsize))
