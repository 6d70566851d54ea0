"""Arrays of three channels as pictures in colour: filters of a first layer, and images."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from ingot.dtypes import Array

_SIDE = 320
"""Points of a picture in each direction, at most."""

_MOST_TILES = 64
_LEAST = 3
"""Rows and columns that a picture in colour has at least."""


def in_colour(array: Array) -> dict[str, Any] | None:
    """A picture of an array of shape [n, 3, height, width] or [n, height, width, 3]; None for any other.

    Each channel is scaled from the least to the greatest element of all.
    """
    if array.ndim != 4 or array.dtype.kind not in "fiu" or not array.size:
        return None
    if array.shape[1] == 3 and min(array.shape[2:]) >= _LEAST:
        tiles = array[:_MOST_TILES].transpose(0, 2, 3, 1)
    elif array.shape[3] == 3 and min(array.shape[1:3]) >= _LEAST:
        tiles = array[:_MOST_TILES]
    else:
        return None
    count, high, wide, _ = tiles.shape
    columns = max(1, min(count, round(math.sqrt(count * high / wide)) or 1))
    step = max(1, -(-max(high, wide) * columns // _SIDE))
    tiles = np.nan_to_num(tiles[:, ::step, ::step].astype(np.float64), posinf=0.0, neginf=0.0)
    low, span = tiles.min(), float(np.ptp(tiles)) or 1.0
    scaled = ((tiles - low) / span * 255).astype(np.uint8)
    _, high, wide, _ = scaled.shape
    gap, rows = 1 if count > 1 else 0, -(-count // columns)
    sheet = np.full((rows * (high + gap) - gap, columns * (wide + gap) - gap, 3), 127, np.uint8)
    for number, tile in enumerate(scaled):
        y, x = (number // columns) * (high + gap), (number % columns) * (wide + gap)
        sheet[y : y + high, x : x + wide] = tile
    shown = f"{count} of {len(array):,} in colour" if len(array) > 1 else "in colour"
    return {
        "width": sheet.shape[1],
        "height": sheet.shape[0],
        "bytes": base64.b64encode(sheet.tobytes()).decode(),
        "signed": False,
        "colours": True,
        "note": f"{shown}, each channel from the least to the greatest element",
    }
