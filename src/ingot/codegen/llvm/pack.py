"""Weights as contractions read them: panels of columns, each in rows of what is summed."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array
from ingot.lower.loops import Tile
from ingot.lower.matrix import Packed


def packed_panels(weights: Packed, tile: Tile) -> Array:
    """[batch, panel, k, column], zeros past the last column, beginning at a cache line."""
    batch, depth, columns = weights.array.shape
    width = tile.columns
    panels = -(-columns // width)
    room = np.zeros(batch * panels * depth * width + 64, weights.array.dtype)
    start = (-room.ctypes.data % 64) // room.itemsize
    found = room[start : start + batch * panels * depth * width].reshape(batch, panels, depth, width)
    whole = columns // width
    split = weights.array[:, :, : whole * width].reshape(batch, depth, whole, width)
    found[:, :whole] = split.transpose(0, 2, 1, 3)
    if whole < panels:
        found[:, whole, :, : columns - whole * width] = weights.array[:, :, whole * width :]
    return found
