"""Results of a run: contiguous arrays that no one but the caller references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.runtime.address import address_of

_EVERYTHING = 1 << 64
"""An address behind all memory."""


def owned(results: Sequence[Any], feeds: Iterable[Any]) -> list[Any]:
    """The results, with a copy of every array that is read-only or shares memory with a feed or an earlier result.

    Parts of one array that follow each other in memory stay parts of it.
    """
    taken: dict[int, int] = {}
    for feed in feeds:
        _take(feed, taken)
    return [_owned(result, taken) for result in results]


def _owned(result: Any, taken: dict[int, int]) -> Any:
    """A result; `taken` is up to which address the memory of an array, by its identity, belongs to others."""
    if type(result) is list:
        return [_owned(item, taken) for item in result]
    if not isinstance(result, np.ndarray | np.generic):
        return result
    array = result
    if type(result) is not np.ndarray or not result.flags.carray:
        array = np.asarray(result, order="C")
        if array is not result and array.base is None:
            return array  # a copy
        if not array.flags.writeable:
            return array.copy()
    owner, start = id(_owner(array)), address_of(array)
    if start < taken.get(owner, 0) and array.nbytes:
        return array.copy()
    taken[owner] = start + array.nbytes
    return array


def _owner(array: Array) -> Array:
    """The array whose memory an array is a view of: the last one, where that memory is of something else."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _take(feed: Any, taken: dict[int, int]) -> None:
    """Note that the memory of a feed belongs to others."""
    if isinstance(feed, np.ndarray):
        taken[id(_owner(feed))] = _EVERYTHING
    elif isinstance(feed, list):
        for item in feed:
            _take(item, taken)
