"""Small integer tensors, followed element by element through elementwise operators before a model runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ingot.dims import Dim, lower_bound, upper_bound
from ingot.dtypes import DType
from ingot.ir.types import TensorType
from ingot.ops import shapes
from ingot.ops.facts import MOST_ELEMENTS, Fact, Inferred, integers

Elements: TypeAlias = "tuple[Dim | None, ...]"


def followed(
    dtype: DType | None, compute: Callable[..., Dim | None], *inputs: Fact, with_unknown: bool = False
) -> Inferred:
    """A tensor of `dtype` that the inputs broadcast to, with its elements where theirs are known.

    `compute` gets one element of each input and gives that of the result: None, or a ValueError or ZeroDivisionError,
    where it is unknown. It is asked about unknown elements (None) only `with_unknown`.
    """
    shape = shapes.broadcast(*(x.shape for x in inputs))
    if dtype is None:
        return None
    columns = [elements_of(x) for x in inputs]
    known = [column for column in columns if column is not None]
    if shape is None or len(shape) > 1 or len(known) < len(columns) or not (dtype.is_integer or dtype is DType.BOOL):
        return TensorType(dtype, shape)
    count = next((len(column) for column in known if len(column) != 1), 1)
    rows = zip(*(column * count if len(column) == 1 else column for column in known), strict=True)
    return integers(dtype, shape, [_one(dtype, compute, row, with_unknown) for row in rows])


def elements_of(fact: Fact) -> Elements | None:
    """What a tensor of at most one axis holds, truth values as 0 and 1; None where it is not followed."""
    if fact.rank is None or fact.rank > 1:
        return None
    if fact.elements is not None:
        return fact.elements
    constant = fact.constant
    if constant is None or constant.dtype is not DType.BOOL or constant.size > MOST_ELEMENTS or not constant.is_loaded:
        return None
    return tuple(int(element) for element in constant.numpy().reshape(-1).tolist())


def equal(x: Dim, y: Dim) -> Dim | None:
    """1 where two sizes are provably equal, 0 where they provably differ."""
    if x == y:
        return 1
    return 0 if less(x, y) == 1 or less(y, x) == 1 else None


def less(x: Dim, y: Dim) -> Dim | None:
    """1 where a size is provably less than another, 0 where it provably is not."""
    least, most = lower_bound(x - y), upper_bound(x - y)
    if most is not None and most < 0:
        return 1
    return 0 if least is not None and least >= 0 else None


def negated(truth: Dim | None) -> Dim | None:
    """The opposite of a truth value."""
    return None if truth is None else 1 - truth


def _one(
    dtype: DType, compute: Callable[..., Dim | None], row: tuple[Dim | None, ...], with_unknown: bool
) -> Dim | None:
    if not with_unknown and any(element is None for element in row):
        return None
    try:
        return _held(compute(*row), dtype)
    except (ValueError, ZeroDivisionError):
        return None


def _held(element: Dim | None, dtype: DType) -> Dim | None:
    """What an element of `dtype` holds: numbers wrap around; expressions are sizes, which fit 32 bits and more."""
    if dtype is DType.BOOL or element is None:
        return element
    if isinstance(element, int):
        limits = np.iinfo(dtype.numpy) if dtype.bits >= 8 else None
        return None if limits is None else (element - int(limits.min)) % 2**dtype.bits + int(limits.min)
    unsigned = dtype.name.startswith("U")
    return element if dtype.bits >= 32 and (not unsigned or shapes.is_natural(element)) else None
