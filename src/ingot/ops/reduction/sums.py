"""ReduceSum, ReduceMean and ReduceProd: elements added, averaged and multiplied along axes; integers wrap around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.reduction.axes import count, following, lowering, reduced_axes, reducing, with_fixed_axes
from ingot.ops.reduction.number import number_of
from ingot.ops.reduction.precision import narrowed, wide, widened
from ingot.ops.reduction.types import T11, T13, Axes, T
from ingot.prim.functions import INTEGERS


@operator("ReduceSum", since=13)
def reduce_sum(data: T, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> T:
    """The sum along `axes`; of nothing, 0."""
    over = reduced_axes(data, axes, noop_with_empty_axes)
    return narrowed(total(widened(data), over, keepdims), data.dtype)


@operator("ReduceMean", since=18)
def reduce_mean(data: T, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> T:
    """The mean along `axes`: of integers cut off towards zero, of nothing NaN, or InputError where there is no NaN."""
    over = reduced_axes(data, axes, noop_with_empty_axes)
    many = count(data, over)
    if data.dtype.kind in "iu":
        return _integer_mean(data, over, keepdims, many)
    return narrowed(total(widened(data), over, keepdims) / np.asarray(many, wide(data.dtype)), data.dtype)


@operator("ReduceProd", since=18)
def reduce_prod(data: T, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> T:
    """The product along `axes`; of nothing, 1."""
    over = reduced_axes(data, axes, noop_with_empty_axes)
    wider = widened(data)
    return narrowed(np.prod(wider, axis=over, keepdims=bool(keepdims), dtype=wider.dtype), data.dtype)


reduce_sum.infer(following(lambda x, y: x + y))
reduce_mean.infer(reducing)
reduce_prod.infer(following(lambda x, y: x * y))


@reduce_sum.lower
@lowering
def lower_sum(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    return prim.reduce_("add", x, axes)


@reduce_mean.lower
@lowering
def lower_mean(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    many = [x.shape[axis] for axis in axes]
    if x.dtype in INTEGERS:
        return _lowered_integer_mean(x, axes, many)
    return prim.reduce_("add", x, axes) / number_of(many, x.dtype)


@reduce_prod.lower
@lowering
def lower_prod(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    return prim.reduce_("multiply", x, axes)


reduce_sum.downgrade(with_fixed_axes("ReduceSum", of_one_changes=False))
reduce_mean.downgrade(with_fixed_axes("ReduceMean", of_one_changes=False))
reduce_prod.downgrade(with_fixed_axes("ReduceProd", of_one_changes=False))


def total(x: Array, axes: tuple[int, ...], keepdims: int) -> Array:
    """The sum in the type of the elements."""
    return np.asarray(np.sum(x, axis=axes, keepdims=bool(keepdims), dtype=x.dtype))


def _integer_mean(data: Array, axes: tuple[int, ...], keepdims: int, many: int) -> Array:
    """The mean from quotients and remainders, whose sums fit where that of the elements may not."""
    if many == 0:
        empty = total(data, axes, keepdims)
        if empty.size:
            raise InputError(
                f"the mean of no {data.dtype} elements, in shape {list(data.shape)} over axes {list(axes)}"
            )
        return empty
    if many > np.iinfo(data.dtype).max:  # only 32-bit elements: twice the width holds the sum
        exact = total(data.astype(np.uint64 if data.dtype.kind == "u" else np.int64), axes, keepdims)
        return np.asarray(exact // many + ((exact < 0) & (exact % many != 0)), data.dtype)
    divisor = data.dtype.type(many)
    remainders = total((data % divisor).astype(np.uint64), axes, keepdims)
    floor = total(data // divisor, axes, keepdims) + (remainders // many).astype(data.dtype)
    return np.asarray(floor + ((floor < 0) & (remainders % many != 0)), data.dtype)


def _lowered_integer_mean(x: prim.Tensor, axes: Sequence[int], sizes: Sequence[Dim]) -> prim.Tensor:
    """The same; that there are no elements is found as a division by zero."""
    if x.dtype.bits < 64:
        many = number_of(sizes, DType.INT64)
        return prim.cast(prim.reduce_("add", prim.cast(x, DType.INT64), axes) / many, x.dtype)
    many = number_of(sizes, x.dtype)
    quotient, rest = x / many, prim.apply("remainder", x, many)
    if x.dtype is DType.INT64:
        below = prim.apply("less", rest, 0)
        quotient, rest = prim.where(below, quotient - 1, quotient), prim.where(below, rest + many, rest)
    rests = prim.reduce_("add", rest, axes)
    floor = prim.reduce_("add", quotient, axes) + rests / many
    inexact = prim.apply("not_equal", prim.apply("remainder", rests, many), 0)
    return floor + prim.cast(prim.apply("and", prim.apply("less", floor, 0), inexact), x.dtype)


@operator("ReduceSum", since=(1, 11))
def reduce_sum_11(data: T11, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> T11:
    """The sum along axes that are an attribute."""
    raise superseded()


@reduce_sum_11.upgrade
def upgrade_reduce_sum(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    return op.ReduceSum(data, list(axes) if axes else None, keepdims=keepdims)


@operator("ReduceMean", since=(1, 11, 13))
def reduce_mean_13(data: T13, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> T13:
    """The mean along axes that are an attribute."""
    raise superseded()


@reduce_mean_13.upgrade
def upgrade_reduce_mean(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    return op.ReduceMean(data, list(axes) if axes else None, keepdims=keepdims)


@operator("ReduceProd", since=(1, 11, 13))
def reduce_prod_13(data: T13, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> T13:
    """The product along axes that are an attribute."""
    raise superseded()


@reduce_prod_13.upgrade
def upgrade_reduce_prod(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    return op.ReduceProd(data, list(axes) if axes else None, keepdims=keepdims)
