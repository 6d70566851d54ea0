"""BranchwiseRMSNorm, EngramGate, HyperConnectionPreMix and HyperConnectionPostMix: several streams of features."""

from __future__ import annotations

from math import prod
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, divide_exactly
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS, last
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.sigmoids import logistic
from ingot.ops.nn.moments import mean_of
from ingot.ops.shapes import same
from ingot.ops.typesets import types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
M: TypeAlias = Annotated[Array, types("M", SMALL_FLOATS)]

_LEAST = 1e-6
"""The least that the root of an EngramGate is taken of."""


@operator("BranchwiseRMSNorm", since=1, domain=MICROSOFT)
def branchwise_rms_norm(
    x: T, scale: M | None = None, /, *, epsilon: float = 9.999999747378752e-06, num_branches: int = 0
) -> T:
    """Each branch over the root of its mean square, times a scale for features, or branches and features; in float32.

    Branches are the last but one axis, or parts of the last where `num_branches` is given.
    """
    grouped = x.astype(np.float32).reshape(_grouped(x.shape, num_branches))
    y = _normal(grouped, epsilon)
    if scale is not None:
        y = y * _spread(scale.astype(np.float32), grouped.shape)
    return y.reshape(x.shape).astype(x.dtype)


branchwise_rms_norm.infer(same)


@branchwise_rms_norm.lower
def lower_norm(
    x: prim.Tensor, scale: prim.Tensor | None = None, /, *, epsilon: float, num_branches: int
) -> prim.Tensor:
    grouped = _in_groups(x, num_branches)
    y = _normal_in_primitives(grouped, epsilon)
    if scale is not None:
        y = y * prim.cast(_spread_in_primitives(scale, grouped.shape), y.dtype)
    return prim.reshape(y, x.shape)


@operator("HyperConnectionPreMix", since=1, domain=MICROSOFT)
def hyper_connection_pre_mix(streams: T, pre_mix: M, /, *, num_branches: int = 0, reduction_scale: float = 1.0) -> T:
    """The sum over branches of `streams * pre_mix`, a gate for each branch or each feature of it, times a scale."""
    grouped = streams.astype(np.float32).reshape(_grouped(streams.shape, num_branches))
    gates = _gates(pre_mix.astype(np.float32), grouped.shape, "pre_mix")
    return np.asarray((grouped * gates).sum(axis=-2) * np.float32(reduction_scale)).astype(streams.dtype)


@hyper_connection_pre_mix.infer
def infer_pre(streams: Fact, pre_mix: Fact, /, *, num_branches: int, reduction_scale: float) -> Inferred:
    if streams.dtype is None or streams.shape is None:
        return None if streams.dtype is None else TensorType(streams.dtype)
    grouped = _grouped(streams.shape, num_branches)
    return TensorType(streams.dtype, (*grouped[:-2], grouped[-1]))


@hyper_connection_pre_mix.lower
def lower_pre(
    streams: prim.Tensor, pre_mix: prim.Tensor, /, *, num_branches: int, reduction_scale: float
) -> prim.Tensor:
    grouped = _in_groups(streams, num_branches)
    total = prim.reduce_("add", grouped * _gates_in_primitives(pre_mix, grouped), [grouped.rank - 2])
    return prim.squeeze(total, [grouped.rank - 2]) * reduction_scale


