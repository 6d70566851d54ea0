"""GroupNormalization and InstanceNormalization: groups of channels of one image brought to mean zero, variance one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.value import Value
from ingot.ops.define import Until, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import mean, stash, wide, widened
from ingot.ops.nn.results import dim, tensor, vector_of
from ingot.ops.nn.windows import spatial_rank
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS)]
TInstance: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]

STASHES = (DType.FLOAT32, DType.FLOAT16, DType.FLOAT64, DType.BFLOAT16)


@operator("GroupNormalization", since=21)
def group_normalization(
    x: T, scale: T, bias: T, /, *, num_groups: int, epsilon: float = 1e-05, stash_type: int = 1
) -> T:
    """Each group of channels of each image less its mean, over its deviation, in the type `stash_type` names; then
    times `scale` plus `bias` of the channel.
    """
    _channelled(x.ndim)
    _divides(num_groups, x.shape[1])
    stage = stash(stash_type, STASHES)
    grouped = (
        x.astype(stage).astype(wide(stage)).reshape(x.shape[0], num_groups, x.shape[1] // num_groups, *x.shape[2:])
    )
    normal = _standardised(grouped, tuple(range(2, grouped.ndim)), epsilon).astype(stage).astype(x.dtype)
    return _scaled(normal.reshape(x.shape), scale, bias)


@operator("InstanceNormalization", since=(1, 6, 22))
def instance_normalization(
    x: TInstance,
    scale: TInstance,
    b: TInstance,
    /,
    *,
    consumed_inputs: Annotated[Sequence[int] | None, Until(1)] = None,
    epsilon: float = 1e-05,
) -> TInstance:
    """Each channel of each image less its mean, over its deviation, times `scale` plus `b`."""
    rank = spatial_rank("x", x.ndim)
    normal = _standardised(widened(x)[0], tuple(range(2, 2 + rank)), epsilon)
    return _scaled(normal, scale, b).astype(x.dtype, copy=False)


@group_normalization.infer
def infer(x: Fact, scale: Fact, bias: Fact, /, *, num_groups: int, epsilon: float, stash_type: int) -> Inferred:
    stash(stash_type, STASHES)
    if x.rank is not None:
        _channelled(x.rank)
    channels = dim(x.shape, 1)
    _divides(num_groups, channels)
    vector_of(scale, channels, "scale")
    vector_of(bias, channels, "bias")
    return tensor(x.dtype, x.shape)


@instance_normalization.infer
def infer_instance(x: Fact, scale: Fact, b: Fact, /, **_: object) -> Inferred:
    if x.rank is not None:
        spatial_rank("x", x.rank)
    vector_of(scale, dim(x.shape, 1), "scale")
    vector_of(b, dim(x.shape, 1), "B")
    return tensor(x.dtype, x.shape)


@operator("GroupNormalization", since=18, deprecated=True)
def group_normalization_18(x: T, scale: T, bias: T, /, *, num_groups: int, epsilon: float = 1e-05) -> T:
    """The same with one scale and one bias for each group."""
    raise superseded()


@group_normalization_18.upgrade
def upgrade(op: Any, x: Value, scale: Value, bias: Value, /, *, num_groups: int, epsilon: float) -> Any:
    each = op.Div(op.Shape(x, start=1, end=2), [num_groups])
    rows = op.Concat([num_groups], each, axis=0)
    spread = [op.Reshape(op.Expand(op.Unsqueeze(value, [1]), rows), [-1]) for value in (scale, bias)]
    return op.GroupNormalization(x, *spread, num_groups=num_groups, epsilon=epsilon)


def _standardised(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    centred = x - mean(x, axes)
    variance = mean(np.square(centred), axes)
    return np.asarray(centred / np.sqrt(variance + x.dtype.type(epsilon)), x.dtype)


def _scaled(normal: Array, scale: Array, bias: Array) -> Array:
    channels = normal.shape[1]
    for name, given in (("scale", scale), ("the bias", bias)):
        if given.shape != (channels,):
            raise ShapeError(
                f"{name} has shape {list(given.shape)}, expected one value for each of {channels} channels"
            )
    values, factor, shift = widened(normal, scale, bias)
    along = (-1, *(1,) * (normal.ndim - 2))
    return np.asarray(values * factor.reshape(along) + shift.reshape(along), normal.dtype)


def _channelled(rank: int) -> None:
    if rank < 2:
        raise ShapeError(f"x has {rank} axes, expected batch and channels at least")


def _divides(num_groups: int, channels: object) -> None:
    if num_groups < 1:
        raise CheckError(f"num_groups is {num_groups}")
    if isinstance(channels, int) and (channels < num_groups or channels % num_groups):
        raise ShapeError(f"num_groups is {num_groups}, which does not divide {channels} channels")
