"""LpNormalization, MeanVarianceNormalization and LRN: a tensor over its own norm, deviation, or neighbourhood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import pieces
from ingot.ops.nn.moments import mean_of, norm_of
from ingot.ops.nn.pooling import norm
from ingot.ops.nn.precision import mean, refuse_huge, widened
from ingot.ops.nn.through import by_float32, cast, wide_of
from ingot.ops.older import dtype_of, rank_of
from ingot.ops.shapes import axes_of, axis_of, require
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]
T13: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 13: FLOATS})]

MVN_EPSILON = 1e-9
"""What the standard's definition of MeanVarianceNormalization adds to the deviation."""


@operator("LpNormalization", since=(1, 22))
def lp_normalization(x: T, /, *, axis: int = -1, p: int = 2) -> T:
    """`x` over its `p`-norm along `axis`; zero where that norm is zero. `p` is 1 or 2."""
    _order(p)
    values = widened(x)[0]
    size = norm(values, p, (axis_of(axis, x.ndim),), keepdims=True)
    return np.asarray(np.where(size == 0, 0, values / np.where(size == 0, 1, size)), x.dtype)


@operator("MeanVarianceNormalization", since=(9, 13))
def mean_variance_normalization(x: T13, /, *, axes: Sequence[int] = (0, 2, 3)) -> T13:
    """`x` less its mean over `axes`, over its deviation."""
    reduced = axes_of(axes, x.ndim)
    values = widened(x)[0]
    centred = values - mean(values, reduced)
    deviation = np.sqrt(mean(np.square(centred), reduced))
    return np.asarray(centred / (deviation + values.dtype.type(MVN_EPSILON)), x.dtype)


@operator("LRN", since=(1, 13))
def lrn(x: T13, /, *, size: int, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0) -> T13:
    """`x / (bias + alpha / size * s) ** beta`, s being the sum of squares of `size` channels around each: of an even
    number, one more lies behind than before.
    """
    require(size >= 1, f"size is {size}, it must be 1 or more")
    _channels(x.ndim)
    if not x.size:
        return x
    values = widened(x)[0]
    before, after = min((size - 1) // 2, x.shape[1]), min(size // 2, x.shape[1])
    padded = (x.shape[0], x.shape[1] + before + after, *x.shape[2:])
    refuse_huge(padded, values.dtype)
    squares = np.zeros(padded, values.dtype)
    squares[:, before : before + x.shape[1]] = np.square(values)
    windows = sliding_window_view(squares, before + after + 1, axis=1)[:, : x.shape[1]]
    around = np.empty(values.shape, values.dtype)
    for piece in pieces(x.shape[1], x.size // x.shape[1] * (before + after + 1)):
        around[:, piece] = windows[:, piece].sum(axis=-1)
    kind = values.dtype.type
    return np.asarray(values / np.power(kind(bias) + kind(alpha / size) * around, kind(beta)), x.dtype)


@lp_normalization.infer
def infer_lp(x: Fact, /, *, axis: int, p: int) -> Inferred:
    _order(p)
    if x.rank is not None:
        axis_of(axis, x.rank)
    return x.type


@lp_normalization.lower
def lower_lp(x: prim.Tensor, /, *, axis: int, p: int) -> prim.Tensor:
    size = norm_of(x, p, [axis_of(axis, x.rank)])
    empty = prim.apply("equal", size, 0)
    return prim.where(empty, 0, x / prim.where(empty, 1, size))


by_float32(lp_normalization)


@mean_variance_normalization.infer
def infer_mvn(x: Fact, /, *, axes: Sequence[int]) -> Inferred:
    if x.rank is not None:
        axes_of(axes, x.rank)
    return x.type


@mean_variance_normalization.lower
def lower_mvn(x: prim.Tensor, /, *, axes: Sequence[int]) -> prim.Tensor:
    reduced = axes_of(axes, x.rank)
    centred = x - mean_of(x, reduced)
    return centred / (prim.apply("sqrt", mean_of(centred * centred, reduced)) + MVN_EPSILON)


@mean_variance_normalization.downgrade
def downgrade_mvn(op: Any, x: Value, /, *, axes: Sequence[int], version: int) -> Any:
    if version >= mean_variance_normalization.since[0]:
        raise UnsupportedError("bfloat16 came with version 13")
    dtype, over = dtype_of(x), list(axes_of(axes, rank_of(x)))
    wide = wide_of(dtype)
    values = cast(op, x, dtype, wide)
    centred = op.Sub(values, op.ReduceMean(values, axes=over, keepdims=1))
    deviation = op.Sqrt(op.ReduceMean(op.Mul(centred, centred), axes=over, keepdims=1))
    return cast(op, op.Div(centred, op.Add(deviation, np.asarray(MVN_EPSILON, wide.numpy))), wide, dtype)


@lrn.infer
def infer_lrn(x: Fact, /, *, size: int, alpha: float, beta: float, bias: float) -> Inferred:
    require(size >= 1, f"size is {size}, it must be 1 or more")
    if x.rank is not None:
        _channels(x.rank)
    return x.type


@lrn.lower
def lower_lrn(x: prim.Tensor, /, *, size: int, alpha: float, beta: float, bias: float) -> prim.Tensor:
    channels = x.shape[1]
    before, after = (size - 1) // 2, size // 2
    if isinstance(channels, int):
        before, after = min(before, channels), min(after, channels)
    none = [0] * (x.rank - 2)
    padded = prim.pad(x, [0, before, *none], [0, after, *none])
    seen = prim.window(padded, [1], [before + after + 1], [1], [1])
    total = prim.squeeze(prim.reduce_("add", seen * seen, [x.rank]), [x.rank])
    return x / prim.apply("power", total * (alpha / size) + bias, beta)


def _order(p: int) -> None:
    require(p in (1, 2), f"p is {p}, it must be 1 or 2")


def _channels(rank: int) -> None:
    if rank < 2:
        raise ShapeError(f"x has {rank} axes, expected batch and channels at least")
