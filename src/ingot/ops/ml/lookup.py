"""Finding elements in a list of keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.ops.text.distinct import numbered, texts_of


def positions(x: Array, keys: Array | Sequence[Any]) -> Array:
    """For each element the last position it has among the keys, -1 where it has none; NaN equals NaN."""
    return finder(keys, x.dtype)(x)


def translated(x: Array, keys: Array | Sequence[Any], table: Array) -> Array:
    """Elements replaced by what the table has at its position among the keys, the last entry standing for the rest."""
    return translator(keys, table, x.dtype)(x)


def finder(keys: Array | Sequence[Any], dtype: np.dtype[Any]) -> Callable[[Array], Array]:
    """The same positions, as a function of arrays of one type."""
    if dtype == np.object_:
        return translator(keys, np.array([*range(len(keys)), -1], np.int64), dtype)
    table = np.asarray(keys, dtype)
    if not table.size:
        return lambda x: np.full(x.shape, -1, np.int64)
    order = np.argsort(table, kind="stable")
    table = table[order]

    def find(x: Array) -> Array:
        near = np.maximum(np.searchsorted(table, x, side="right") - 1, 0)
        same = (table[near] == x) | ((table[near] != table[near]) & (x != x))
        return np.where(same, order[near], -1)

    return find


def translator(keys: Array | Sequence[Any], table: Array, dtype: np.dtype[Any]) -> Callable[[Array], Array]:
    """The same replacement, as a function of arrays of one type."""
    if dtype != np.object_:
        find = finder(keys, dtype)
        return lambda x: np.asarray(table[find(x).reshape(-1)].reshape(x.shape), table.dtype)
    *values, default = table.tolist()
    value_of, result = dict(zip(keys, values, strict=False)).get, table.dtype

    def translate(x: Array) -> Array:
        texts = texts_of(x)
        different, which = numbered(texts)
        values = np.fromiter(map(value_of, different, repeat(default)), result, len(different))
        translations = values if which is None else values.take(which)
        return translations if x.ndim == 1 else translations.reshape(x.shape)

    return translate
