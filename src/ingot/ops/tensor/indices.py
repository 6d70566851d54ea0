"""Indices that count from either end of an axis."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array
from ingot.errors import InputError, ShapeError

_FEW = 64
"""Indices whose least and greatest Python finds before numpy has begun."""


def from_front(indices: Array, size: int, axis: int) -> Array:
    """Indices counted from the front; InputError with the worst of them if one is outside an axis of `size`."""
    low = high = 0
    if 0 < indices.size <= _FEW:
        numbers = indices.reshape(-1).tolist()
        low, high = min(numbers), max(numbers)
    elif indices.size:
        low, high = int(indices.min()), int(indices.max())
    if indices.size and (low < -size or high >= size):
        worst = high if high >= size else low
        raise InputError(f"index {worst} is outside axis {axis}, which has {size} elements")
    wide = indices.astype(np.int64, copy=False)
    return wide if low >= 0 else np.where(wide < 0, wide + size, wide)


def require_places(data: tuple[int, ...], indices: tuple[int, ...], axis: int) -> None:
    """ShapeError if data has no place for each of the indices, which count along `axis`."""
    for other, (most, size) in enumerate(zip(data, indices, strict=True)):
        if other != axis and size > most:
            raise ShapeError(f"indices have {size} elements along axis {other}, data has {most}")


def places_of(shape: tuple[int, ...], axis: int) -> list[Array]:
    """The place of each element of a shape along every axis, to be broadcast; nothing along `axis`."""
    at: list[Array] = []
    for other, size in enumerate(shape):
        count = 0 if other == axis else size
        at.append(np.arange(count).reshape((count,) + (1,) * (len(shape) - 1 - other)))
    return at