@operator("HyperConnectionPostMix", since=1, domain=MICROSOFT)
def hyper_connection_post_mix(
    streams: T, block_output: T, post_mix: M, stream_mix: M | None = None, /, *, num_branches: int = 0
) -> T:
    """`stream_mixᵀ streams + post_mix * block_output`, the output of a block being put into each branch by its gate."""
    shape = _grouped(streams.shape, num_branches)
    grouped = streams.astype(np.float32).reshape(shape)
    if block_output.shape != (*shape[:-2], shape[-1]):
        raise ShapeError(f"block_output has shape {list(block_output.shape)}, the streams {list(shape)}")
    if stream_mix is not None:
        if stream_mix.shape != (*shape[:-1], shape[-2]):
            raise ShapeError(f"stream_mix has shape {list(stream_mix.shape)}, the streams {list(shape)}")
        grouped = np.swapaxes(stream_mix.astype(np.float32), -1, -2) @ grouped
    gates = _gates(post_mix.astype(np.float32), shape, "post_mix")
    y = grouped + gates * block_output.astype(np.float32)[..., None, :]
    return y.reshape(streams.shape).astype(streams.dtype)


hyper_connection_post_mix.infer(same)


@hyper_connection_post_mix.lower
def lower_post(
    streams: prim.Tensor,
    block_output: prim.Tensor,
    post_mix: prim.Tensor,
    stream_mix: prim.Tensor | None = None,
    /,
    *,
    num_branches: int,
) -> prim.Tensor:
    grouped = _in_groups(streams, num_branches)
    mixed = grouped
    if stream_mix is not None:
        names = "abdefgij"[: grouped.rank - 2]
        mix = prim.cast(stream_mix, grouped.dtype)
        mixed = prim.contract(mix, grouped, f"{names}ck,{names}ch->{names}kh")
    block = prim.unsqueeze(
        prim.assume_shape(block_output, (*grouped.shape[:-2], grouped.shape[-1])), [grouped.rank - 2]
    )
    return prim.reshape(mixed + _gates_in_primitives(post_mix, grouped) * block, streams.shape)


@operator("EngramGate", since=1, domain=MICROSOFT)
def engram_gate(
    key: T,
    query: T,
    value: T,
    key_norm_scale: T,
    query_norm_scale: T,
    conv_norm_scale: T | None = None,
    /,
    *,
    epsilon: float = 9.999999747378752e-06,
) -> tuple[T, T | None]:
    """`value` times the sigmoid of the signed root of how much keys and queries agree, for each branch.

    Both are over the roots of their mean squares and scaled before. With it the result over its root, scaled.
    """
    if key.ndim != 4 or query.shape != key.shape or value.shape != (*key.shape[:2], key.shape[3]):
        shapes = [list(each.shape) for each in (key, query, value)]
        raise ShapeError(f"key, query and value of shapes {shapes} do not go together")
    branches = key.shape[2:]
    k, q = (
        _normal(x.astype(np.float32), epsilon) * _spread(scale.astype(np.float32), branches)
        for x, scale in ((key, key_norm_scale), (query, query_norm_scale))
    )
    agreement = (k * q).sum(axis=-1, keepdims=True) / np.sqrt(np.float32(max(1, key.shape[3])))
    gate = logistic(np.sign(agreement) * np.sqrt(np.maximum(np.abs(agreement), np.float32(_LEAST))))
    y = gate * value.astype(np.float32)[:, :, None]
    normed = None
    if conv_norm_scale is not None:
        normed = _normal(y, epsilon) * _spread(conv_norm_scale.astype(np.float32), branches)
    return y.astype(key.dtype), None if normed is None else normed.astype(key.dtype)


@engram_gate.infer
def infer_gate(key: Fact, /, *_: Fact, **__: object) -> tuple[Inferred, Inferred]:
    return key.type, key.type


