"""ReduceLogSum and ReduceLogSumExp: the logarithm of a sum along axes, and of a sum of exponentials."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.reduction.axes import lowering, reduced_axes, reducing, with_fixed_axes
from ingot.ops.reduction.precision import narrowed, widened
from ingot.ops.reduction.sums import total
from ingot.ops.reduction.types import T13, Axes
from ingot.ops.reduction.types import T as Wide
from ingot.ops.typesets import FLOATS, types

T: TypeAlias = Annotated[Array, types("T", FLOATS)]


@operator("ReduceLogSum", since=28)
def reduce_log_sum(data: T, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> T:
    """The logarithm of the sum along `axes`; of nothing, minus infinity."""
    over = reduced_axes(data, axes, noop_with_empty_axes)
    return narrowed(np.log(total(widened(data), over, keepdims)), data.dtype)


@operator("ReduceLogSumExp", since=28)
def reduce_log_sum_exp(data: T, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> T:
    """The logarithm of the sum of exponentials along `axes`; of nothing, minus infinity.

    The largest element is taken off first, so that nothing overflows.
    """
    over = reduced_axes(data, axes, noop_with_empty_axes)
    return narrowed(log_sum_exp(widened(data), over, keepdims), data.dtype)


reduce_log_sum.infer(reducing)
reduce_log_sum_exp.infer(reducing)


@reduce_log_sum.lower
@lowering
def lower_log_sum(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    return prim.apply("log", prim.reduce_("add", x, axes))


@reduce_log_sum_exp.lower
@lowering
def lower_log_sum_exp(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    offset = finite_maximum(x, axes)
    return prim.apply("log", prim.reduce_("add", prim.apply("exp", x - offset), axes)) + offset


def finite_maximum(x: prim.Tensor, axes: Sequence[int]) -> prim.Tensor:
    """The largest along axes, to be taken off before exponentials; zero where it is infinite, NaN or of nothing."""
    largest = prim.reduce_("maximum", x, axes)
    return prim.where(prim.apply("less", prim.apply("absolute", largest), math.inf), largest, 0)


@reduce_log_sum.downgrade
def downgrade_reduce_log_sum(op: Any, data: Value, axes: Value | None = None, /, **attributes: int) -> Any:
    return op.ReduceLogSum(data, axes, **attributes)


@reduce_log_sum_exp.downgrade
def downgrade_reduce_log_sum_exp(op: Any, data: Value, axes: Value | None = None, /, **attributes: int) -> Any:
    return op.ReduceLogSumExp(data, axes, **attributes)


def log_sum_exp(x: Array, axes: tuple[int, ...], keepdims: int) -> Array:
    """The logarithm of the sum of exponentials, in the type of the elements."""
    largest = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
    offset = np.where(np.isfinite(largest), largest, x.dtype.type(0))
    result = np.log(total(np.exp(x - offset), axes, 1)) + offset
    return np.asarray(result if keepdims else np.squeeze(result, axis=axes))


@operator("ReduceLogSum", since=18)
def reduce_log_sum_18(
    data: Wide, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Wide:
    """The logarithm of the sum, also of integers."""
    raise superseded()


@operator("ReduceLogSum", since=(1, 11, 13))
def reduce_log_sum_13(data: T13, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> T13:
    """The logarithm of the sum, also of integers, along axes that are an attribute."""
    raise superseded()


@operator("ReduceLogSumExp", since=18)
def reduce_log_sum_exp_18(
    data: Wide, axes: Axes | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Wide:
    """The logarithm of the sum of exponentials, also of integers."""
    raise superseded()


@operator("ReduceLogSumExp", since=(1, 11, 13))
def reduce_log_sum_exp_13(data: T13, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> T13:
    """The logarithm of the sum of exponentials, also of integers, along axes that are an attribute."""
    raise superseded()


reduce_log_sum_18.downgrade(with_fixed_axes("ReduceLogSum", of_one_changes=True))
reduce_log_sum_exp_18.downgrade(with_fixed_axes("ReduceLogSumExp", of_one_changes=True))


@reduce_log_sum_18.upgrade
def upgrade_reduce_log_sum_18(op: Any, data: Value, axes: Value | None = None, /, **attributes: int) -> Any:
    return _in_floats(op, data, lambda x: op.ReduceLogSum(x, axes, **attributes))


@reduce_log_sum_13.upgrade
def upgrade_reduce_log_sum_13(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    over = list(axes) if axes else None
    return _in_floats(op, data, lambda x: op.ReduceLogSum(x, over, keepdims=keepdims))


@reduce_log_sum_exp_18.upgrade
def upgrade_reduce_log_sum_exp_18(op: Any, data: Value, axes: Value | None = None, /, **attributes: int) -> Any:
    return _in_floats(op, data, lambda x: op.ReduceLogSumExp(x, axes, **attributes))


@reduce_log_sum_exp_13.upgrade
def upgrade_reduce_log_sum_exp_13(op: Any, data: Value, /, *, axes: Sequence[int] | None, keepdims: int) -> Any:
    over = list(axes) if axes else None
    return _in_floats(op, data, lambda x: op.ReduceLogSumExp(x, over, keepdims=keepdims))


def _in_floats(op: Any, data: Value, reduce: Callable[[Any], Any]) -> Any:
    """The reduction of floats; of integers, and where the type is not known, in float64 and back."""
    if isinstance(data.type, TensorType) and data.type.dtype.is_float:
        return reduce(data)
    return op.CastLike(reduce(op.Cast(data, to=int(DType.FLOAT64))), data)
