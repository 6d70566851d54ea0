"""ReduceL1, ReduceL2 and ReduceSumSquare: how long the elements along axes are, as a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot import prim
from ingot.dtypes import DType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.reduction.axes import lowering, reduced_axes, reducing, with_fixed_axes
from ingot.ops.reduction.precision import narrowed, widened
from ingot.ops.reduction.sums import total
from ingot.ops.reduction.types import T13, Axes, T
from ingot.prim.functions import INTEGERS


@operator("ReduceL1", since=18)
def reduce_l1(data: T, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> T:
    """The sum of absolute values along `axes`; of nothing, 0."""
    over = reduced_axes(data, axes, noop_with_empty_axes)
    return narrowed(total(np.abs(widened(data)), over, keepdims), data.dtype)


@operator("ReduceL2", since=18)
def reduce_l2(data: T, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> T:
    """The root of the sum of squares along `axes`, of integers cut off and no larger than their type; of nothing, 0."""
    over = reduced_axes(data, axes, noop_with_empty_axes)
    wider = data.astype(np.float64) if data.dtype.kind in "iu" else widened(data)
    return narrowed(np.sqrt(total(np.square(wider), over, keepdims)), data.dtype)


@operator("ReduceSumSquare", since=18)
def reduce_sum_square(data: T, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> T:
    """The sum of squares along `axes`; integers wrap around; of nothing, 0."""
    over = reduced_axes(data, axes, noop_with_empty_axes)
    return narrowed(total(np.square(widened(data)), over, keepdims), data.dtype)


reduce_l1.infer(reducing)
reduce_l2.infer(reducing)
reduce_sum_square.infer(reducing)


@reduce_l1.lower
@lowering
def lower_l1(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    return prim.reduce_("add", prim.apply("absolute", x), axes)


@reduce_l2.lower
@lowering
def lower_l2(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    wide = prim.cast(x, DType.FLOAT64)  # the square of a float32 may be beyond float32 where the root is not
    length = prim.apply("sqrt", prim.reduce_("add", wide * wide, axes))
    if x.dtype not in INTEGERS:
        return prim.cast(length, x.dtype)
    most = np.iinfo(x.dtype.numpy).max
    fits = prim.apply("less", length, float(most))
    return prim.where(fits, prim.cast(prim.where(fits, length, 0), x.dtype), most)


@reduce_sum_square.lower
@lowering
def lower_sum_square(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    return prim.reduce_("add", x * x, axes)


reduce_l1.downgrade(with_fixed_axes("ReduceL1", of_one_changes=True))
reduce_l2.downgrade(with_fixed_axes("ReduceL2", of_one_changes=True))
reduce_sum_square.downgrade(with_fixed_axes("ReduceSumSquare", of_one_changes=True))


@operator("ReduceL1", since=(1, 11, 13))
def reduce_l1_13(data: T13, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> T13:
    """The sum of absolute values along axes that are an attribute."""
    raise superseded()


@reduce_l1_13.upgrade
def upgrade_reduce_l1(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    return op.ReduceL1(data, list(axes) if axes else None, keepdims=keepdims)


@operator("ReduceL2", since=(1, 11, 13))
def reduce_l2_13(data: T13, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> T13:
    """The root of the sum of squares along axes that are an attribute."""
    raise superseded()


@reduce_l2_13.upgrade
def upgrade_reduce_l2(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    return op.ReduceL2(data, list(axes) if axes else None, keepdims=keepdims)


@operator("ReduceSumSquare", since=(1, 11, 13))
def reduce_sum_square_13(data: T13, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> T13:
    """The sum of squares along axes that are an attribute."""
    raise superseded()


@reduce_sum_square_13.upgrade
def upgrade_reduce_sum_square(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    return op.ReduceSumSquare(data, list(axes) if axes else None, keepdims=keepdims)
