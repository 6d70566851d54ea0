"""Operations along axes: sums, means, largest elements, where they are, running sums, sorted elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, cast
from ingot.convert.keras.operations.elementwise import operand_of, result_type
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_REDUCED = {
    "Sum": "ReduceSum", "Mean": "ReduceMean", "Max": "ReduceMax", "Amax": "ReduceMax", "Min": "ReduceMin",
    "Amin": "ReduceMin", "Prod": "ReduceProd", "Logsumexp": "ReduceLogSumExp",
}  # fmt: skip


def axes_of(axis: Any) -> list[int] | None:
    """Axes as a list; None for all."""
    return None if axis is None else [int(each) for each in axis] if isinstance(axis, list | tuple) else [int(axis)]


@rule(*(f"ops.{name}" for name in _REDUCED))
def reduced(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    if getattr(operation, "initial", None) is not None:
        raise UnsupportedError("an initial element")
    keep = int(operation.keepdims)
    if value.dtype is DType.BOOL:
        value = cast(value, "int32")
        return cast(op[_REDUCED[type(operation).__name__]](value, axes_of(operation.axis), keepdims=keep), DType.BOOL)
    return op[_REDUCED[type(operation).__name__]](value, axes_of(operation.axis), keepdims=keep)


@rule("ops.Any", "ops.All")
def decided(c: Conversion, operation: Any, x: Any) -> Var:
    truth = op.Cast(cast(c.operand(x), DType.BOOL), to=int(DType.INT32))
    reduce = op.ReduceMax if type(operation).__name__ == "Any" else op.ReduceMin
    return cast(reduce(truth, axes_of(operation.axis), keepdims=int(operation.keepdims)), DType.BOOL)


@rule("ops.CountNonzero")
def counted(c: Conversion, operation: Any, x: Any) -> Var:
    truth = op.Cast(cast(c.operand(x), DType.BOOL), to=int(DType.INT32))
    return cast(op.ReduceSum(truth, axes_of(operation.axis), keepdims=0), result_type(c))


@rule("ops.Var", "ops.Std")
def variance(c: Conversion, operation: Any, x: Any) -> Var:
    value = operand_of(c, x)
    axes = axes_of(operation.axis)
    apart = value - op.ReduceMean(value, axes, keepdims=1)
    spread = op.ReduceMean(apart * apart, axes, keepdims=int(operation.keepdims))
    return op.Sqrt(spread) if type(operation).__name__ == "Std" else spread


@rule("ops.Moments")
def moments(c: Conversion, operation: Any, x: Any) -> tuple[Var, Var]:
    value = operand_of(c, x)
    axes = axes_of(operation.axes)
    mean = op.ReduceMean(value, axes, keepdims=1)
    apart = value - mean
    variance = op.ReduceMean(apart * apart, axes, keepdims=int(operation.keepdims))
    return (mean if operation.keepdims else op.Squeeze(mean, axes)), variance


@rule("ops.Average")
def average(c: Conversion, operation: Any, x: Any, weights: Any = None) -> Var:
    value = operand_of(c, x)
    axes = axes_of(operation.axis)
    if weights is None:
        return op.ReduceMean(value, axes, keepdims=0)
    share = c.operand(weights, result_type(c))
    if rank(share) != rank(value) and axes is not None:
        share = op.Reshape(share, [-1 if place == axes[0] % rank(value) else 1 for place in range(rank(value))])
    total = op.ReduceSum(share + value * c.number(0, value), axes, keepdims=0)
    return op.ReduceSum(value * share, axes, keepdims=0) / total


@rule("ops.Ptp")
def spread(c: Conversion, operation: Any, x: Any) -> Var:
    value, axes, keep = operand_of(c, x), axes_of(operation.axis), int(operation.keepdims)
    return op.ReduceMax(value, axes, keepdims=keep) - op.ReduceMin(value, axes, keepdims=keep)


@rule("ops.Argmax", "ops.Argmin")
def place(c: Conversion, operation: Any, x: Any) -> Var:
    value, axis = c.operand(x), operation.axis
    if value.dtype is DType.BOOL:
        value = cast(value, "int32")
    count = rank(value)
    if axis is None:
        value, axis = op.Reshape(value, [-1]), 0
    arg = op.ArgMax if type(operation).__name__ == "Argmax" else op.ArgMin
    index = cast(arg(value, axis=axis, keepdims=int(operation.keepdims and operation.axis is not None)), result_type(c))
    if operation.keepdims and operation.axis is None:
        return op.Reshape(index, [1] * count)
    return index


@rule("ops.Cumsum")
def running_sum(c: Conversion, operation: Any, x: Any) -> Var:
    value, axis = operand_of(c, x), operation.axis
    if axis is None:
        value, axis = op.Reshape(value, [-1]), 0
    return op.CumSum(value, np.array(axis, np.int64))


@rule("ops.Sort", "ops.Argsort")
def ordered(c: Conversion, operation: Any, x: Any) -> Var:
    value, axis = c.operand(x), operation.axis
    if axis is None:
        value, axis = op.Reshape(value, [-1]), 0
    count = op.Shape(value, start=axis, end=axis + 1 if axis != -1 else None)
    values, places = op.TopK(value, count, axis=axis, largest=0, outputs=2)
    return cast(values if type(operation).__name__ == "Sort" else places, result_type(c))


@rule("ops.TopK")
def top(c: Conversion, operation: Any, x: Any) -> tuple[Var, Var]:
    values, places = op.TopK(c.operand(x), np.array([operation.k], np.int64), axis=-1, outputs=2)
    return values, cast(places, result_type(c, 1))


@rule("ops.InTopK")
def in_top(c: Conversion, operation: Any, targets: Any, predictions: Any) -> Var:
    scores, wanted = c.operand(predictions), cast(c.operand(targets), "int64")
    own = op.GatherElements(scores, op.Unsqueeze(wanted, [1]), axis=1)
    better = op.ReduceSum(op.Cast(scores > own, to=int(DType.INT32)), [1], keepdims=0)
    return better < np.array(operation.k, np.int32)


@rule("ops.Norm")
def norm(c: Conversion, operation: Any, x: Any) -> Var:
    value, axes, keep = operand_of(c, x), axes_of(operation.axis), int(operation.keepdims)
    order = operation.ord
    several = rank(value) if axes is None else len(axes)
    if order in (None, "fro") or (order == 2 and several == 1):
        return op.ReduceL2(value, axes, keepdims=keep)
    if order == 1 and several == 1:
        return op.ReduceL1(value, axes, keepdims=keep)
    if order == float("inf") and several == 1:
        return op.ReduceMax(op.Abs(value), axes, keepdims=keep)
    raise UnsupportedError(f"a norm of order {order} over {several} axes")
