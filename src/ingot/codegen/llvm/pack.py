"""Packed weights: panels of columns, each in rows of the summed axis, as the GEMM micro-kernel reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.codegen.llvm.byte_pack import byte_panels
from ingot.codegen.llvm.pair_pack import pair_panels
from ingot.dtypes import Array
from ingot.fuse.contraction import Packed
from ingot.loops.ir import PairDot, Tile
from ingot.schedule.winograd import Filters, at_points

_BLOCK = 1 << 13
"""Filters that are transformed at a time: so many, at 36 points and in float64, are in a core's cache."""


def packed(weights: Packed | Filters, tile: Tile, inner: int = 1) -> Array:
    """[batch, panel, k, column], zeros past the last column, beginning at a cache line.

    `inner` is the length of the innermost axis of `k`: each has units of its own where a tile sums several terms.
    """
    if isinstance(weights, Filters):
        return packed_filters(weights, tile)
    panels = packed_panels(weights, tile)
    if tile.dot is None:
        return panels
    dot = tile.dot
    units = pair_panels(panels, dot, inner) if isinstance(dot, PairDot) else byte_panels(panels, dot, inner)
    batch, count, rows, columns = units.shape
    packed = _aligned_zeros(batch, count, rows, columns, units.dtype)
    packed[:] = units
    return packed


def packed_filters(filters: Filters, tile: Tile) -> Array:
    """The panels of transformed filters: [point, panel, channel, filter]."""
    *_, channels, columns = filters.array.shape
    width, points = tile.columns, filters.side + 2
    packed = _aligned_zeros(points * points, -(-columns // width), channels, width, filters.array.dtype)
    split = packed.reshape(points, points, *packed.shape[1:])
    rows = max(1, _BLOCK // width)
    for panel, start in enumerate(range(0, columns, width)):
        for channel in range(0, channels, rows):
            block = filters.array[:, :, channel : channel + rows, start : start + width]
            split[:, :, panel, channel : channel + rows, : block.shape[-1]] = at_points(block, filters.side)
    return packed


def packed_panels(weights: Packed, tile: Tile) -> Array:
    """The panels of the columns of a right side: in each, the columns of the first group, then of the next."""
    if weights.groups > 1:
        return _grouped_panels(weights, tile)
    batch, depth, columns = weights.shape
    width = tile.columns
    panels = -(-columns // width)
    packed = _aligned_zeros(batch, panels, depth, width, weights.array.dtype)
    source = _with_one_column_axis(weights)
    before, inner = source.shape[: weights.axes[0]], source.shape[weights.axes[0] : -1]
    spread = np.moveaxis(packed.reshape(*before, panels, *inner, width), len(before), -2)
    whole = columns // width
    spread[..., :whole, :] = source[..., : whole * width].reshape(*before, *inner, whole, width)
    if whole < panels:
        spread[..., whole, : columns - whole * width] = source[..., whole * width :]
    return packed


def _with_one_column_axis(weights: Packed) -> Array:
    """The array of weights with its columns in one axis, which is copied if they do not lie so."""
    array = weights.array
    return array.reshape(*array.shape[: sum(weights.axes[:2])], weights.shape[2])


def _grouped_panels(weights: Packed, tile: Tile) -> Array:
    batch, depth, columns = weights.shape
    groups, width = weights.groups, tile.columns // weights.groups
    size = columns // groups
    panels = -(-size // width)
    packed = _aligned_zeros(batch, panels, depth, tile.columns, weights.array.dtype)
    split = packed.reshape(batch, panels, depth, groups, width)
    source = weights.array.reshape(batch, depth, groups, size)
    for panel, start in enumerate(range(0, size, width)):
        part = source[..., start : start + width]
        split[:, panel, ..., : part.shape[-1]] = part
    return packed


def _aligned_zeros(batch: int, panels: int, depth: int, width: int, dtype: np.dtype[Any]) -> Array:
    count = batch * panels * depth * width
    memory = np.zeros(count + 64, dtype)
    start = (-memory.ctypes.data % 64) // memory.itemsize
    return memory[start : start + count].reshape(batch, panels, depth, width)
