"""Indices that count from either end of an axis."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array
from ingot.errors import InputError


def from_front(indices: Array, size: int, axis: int) -> Array:
    """Indices counted from the front; InputError with the worst of them if one is outside an axis of `size`."""
    if indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < -size or high >= size:
            worst = high if high >= size else low
            raise InputError(f"index {worst} is outside axis {axis}, which has {size} elements")
    wide = indices.astype(np.int64)
    return np.where(wide < 0, wide + size, wide)
