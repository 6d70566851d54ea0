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
        return _number_translator(np.asarray(keys, dtype), table)
    *values, default = table.tolist()
    value_of, result = dict(zip(keys, values, strict=False)).get, table.dtype

    def translate(x: Array) -> Array:
        texts = texts_of(x)
        different, which = numbered(texts)
        values = np.fromiter(map(value_of, different, repeat(default)), result, len(different))
        translations = values if which is None else values.take(which)
        return translations if x.ndim == 1 else translations.reshape(x.shape)

    return translate


_FEW = 64
"""Numbers that are looked up one by one in less time than a search of all at once begins in."""


def _number_translator(keys: Array, table: Array) -> Callable[[Array], Array]:
    """The replacement of numbers."""
    find = finder(keys, keys.dtype)
    *values, default = table.tolist()
    numbers = keys.tolist()
    value_of, result = dict(zip(numbers, values, strict=False)).get, table.dtype
    of_nan = next((value for key, value in zip(numbers[::-1], values[::-1], strict=False) if key != key), default)
    has_nan = keys.dtype.kind not in "iub"

    def translate(x: Array) -> Array:
        if x.size > _FEW:
            return np.asarray(table[find(x).reshape(-1)].reshape(x.shape), result)
        few = x.tolist() if x.ndim == 1 else x.reshape(-1).tolist()
        if has_nan:
            found = [value_of(number, default) if number == number else of_nan for number in few]
        else:
            found = list(map(value_of, few, repeat(default)))
        translations = np.fromiter(found, result, len(found))
        return translations if x.ndim == 1 else translations.reshape(x.shape)

    return translate
