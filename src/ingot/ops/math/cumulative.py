"""CumSum and CumProd: running totals along an axis; narrow floats are accumulated in float32, integers wrap around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import InputError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.precision import narrowed, widened
from ingot.ops.math.restated import in_float32, number, wide_float
from ingot.ops.older import constant_of, dtype_of, rank_of
from ingot.ops.shapes import axis_of, require
from ingot.ops.tensor.computed import around_axis, assume_reshape
from ingot.ops.typesets import FLOAT32, FLOAT64, INDICES, WIDE, WIDE_INTEGERS, types
from ingot.prim.tensor import SizeReader

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


@cumulative_sum.lower
def lower_sum(
    x: prim.Tensor,
    axis: prim.Tensor,
    /,
    *,
    exclusive: int,
    reverse: int,
    facts: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    return _scan("add", x, axis, facts[1], read, exclusive=bool(exclusive), reverse=bool(reverse))


@cumulative_product.lower
def lower_product(
    x: prim.Tensor,
    axis: prim.Tensor,
    /,
    *,
    exclusive: int,
    reverse: int,
    facts: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    return _scan("multiply", x, axis, facts[1], read, exclusive=bool(exclusive), reverse=bool(reverse))


def _scan(
    function: str, x: prim.Tensor, axis: prim.Tensor, fact: Fact, read: SizeReader, *, exclusive: bool, reverse: bool
) -> prim.Tensor:
    if fact.integers is not None:
        along = axis_of(fact.integers[0], x.rank)
        return prim.scan(function, x, along, exclusive=exclusive, reverse=reverse)
    totals = prim.scan(function, around_axis(x, axis, read), 1, exclusive=exclusive, reverse=reverse)
    return assume_reshape(totals, x.shape)


@cumulative_sum.downgrade
def downgrade_sum(op: Any, x: Value, axis: Value, /, *, exclusive: int, reverse: int, version: int) -> Any:
    if version >= 11:
        return in_float32(op, lambda x: op.CumSum(x, axis, exclusive=exclusive, reverse=reverse), x)
    return _scanned(op, op.Add, 0, x, axis, exclusive, reverse)


@cumulative_product.downgrade
def downgrade_product(op: Any, x: Value, axis: Value, /, *, exclusive: int, reverse: int) -> Any:
    return _scanned(op, op.Mul, 1, x, axis, exclusive, reverse)


def _scanned(
    op: Any, combine: Callable[..., Any], start: int, x: Value, axis: Value, exclusive: int, reverse: int
) -> Any:
    """A running total as the state that a Scan carries along the axis."""
    dtype, rank = wide_float(dtype_of(x)), rank_of(x)
    constant = constant_of(axis)
    if constant is None:
        raise UnsupportedError(f"the axis, '{axis.name}', is computed while the model runs")
    along = axis_of(int(constant.reshape(())), rank)
    others = np.asarray([each for each in range(rank) if each != along], np.int64)
    state = op.Expand(number(start, dtype), op.Gather(op.Shape(x), others, axis=0))

    def step(total: Any, term: Any) -> tuple[Any, Any]:
        more = combine(total, term)
        return more, op.Identity(total if exclusive else more)

    def compute(x: Any) -> Any:
        ways = {f"scan_{which}_{what}": [value] for which in ("input", "output") for what, value in way.items()}
        return op.Scan([state], [x], body=step, **ways)[1]

    way = {"axes": along, "directions": int(bool(reverse))}
    return in_float32(op, compute, x)


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
