"""Gaussian elimination in primitives, with rows exchanged so that each pivot is the largest of its column."""

from __future__ import annotations

from ingot import prim
from ingot.prim.make_region import repeat

MOST_ROWS, MOST_INVERTED = 16, 8
"""Rows of matrices that are eliminated in loops over all their elements; LAPACK takes less for larger ones."""


def determinants(x: prim.Tensor) -> prim.Tensor:
    """The determinant of each matrix of a stack (stack, rows, rows) of few rows."""
    many, rows, _ = x.shape
    assert isinstance(rows, int)
    if rows <= 3:
        cells = [
            [prim.reshape(prim.slice_(x, [0, i, j], [many, 1, 1]), (many,)) for j in range(rows)] for i in range(rows)
        ]
        return _expanded(cells) if rows else prim.full(1, (many,), x.dtype)

    def body(number: prim.Tensor, states: tuple[prim.Tensor, ...]) -> tuple[list[prim.Tensor], list[prim.Tensor]]:
        matrix, product = states
        place = _pivot(matrix, number)
        exchanged = _exchanged(matrix, number, place)
        pivot = _at(exchanged, number, number)
        sign = prim.where(prim.apply("equal", place, number), prim.scalar(1, x.dtype), -1.0)
        below = prim.apply("less", number, prim.iota((1, rows, 1), 1))
        return [_eliminated(exchanged, number, pivot, below), product * prim.reshape(pivot, (many,)) * sign], []

    return repeat(rows, [x, prim.full(1, (many,), x.dtype)], body)[0][1]


def inverses(x: prim.Tensor) -> prim.Tensor:
    """The inverse of each matrix of a stack of few rows; a run reports one that is singular."""
    many, rows, _ = x.shape
    columns = rows * 2
    unit = prim.apply("equal", prim.iota((many, rows, rows), 1), prim.iota((many, rows, rows), 2))
    both = prim.concat([x, prim.cast(unit, x.dtype)], 2)

    def body(number: prim.Tensor, states: tuple[prim.Tensor, ...]) -> tuple[list[prim.Tensor], list[prim.Tensor]]:
        matrix = states[0]
        exchanged = _exchanged(matrix, number, _pivot(matrix, number))
        pivot = _at(exchanged, number, number)
        is_regular = prim.apply("not", prim.apply("equal", pivot, 0.0))
        own = prim.iota((1, rows, 1), 1)
        others = prim.apply("not_equal", own, number)
        cleared = _eliminated(exchanged, number, pivot, others)
        column = prim.where(is_regular, prim.iota((1, 1, columns), 2), -1)
        row = prim.gather(_row(exchanged, number), [0, 1, column], (many, 1, columns)) / pivot
        return [prim.where(others, cleared, row)], []

    (last,), _ = repeat(rows, [both], body)
    return prim.slice_(last, [0, 0, rows], [many, rows, rows])


def _pivot(matrix: prim.Tensor, number: prim.Tensor) -> prim.Tensor:
    """For each matrix, in which row from `number` on its column `number` is largest."""
    many, rows, _ = matrix.shape
    shape = (many, rows)
    row = prim.iota(shape, 1)
    column = prim.gather(matrix, [0, 1, prim.expand(number, shape)], shape, in_range=True)
    size = prim.where(prim.apply("less", row, number), prim.scalar(-1, matrix.dtype), prim.apply("absolute", column))
    is_largest = prim.apply("equal", size, prim.reduce_("maximum", size, [1]))
    first = prim.reduce_("minimum", prim.where(is_largest, row, prim.size(rows) - 1), [1])
    return prim.squeeze(first, [1])


def _exchanged(matrix: prim.Tensor, one: prim.Tensor, other: prim.Tensor) -> prim.Tensor:
    """Each matrix with two rows exchanged."""
    shape = matrix.shape
    row = prim.iota((shape[0], shape[1], 1), 1)
    other = prim.reshape(other, (shape[0], 1, 1))
    swapped = prim.where(prim.apply("equal", row, one), other, prim.where(prim.apply("equal", row, other), one, row))
    return prim.gather(matrix, [0, swapped, 2], shape, in_range=True)


def _at(matrix: prim.Tensor, row: prim.Tensor, column: prim.Tensor) -> prim.Tensor:
    shape = (matrix.shape[0], 1, 1)
    return prim.gather(matrix, [0, prim.expand(row, shape), prim.expand(column, shape)], shape, in_range=True)


def _eliminated(matrix: prim.Tensor, number: prim.Tensor, pivot: prim.Tensor, where: prim.Tensor) -> prim.Tensor:
    """Each matrix with so much of row `number` subtracted from others that their column `number` is zero."""
    many, rows, _ = matrix.shape
    left = (many, rows, 1)
    factor = prim.gather(matrix, [0, 1, prim.expand(number, left)], left, in_range=True) / pivot
    is_changed = prim.apply("and", where, prim.apply("not_equal", pivot, 0.0))
    return prim.where(is_changed, matrix - factor * _row(matrix, number), matrix)


def _row(matrix: prim.Tensor, number: prim.Tensor) -> prim.Tensor:
    """A row of each matrix, as a matrix of one row."""
    shape = (matrix.shape[0], 1, matrix.shape[2])
    return prim.gather(matrix, [0, prim.expand(number, shape), 2], shape, in_range=True)


def _expanded(cells: list[list[prim.Tensor]]) -> prim.Tensor:
    """The determinant of a matrix along its first row."""
    total: prim.Tensor | None = None
    for column, cell in enumerate(cells[0]):
        rest = [[*row[:column], *row[column + 1 :]] for row in cells[1:]]
        term = cell * _expanded(rest) if rest else cell
        total = term if total is None else total - term if column % 2 else total + term
    assert total is not None
    return total


def stacked(x: prim.Tensor, most: int) -> prim.Tensor:
    """Matrices along one axis; Refused for those of many rows, or of an unknown number."""
    rows = x.shape[-1]
    if not isinstance(rows, int) or rows > most:
        raise prim.Refused(f"matrices of {rows} rows")
    x = prim.assume_shape(x, (*x.shape[:-2], rows, rows))
    return prim.reshape(x, (prim.count(x.shape[:-2]), rows, rows))
