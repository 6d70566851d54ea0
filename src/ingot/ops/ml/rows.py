"""A table of features: rows as the models of this domain take them, one row where there is only one axis."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ops.facts import Fact
from ingot.ops.limit import most_bytes, oversized


def as_rows(x: Array) -> Array:
    """`x` with two axes, rows and features; ShapeError if it has neither one nor two."""
    if x.ndim not in (1, 2):
        raise ShapeError(f"the input has {x.ndim} axes, expected 1 or 2")
    return x.reshape(1, -1) if x.ndim == 1 else x


def chunks(rows: int, cost: int, most: int = 2**20) -> Iterator[slice]:
    """Slices that cover so many rows, each of about `most` elements where a row takes `cost` of them."""
    step = max(1, most // max(1, cost))
    for start in range(0, rows, step):
        yield slice(start, min(rows, start + step))


def affordable(count: int, itemsize: int = 4) -> None:
    """InputError if that many elements take more memory than a result may."""
    nbytes = count * itemsize
    if nbytes > most_bytes():
        raise oversized(f"the result would take {nbytes:,} bytes, more than {most_bytes():,}", nbytes)


def row_count(x: Fact) -> Dim | None:
    """How many rows `as_rows` makes of a value."""
    if x.shape is None:
        return None
    if len(x.shape) not in (1, 2):
        raise ShapeError(f"the input has {len(x.shape)} axes, expected 1 or 2")
    return 1 if len(x.shape) == 1 else x.shape[0]


def feature_count(x: Fact) -> Dim | None:
    """How many features each row has."""
    return x.shape[-1] if x.shape else None
