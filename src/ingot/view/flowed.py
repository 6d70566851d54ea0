"""What a value was in a run, for the panel: facts, a histogram, bars, and pictures whose tiles can be chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.ir.value import Value
from ingot.view.arrays import described, picture, tiles_of

_MOST_BARS = 10
_MOST_ELEMENTS = 160
"""Elements of a vector that are drawn; of a longer one, the means of neighbours."""

_MOST_CHOSEN = 4096
"""Tiles that can be chosen from."""

Json = Any


def flowed(array: Array, value: Value, labels: Sequence[str]) -> Json:
    """Everything about a value that was computed."""
    count = min(tiles_of(array), _MOST_CHOSEN)
    return {
        **described(array),
        "bars": scores(array, labels),
        "vector": _vector(array),
        "tiles": count if count > 1 else 0,
        "tile": "head" if _is_attention(array, value) else "tile",
    }


def one_tile(array: Array, number: int) -> Json:
    """One of the pictures of an array, larger; IndexError if there is none of this number."""
    if not 0 <= number < tiles_of(array):
        raise IndexError(number)
    height, width = [size for size in array.shape if size != 1][-2:]
    tile = array.reshape(-1, height, width)[number]
    return {"picture": picture(tile)}


def scores(array: Array, labels: Sequence[str] = ()) -> list[tuple[str, float]]:
    """The greatest elements of a row of numbers, as of the scores of classes, with their labels; else none."""
    if array.dtype.kind not in "fiub" or array.size < 2 or max(array.shape, default=0) != array.size:
        return []
    flat = array.reshape(-1).astype(np.float64)
    order = np.argsort(-np.nan_to_num(flat, nan=-np.inf), kind="stable")[:_MOST_BARS]
    named = labels if len(labels) == flat.size else ()
    return [
        (named[place] if named else str(place), float(flat[place]))
        for place in order.tolist()
        if np.isfinite(flat[place])
    ]


def _vector(array: Array) -> list[float] | None:
    """The elements of an array of one axis, in order; None for others."""
    if array.dtype.kind not in "fiub" or array.size < 2 or max(array.shape, default=0) != array.size:
        return None
    flat = np.nan_to_num(array.reshape(-1).astype(np.float64), posinf=0.0, neginf=0.0)
    if flat.size > _MOST_ELEMENTS:
        flat = np.array([part.mean() for part in np.array_split(flat, _MOST_ELEMENTS)])
    return [float(element) for element in flat]


def _is_attention(array: Array, value: Value) -> bool:
    node = value.producer
    return array.ndim == 4 and node is not None and node.applies("Softmax")
