"""DeformConv: a convolution each of whose taps is moved by an offset of its own, and weighted by a mask."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import prod
from operator import add
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, divide_exactly
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.contraction import contracted, fitting, kernel_of
from ingot.ops.nn.convolution import convolved_in_primitives, per_channel
from ingot.ops.nn.moments import along_channels
from ingot.ops.nn.precision import refuse_huge, widened
from ingot.ops.nn.results import dim, require_size, tensor, vector_of
from ingot.ops.nn.through import by_float32
from ingot.ops.nn.windows import Sweep, Windows, spatial_rank, windows
from ingot.ops.shapes import unify
from ingot.ops.tensor.moved import stored
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {19: FLOATS_3, 22: FLOATS})]


@operator("DeformConv", since=(19, 22))
def deform_conv(
    x: T,
    w: T,
    offset: T,
    b: T | None = None,
    mask: T | None = None,
    /,
    *,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    offset_group: int = 1,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """A convolution that reads each tap of each window `offset` away from its place, by linear interpolation; what
    lies outside of `x` is zero, and what is read is multiplied by `mask`.
    """
    rank = spatial_rank("x", x.ndim)
    fitting(x.shape, w.shape, group)
    kernel = kernel_of(w.shape, kernel_shape)
    sweeps = windows(rank, kernel, strides=strides, dilations=dilations, pads=pads).over(x.shape[2:])
    counts, taps = [sweep.count for sweep in sweeps], prod(w.shape[2:])
    if offset_group < 1 or x.shape[1] % offset_group:
        raise CheckError(f"offset_group is {offset_group}, which does not divide {x.shape[1]} channels")
    _require_shape("offset", offset, (x.shape[0], offset_group * taps * rank, *counts))
    if mask is not None:
        _require_shape("mask", mask, (x.shape[0], offset_group * taps, *counts))
    wide_x, wide_w, moved = widened(x, w, offset)
    moved = moved.reshape(x.shape[0], offset_group, taps, rank, prod(counts))
    refuse_huge((x.shape[1], taps, *counts), wide_x.dtype)
    y = np.zeros((x.shape[0], w.shape[0], *counts), wide_x.dtype)
    for image in range(x.shape[0]):
        read = _sampled(wide_x[image], moved[image], sweeps)
        if mask is not None:
            read = read * mask[image].reshape(offset_group, 1, taps, -1).astype(read.dtype)
        columns = np.moveaxis(read.reshape(x.shape[1], *w.shape[2:], *counts), range(1, 1 + rank), range(-rank, 0))
        y[image] = contracted(columns[None], wide_w, group)[0]
    return np.asarray(y if b is None else y + per_channel(b, y, "the bias"), x.dtype)


@deform_conv.infer
def infer(
    x: Fact,
    w: Fact,
    offset: Fact,
    b: Fact | None = None,
    mask: Fact | None = None,
    /,
    *,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    offset_group: int,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Inferred:
    dtype = x.dtype or w.dtype
    rank = next((fact.rank for fact in (x, w, offset) if fact.rank is not None), None)
    if rank is None:
        return tensor(dtype, None)
    spatial = spatial_rank("x", rank)
    if x.shape is not None and w.shape is not None:
        fitting(x.shape, w.shape, group)
    kernel = kernel_of(w.shape, kernel_shape) if w.shape is not None else kernel_shape or None
    sliding = windows(spatial, kernel, strides=strides, dilations=dilations, pads=pads)
    sizes = x.shape[2:] if x.shape is not None else (None,) * spatial
    counts: list[Dim | None] = list(sliding.counts(sizes))
    if kernel is not None and all(isinstance(size, int) for size in kernel):
        taps = prod(size for size in kernel if isinstance(size, int))
        require_size(offset, 1, offset_group * taps * spatial, "offset")
        require_size(mask, 1, offset_group * taps, "mask")
    for axis in range(spatial):
        counts[axis] = unify(counts[axis], dim(offset.shape, 2 + axis), "sizes of windows and offset")
    vector_of(b, dim(w.shape, 0), "the bias")
    return tensor(dtype, (dim(x.shape, 0), dim(w.shape, 0), *counts))


@deform_conv.lower
def lower(
    x: prim.Tensor,
    w: prim.Tensor,
    offset: prim.Tensor,
    b: prim.Tensor | None = None,
    mask: prim.Tensor | None = None,
    /,
    *,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    offset_group: int,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> prim.Tensor:
    """What each tap reads, (batch, counts, kernel, offset groups, channels of one), times the filters."""
    rank = x.rank - 2
    moving = windows(rank, kernel_of(w.shape, kernel_shape), strides=strides, dilations=dilations, pads=pads)
    kernel = [size for size in moving.kernel if isinstance(size, int)]
    counts, channels = offset.shape[2:], divide_exactly(x.shape[1], offset_group)
    if len(kernel) != rank or channels is None or 0 in x.shape:
        raise prim.Refused("a kernel or groups of unknown size, or nothing to read")
    moved = _by_tap(offset, offset_group, kernel, rank)
    points = [
        _home(moving, axis, counts[axis], rank, x.dtype)
        + prim.slice_(moved, [*[0] * (moved.rank - 1), axis], [*moved.shape[:-1], 1])
        for axis in range(rank)
    ]
    last = prim.permute(
        prim.reshape(x, (x.shape[0], offset_group, channels, *x.shape[2:])), [0, *range(3, 3 + rank), 1, 2]
    )
    seen = _read(last, points, (*moved.shape[:-1], channels), rank)
    if mask is not None:
        seen = seen * _by_tap(mask, offset_group, kernel, 1)
    y = convolved_in_primitives(prim.reshape(seen, (*seen.shape[:-2], x.shape[1])), w, group)
    return y if b is None else y + along_channels(b, x.rank)


def _by_tap(x: prim.Tensor, groups: int, kernel: Sequence[int], numbers: int) -> prim.Tensor:
    """(batch, groups and taps and numbers, counts) as (batch, counts, kernel, groups, numbers)."""
    rank = len(kernel)
    apart = prim.reshape(x, (x.shape[0], groups, *kernel, numbers, *x.shape[2:]))
    return prim.permute(apart, [0, *range(3 + rank, 3 + 2 * rank), *range(2, 2 + rank), 1, 2 + rank])


def _home(moving: Windows, axis: int, count: Dim, rank: int, dtype: DType) -> prim.Tensor:
    """Where along an axis each tap of each window is at home, to meet (batch, counts, kernel, groups, channels)."""
    kernel = moving.kernel[axis]
    assert isinstance(kernel, int)
    start = prim.iota((*(1,) * (1 + axis), count, *(1,) * (2 * rank - axis + 1)), 1 + axis) * moving.strides[axis]
    inner = prim.iota((*(1,) * (1 + rank + axis), kernel, *(1,) * (rank - axis + 1)), 1 + rank + axis)
    return prim.cast(start + inner * moving.dilations[axis] - moving.pads[axis][0], dtype)


def _read(last: prim.Tensor, points: Sequence[prim.Tensor], shape: tuple[Dim, ...], rank: int) -> prim.Tensor:
    """Images, channels last, read between their elements at points; zero outside."""
    floors = [prim.apply("floor", point) for point in points]
    corners = list(product((0, 1), repeat=rank))
    weights: list[prim.Tensor] = []
    places: list[list[prim.Tensor]] = [[] for _ in range(rank)]
    for axis, numbers in enumerate(places):
        nears = []
        for step in (0, 1):
            place = floors[axis] + step
            size = prim.cast(prim.size(last.shape[1 + axis]), place.dtype)
            inside = prim.apply(
                "and", prim.apply("less_equal", prim.scalar(0, place.dtype), place), prim.apply("less", place, size)
            )
            nears.append(prim.where(inside, 1 - prim.apply("absolute", points[axis] - place), 0))
            numbers.append(prim.cast(prim.where(inside, place, 0), DType.INT64))
        own = [nears[corner[axis]] for corner in corners]
        weights = [one * other for one, other in zip(weights, own, strict=True)] if weights else own
    numbered = [stored(numbers) for numbers in places]
    parts = []
    for corner, weight in zip(corners, stored(weights), strict=True):
        at = [numbers[step] for numbers, step in zip(numbered, corner, strict=True)]
        pixels = prim.gather(last, [0, *at, len(shape) - 2, len(shape) - 1], shape)
        parts.append(prim.where(prim.apply("equal", weight, 0), 0, weight * pixels))
    return reduce(add, parts)


by_float32(deform_conv)


def _sampled(image: Array, moved: Array, sweeps: Sequence[Sweep]) -> Array:
    """What each tap of each window reads of one image: (offset groups, channels of one, taps, windows)."""
    groups, taps, rank, places = moved.shape
    channels, *sizes = image.shape
    flat = image.reshape(groups, channels // groups, 1, prod(sizes))
    read = np.zeros((groups, channels // groups, taps, places), image.dtype)
    if not image.size or not read.size:
        return read
    grids = np.meshgrid(*(sweep.positions.T.reshape(-1) for sweep in sweeps), indexing="ij")
    interleaved = tuple(size for sweep in sweeps for size in (sweep.kernel, sweep.count))
    kernel_first = (*range(0, 2 * rank, 2), *range(1, 2 * rank, 2))
    homes = [grid.reshape(interleaved).transpose(kernel_first).reshape(taps, places) for grid in grids]
    points = [home + moved[:, :, axis] for axis, home in enumerate(homes)]
    floors = [np.floor(point) for point in points]
    for corner in product((0, 1), repeat=rank):
        weight = np.ones((groups, taps, places), image.dtype)
        index = np.zeros((groups, taps, places), np.int64)
        for point, floor, step, size in zip(points, floors, corner, sizes, strict=True):
            place = floor + step
            inside = (place >= 0) & (place < size)
            weight = weight * np.where(inside, 1 - np.abs(point - place), 0).astype(image.dtype)
            index = index * size + np.where(inside, place, 0).astype(np.int64)
        pixels = np.take_along_axis(flat, index.reshape(groups, 1, 1, -1), axis=3)
        read += np.where(weight[:, None] != 0, weight[:, None] * pixels.reshape(read.shape), 0)
    return read


def _require_shape(name: str, array: Array, expected: tuple[int, ...]) -> None:
    if array.shape != expected:
        raise ShapeError(f"{name} has shape {list(array.shape)}, expected {list(expected)}")
