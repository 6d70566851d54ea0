"""Clip: numbers limited to an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import dims, prim
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
from ingot.ops.math.restated import held, restated
from ingot.ops.older import constant_of, dtype_of, rank_of
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


@clip.lower
def lower(x: prim.Tensor, min: prim.Tensor | None = None, max: prim.Tensor | None = None, /) -> prim.Tensor:
    for bound, limit in ((min, "maximum"), (max, "minimum")):
        x = x if bound is None else prim.apply(limit, x, prim.reshape(bound, ()))
    return x


@clip.downgrade
def downgrade(op: Any, x: Value, min: Value | None = None, max: Value | None = None, /, *, version: int) -> Any:
    dtype = dtype_of(x)
    if version >= 12:
        return op.Clip(x, min, max)
    bounds = [None if bound is None else _scalar(op, bound) for bound in (min, max)]
    if dtype.is_integer:
        return _chosen(op, x, *bounds)
    least, most = (None if bound is None else constant_of(bound) for bound in (min, max))
    attributes = (_attribute(least, min, -np.inf), _attribute(most, max, np.inf))
    if None not in attributes and attributes[0] <= attributes[1]:
        return op.Clip(x, min=attributes[0], max=attributes[1])
    for bound, limit in zip(bounds, (op.Max, op.Min), strict=True):
        x = x if bound is None else limit(x, bound)
    return x


def _chosen(op: Any, x: Any, least: Any, most: Any) -> Any:
    """Integers in bounds, where only floats have a larger and a smaller one."""
    for bound, outside in ((least, op.Less), (most, op.Greater)):
        x = x if bound is None else op.Where(outside(x, bound), bound, x)
    return op.Identity(x) if least is None and most is None else x


def _attribute(constant: Array | None, bound: Value | None, unbounded: float) -> Any:
    """A bound as a float32 attribute; None where it is computed, or is no number of float32."""
    if bound is None:
        return unbounded
    single = None if constant is None else held(constant, DType.FLOAT32)
    return None if single is None else float(single.reshape(()))


def _scalar(op: Any, bound: Value) -> Any:
    """A bound without axes: one of one element in one axis would give what it limits that axis."""
    constant = constant_of(bound)
    if constant is not None:
        return constant.reshape(())
    return bound if rank_of(bound) == 0 else op.Squeeze(bound, axes=[0])


@operator("Clip", since=6)
def clip_6(x: T6, /, *, max: float = 3.4028234663852886e38, min: float = -3.4028234663852886e38) -> T6:
    """The same, with bounds as attributes, which by default are those of finite float32."""
    raise superseded()


clip_6.downgrade(restated("Clip"))


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
