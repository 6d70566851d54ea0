"""GroupNormalization and InstanceNormalization: groups of channels of one image brought to mean zero, variance one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import divide_exactly
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.value import Value
from ingot.ops.define import Until, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.moments import along_channels, inverse_deviation, mean_of, staged
from ingot.ops.nn.precision import mean, stash, wide, widened
from ingot.ops.nn.results import dim, tensor, vector_of
from ingot.ops.nn.through import by_float32, cast, wide_of
from ingot.ops.nn.windows import spatial_rank
from ingot.ops.older import dtype_of, shape_of
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


@group_normalization.lower
def lower(
    x: prim.Tensor,
    scale: prim.Tensor,
    bias: prim.Tensor,
    /,
    *,
    num_groups: int,
    epsilon: float,
    stash_type: int,
) -> prim.Tensor:
    """Moments are taken of groups, and each then given to the channels of its group: no element changes its place."""
    each = divide_exactly(x.shape[1], num_groups)
    if each is None:
        raise prim.Refused(f"{x.shape[1]} channels in {num_groups} groups")
    stage = DType.of(stash(stash_type, STASHES))
    values = staged(x, stage)
    grouped = prim.reshape(values, (x.shape[0], num_groups, each, *x.shape[2:]))
    axes = range(2, grouped.rank)
    average = mean_of(grouped, axes)
    inverse = inverse_deviation(grouped - average, axes, epsilon)
    ones = (1,) * (x.rank - 2)
    average, inverse = (
        prim.reshape(prim.expand(moment, (x.shape[0], num_groups, each, *ones)), (*x.shape[:2], *ones))
        for moment in (average, inverse)
    )
    normal = prim.cast(staged((values - average) * inverse, stage), x.dtype)
    return normal * along_channels(scale, x.rank) + along_channels(bias, x.rank)


@instance_normalization.lower
def lower_instance(
    x: prim.Tensor,
    scale: prim.Tensor,
    b: prim.Tensor,
    /,
    *,
    epsilon: float,
    consumed_inputs: Sequence[int] | None,
) -> prim.Tensor:
    axes = range(2, x.rank)
    centred = x - mean_of(x, axes)
    normal = centred * inverse_deviation(centred, axes, epsilon)
    return normal * along_channels(scale, x.rank) + along_channels(b, x.rank)


by_float32(instance_normalization)


@group_normalization.downgrade
def downgrade(
    op: Any, x: Value, scale: Value, bias: Value, /, *, num_groups: int, epsilon: float, stash_type: int
) -> Any:
    """Each group is the one channel of an image of its own."""
    dtype, stage = dtype_of(x), DType.of(stash(stash_type, STASHES))
    inside = wide_of(stage)
    grouped, back = _groups(op, x, num_groups)
    values = op.Unsqueeze(op.Reshape(cast(op, cast(op, x, dtype, stage), stage, inside), grouped), [1])
    one, zero = np.ones(1, inside.numpy), np.zeros(1, inside.numpy)
    normal = op.Squeeze(op.InstanceNormalization(values, one, zero, epsilon=epsilon), [1])
    normal = cast(op, cast(op, op.Reshape(normal, back), inside, stage), stage, dtype)
    wide, along = wide_of(dtype), [-1, *[1] * (len(shape_of(x)) - 2)]
    factor, shift = (op.Reshape(cast(op, value, dtype, wide), along) for value in (scale, bias))
    return cast(op, op.Add(op.Mul(cast(op, normal, dtype, wide), factor), shift), wide, dtype)


def _groups(op: Any, x: Value, num_groups: int) -> tuple[Any, Any]:
    """The shape with groups on the first axis, and the shape of `x`: both right for empty tensors too."""
    _, *sizes = shape_of(x)
    _divides(num_groups, sizes[0])
    known = [size for size in sizes if isinstance(size, int) and size > 0]
    if len(known) == len(sizes):
        return [-1, known[0] // num_groups, *known[1:]], [-1, *known]
    ones, shape = [1] * (len(sizes) - 1), op.Shape(x)
    return op.Div(op.Mul(shape, [num_groups, 1, *ones]), [1, num_groups, *ones]), shape


@operator("GroupNormalization", since=18, deprecated=True)
def group_normalization_18(x: T, scale: T, bias: T, /, *, num_groups: int, epsilon: float = 1e-05) -> T:
    """The same with one scale and one bias for each group."""
    raise superseded()


@group_normalization_18.downgrade
def downgrade_18(op: Any, x: Value, scale: Value, bias: Value, /, *, num_groups: int, epsilon: float) -> Any:
    spread = _spread(op, x, (scale, bias), num_groups)
    return downgrade(op, x, *spread, num_groups=num_groups, epsilon=epsilon, stash_type=1)


@group_normalization_18.upgrade
def upgrade(op: Any, x: Value, scale: Value, bias: Value, /, *, num_groups: int, epsilon: float) -> Any:
    return op.GroupNormalization(x, *_spread(op, x, (scale, bias), num_groups), num_groups=num_groups, epsilon=epsilon)


def _spread(op: Any, x: Value, values: Sequence[Value], num_groups: int) -> list[Any]:
    """What there is one of for each group, for each of its channels."""
    each = op.Div(op.Shape(x, start=1, end=2), [num_groups])
    rows = op.Concat([num_groups], each, axis=0)
    return [op.Reshape(op.Expand(op.Unsqueeze(value, [1]), rows), [-1]) for value in values]


def _standardised(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    centred = x - mean(x, axes)
    variance = mean(np.square(centred), axes)
    return np.asarray(centred / np.sqrt(variance + x.dtype.type(epsilon)), x.dtype)


def _scaled(normal: Array, scale: Array, bias: Array) -> Array:
    channels = normal.shape[1]
    for name, vector in (("scale", scale), ("the bias", bias)):
        if vector.shape != (channels,):
            raise ShapeError(
                f"{name} has shape {list(vector.shape)}, expected one value for each of {channels} channels"
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
