"""BiasAdd, BiasSplitGelu, BiasSoftmax, GroupNorm and SkipGroupNorm: what optimisers put into diffusion models."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import divide_exactly
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import HALF, MICROSOFT, last, require_vector
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.gates import gelu as standard_gelu
from ingot.ops.math.sigmoids import logistic
from ingot.ops.nn.moments import inverse_deviation, mean_of
from ingot.ops.nn.precision import wide
from ingot.ops.nn.softmax import shares
from ingot.ops.shapes import axis_of, same
from ingot.ops.typesets import FLOAT32, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", FLOAT32 | HALF)]
M: TypeAlias = Annotated[Array, types("M", FLOAT32 | HALF)]
TSoft: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("BiasAdd", since=1, domain=MICROSOFT)
def bias_add(x: T, bias: T, skip: T, /) -> T:
    """`x + bias + skip`, a bias for each channel, the last axis."""
    if skip.shape != x.shape or bias.shape != x.shape[-1:]:
        raise ShapeError(f"x has shape {list(x.shape)}, the bias {list(bias.shape)} and skip {list(skip.shape)}")
    return np.asarray(x.astype(np.float32) + bias.astype(np.float32) + skip.astype(np.float32)).astype(x.dtype)


bias_add.infer(same)


@bias_add.lower
def lower_bias_add(x: prim.Tensor, bias: prim.Tensor, skip: prim.Tensor, /) -> prim.Tensor:
    return x + prim.assume_shape(bias, x.shape[-1:]) + prim.assume_shape(skip, x.shape)


@operator("BiasSplitGelu", since=1, domain=MICROSOFT)
def bias_split_gelu(x: T, bias: T, /) -> T:
    """The first half of the last axis of `x + bias` times the Gelu of the second."""
    if bias.shape != x.shape[-1:] or x.shape[-1] % 2:
        raise ShapeError(f"x has shape {list(x.shape)} and the bias {list(bias.shape)}, expected an even last axis")
    left, right = np.split(x.astype(np.float32) + bias.astype(np.float32), 2, axis=-1)
    return np.asarray(left * standard_gelu.evaluate(right)).astype(x.dtype)


@bias_split_gelu.infer
def infer_split(x: Fact, bias: Fact, /) -> Inferred:
    require_vector(bias, last(x.shape), "the bias")
    if x.dtype is None or x.shape is None:
        return None if x.dtype is None else TensorType(x.dtype)
    size = x.shape[-1]
    return TensorType(x.dtype, (*x.shape[:-1], None if size is None else divide_exactly(size, 2)))


@bias_split_gelu.lower
def lower_split(x: prim.Tensor, bias: prim.Tensor, /) -> prim.Tensor:
    half = divide_exactly(x.shape[-1], 2)
    if half is None:
        raise prim.Refused(f"halves of {x.shape[-1]}")
    y, front = x + prim.assume_shape(bias, x.shape[-1:]), [0] * (x.rank - 1)
    left, right = (prim.slice_(y, [*front, start], [*x.shape[:-1], half]) for start in (0, half))
    opened: prim.Tensor = standard_gelu.rules["lower"](right, approximate="none")
    return left * opened


@operator("BiasSoftmax", since=1, domain=MICROSOFT)
def bias_softmax(data: TSoft, bias: TSoft, /, *, is_inner_broadcast: int, axis: int = 1) -> TSoft:
    """The softmax of `data + bias` over all axes from `axis` on, with broadcasting of the bias.

    An inner broadcast has axes of size one before `axis`, an outer one lacks the first axes.
    """
    start = axis_of(axis, data.ndim)
    if bias.ndim > data.ndim or any(
        n not in (1, size) for n, size in zip(bias.shape[::-1], data.shape[::-1], strict=False)
    ):
        raise ShapeError(f"a bias of shape {list(bias.shape)} does not broadcast to {list(data.shape)}")
    total = data.astype(wide(data.dtype)) + bias.astype(wide(data.dtype))
    axes = tuple(range(start, data.ndim))
    exponentials = np.exp(total - total.max(axis=axes, keepdims=True, initial=-np.inf))
    return np.asarray(exponentials / exponentials.sum(axis=axes, keepdims=True)).astype(data.dtype)


bias_softmax.infer(same)


@bias_softmax.lower
def lower_softmax(data: prim.Tensor, bias: prim.Tensor, /, *, is_inner_broadcast: int, axis: int) -> prim.Tensor:
    axes = list(range(axis_of(axis, data.rank), data.rank))
    total = prim.assume_shape(data + bias, data.shape)
    exponentials = prim.apply("exp_nonpositive", total - prim.reduce_("maximum", total, axes))
    return shares(exponentials, prim.reduce_("add", exponentials, axes))


@operator("GroupNorm", since=1, domain=MICROSOFT)
def group_norm(
    x: T,
    gamma: M,
    beta: M,
    /,
    *,
    activation: int,
    groups: int,
    channels_last: int = 1,
    epsilon: float = 9.999999747378752e-06,
) -> T:
    """Each group of channels less its mean, over its deviation, times `gamma` plus `beta`; maybe the SiLU of that."""
    return _normalised(x.astype(np.float32), gamma, beta, activation, groups, channels_last, epsilon).astype(x.dtype)


@operator("SkipGroupNorm", since=1, domain=MICROSOFT)
def skip_group_norm(
    x: T,
    gamma: M,
    beta: M,
    skip: T,
    bias: T | None = None,
    /,
    *,
    activation: int,
    groups: int,
    channels_last: int = 1,
    epsilon: float = 9.999999747378752e-06,
) -> tuple[T, T | None]:
    """GroupNorm of `x + skip + bias`, and that sum; `skip` may have one number for each channel of an image."""
    if x.ndim != 4 or not channels_last:
        raise CheckError(f"x has {x.ndim} axes and channels_last is {channels_last}, expected 4 and 1")
    added = skip.reshape(len(skip), 1, 1, -1) if skip.ndim == 2 else skip
    if added.ndim != 4 or any(n not in (1, size) for n, size in zip(added.shape, x.shape, strict=True)):
        raise ShapeError(f"skip has shape {list(skip.shape)}, x {list(x.shape)}")
    total = x.astype(np.float32) + added.astype(np.float32)
    if bias is not None:
        if bias.shape != x.shape[-1:]:
            raise ShapeError(f"the bias has shape {list(bias.shape)}, x {list(x.shape)}")
        total = total + bias.astype(np.float32)
    y = _normalised(total, gamma, beta, activation, groups, channels_last, epsilon)
    return y.astype(x.dtype), total.astype(x.dtype)


@group_norm.infer
def infer_norm(x: Fact, gamma: Fact, beta: Fact, /, *, activation: int, groups: int, **_: object) -> Inferred:
    _check(activation, groups)
    return x.type


@skip_group_norm.infer
def infer_skip(x: Fact, /, *_: Fact, activation: int, groups: int, **__: object) -> tuple[Inferred, Inferred]:
    _check(activation, groups)
    return x.type, x.type


@group_norm.lower
def lower_norm(
    x: prim.Tensor,
    gamma: prim.Tensor,
    beta: prim.Tensor,
    /,
    *,
    activation: int,
    groups: int,
    channels_last: int,
    epsilon: float,
) -> prim.Tensor:
    rows = x if channels_last else prim.permute(x, [0, *range(2, x.rank), 1])
    size = divide_exactly(rows.shape[-1], groups)
    if size is None:
        raise prim.Refused(f"{rows.shape[-1]} channels in {groups} groups")
    grouped = prim.reshape(rows, (*rows.shape[:-1], groups, size))
    axes = [*range(1, rows.rank - 1), rows.rank]
    centred = grouped - mean_of(grouped, axes)
    normal = prim.reshape(centred * inverse_deviation(centred, axes, epsilon), rows.shape)
    factor, added = (prim.cast(prim.assume_shape(each, rows.shape[-1:]), normal.dtype) for each in (gamma, beta))
    y = normal * factor + added
    y = y * prim.apply("sigmoid", y) if activation else y
    return y if channels_last else prim.permute(y, [0, x.rank - 1, *range(1, x.rank - 1)])


@skip_group_norm.lower
def lower_skip(
    x: prim.Tensor,
    gamma: prim.Tensor,
    beta: prim.Tensor,
    skip: prim.Tensor,
    bias: prim.Tensor | None = None,
    /,
    *,
    channels_last: int,
    **attributes: object,
) -> tuple[prim.Tensor, prim.Tensor]:
    if x.rank != 4 or not channels_last:
        raise prim.Refused("images with other axes")
    added = prim.unsqueeze(skip, [1, 2]) if skip.rank == 2 else skip
    if added.rank != 4:
        raise prim.Refused(f"a skip of {skip.rank} axes")
    total = prim.assume_shape(x + added, x.shape)
    total = total if bias is None else total + prim.assume_shape(bias, x.shape[-1:])
    y: prim.Tensor = group_norm.rules["lower"](total, gamma, beta, channels_last=1, **attributes)
    return y, total


def _normalised(
    x: Array, gamma: Array, beta: Array, activation: int, groups: int, channels_last: int, epsilon: float
) -> Array:
    _check(activation, groups)
    if x.ndim < 3:
        raise ShapeError(f"x has {x.ndim} axes, expected at least 3")
    rows = x if channels_last else np.moveaxis(x, 1, -1)
    channels = rows.shape[-1]
    if channels % groups or gamma.shape != (channels,) or beta.shape != (channels,):
        raise ShapeError(f"{channels} channels in {groups} groups, gamma of {gamma.size} and beta of {beta.size}")
    grouped = rows.reshape(len(rows), -1, groups, channels // groups)
    centred = grouped - grouped.mean(axis=(1, 3), keepdims=True)
    normal = centred / np.sqrt(np.square(centred).mean(axis=(1, 3), keepdims=True) + np.float32(epsilon))
    y = normal.reshape(rows.shape) * gamma.astype(np.float32) + beta.astype(np.float32)
    y = y * logistic(y) if activation else y
    return np.asarray(y if channels_last else np.moveaxis(y, -1, 1))


def _check(activation: int, groups: int) -> None:
    if activation not in (0, 1) or groups < 1:
        raise CheckError(f"activation is {activation} and groups {groups}, expected 0 or 1, and at least 1")
