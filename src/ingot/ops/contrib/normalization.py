"""Normalisations as transformers use them: of a sum with what skipped a layer, and by the root of the mean square."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS, last, require_vector
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.moments import inverse_deviation, mean_of
from ingot.ops.nn.precision import mean, wide
from ingot.ops.shapes import axis_of, broadcast
from ingot.ops.typesets import FLOAT32, FLOAT64, FLOATS, types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
U: TypeAlias = Annotated[Array, types("U", FLOAT32)]
Any4: TypeAlias = Annotated[Array, types("T", FLOATS)]
V: TypeAlias = Annotated[Array, types("V", FLOATS)]
UWide: TypeAlias = Annotated[Array, types("U", FLOAT32 | FLOAT64)]


@operator("SkipLayerNormalization", since=1, domain=MICROSOFT)
def skip_layer_normalization(
    x: T,
    skip: T,
    gamma: T,
    beta: T | None = None,
    bias: T | None = None,
    /,
    *,
    epsilon: float = 9.999999960041972e-13,
) -> tuple[T, U | None, U | None, T | None]:
    """`x + skip + bias`, less its mean and over its deviation along the last axis, times `gamma`, plus `beta`.

    With it the mean, one over the deviation, and the sum.
    """
    total = _sum(x, skip, bias)
    average, inverse = moments(total, epsilon)
    y = (total - average) * inverse * _vector(gamma, x, "gamma")
    if beta is not None:
        y = y + _vector(beta, x, "beta")
    return np.asarray(y, x.dtype), average, inverse, total.astype(x.dtype)


@operator("SkipSimplifiedLayerNormalization", since=1, domain=MICROSOFT)
def skip_simplified_layer_normalization(
    x: T,
    skip: T,
    gamma: T,
    bias: T | None = None,
    /,
    *,
    epsilon: float = 9.999999960041972e-13,
) -> tuple[T, U | None, U | None, T | None]:
    """`x + skip + bias` over the root of its mean square along the last axis, times `gamma`.

    With it a mean of zero, which none is taken off, one over that root, and the sum.
    """
    total = _sum(x, skip, bias)
    inverse = _inverse_root(total, epsilon, (total.ndim - 1,))
    y = total * inverse * _vector(gamma, x, "gamma")
    return np.asarray(y, x.dtype), np.zeros_like(inverse), inverse, total.astype(x.dtype)


@skip_layer_normalization.infer
@skip_simplified_layer_normalization.infer
def infer_skip(
    x: Fact, skip: Fact, gamma: Fact, beta: Fact | None = None, bias: Fact | None = None, /, *, epsilon: float
) -> tuple[Inferred, ...]:
    size = last(x.shape)
    for fact, name in (gamma, "gamma"), (beta, "beta"), (bias, "the bias"):
        require_vector(fact, size, name)
    if x.shape is not None and skip.shape is not None:
        broadcast(x.shape, skip.shape)
    if x.dtype is None:
        return (None,) * 4
    moment = TensorType(DType.FLOAT32, None if x.shape is None else (*x.shape[:-1], 1))
    return x.type, moment, moment, x.type


@operator("SimplifiedLayerNormalization", since=1)
def simplified_layer_normalization(
    x: Any4, scale: V, /, *, axis: int = -1, epsilon: float = 9.999999747378752e-06, stash_type: int = 1
) -> tuple[V, UWide | None]:
    """`x` over the root of its mean square over the axes from `axis` on, times `scale`; and one over that root.

    No part of the standard, which has RMSNormalization, but found in its domain in files of onnxruntime.
    """
    axes = tuple(range(axis_of(axis, x.ndim), x.ndim))
    values = x.astype(wide(x.dtype))
    inverse = _inverse_root(values, epsilon, axes)
    try:
        factor = np.broadcast_to(scale.astype(values.dtype), x.shape)
    except ValueError:
        raise ShapeError(f"scale has shape {list(scale.shape)}, the input {list(x.shape)}") from None
    return np.asarray(values * inverse * factor, scale.dtype), inverse


@simplified_layer_normalization.infer
def infer_simplified(
    x: Fact, scale: Fact, /, *, axis: int, epsilon: float, stash_type: int
) -> tuple[Inferred, Inferred]:
    if x.shape is not None:
        first = axis_of(axis, len(x.shape))
        if scale.shape is not None:
            broadcast(scale.shape, x.shape)
    moment = DType.FLOAT64 if x.dtype is DType.FLOAT64 else DType.FLOAT32
    reduced = None if x.shape is None else (*x.shape[:first], *(1,) * (len(x.shape) - first))
    result = None if scale.dtype is None else TensorType(scale.dtype, x.shape)
    return result, None if x.dtype is None else TensorType(moment, reduced)


@skip_layer_normalization.lower
def lower_skip(
    x: prim.Tensor,
    skip: prim.Tensor,
    gamma: prim.Tensor,
    beta: prim.Tensor | None = None,
    bias: prim.Tensor | None = None,
    /,
    *,
    epsilon: float,
) -> tuple[prim.Tensor, ...]:
    total = _summed(x, skip, bias)
    y, average, inverse = normalised(total, gamma, beta, epsilon)
    return y, average, inverse, total


@skip_simplified_layer_normalization.lower
def lower_skip_simplified(
    x: prim.Tensor,
    skip: prim.Tensor,
    gamma: prim.Tensor,
    bias: prim.Tensor | None = None,
    /,
    *,
    epsilon: float,
) -> tuple[prim.Tensor, ...]:
    total = _summed(x, skip, bias)
    inverse = inverse_deviation(total, [x.rank - 1], epsilon)
    y = total * inverse * prim.assume_shape(gamma, x.shape[-1:])
    return y, prim.full(0, inverse.shape, inverse.dtype), inverse, total


@simplified_layer_normalization.lower
def lower_simplified(
    x: prim.Tensor, scale: prim.Tensor, /, *, axis: int, epsilon: float, stash_type: int
) -> tuple[prim.Tensor, ...]:
    inverse = inverse_deviation(x, range(axis_of(axis, x.rank), x.rank), epsilon)
    return x * inverse * prim.cast(scale, x.dtype), inverse


def normalised(
    x: prim.Tensor, gamma: prim.Tensor, beta: prim.Tensor | None, epsilon: float
) -> tuple[prim.Tensor, prim.Tensor, prim.Tensor]:
    """The last axis less its mean, over its deviation, times `gamma` plus `beta`; the mean, one over the deviation."""
    last_axis = [x.rank - 1]
    average = mean_of(x, last_axis)
    inverse = inverse_deviation(x - average, last_axis, epsilon)
    y = (x - average) * inverse * prim.assume_shape(gamma, x.shape[-1:])
    return y if beta is None else y + prim.assume_shape(beta, x.shape[-1:]), average, inverse


def _summed(x: prim.Tensor, skip: prim.Tensor, bias: prim.Tensor | None) -> prim.Tensor:
    if x.rank not in (2, 3) or skip.rank not in (x.rank, x.rank - 1):
        raise prim.Refused(f"a skip of {skip.rank} axes for an input of {x.rank}")
    once = skip.rank < x.rank or skip.shape[0] == 1
    skip = prim.assume_shape(skip, (*skip.shape[: 1 - (x.rank - skip.rank)], *x.shape[1:]) if once else x.shape)
    return x + skip if bias is None else x + skip + prim.assume_shape(bias, x.shape[-1:])


def moments(x: Array, epsilon: float) -> tuple[Array, Array]:
    """The mean along the last axis, and one over the deviation from it."""
    axes = (x.ndim - 1,)
    average = mean(x, axes)
    return average, _inverse_root(x - average, epsilon, axes)


def _inverse_root(x: Array, epsilon: float, axes: tuple[int, ...]) -> Array:
    return np.asarray(1 / np.sqrt(mean(np.square(x), axes) + x.dtype.type(epsilon)))


def _sum(x: Array, skip: Array, bias: Array | None) -> Array:
    """In the type to compute in; ShapeError if `skip` has other axes than the last of `x`."""
    if x.ndim not in (2, 3):
        raise ShapeError(f"the input has {x.ndim} axes, expected 2 or 3")
    fits = skip.shape in (x.shape, x.shape[1:], (1, *x.shape[1:]))
    if not fits:
        raise ShapeError(f"skip has shape {list(skip.shape)}, the input {list(x.shape)}")
    kind = wide(x.dtype)
    total = x.astype(kind) + skip.astype(kind)
    return np.asarray(total if bias is None else total + _vector(bias, x, "the bias"))


def _vector(values: Array, x: Array, name: str) -> Array:
    if values.shape != x.shape[-1:]:
        raise ShapeError(f"{name} has shape {list(values.shape)}, expected [{x.shape[-1]}]")
    return values.astype(wide(x.dtype))
