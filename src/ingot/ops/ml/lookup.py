"""Finding elements in a list of keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.dtypes import Array


def positions(x: Array, keys: Array | Sequence[Any]) -> Array:
    """For each element the last position it has among the keys, -1 where it has none; NaN equals NaN."""
    if x.dtype == np.object_:
        index = {key: position for position, key in enumerate(keys)}
        index_of_each = np.fromiter((index.get(item, -1) for item in x.reshape(-1).tolist()), np.int64, x.size)
        return index_of_each.reshape(x.shape)
    table = np.asarray(keys, x.dtype)
    if not table.size:
        return np.full(x.shape, -1, np.int64)
    order = np.argsort(table, kind="stable")
    table = table[order]
    near = np.maximum(np.searchsorted(table, x, side="right") - 1, 0)
    same = (table[near] == x) | ((table[near] != table[near]) & (x != x))
    return np.where(same, order[near], -1)


def translated(x: Array, keys: Array | Sequence[Any], table: Array) -> Array:
    """Elements replaced by what the table has at its position among the keys, the last entry standing for the rest."""
    return np.asarray(table[positions(x, keys).reshape(-1)].reshape(x.shape), table.dtype)
