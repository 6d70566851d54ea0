"""The operators of com.microsoft.nchwc, which onnxruntime puts into models that it saves optimised for one machine.

There, blocks of channels lie innermost in memory. What a model shows of that are channels filled up to whole blocks,
and filters stored in blocks; between ReorderInput and ReorderOutput, tensors here keep the order that they had.

No model states how large its blocks are. Where the sizes of filters fit blocks of 8 alone, they are of 8; where they
fit blocks of 16 too, they are read in the blocks that onnxruntime has on the machine that reads the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from platform import machine
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError
from ingot.ir.tensor import Tensor
from ingot.ir.types import Shape, TensorType
from ingot.ops.contrib.delegate import complete, delegate
from ingot.ops.contrib.fused import fused_conv
from ingot.ops.define import Runtime, operator
from ingot.ops.facts import Fact, Inferred, of_constant
from ingot.ops.image.resize import resize
from ingot.ops.nn.global_pooling import global_average_pool, global_max_pool
from ingot.ops.nn.pooling import average_pool, max_pool
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOAT32, types
from ingot.prim.tensor import SizeReader

NCHWC = "com.microsoft.nchwc"

T: TypeAlias = Annotated[Array, types("T", FLOAT32)]


@operator("ReorderInput", since=1, domain=NCHWC)
def reorder_input(x: T, /, *, channels_last: int = 0) -> T:
    """Images with zeros behind their channels, up to a whole number of blocks; channels come second, or last."""
    _check_images(x.ndim)
    first = np.moveaxis(x, -1, 1) if channels_last else x
    more = _blocks(first.shape[1]) - first.shape[1]
    return np.pad(first, ((0, 0), (0, more), (0, 0), (0, 0)))


@reorder_input.infer
def infer_input(x: Fact, /, *, channels_last: int) -> Inferred:
    require_rank(x, 4, "x")
    if x.dtype is None or x.shape is None:
        return None if x.dtype is None else TensorType(x.dtype, (None,) * 4)
    shape: Shape = (x.shape[0], x.shape[3], *x.shape[1:3]) if channels_last else x.shape
    channels = shape[1]
    return TensorType(x.dtype, (shape[0], _blocks(channels) if isinstance(channels, int) else None, *shape[2:]))


@reorder_input.lower
def lower_input(x: prim.Tensor, /, *, channels_last: int) -> prim.Tensor:
    first = prim.permute(x, [0, 3, 1, 2]) if channels_last else x
    channels = first.shape[1]
    if not isinstance(channels, int):
        raise prim.Refused("channels of unknown number")
    return prim.pad(first, [0] * 4, [0, _blocks(channels) - channels, 0, 0])


@operator("ReorderOutput", since=1, domain=NCHWC)
def reorder_output(x: T, /, *, channels: int = 0, channels_last: int = 0) -> T:
    """The first `channels` of images, second or last."""
    _check_images(x.ndim)
    _check_channels(channels, x.shape[1])
    images = x[:, :channels]
    return np.moveaxis(images, 1, -1) if channels_last else images


@reorder_output.infer
def infer_output(x: Fact, /, *, channels: int, channels_last: int) -> Inferred:
    require_rank(x, 4, "x")
    batch, stored, *spatial = x.shape or (None,) * 4
    _check_channels(channels, stored)
    shape: tuple[Dim | None, ...] = (batch, *spatial, channels) if channels_last else (batch, channels, *spatial)
    return None if x.dtype is None else TensorType(x.dtype, shape)


@reorder_output.lower
def lower_output(x: prim.Tensor, /, *, channels: int, channels_last: int) -> prim.Tensor:
    images = prim.slice_(x, [0] * 4, [x.shape[0], channels, *x.shape[2:]])
    return prim.permute(images, [0, 2, 3, 1]) if channels_last else images


@operator("Conv", since=1, domain=NCHWC)
def conv(
    x: T,
    w: T,
    b: T | None = None,
    sum_: T | None = None,
    /,
    *,
    activation: str | None = None,
    activation_params: Sequence[float] | None = None,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """FusedConv with filters stored in blocks, innermost, and in these blocks of channels, unless they are few."""
    _check_images(x.ndim)
    sizes, order = _stored(w.shape, group)
    return np.asarray(
        fused_conv.evaluate(
            x,
            w.reshape(sizes).transpose(order).reshape(w.shape),
            b,
            sum_,
            activation=activation,
            activation_params=activation_params,
            auto_pad=auto_pad,
            dilations=dilations,
            group=group,
            kernel_shape=kernel_shape,
            pads=pads,
            strides=strides,
        )
    )


@conv.infer
def infer_conv(x: Fact, w: Fact, b: Fact | None = None, sum_: Fact | None = None, /, **attributes: Any) -> Inferred:
    require_rank(x, 4, "x")
    inferred: Inferred = fused_conv.rules["infer"](x, w, b, sum_, **attributes)
    return inferred


@conv.lower
def lower_conv(
    x: prim.Tensor,
    w: prim.Tensor,
    b: prim.Tensor | None = None,
    sum_: prim.Tensor | None = None,
    /,
    *,
    group: int,
    **attributes: Any,
) -> prim.Tensor:
    shape = tuple(size for size in w.shape if isinstance(size, int))
    if len(shape) != 4:
        raise prim.Refused("filters of unknown sizes")
    sizes, order = _stored(shape, group)
    filters = prim.reshape(prim.permute(prim.reshape(w, sizes), order), shape)
    y: prim.Tensor = fused_conv.rules["lower"](x, filters, b, sum_, group=group, **attributes)
    return y


@operator("MaxPool", since=1, domain=NCHWC)
def pool_of_greatest(
    x: T,
    /,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    storage_order: int = 0,
    strides: Sequence[int] | None = None,
    runtime: Runtime,
) -> T:
    """The greatest element of each window."""
    values, _ = max_pool.evaluate(
        x,
        kernel_shape=kernel_shape,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
        dilations=dilations,
        pads=pads,
        strides=strides,
        runtime=runtime,
    )
    return np.asarray(values)


@pool_of_greatest.infer
def infer_greatest(x: Fact, /, **attributes: Any) -> Inferred:
    inferred: Inferred = max_pool.rules["infer"](x, **attributes)[0]
    return inferred


@pool_of_greatest.lower
def lower_greatest(x: prim.Tensor, /, *, inferred: tuple[Fact, ...], **attributes: Any) -> prim.Tensor:
    y: prim.Tensor = max_pool.rules["lower"](x, inferred=inferred, **attributes)
    return y


@operator("AveragePool", since=1, domain=NCHWC)
def pool_of_means(
    x: T,
    /,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """The mean of each window."""
    return np.asarray(
        average_pool.evaluate(
            x,
            kernel_shape=kernel_shape,
            auto_pad=auto_pad,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            dilations=dilations,
            pads=pads,
            strides=strides,
        )
    )


@operator("GlobalAveragePool", since=1, domain=NCHWC)
def means(x: T, /) -> T:
    """The mean of each channel."""
    return np.asarray(global_average_pool.evaluate(x))


@operator("GlobalMaxPool", since=1, domain=NCHWC)
def greatest(x: T, /) -> T:
    """The greatest element of each channel."""
    return np.asarray(global_max_pool.evaluate(x))


def _unchanged(*inputs: Any, **attributes: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return inputs, attributes


delegate(pool_of_means, average_pool, _unchanged)
delegate(means, global_average_pool, _unchanged)
delegate(greatest, global_max_pool, _unchanged)


@operator("Upsample", since=1, domain=NCHWC)
def upsample(
    x: T,
    /,
    *,
    coordinate_transformation_mode: str = "asymmetric",
    mode: str = "nearest",
    scales: Sequence[int] | None = None,
) -> T:
    """Images with each axis as many times as long as `scales` says, pixels repeated or interpolated."""
    (images, *rest), named = _resized(
        x, coordinate_transformation_mode=coordinate_transformation_mode, mode=mode, scales=scales
    )
    return np.asarray(resize.evaluate(images, *rest, **named))


@upsample.infer
def infer_upsample(x: Fact, /, *, scales: Sequence[int] | None, **_: Any) -> Inferred:
    require_rank(x, 4, "x")
    if x.dtype is None or x.shape is None:
        return None if x.dtype is None else TensorType(x.dtype, (None,) * 4)
    factors = _factors(scales)
    return TensorType(
        x.dtype, tuple(None if size is None else size * n for size, n in zip(x.shape, factors, strict=True))
    )


@upsample.lower
def lower_upsample(
    x: prim.Tensor, /, *, facts: tuple[Fact, ...], inferred: tuple[Fact, ...], read: SizeReader, **attributes: Any
) -> prim.Tensor:
    (_, roi, scales), named = _resized(x, **attributes)
    known = (facts[0], Fact(present=False), of_constant(Tensor(scales)))
    rest = {"facts": known, "inferred": inferred, "read": read}
    answer = complete(resize).apply("lower", (x, roi, prim.constant(scales)), named, **rest)
    y: prim.Tensor = answer[0]
    return y


def _resized(
    x: Any, *, coordinate_transformation_mode: str, mode: str, scales: Sequence[int] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    named = {"coordinate_transformation_mode": coordinate_transformation_mode, "mode": mode, "nearest_mode": "floor"}
    return (x, None, np.asarray(_factors(scales), np.float32)), {**_RESIZE_DEFAULTS, **named}


_RESIZE_DEFAULTS: dict[str, Any] = dict(resize.defaults)


def _factors(scales: Sequence[int] | None) -> tuple[int, ...]:
    if scales is None or len(scales) != 4 or any(scale < 1 for scale in scales):
        raise CheckError(f"scales is {scales}, expected four numbers of at least 1")
    return tuple(scales)


def _stored(shape: Sequence[int], group: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes that the memory of filters of a shape really has, and the order that sorts them."""
    filters, channels, *kernel = shape
    depthwise = group > 1 and channels == 1 and filters == group
    block = _block(filters, 0 if depthwise else channels, group)
    if filters % block:
        raise ShapeError(f"{filters} filters are no whole number of blocks of {block}")
    if depthwise or (group == 1 and channels < block):
        return (filters // block, channels, *kernel, block), (0, 4, 1, 2, 3)
    if channels % block:
        raise ShapeError(f"{channels} channels are no whole number of blocks of {block}")
    return (filters // block, channels // block, *kernel, block, block), (0, 5, 1, 4, 2, 3)


def _blocks(channels: int) -> int:
    """The number of channels, rounded up to whole blocks of this machine."""
    block = _own_block()
    return -(-channels // block) * block


def _block(filters: int, channels: int, group: int) -> int:
    """How many filters a block has: as on this machine, or 8 where filters, or channels in blocks, are no multiple."""
    own = _own_block()
    are_few = group == 1 and channels < own
    return own if filters % own == 0 and (are_few or channels % own == 0) else 8


@cache
def _own_block() -> int:
    """How many channels onnxruntime has in a block on a machine like this: a vector of 512 bits, or of 256."""
    if machine().lower() not in ("x86_64", "amd64"):
        return 16
    from llvmlite import binding  # LLVM is not free to load, and few models have these operators

    return 16 if binding.get_host_cpu_features().get("avx512f") else 8


def _check_channels(channels: int, stored: Dim | None) -> None:
    if channels < 1 or (isinstance(stored, int) and channels > stored):
        raise CheckError(f"channels is {channels}, the input has {stored}")


def _check_images(rank: int) -> None:
    if rank != 4:
        raise ShapeError(f"x has {rank} axes, expected 4")
