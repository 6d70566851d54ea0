"""LayerNormalization and RMSNormalization: the last axes of a tensor brought to one size, each row by itself."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import Shape
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import mean, stash, wide, widened
from ingot.ops.nn.results import tensor
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


def _broadcastable(given: Array, x: Array, name: str) -> Array:
    _fits(given.shape, x.shape, name)
    return given


def _fits(given: Shape | None, shape: Shape, name: str) -> None:
    """ShapeError unless a tensor of shape `given` broadcasts to `shape` without changing it."""
    if given is None:
        return
    tail = shape[len(shape) - len(given) :] if len(given) <= len(shape) else ()
    for size, target in zip(given, tail, strict=False):
        if isinstance(size, int) and isinstance(target, int) and size not in (1, target):
            tail = ()
            break
    if len(tail) < len(given):
        raise ShapeError(f"{name}, of shape {list(given)}, does not broadcast to x, of shape {list(shape)}")
