"""Gaussian elimination in primitives: each pivot is the largest element of its column."""

from __future__ import annotations

from ingot import prim
from ingot.dtypes import DType

MOST_ROWS, MOST_INVERTED = 32, 32
"""Rows of matrices that are eliminated in loops over all their elements; LAPACK takes less for larger ones."""

_TOGETHER = 8
"""Columns that are left out together once they are zero: float64 of a vector."""


def determinants(x: prim.Tensor) -> prim.Tensor:
    """The determinant of each matrix of a stack (stack, rows, rows) of few rows."""
    many, rows, _ = x.shape
    assert isinstance(rows, int)
    if rows <= 3:
        cells = [
            [prim.reshape(prim.slice_(x, [0, i, j], [many, 1, 1]), (many,)) for j in range(rows)] for i in range(rows)
        ]
        return _expanded(cells) if rows else prim.full(1, (many,), x.dtype)
    product = prim.full(1, (many,), x.dtype)
    for left in range(rows, 1, -1):
        columns = min(-(-left // _TOGETHER) * _TOGETHER, rows)
        first = columns - left
        x = prim.slice_(x, [0, 0, x.shape[2] - columns], [many, left, columns])
        place = _largest(prim.slice_(x, [0, 0, first], [many, left, 1]))
        pivot_row = prim.gather(x, [0, prim.reshape(place, (many, 1, 1)), 2], (many, 1, columns), in_range=True)
        pivot = prim.slice_(pivot_row, [0, 0, first], [many, 1, 1])
        sign = prim.where(prim.apply("equal", place, 0), prim.scalar(1, x.dtype), -1.0)
        product = product * prim.reshape(pivot, (many,)) * sign
        own = prim.iota((many, left - 1, 1), 1) + 1
        source = prim.where(prim.apply("equal", own, prim.reshape(place, (many, 1, 1))), 0, own)
        moved = prim.gather(x, [0, source, 2], (many, left - 1, columns), in_range=True)
        factor = prim.slice_(moved, [0, 0, first], [many, left - 1, 1]) / pivot
        x = prim.where(prim.apply("not_equal", pivot, 0.0), moved - factor * pivot_row, moved)
    return product * prim.reshape(prim.slice_(x, [0, 0, x.shape[2] - 1], [many, 1, 1]), (many,))


def inverses(x: prim.Tensor) -> prim.Tensor:
    """The inverse of each matrix of a stack (stack, rows, rows) of few rows; a run reports one that is singular.

    Rows stay where they are: in step k, that of the pivot becomes what it is to be multiplied with for column k.
    """
    many, rows, _ = x.shape
    assert isinstance(rows, int)
    step, places = prim.full(-1, (many, rows, 1), DType.INT64), []
    own, column = prim.iota((many, rows, 1), 1), prim.iota((1, 1, rows), 2)
    for number in range(rows):
        factor = prim.slice_(x, [0, 0, number], [many, rows, 1])
        place = prim.reshape(_largest(factor, prim.apply("less_equal", 0, step)), (many, 1, 1))
        pivot = prim.gather(factor, [0, place, 2], (many, 1, 1), in_range=True)
        is_regular = prim.apply("not_equal", pivot, 0.0)
        pivot = prim.gather(factor, [0, prim.where(is_regular, place, -1), 2], (many, 1, 1))
        row = prim.gather(x, [0, place, 2], (many, 1, rows), in_range=True) / pivot
        is_number = prim.apply("equal", column, number)
        row = prim.where(is_number, prim.scalar(1, x.dtype) / pivot, row)
        is_pivot = prim.apply("equal", own, place)
        x = prim.where(is_pivot, row, prim.where(is_number, prim.scalar(0, x.dtype), x) - factor * row)
        step = prim.where(is_pivot, number, step)
        places.append(place)
    shape = (many, rows, rows)
    x = prim.gather(x, [0, prim.concat(places, 1), 2], shape, in_range=True)
    return prim.gather(x, [0, 1, prim.reshape(step, (many, 1, rows))], shape, in_range=True)


def _largest(column: prim.Tensor, is_out: prim.Tensor | None = None) -> prim.Tensor:
    """For each matrix, the row in which a column is largest, without its sign; where there is NaN, the first of all.

    Rows that are out are none of them.
    """
    many, rows, _ = column.shape
    assert isinstance(rows, int)
    row, size = prim.iota((many, rows, 1), 1), prim.apply("absolute", column)
    otherwise = row + rows
    if is_out is not None:
        size = prim.where(is_out, prim.scalar(-1, column.dtype), size)
        otherwise = prim.where(is_out, 2 * rows, otherwise)
    is_largest = prim.apply("equal", size, prim.reduce_("maximum", size, [1]))
    first = prim.reshape(prim.reduce_("minimum", prim.where(is_largest, row, otherwise), [1]), (many,))
    return prim.where(prim.apply("less", first, rows), first, first - rows)


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
