"""ConvTranspose: each element of the input spreads a filter over the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim, maximum, upper_bound
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.contraction import kernel_of
from ingot.ops.nn.convolution import convolved_in_primitives, per_channel
from ingot.ops.nn.moments import along_channels
from ingot.ops.nn.phases import by_phase, spaced
from ingot.ops.nn.precision import refuse_huge, widened
from ingot.ops.nn.results import dim, tensor, vector_of
from ingot.ops.nn.sweeps import channels_first, channels_last, swept
from ingot.ops.nn.through import by_float32
from ingot.ops.nn.windows import Sweep, Windows, elements, per_axis, spatial_rank, spatially, windows
from ingot.ops.tensor.moved import along
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]


@operator("ConvTranspose", since=(1, 11, 22))
def conv_transpose(
    x: T,
    w: T,
    b: T | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """The gradient of a convolution with respect to its input: filters (channels, outputs of a group, kernel) scaled
    by the elements of `x`, put down `strides` apart and summed; `pads` cuts the borders off.
    """
    rank = spatial_rank("x", x.ndim)
    _fit(x.shape, w.shape, group)
    kernel = kernel_of(w.shape, kernel_shape)
    spread = windows(rank, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    extra = per_axis("output_padding", output_padding, rank, 0, least=0)
    sizes, befores = _placed(spread, x.shape[2:], extra, output_shape)
    wide_x, wide_w = widened(x, w)
    whole = _spread(wide_x, wide_w, group, spread)
    refuse_huge((x.shape[0], whole.shape[1], *sizes), whole.dtype)
    y = np.zeros((x.shape[0], whole.shape[1], *sizes), whole.dtype)
    inner = zip(sizes, befores, whole.shape[2:], strict=True)
    lengths = [max(0, min(size, full - before)) for size, before, full in inner]
    source = (slice(before, before + n) for before, n in zip(befores, lengths, strict=True))
    y[spatially(slice(0, n) for n in lengths)] = whole[spatially(source)]
    return np.asarray(y if b is None else y + per_channel(b, y, "the bias"), x.dtype)


@conv_transpose.infer
def infer(
    x: Fact,
    w: Fact,
    b: Fact | None = None,
    /,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    output_padding: Sequence[int] | None,
    output_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Inferred:
    dtype, rank = x.dtype or w.dtype, x.rank if x.rank is not None else w.rank
    if rank is None:
        return tensor(dtype, None)
    spatial = spatial_rank("x" if x.rank is not None else "w", rank)
    if x.shape is not None and w.shape is not None:
        _fit(x.shape, w.shape, group)
    each = dim(w.shape, 1)
    channels = None if each is None else each * group
    vector_of(b, channels, "the bias")
    kernel = kernel_of(w.shape, kernel_shape) if w.shape is not None else kernel_shape or None
    spread = windows(spatial, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    extra = per_axis("output_padding", output_padding, spatial, 0, least=0)
    explicit = _explicit(output_shape, spatial)
    spatial_shape = x.shape[2:] if x.shape is not None else (None,) * spatial
    sizes = [_size(spread, axis, spatial_shape[axis], extra[axis], explicit) for axis in range(spatial)]
    return tensor(dtype, (dim(x.shape, 0), channels, *sizes))


@conv_transpose.lower
def lower(
    x: prim.Tensor,
    w: prim.Tensor,
    b: prim.Tensor | None = None,
    /,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    output_padding: Sequence[int] | None,
    output_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> prim.Tensor:
    """A convolution with as many filters for each one as a stride has places, which it computes next to each other.

    Along an axis, the outputs at `stride * i + dilation * r` are those of the filter made of every `stride`-th element
    from `r` on, the last one first. Filters whose dilation shares a factor with the stride give what they give without
    it, that many places apart.
    """
    rank = x.rank - 2
    kernel = kernel_of(w.shape, kernel_shape)
    spread = windows(rank, kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    extra = per_axis("output_padding", output_padding, rank, 0, least=0)
    sizes, befores = _located(spread, x.shape[2:], extra, output_shape)
    plain = _as_convolution(spread, x.shape[2:], sizes, befores)
    if plain is not None:
        y = _convolved(x, w, group, spread, plain)
        return y if b is None else y + along_channels(b, x.rank)
    apart = tuple(gcd(*both) for both in zip(spread.strides, spread.dilations, strict=True))
    y = _reached(x, w, group, _without(apart, spread))
    for axis, gap in enumerate(apart, 1):
        y = spaced(y, axis, gap)
    whole = y.shape[1:-1]
    short = [_beyond(size, before, full) for size, before, full in zip(sizes, befores, whole, strict=True)]
    y = prim.pad(y, [0] * y.rank, [0, *short, 0])
    y = channels_first(prim.slice_(y, [0, *befores, 0], [x.shape[0], *sizes, y.shape[-1]]))
    return y if b is None else y + along_channels(b, x.rank)


def _convolved(x: prim.Tensor, w: prim.Tensor, group: int, spread: Windows, plain: Windows) -> prim.Tensor:
    """The convolution that one without strides is; channels first."""
    filters = by_phase(w, spread, group)
    return convolved_in_primitives(swept(x, plain), filters, group)


def _without(apart: Sequence[int], spread: Windows) -> Windows:
    """Strides and dilations divided by factors that they share."""
    strides, dilations = (
        tuple(each // gap for each, gap in zip(steps, apart, strict=True))
        for steps in (spread.strides, spread.dilations)
    )
    return replace(spread, strides=strides, dilations=dilations)


def _reached(x: prim.Tensor, w: prim.Tensor, group: int, spread: Windows) -> prim.Tensor:
    """All that filters reach, with nothing cut off, and zeros up to a multiple of the strides; channels last."""
    rank, kernel = len(spread.kernel), [size for size in spread.kernel if isinstance(size, int)]
    if all(stride == 1 for stride in spread.strides) and len(kernel) == rank:
        reach = [(size - 1) * dilation for size, dilation in zip(kernel, spread.dilations, strict=True)]
        return channels_last(
            _convolved(x, w, group, spread, replace(spread, pads=tuple(zip(reach, reach, strict=True))))
        )
    filters = by_phase(w, spread, group)
    taps = [size for size in filters.shape[2:] if isinstance(size, int)]
    reach = [(size - 1) * dilation for size, dilation in zip(taps, spread.dilations, strict=True)]
    seen = swept(x, windows(rank, taps, dilations=spread.dilations, pads=[*reach, *reach]))
    y = channels_last(convolved_in_primitives(seen, filters, group))
    outputs = w.shape[1]
    counts = [max(1, min(each, size)) for each, size in zip(spread.strides, kernel, strict=True)]
    y = prim.reshape(y, (*y.shape[:-1], group, *counts, outputs))
    phases = [axis for i in range(rank) for axis in (1 + i, 2 + rank + i)]
    y = prim.permute(y, [0, *phases, 1 + rank, 2 + 2 * rank])
    empty = [0] * y.rank
    for axis, stride in enumerate(spread.strides):
        empty[2 + 2 * axis] = stride - counts[axis]
    y = prim.pad(y, [0] * y.rank, empty)
    for axis, (stride, dilation) in enumerate(zip(spread.strides, spread.dilations, strict=True)):
        if stride > 1 and dilation > 1:
            y = _in_places(y, 1 + 2 * axis, stride, dilation)
    whole = [y.shape[1 + 2 * axis] * stride for axis, stride in enumerate(spread.strides)]
    return prim.reshape(y, (x.shape[0], *whole, group * outputs))


def _in_places(y: prim.Tensor, axis: int, stride: int, dilation: int) -> prim.Tensor:
    """Outputs by phase, the axis after the one of positions, as outputs by what the stride leaves of their places.

    Phase `r` at `i` has its place at `stride * i + dilation * r`; stride and dilation share no factor.
    """
    places = np.arange(stride) * dilation
    phase = np.argsort(places % stride)
    later = (places // stride)[phase]
    most = int(later.max())
    sides = [most if each == axis else 0 for each in range(y.rank)]
    padded, behind = prim.pad(y, sides, sides), y.rank - axis - 2
    shape = tuple(size + most if each == axis else size for each, size in enumerate(y.shape))
    at = prim.iota((shape[axis], stride), 0) + prim.constant(most - later)
    positions: list[prim.Tensor | int] = [*range(y.rank)]
    positions[axis], positions[axis + 1] = along(at, behind), along(prim.constant(phase), behind)
    return prim.gather(padded, positions, shape, in_range=True)


def _as_convolution(
    spread: Windows, sizes: Sequence[Dim], outputs: Sequence[Dim], befores: Sequence[Dim]
) -> Windows | None:
    """The windows of the plain convolution, by filters the other way round, that one without strides is.

    None where there are strides, and where an axis is not padded but cut.
    """
    pads: list[tuple[int, int]] = []
    for axis, (size, output, cut) in enumerate(zip(sizes, outputs, befores, strict=True)):
        kernel = spread.kernel[axis]
        if spread.strides[axis] != 1 or not isinstance(kernel, int):
            return None
        reach = (kernel - 1) * spread.dilations[axis]
        before, after = reach - cut, output - size + cut
        if not isinstance(before, int) or not isinstance(after, int) or before < 0 or after < 0:
            return None
        pads.append((before, after))
    return Windows(spread.kernel, spread.strides, spread.dilations, tuple(pads))


def _beyond(size: Dim, before: Dim, full: Dim) -> Dim:
    """How many of `size` places from `before` on lie behind the `full` there are; Refused if a run decides on it."""
    more = before + size - full
    if isinstance(more, int):
        return max(more, 0)
    most = upper_bound(more)
    if most is None or most > 0:
        raise prim.Refused(f"an output of {size}, which may be more than the filters reach")
    return 0


by_float32(conv_transpose)


def _fit(x: Sequence[Dim | None], w: Sequence[Dim | None], group: int) -> None:
    if group < 1:
        raise CheckError(f"group is {group}")
    if len(w) != len(x):
        raise ShapeError(f"x has {len(x)} axes and the filters have {len(w)}")
    if isinstance(x[1], int) and isinstance(w[0], int) and x[1] != w[0]:
        raise ShapeError(f"x has {x[1]} channels and there are filters for {w[0]}")
    if isinstance(x[1], int) and x[1] % group:
        raise ShapeError(f"{x[1]} channels cannot be dealt out to {group} groups")


def _explicit(output_shape: Sequence[int] | None, rank: int) -> Sequence[int] | None:
    """The spatial sizes asked for; some files give batch and channels before them."""
    if not output_shape:
        return None
    if len(output_shape) not in (rank, rank + 2):
        raise CheckError(f"output_shape has {len(output_shape)} entries for {rank} spatial axes")
    return output_shape[-rank:]


def _full(spread: Windows, axis: int, size: Dim, extra: int) -> Dim | None:
    """How far the filters reach with nothing cut off."""
    kernel = spread.kernel[axis]
    if kernel is None:
        return None
    return (size - 1) * spread.strides[axis] + (kernel - 1) * spread.dilations[axis] + (1 + extra)


def _size(spread: Windows, axis: int, size: Dim | None, extra: int, explicit: Sequence[int] | None) -> Dim | None:
    if explicit is not None:
        return explicit[axis]
    if size is None:
        return None
    if spread.auto_pad.startswith("SAME"):
        return size * spread.strides[axis]
    full = _full(spread, axis, size, extra)
    cropped = None if full is None else full - sum(spread.pads[axis])
    if isinstance(cropped, int) and cropped < 0:
        raise ShapeError(f"pads cut {sum(spread.pads[axis])} off an axis of {full}")
    return cropped


def _placed(
    spread: Windows, sizes: Sequence[int], extra: Sequence[int], output_shape: Sequence[int] | None
) -> tuple[list[int], list[int]]:
    result_sizes, befores = _located(spread, sizes, extra, output_shape)
    return [size for size in result_sizes if isinstance(size, int)], [size for size in befores if isinstance(size, int)]


def _located(
    spread: Windows, sizes: Sequence[Dim], extra: Sequence[int], output_shape: Sequence[int] | None
) -> tuple[list[Dim], list[Dim]]:
    """The sizes of the output, and where along each axis it begins in what the filters reach."""
    explicit = _explicit(output_shape, len(sizes))
    result_sizes: list[Dim] = []
    befores: list[Dim] = []
    for axis, size in enumerate(sizes):
        wanted = _size(spread, axis, size, extra[axis], explicit)
        full = _full(spread, axis, size, extra[axis])
        assert wanted is not None
        assert full is not None
        if isinstance(wanted, int) and wanted < 0:
            raise CheckError(f"output_shape is {list(explicit or ())}")
        before: Dim = spread.pads[axis][0]
        if explicit is not None or spread.auto_pad.startswith("SAME"):
            cut = maximum(full - wanted, 0)
            before = cut // 2 if spread.auto_pad == "SAME_UPPER" else cut - cut // 2
        result_sizes.append(wanted)
        befores.append(before)
    return result_sizes, befores


def _spread(x: Array, w: Array, group: int, spread: Windows) -> Array:
    """Everything the filters reach, one element of the kernel at a time."""
    batch, channels, *sizes = x.shape
    sweeps = []
    for axis, size in enumerate(sizes):
        kernel = spread.kernel[axis]
        assert isinstance(kernel, int)
        sweeps.append(Sweep(0, kernel, spread.strides[axis], spread.dilations[axis], 0, 0, size))
    outputs = w.shape[1]
    shape = (batch, group * outputs, *(sweep.covered for sweep in sweeps))
    refuse_huge(shape, x.dtype)
    y = np.zeros(shape, x.dtype)
    if not y.size or not x.size:
        return y
    grouped = x.reshape(batch, group, channels // group, -1)
    filters = w.reshape(group, channels // group, outputs, *w.shape[2:]).swapaxes(1, 2)
    for offsets, places in elements(sweeps):
        part = np.matmul(filters[spatially(offsets)], grouped)
        y[spatially(places)] += part.reshape(batch, group * outputs, *sizes)
    return y
