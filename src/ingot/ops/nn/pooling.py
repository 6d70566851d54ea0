"""Pools: one number for each window of each channel: its mean, its greatest element, its norm."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import Runtime, Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.moments import norm_of
from ingot.ops.nn.pooled_places import places_of_greatest
from ingot.ops.nn.precision import refuse_huge, wide, widened
from ingot.ops.nn.results import tensor
from ingot.ops.nn.sweeps import channels_first, inside_counts, pooled, pooled_by_axes
from ingot.ops.nn.windows import Sweep, Windows, slide, spatial_rank, windows
from ingot.ops.typesets import FLOATS, FLOATS_3, INT8, INT64, UINT8, types

T: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]
TMax: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 12: FLOATS_3 | INT8 | UINT8, 22: FLOATS | INT8 | UINT8})]
Index: TypeAlias = Annotated[Array, types("I", INT64)]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("AveragePool", since=(1, 7, 10, 11, 19, 22))
def average_pool(
    x: T,
    /,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: Annotated[int, Since(10)] = 0,
    count_include_pad: Annotated[int, Since(7)] = 0,
    dilations: Annotated[Sequence[int] | None, Since(19)] = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """The mean of each window: over its elements inside of `x`, or with `count_include_pad` inside of the padding too.

    What a last window reaches beyond the padding, in `ceil_mode`, never counts.
    """
    sweeps = _sweeps(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    values = slide(widened(x)[0], sweeps, 0)
    count = np.ones((), values.dtype)
    for axis, sweep in enumerate(sweeps):
        low, high = (-sweep.before, sweep.size + sweep.after) if count_include_pad else (0, sweep.size)
        inside = ((sweep.positions >= low) & (sweep.positions < high)).sum(axis=1)
        count = count * inside.reshape(-1, *(1,) * (len(sweeps) - 1 - axis))
    return np.asarray(values.sum(axis=_kernel_axes(sweeps)) / count, x.dtype)


@operator("LpPool", since=(2, 11, 18, 22))
def lp_pool(
    x: Annotated[Array, types("T", {2: FLOATS_3, 22: FLOATS})],
    /,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: Annotated[int, Since(18)] = 0,
    dilations: Annotated[Sequence[int] | None, Since(18)] = None,
    p: int = 2,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Annotated[Array, types("T", {2: FLOATS_3, 22: FLOATS})]:
    """The `p`-norm of each window; padding is zero."""
    sweeps = _sweeps(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    return norm(slide(widened(x)[0], sweeps, 0), p, _kernel_axes(sweeps)).astype(x.dtype, copy=False)


@operator("MaxPool", since=(1, 8, 10, 11, 12, 22))
def max_pool(
    x: TMax,
    /,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: Annotated[int, Since(10)] = 0,
    dilations: Annotated[Sequence[int] | None, Since(10)] = None,
    pads: Sequence[int] | None = None,
    storage_order: Annotated[int, Since(8)] = 0,
    strides: Sequence[int] | None = None,
    runtime: Runtime,
) -> tuple[TMax, Annotated[Index | None, Since(8)]]:
    """The greatest element of each window, NaN if it holds one, and where it is in the flattened input: the first of
    equals. `storage_order` 1 counts that place with the first spatial axis running fastest.
    """
    sweeps = _sweeps(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if storage_order not in (0, 1):
        raise CheckError(f"storage_order is {storage_order}, it must be 0 or 1")
    integer = x.dtype.kind in "iu"
    lowest: Any = np.iinfo(x.dtype).min if integer else -np.inf
    values = slide(x if integer else widened(x)[0], sweeps, lowest)
    greatest = np.asarray(values.max(axis=_kernel_axes(sweeps), initial=lowest), values.dtype)
    indices = _places(x, values, greatest, sweeps, storage_order) if any(runtime.wanted[1:]) else None
    return greatest.astype(x.dtype, copy=False), indices


@lp_pool.infer
@average_pool.infer
def infer(x: Fact, /, **attributes: Any) -> Inferred:
    return tensor(x.dtype, _shape(x, **attributes))


@max_pool.infer
def infer_max_pool(x: Fact, /, **attributes: Any) -> tuple[Inferred, Inferred]:
    shape = _shape(x, **attributes)
    return tensor(x.dtype, shape), tensor(DType.INT64, shape)


@average_pool.lower
def lower_average_pool(x: prim.Tensor, /, *, count_include_pad: int, **attributes: Any) -> prim.Tensor:
    moving = _windows(x, **attributes)
    total = pooled(x, moving, partial(prim.reduce_, "add"), 0)
    inside = inside_counts(moving, x.shape[2:], padding=bool(count_include_pad))
    if inside is None:
        return channels_first(total / prod(attributes["kernel_shape"]))
    return channels_first(total / prim.cast(inside, x.dtype))


@lp_pool.lower
def lower_lp_pool(x: prim.Tensor, /, *, p: int, **attributes: Any) -> prim.Tensor:
    return channels_first(pooled(x, _windows(x, **attributes), lambda seen, axes: norm_of(seen, p, axes), 0))


@max_pool.lower
def lower_max_pool(
    x: prim.Tensor, /, *, storage_order: int, inferred: tuple[Fact, ...], **attributes: Any
) -> prim.Tensor | tuple[prim.Tensor, ...]:
    moving = _windows(x, **attributes)
    lowest: float = np.iinfo(x.dtype.numpy).min if x.dtype.is_integer else -np.inf
    greatest = channels_first(pooled_by_axes(x, moving, "maximum", lowest))
    return greatest if len(inferred) == 1 else (greatest, places_of_greatest(x, moving, lowest, bool(storage_order)))


def _windows(
    x: prim.Tensor,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str,
    ceil_mode: int,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Windows:
    return windows(
        spatial_rank("x", x.rank),
        kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )


@operator("LpPool", since=1)
def lp_pool_1(
    x: T1,
    /,
    *,
    auto_pad: str = "NOTSET",
    kernel_shape: Sequence[int] | None = None,
    p: float = 2.0,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T1:
    """The same with a `p` that need not be whole."""
    raise superseded()


@lp_pool_1.upgrade
def upgrade_lp_pool(
    op: Any, x: Value, /, *, p: float, kernel_shape: Sequence[int] | None, auto_pad: str, **attributes: Any
) -> Any:
    if not kernel_shape:
        raise CheckError("LpPool needs attribute 'kernel_shape'")
    return op.LpPool(x, p=whole(p), kernel_shape=kernel_shape, auto_pad=auto_pad, **attributes)


def whole(p: float) -> int:
    """The order of a norm as an integer; UnsupportedError if it is none."""
    if p != int(p):
        raise UnsupportedError(f"p is {p}; newer versions take whole numbers only")
    return int(p)


def norm(x: Array, p: int, axes: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """The `p`-norm over `axes`, in the type of `x`; CheckError unless `p` is 1 or more."""
    if p < 1:
        raise CheckError(f"p is {p}, it must be 1 or more")
    size = np.abs(x)
    if p == 1:
        return np.asarray(size.sum(axis=axes, keepdims=keepdims))
    if p == 2:
        return np.asarray(np.sqrt(np.square(x).sum(axis=axes, keepdims=keepdims)))
    powers = np.power(size, x.dtype.type(p)).sum(axis=axes, keepdims=keepdims)
    return np.asarray(np.power(powers, x.dtype.type(1 / p)))


def _sweeps(
    x: Array,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: int,
) -> tuple[Sweep, ...]:
    sliding = windows(
        spatial_rank("x", x.ndim),
        kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    sweeps = sliding.over(x.shape[2:])
    refuse_huge((*x.shape[:2], *(sweep.count for sweep in sweeps)), wide(x.dtype))
    return sweeps


def _kernel_axes(sweeps: Sequence[Sweep]) -> tuple[int, ...]:
    return tuple(range(-len(sweeps), 0))


def _places(x: Array, values: Array, greatest: Array, sweeps: Sequence[Sweep], storage_order: int) -> Array:
    """The place of each greatest element in `x`; -1 for a window that lies in the padding."""
    rank, sizes = len(sweeps), x.shape[2:]
    counts, kernel = values.shape[: 2 + rank], values.shape[2 + rank :]
    refuse_huge((*counts, *kernel), np.dtype(np.bool_))
    sought = greatest.reshape(*counts, *(1,) * rank)
    matches = (values == sought) if x.dtype.kind in "iu" else (values == sought) | (np.isnan(values) & np.isnan(sought))
    place = np.zeros((1,) * 2 * rank, np.int64)
    for axis, sweep in enumerate(sweeps):
        shape = [1] * 2 * rank
        shape[axis], shape[rank + axis] = sweep.count, sweep.kernel
        positions = sweep.positions.reshape(shape)
        matches = matches & (positions >= 0) & (positions < sweep.size)
        place = place + positions * prod(sizes[:axis] if storage_order else sizes[axis + 1 :])
    first = matches.reshape(*counts, prod(kernel)).argmax(axis=-1)
    spread = np.broadcast_to(place, (*counts[2:], *kernel)).reshape(1, 1, *counts[2:], prod(kernel))
    inside = np.take_along_axis(spread, first[..., None], axis=-1)[..., 0]
    channel = np.arange(prod(x.shape[:2])).reshape(*x.shape[:2], *(1,) * rank) * prod(sizes)
    any_match = np.take_along_axis(matches.reshape(*counts, prod(kernel)), first[..., None], axis=-1)[..., 0]
    return np.asarray(np.where(any_match, inside + channel, -1), np.int64)


def _shape(
    x: Fact,
    /,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None = None,
    ceil_mode: int = 0,
    **_: object,
) -> Sequence[Any] | None:
    rank = len(kernel_shape) if x.rank is None else spatial_rank("x", x.rank)
    sliding = windows(
        rank,
        kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    return None if x.shape is None else (*x.shape[:2], *sliding.counts(x.shape[2:]))
