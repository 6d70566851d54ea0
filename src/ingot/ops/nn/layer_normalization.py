"""LayerNormalization and RMSNormalization: the last axes of a tensor brought to one size, each row by itself."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import Shape
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.moments import alike, inverse_deviation, mean_of, staged
from ingot.ops.nn.precision import mean, stash, wide, widened
from ingot.ops.nn.results import tensor
from ingot.ops.nn.through import cast, wide_of
from ingot.ops.older import dtype_of, rank_of
from ingot.ops.shapes import axis_of
from ingot.ops.typesets import BFLOAT16, FLOAT32, FLOATS, types

T: TypeAlias = Annotated[Array, types("T", FLOATS)]
U: TypeAlias = Annotated[Array, types("U", BFLOAT16 | FLOAT32)]
V: TypeAlias = Annotated[Array, types("V", FLOATS)]

LAYER_STASHES = (DType.FLOAT32, DType.BFLOAT16)
RMS_STASHES = (DType.FLOAT32, DType.FLOAT16, DType.FLOAT64, DType.BFLOAT16)


@operator("LayerNormalization", since=17)
def layer_normalization(
    x: T, scale: T, b: T | None = None, /, *, axis: int = -1, epsilon: float = 1e-05, stash_type: int = 1
) -> tuple[T, U | None, U | None]:
    """`x` less its mean over the axes from `axis` on, over its deviation, times `scale` plus `b`; with that mean and
    the reciprocal of that deviation, which are computed in the type that `stash_type` names.
    """
    stage = stash(stash_type, LAYER_STASHES)
    axes = tuple(range(axis_of(axis, x.ndim), x.ndim))
    values = x.astype(stage).astype(wide(stage))
    average = mean(values, axes)
    centred = values - average
    variance = mean(np.square(centred), axes)
    inverse = np.reciprocal(np.sqrt(variance + values.dtype.type(epsilon)))
    normal = (centred * inverse).astype(stage).astype(x.dtype)
    wide_normal, factor = widened(normal, _broadcastable(scale, x, "scale"))
    y = wide_normal * factor
    if b is not None:
        y = y + _broadcastable(b, x, "B").astype(y.dtype)
    return np.asarray(y, x.dtype), average.astype(stage), inverse.astype(stage)


@operator("RMSNormalization", since=23)
def rms_normalization(x: T, scale: V, /, *, axis: int = -1, epsilon: float = 1e-05, stash_type: int = 1) -> V:
    """`x` over the root of its mean square over the axes from `axis` on, times `scale`, of whose type the result is."""
    stage = stash(stash_type, RMS_STASHES)
    axes = tuple(range(axis_of(axis, x.ndim), x.ndim))
    values = x.astype(stage).astype(wide(stage))
    root = np.sqrt(mean(np.square(values), axes) + values.dtype.type(epsilon))
    normal = (values / root).astype(stage).astype(x.dtype)
    wide_normal, factor = widened(normal, _broadcastable(scale, x, "scale"))
    return np.asarray(wide_normal * factor, scale.dtype)


@layer_normalization.infer
def infer_layer(
    x: Fact, scale: Fact, b: Fact | None = None, /, *, axis: int, epsilon: float, stash_type: int
) -> tuple[Inferred, ...]:
    dtype = DType.of(stash(stash_type, LAYER_STASHES))
    if x.shape is None:
        return tensor(x.dtype, None), tensor(dtype, None), tensor(dtype, None)
    first = axis_of(axis, len(x.shape))
    _fits(scale.shape, x.shape, "scale")
    _fits(None if b is None else b.shape, x.shape, "B")
    reduced = tensor(dtype, (*x.shape[:first], *(1,) * (len(x.shape) - first)))
    return tensor(x.dtype, x.shape), reduced, reduced


@rms_normalization.infer
def infer_rms(x: Fact, scale: Fact, /, *, axis: int, epsilon: float, stash_type: int) -> Inferred:
    stash(stash_type, RMS_STASHES)
    if x.shape is not None:
        axis_of(axis, len(x.shape))
        _fits(scale.shape, x.shape, "scale")
    return tensor(scale.dtype, x.shape)


@layer_normalization.lower
def lower_layer(
    x: prim.Tensor,
    scale: prim.Tensor,
    b: prim.Tensor | None = None,
    /,
    *,
    axis: int,
    epsilon: float,
    stash_type: int,
    facts: tuple[Fact, ...],
) -> tuple[prim.Tensor, ...]:
    axes = range(axis_of(axis, x.rank), x.rank)
    stage = DType.of(stash(stash_type, LAYER_STASHES))
    values = staged(x, stage)
    average = mean_of(values, axes)
    centred = values - average
    inverse = inverse_deviation(centred, axes, epsilon)
    normal = _rounded(prim.cast(staged(centred * inverse, stage), x.dtype), facts[0])
    y = normal * scale
    return y if b is None else y + b, average, inverse


@rms_normalization.lower
def lower_rms(
    x: prim.Tensor,
    scale: prim.Tensor,
    /,
    *,
    axis: int,
    epsilon: float,
    stash_type: int,
    facts: tuple[Fact, ...],
) -> prim.Tensor:
    axes = range(axis_of(axis, x.rank), x.rank)
    stage = DType.of(stash(stash_type, RMS_STASHES))
    values = staged(x, stage)
    normal = prim.cast(staged(values * inverse_deviation(values, axes, epsilon), stage), x.dtype)
    wide_normal, factor = alike(_rounded(normal, facts[0]), scale)
    return wide_normal * factor


def _rounded(normal: prim.Tensor, fact: Fact) -> prim.Tensor:
    """What is normalised, rounded to 16 bits where it was given so, before it is scaled, as the standard has it."""
    return normal if fact.dtype is None else prim.cast(prim.cast(normal, fact.dtype), normal.dtype)


@layer_normalization.downgrade
def downgrade_layer(
    op: Any,
    x: Value,
    scale: Value,
    b: Value | None = None,
    /,
    *,
    axis: int,
    epsilon: float,
    stash_type: int,
    outputs: int,
) -> Any:
    dtype, stage = dtype_of(x), DType.of(stash(stash_type, LAYER_STASHES))
    axes = list(range(axis_of(axis, rank_of(x)), rank_of(x)))
    values = cast(op, cast(op, x, dtype, stage), stage, DType.FLOAT32)
    average = op.ReduceMean(values, axes=axes, keepdims=1)
    centred = op.Sub(values, average)
    variance = op.ReduceMean(op.Mul(centred, centred), axes=axes, keepdims=1)
    inverse = op.Reciprocal(op.Sqrt(op.Add(variance, np.float32(epsilon))))
    normal = cast(op, cast(op, op.Mul(centred, inverse), DType.FLOAT32, stage), stage, dtype)
    wide = wide_of(dtype)
    y = op.Mul(cast(op, normal, dtype, wide), cast(op, scale, dtype, wide))
    if b is not None:
        y = op.Add(y, cast(op, b, dtype, wide))
    moments = [cast(op, moment, DType.FLOAT32, stage) for moment in (average, inverse)[: outputs - 1]]
    return cast(op, y, wide, dtype), *moments


@rms_normalization.downgrade
def downgrade_rms(op: Any, x: Value, scale: Value, /, *, axis: int, epsilon: float, stash_type: int) -> Any:
    dtype, stage = dtype_of(x), DType.of(stash(stash_type, RMS_STASHES))
    inside = wide_of(stage)
    values = cast(op, cast(op, x, dtype, stage), stage, inside)
    axes = list(range(axis_of(axis, rank_of(x)), rank_of(x)))
    square = op.ReduceMean(op.Mul(values, values), axes, keepdims=1)
    root = op.Sqrt(op.Add(square, np.asarray(epsilon, inside.numpy)))
    normal = cast(op, cast(op, op.Div(values, root), inside, stage), stage, dtype)
    wide = wide_of(dtype, dtype_of(scale))
    y = op.Mul(cast(op, normal, dtype, wide), cast(op, scale, dtype_of(scale), wide))
    return cast(op, y, wide, dtype_of(scale))


def _broadcastable(array: Array, x: Array, name: str) -> Array:
    _fits(array.shape, x.shape, name)
    return array


def _fits(factor_shape: Shape | None, shape: Shape, name: str) -> None:
    """ShapeError unless a tensor of `factor_shape` broadcasts to `shape` without changing it."""
    if factor_shape is None:
        return
    tail = shape[len(shape) - len(factor_shape) :] if len(factor_shape) <= len(shape) else ()
    for size, target in zip(factor_shape, tail, strict=False):
        if isinstance(size, int) and isinstance(target, int) and size not in (1, target):
            tail = ()
            break
    if len(tail) < len(factor_shape):
        raise ShapeError(f"{name}, of shape {list(factor_shape)}, does not broadcast to x, of shape {list(shape)}")
