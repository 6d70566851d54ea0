"""Dynamic time warping in primitives: sums along diagonals, whose elements do not read each other, and the way back."""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dims import maximum
from ingot.dtypes import DType
from ingot.prim.make_region import repeat
from ingot.prim.tensor import SizeReader


def warping_path(costs: prim.Tensor, read: SizeReader) -> prim.Tensor:
    """INT32 (2, steps): the rows and columns of the path of least sum through a matrix of costs."""
    rows, columns = costs.shape
    trips = maximum(rows + columns - 1, 0)
    came = _came(costs)

    def back(_: prim.Tensor, states: tuple[prim.Tensor, ...]) -> tuple[list[prim.Tensor], list[prim.Tensor]]:
        row, column, steps = states
        inside = prim.apply("and", prim.apply("less", 0, row), prim.apply("less", 0, column))
        diagonal = prim.apply("maximum", row + column - 2, 0)
        way = prim.gather(came, [diagonal, row], (), in_range=True)
        up = prim.apply("and", inside, prim.apply("not_equal", way, 2))
        left = prim.apply("and", inside, prim.apply("not_equal", way, 1))
        following = [row - prim.cast(up, DType.INT64), column - prim.cast(left, DType.INT64)]
        place = prim.concat([prim.reshape(each - 1, (1,)) for each in (row, column)], 0)
        return [*following, steps + prim.cast(inside, DType.INT64)], [place]

    last = [prim.size(rows), prim.size(columns), prim.full(0, (), DType.INT64)]
    (_, _, many), (places,) = repeat(trips, last, back)
    (steps,) = read(prim.reshape(many, (1,)))
    shape = (2, steps)
    forward = prim.size(steps) - 1 - prim.iota(shape, 1)
    return prim.cast(prim.gather(places, [forward, prim.iota(shape, 0)], shape, in_range=True), DType.INT32)


def _came(costs: prim.Tensor) -> prim.Tensor:
    """INT8 (diagonals, rows + 1): from where the least sum up to an element comes: both, the row, the column before.

    Rows and columns count from one, and diagonals from the first that has one of them: elements whose row and column
    add up to two.
    """
    rows, columns = costs.shape
    trips = maximum(rows + columns - 1, 0)
    row = prim.iota((rows + 1,), 0)
    around = prim.pad(costs, [1, 1], [0, 0])
    nowhere = prim.full(np.inf, (rows + 1,), DType.FLOAT32)
    first = prim.where(prim.apply("equal", row, 0), 0.0, nowhere)

    def body(number: prim.Tensor, states: tuple[prim.Tensor, ...]) -> tuple[list[prim.Tensor], list[prim.Tensor]]:
        before, twice = states
        column = number + 2 - row
        both, up, left = _shifted(twice), _shifted(before), before
        is_both = prim.apply("less", both, prim.where(prim.apply("less", left, up), left, up))
        is_up = prim.apply("and", prim.apply("less", up, both), prim.apply("less", up, left))
        inside = prim.apply("and", prim.apply("less", 0, column), prim.apply("less_equal", column, prim.size(columns)))
        inside = prim.apply("and", inside, prim.apply("less", 0, row))
        at = prim.where(inside, column, 0)
        cost = prim.gather(around, [0, at], (rows + 1,), in_range=True)
        total = prim.where(is_both, both, prim.where(is_up, up, left)) + cost
        two: prim.Tensor = prim.full(2, (rows + 1,), DType.INT8)
        way = prim.where(is_both, 0, prim.where(is_up, 1, two))
        return [prim.where(inside, total, np.inf), before], [way]

    return repeat(trips, [nowhere, first], body)[1][0]


def _shifted(x: prim.Tensor) -> prim.Tensor:
    """The element before each; infinity before the first."""
    return prim.slice_(prim.pad(x, [1], [0], np.inf), [0], [x.shape[0]], in_range=True)
