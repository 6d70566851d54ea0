"""Distinct rows in primitives: sorted, those that differ from the row before, counted and read."""

from __future__ import annotations

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.prim.functions import FLOATING
from ingot.prim.make_region import branch, repeat
from ingot.prim.tensor import SizeReader

_FEW_COLUMNS = 4
"""Columns that are sorted by one after another without a loop."""


@dataclass(frozen=True, slots=True)
class Distinct:
    """Where each distinct row comes first, which of them each row is, and how often each comes."""

    first: prim.Tensor
    inverse: prim.Tensor
    counts: prim.Tensor


def distinct_rows(rows: prim.Tensor, is_sorted: bool, read: SizeReader) -> Distinct:
    """The distinct rows of a tensor of two axes, in ascending order or as they first come; zeros are one, and NaN."""
    if rows.dtype is DType.BOOL:
        rows = prim.cast(rows, DType.UINT8)
    many = rows.shape[0]
    order, begins = _order(rows)
    ones = prim.cast(begins, DType.INT64)
    (total,) = read(prim.reduce_("add", ones, [0]))
    rank = prim.scan("add", ones, 0)
    behind = prim.size(total)
    starts = prim.scatter(
        prim.full(0, (total + 1,), DType.INT64), prim.iota((many,), 0), [prim.where(begins, rank - 1, behind)]
    )
    start = prim.slice_(starts, [0], [total], in_range=True)
    next_ = prim.gather(starts, [prim.iota((total,), 0) + 1], (total,), in_range=True)
    is_last = prim.apply("equal", prim.iota((total,), 0), behind - 1)
    counts = prim.where(is_last, prim.size(many), next_) - start
    first = prim.gather(order, [start], (total,), in_range=True)
    if is_sorted:
        return Distinct(first, prim.scatter(prim.full(0, (many,), DType.INT64), rank - 1, [order]), counts)
    ranked = prim.order(first, total)
    place = prim.scatter(prim.full(0, (total,), DType.INT64), prim.iota((total,), 0), [ranked])
    own = prim.gather(place, [rank - 1], (many,), in_range=True)
    inverse = prim.scatter(prim.full(0, (many,), DType.INT64), own, [order])
    first, counts = (prim.gather(each, [ranked], (total,), in_range=True) for each in (first, counts))
    return Distinct(first, inverse, counts)


def _order(rows: prim.Tensor) -> tuple[prim.Tensor, prim.Tensor]:
    """The places of rows in ascending order, and which of them, in this order, differ from that before them.

    They are sorted by one column after another, the last first.
    """
    many, columns = rows.shape
    as_they_are = prim.iota((many,), 0)
    if isinstance(columns, int) and columns <= _FEW_COLUMNS:
        order = as_they_are if columns == 0 else _by_first(rows, columns)
        return order, _begins(rows, order)
    if isinstance(columns, int):
        return _by_all(rows)
    has_columns = prim.apply("less", 0, prim.size(columns))
    order, begins = branch(has_columns, _by_all(rows), [as_they_are, _begins(rows, as_they_are)])
    return order, begins


def _by_all(rows: prim.Tensor) -> tuple[prim.Tensor, prim.Tensor]:
    """The same of rows that have a column.

    A few at the front are enough where none of the rows that are equal in all of these, and so neighbours then, differ
    behind them.
    """
    many, columns = rows.shape

    def body(number: prim.Tensor, states: tuple[prim.Tensor, ...]) -> tuple[list[prim.Tensor], list[prim.Tensor]]:
        return [_ordered_by(rows, prim.size(columns - 1) - number, states[0])], []

    few = _by_first(rows, _FEW_COLUMNS)
    begins = _begins(rows, few)
    front = prim.concat([prim.unsqueeze(_column(rows, each), [1]) for each in range(_FEW_COLUMNS)], 1)
    is_open = prim.apply("and", begins, prim.apply("not", _begins(front, few)))
    every = repeat(columns, [prim.iota((many,), 0)], body)[0][0]
    is_unsorted = prim.reduce_("or", is_open, [0])
    order, begins = branch(is_unsorted, [every, _begins(rows, every)], [few, begins])
    return order, begins


def _by_first(rows: prim.Tensor, count: int) -> prim.Tensor:
    """The order of rows by so many columns at the front."""
    order: prim.Tensor | None = None
    for each in reversed(range(count)):
        order = _sorted(_column(rows, each), order)
    assert order is not None
    return order


def _column(rows: prim.Tensor, number: int) -> prim.Tensor:
    """A column of rows that have any, the last one where there are not so many."""
    many, columns = rows.shape
    at = prim.apply("minimum", prim.full(number, (), DType.INT64), prim.size(columns) - 1)
    return prim.gather(rows, [0, prim.expand(at, (many,))], (many,), in_range=True)


def _sorted(column: prim.Tensor, order: prim.Tensor | None) -> prim.Tensor:
    """The order of elements; of equal ones, the order that they have."""
    many = column.shape
    if order is None:
        return prim.order(column, many[0])
    after = prim.order(prim.gather(column, [order], many, in_range=True), many[0])
    return prim.gather(order, [after], many, in_range=True)


def _ordered_by(rows: prim.Tensor, column: prim.Tensor, order: prim.Tensor) -> prim.Tensor:
    """The order of rows by a column; of those with equal elements there, the order that they have."""
    many = (rows.shape[0],)
    after = prim.order(prim.gather(rows, [order, prim.expand(column, many)], many, in_range=True), many[0])
    return prim.gather(order, [after], many, in_range=True)


def _begins(rows: prim.Tensor, order: prim.Tensor) -> prim.Tensor:
    """Which rows, in order, differ from that before them; the first does."""
    many, columns = rows.shape
    number = prim.iota((many,), 0)
    before = prim.gather(order, [prim.apply("maximum", number - 1, 0)], (many,), in_range=True)
    shape = (many, columns)
    one, other = (prim.gather(rows, [prim.unsqueeze(at, [1]), 1], shape, in_range=True) for at in (order, before))
    differs = prim.apply("not_equal", one, other)
    if rows.dtype in FLOATING:
        both = prim.apply("and", prim.apply("is_nan", one), prim.apply("is_nan", other))
        differs = prim.apply("and", differs, prim.apply("not", both))
    differ = prim.squeeze(prim.reduce_("or", differs, [1]), [1])
    return prim.apply("or", differ, prim.apply("equal", number, 0))
