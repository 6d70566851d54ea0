"""Conv: convolutions over any number of spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.contraction import contracted, fitting, kernel_of
from ingot.ops.nn.moments import along_channels
from ingot.ops.nn.precision import widened
from ingot.ops.nn.results import dim, require_size, tensor, vector_of
from ingot.ops.nn.sweeps import channels_first, swept
from ingot.ops.nn.windows import slide, spatial_rank, windows
from ingot.ops.shapes import require
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]


@operator("Conv", since=(1, 11, 22))
def conv(
    x: T,
    w: T,
    b: T | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """Each window of `x` times each filter of `w`, summed, plus the bias of the filter.

    With groups, filters and channels are dealt out to them in order, and a filter sees the channels of its group.
    """
    y = convolved(
        *widened(x, w),
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    return np.asarray(y if b is None else y + per_channel(b, y, "the bias"), x.dtype)


@conv.infer
def infer_conv(x: Fact, w: Fact, b: Fact | None = None, /, **attributes: object) -> Inferred:
    return tensor(x.dtype or w.dtype, shape_of_result(x, w, b, **attributes))  # type: ignore[arg-type]


@conv.lower
def lower_conv(
    x: prim.Tensor,
    w: prim.Tensor,
    b: prim.Tensor | None = None,
    /,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> prim.Tensor:
    moving = windows(
        x.rank - 2,
        kernel_of(w.shape, kernel_shape),
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
    )
    y = convolved_in_primitives(swept(x, moving), w, group)
    return y if b is None else y + along_channels(b, x.rank)


def convolved_in_primitives(seen: prim.Tensor, w: prim.Tensor, group: int, sums: DType | None = None) -> prim.Tensor:
    """Windows (batch, counts, kernel, channels) times filters (filters, own channels, kernel); channels first.

    `sums` is the type of sums, where it is not that of the elements (`prim.contract`).
    """
    rank = w.rank - 2
    counts, kernel = "uvwxyz"[:rank], "ijklmp"[:rank]
    if rank > len("uvwxyz"):
        raise prim.Refused(f"windows over {rank} axes")
    if group == 1:
        y = prim.contract(seen, w, f"n{counts}{kernel}c,oc{kernel}->n{counts}o", sums)
        return channels_first(y)
    filters, own = w.shape[0], w.shape[1]
    if not isinstance(filters, int):
        raise prim.Refused("filters of unknown number")
    split = prim.reshape(seen, (*seen.shape[:-1], group, own))
    grouped = prim.reshape(w, (group, filters // group, *w.shape[1:]))
    if own == 1 and filters == group:
        single = prim.squeeze(grouped, [1, 2])
        y = prim.contract(seen, single, f"n{counts}{kernel}g,g{kernel}->n{counts}g", sums)
        return channels_first(y)
    y = prim.contract(split, grouped, f"n{counts}{kernel}gc,goc{kernel}->n{counts}go", sums)
    return channels_first(prim.reshape(y, (*seen.shape[: rank + 1], filters)))


def shape_of_result(
    x: Fact,
    w: Fact,
    b: Fact | None,
    /,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Sequence[Dim | None] | None:
    """The shape of a convolution, as far as it is known; ShapeError for operands that do not fit."""
    rank = x.rank if x.rank is not None else w.rank
    if rank is None:
        return None
    spatial = spatial_rank("x" if x.rank is not None else "w", rank)
    require(group >= 1, f"group is {group}")
    if x.shape is not None and w.shape is not None:
        fitting(x.shape, w.shape, group)
    channels = dim(w.shape, 0)
    vector_of(b, channels, "the bias")
    kernel = kernel_of(w.shape, kernel_shape) if w.shape is not None else kernel_shape or None
    moving = windows(spatial, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    require_size(w, 0, channels, "w")
    return dim(x.shape, 0), channels, *moving.counts(x.shape[2:] if x.shape is not None else (None,) * spatial)


def convolved(
    x: Array,
    w: Array,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """The convolution in the type of `x` and `w`, which is one."""
    rank = spatial_rank("x", x.ndim)
    fitting(x.shape, w.shape, group)
    kernel = kernel_of(w.shape, kernel_shape)
    moving = windows(rank, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    return contracted(slide(x, moving.over(x.shape[2:]), 0), w, group)


def per_channel(values: Array, y: Array, name: str) -> Array:
    """One value for each channel of `y`, shaped to meet it; InputError if there are more or fewer."""
    if values.shape != (y.shape[1],):
        raise InputError(f"{name} has shape {list(values.shape)}, expected one value for each of {y.shape[1]} channels")
    return values.reshape(-1, *(1,) * (y.ndim - 2)).astype(y.dtype, copy=False)
