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
        numbers = indices.tolist() if indices.ndim == 1 else indices.reshape(-1).tolist()
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


def places_of(shape: tuple[int, ...], axis: int, along: Array) -> tuple[Array, ...]:
    """The place of each element of a shape along every axis, to be broadcast; along `axis` it is `along`."""
    last = len(shape) - 1
    every = [along if other == axis else np.arange(size) for other, size in enumerate(shape)]
    return tuple(
        [
            places if other in (axis, last) else places.reshape((-1,) + (1,) * (last - other))
            for other, places in enumerate(every)
        ]
    )
