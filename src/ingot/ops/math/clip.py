"""Clip: numbers limited to an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import dims
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed
from ingot.ops.math.operands import common_dtype, require_alike
from ingot.ops.math.precision import narrowed
from ingot.ops.typesets import FLOATS_3, NUMERIC, NUMERIC_3, types

T: TypeAlias = Annotated[Array, types("T", {11: FLOATS_3, 12: NUMERIC_3, 13: NUMERIC})]
T6: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Clip", since=(11, 12, 13))
def clip(x: T, min: T | None = None, max: T | None = None, /) -> T:
    """`x`, but `min` where it is below that, and `max` where it is above: if `max` is below `min`, `max` everywhere."""
    result: Any = x
    for name, bound, limit in (("min", min, np.maximum), ("max", max, np.minimum)):
        if bound is not None:
            _require_scalar(bound.shape, name)
            bound = bound.reshape(())
            require_alike(x, bound)
            result = limit(result, bound)
    return narrowed(result, x.dtype)


@clip.infer
def infer(x: Fact, min: Fact | None = None, max: Fact | None = None, /) -> Inferred:
    bounds = [("min", min or Fact()), ("max", max or Fact())]
    dtype = common_dtype(x, *(bound for _, bound in bounds))
    for name, bound in bounds:
        if bound.shape is not None:
            _require_scalar(bound.shape, name)
    if dtype is None:
        return None
    # A bound that is left out and one that nothing is known of look the same here, unless it is the last.
    least, most = (bound.elements[0] if bound.elements else None for _, bound in bounds)
    if (min is not None and least is None) or (max is not None and most is None):
        return TensorType(dtype, x.shape)
    return followed(dtype, lambda size: _limited(size, least, most), x)


def _limited(size: Dim, least: Dim | None, most: Dim | None) -> Dim:
    size = size if least is None else dims.maximum(size, least)
    return size if most is None else dims.minimum(size, most)


def _require_scalar(shape: Shape, name: str) -> None:
    """One element in one axis passes too: exporters write bounds like that."""
    if len(shape) > 1 or any(isinstance(size, int) and size != 1 for size in shape):
        raise ShapeError(f"{name} must be one number, its shape is {[*shape]}")


@operator("Clip", since=6)
def clip_6(x: T6, /, *, max: float = 3.4028234663852886e38, min: float = -3.4028234663852886e38) -> T6:
    """The same, with bounds as attributes, which by default are those of finite float32."""
    raise superseded()


@operator("Clip", since=1)
def clip_1(
    x: T6, /, *, max: float | None = None, min: float | None = None, consumed_inputs: Sequence[int] | None = None
) -> T6:
    """The same, with no bounds by default."""
    raise superseded()


@clip_6.upgrade
@clip_1.upgrade
def upgrade(op: Any, x: Value, /, *, min: float | None, max: float | None, **_: object) -> Any:
    return op.Clip(x, _bound(op, min, x), _bound(op, max, x))


def _bound(op: Any, bound: float | None, x: Value) -> Any:
    """The bound in the element type of `x`: in float16, one out of range becomes infinite, which limits nothing."""
    if bound is None:
        return None
    if not isinstance(x.type, TensorType) or x.type.dtype is DType.UNDEFINED:
        return op.CastLike(np.asarray(bound, np.float32), x)
    with np.errstate(over="ignore"):
        return np.asarray(bound).astype(x.type.dtype.numpy)