@engram_gate.lower
def lower_gate(
    key: prim.Tensor,
    query: prim.Tensor,
    value: prim.Tensor,
    key_norm_scale: prim.Tensor,
    query_norm_scale: prim.Tensor,
    conv_norm_scale: prim.Tensor | None = None,
    /,
    *,
    epsilon: float,
) -> tuple[prim.Tensor, ...]:
    size = last(key.shape)
    if key.rank != 4 or not isinstance(size, int):
        raise prim.Refused("features of unknown number")
    query = prim.assume_shape(query, key.shape)
    value = prim.assume_shape(value, (*key.shape[:2], size))
    k = _normal_in_primitives(key, epsilon) * _spread_in_primitives(key_norm_scale, key.shape)
    q = _normal_in_primitives(query, epsilon) * _spread_in_primitives(query_norm_scale, key.shape)
    agreement = prim.reduce_("add", k * q, [3]) / float(np.sqrt(np.float32(max(1, size))))
    root = prim.apply("sqrt", prim.apply("maximum", prim.apply("absolute", agreement), _LEAST))
    signed = prim.where(
        prim.apply("less", agreement, 0), -root, prim.where(prim.apply("equal", agreement, 0), 0.0, root)
    )
    y = prim.apply("sigmoid", signed) * prim.unsqueeze(value, [2])
    if conv_norm_scale is None:
        return (y,)
    return y, _normal_in_primitives(y, epsilon) * _spread_in_primitives(conv_norm_scale, key.shape)


def _grouped(shape: Shape, branches: int) -> tuple[Any, ...]:
    """The sizes with branches and features on axes of their own."""
    if branches < 0 or len(shape) < (1 if branches else 2):
        raise CheckError(f"num_branches is {branches}, the streams have {len(shape)} axes")
    if not branches:
        return tuple(shape)
    size = last(shape)
    features = None if size is None else divide_exactly(size, branches)
    if isinstance(size, int) and features is None:
        raise ShapeError(f"{size} features are no multiple of {branches} branches")
    return (*shape[:-1], branches, features)


def _in_groups(x: prim.Tensor, branches: int) -> prim.Tensor:
    if branches and divide_exactly(x.shape[-1], branches) is None:
        raise prim.Refused(f"{x.shape[-1]} features in {branches} branches")
    return prim.reshape(x, _grouped(x.shape, branches))


def _gates(mix: Array, shape: tuple[int, ...], name: str) -> Array:
    """A gate for each branch or each feature, which meets grouped streams."""
    if mix.shape == shape[:-1]:
        return mix[..., None]
    if mix.shape in (shape, (*shape[:-1], 1)):
        return mix
    if mix.ndim == len(shape) - 1 and mix.size == prod(shape):
        return mix.reshape(shape)
    raise ShapeError(f"{name} has shape {list(mix.shape)}, the streams {list(shape)}")


def _gates_in_primitives(mix: prim.Tensor, grouped: prim.Tensor) -> prim.Tensor:
    shape = grouped.shape
    mix = prim.cast(mix, grouped.dtype)
    if mix.shape == shape[:-1]:
        return prim.unsqueeze(mix, [mix.rank])
    if mix.shape in (shape, (*shape[:-1], 1)):
        return mix
    if mix.rank == len(shape) - 1 and mix.shape[-1] == shape[-2] * shape[-1]:
        return prim.reshape(mix, shape)
    raise prim.Refused(f"gates of shape {list(map(str, mix.shape))}")


def _spread(scale: Array, shape: tuple[int, ...]) -> Array:
    """A scale for features, or for branches and features."""
    branches, size = shape[-2:]
    if scale.shape in ((size,), (branches, size)):
        return scale
    if scale.shape == (branches * size,):
        return scale.reshape(branches, size)
    raise ShapeError(f"a scale has shape {list(scale.shape)}, for {branches} branches of {size}")


def _spread_in_primitives(scale: prim.Tensor, shape: tuple[Dim, ...]) -> prim.Tensor:
    branches, size = shape[-2:]
    if scale.rank == 1:
        return scale if scale.shape[0] == size else prim.reshape(scale, (branches, size))
    return prim.assume_shape(scale, (branches, size))


def _normal(x: Array, epsilon: float) -> Array:
    return np.asarray(x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + np.float32(epsilon)))


def _normal_in_primitives(x: prim.Tensor, epsilon: float) -> prim.Tensor:
    return x / prim.apply("sqrt", mean_of(x * x, [x.rank - 1]) + epsilon)
