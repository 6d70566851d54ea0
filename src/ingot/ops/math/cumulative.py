"""CumSum and CumProd: running totals along an axis; narrow floats are accumulated in float32, integers wrap around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.precision import narrowed, widened
from ingot.ops.shapes import axis_of, require
from ingot.ops.typesets import FLOAT32, FLOAT64, INDICES, WIDE, WIDE_INTEGERS, types

T: TypeAlias = Annotated[Array, types("T", WIDE)]
TSum: TypeAlias = Annotated[Array, types("T", {11: WIDE_INTEGERS | FLOAT32 | FLOAT64, 14: WIDE})]
T2: TypeAlias = Annotated[Array, types("T2", INDICES)]


@operator("CumSum", since=(11, 14))
def cumulative_sum(x: TSum, axis: T2, /, *, exclusive: int = 0, reverse: int = 0) -> TSum:
    """At each place the sum of all up to it: without it if `exclusive`, from the other end if `reverse`."""
    return _running(np.cumsum, 0, x, axis, exclusive, reverse)


@operator("CumProd", since=26)
def cumulative_product(x: T, axis: T2, /, *, exclusive: int = 0, reverse: int = 0) -> T:
    """At each place the product of all up to it: without it if `exclusive`, from the other end if `reverse`."""
    return _running(np.cumprod, 1, x, axis, exclusive, reverse)


@cumulative_sum.infer
@cumulative_product.infer
def infer(x: Fact, axis: Fact, /, **_: int) -> Inferred:
    require(axis.rank is None or axis.rank <= 1, f"axis must be one number, it has {axis.rank} axes")
    if axis.integers is not None and x.rank is not None:
        require(len(axis.integers) == 1, f"axis must be one number, it has {len(axis.integers)}")
        axis_of(axis.integers[0], x.rank)
    return x.type


def _running(accumulate: Callable[..., Any], start: int, x: Array, axis: Array, exclusive: int, reverse: int) -> Array:
    if axis.size != 1:
        raise InputError(f"axis must be one number, it has {axis.size}")
    along = axis_of(int(axis.reshape(())), x.ndim)
    terms = np.moveaxis(widened(x), along, 0)
    if reverse:
        terms = terms[::-1]
    if exclusive:
        terms = np.concatenate([np.full_like(terms[:1], start), terms[:-1]])
    totals = accumulate(terms, axis=0, dtype=terms.dtype)
    return narrowed(np.moveaxis(totals[::-1] if reverse else totals, 0, along), x.dtype)
