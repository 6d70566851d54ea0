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
    ends: dict[int, int] = {}
    for feed in feeds:
        if type(feed) is np.ndarray and feed.base is None:
            ends[id(feed)] = _EVERYTHING
        else:
            _note(feed, ends)
    return [_owned(result, ends) for result in results]


def _owned(result: Any, ends: dict[int, int]) -> Any:
    """A result; `ends` are the addresses up to which the memory of an array, by its identity, belongs to others."""
    if type(result) is list:
        return [_owned(item, ends) for item in result]
    if type(result) is not np.ndarray or not result.flags.carray:
        if not isinstance(result, np.ndarray | np.generic):
            return result
        array: Array = np.asarray(result, order="C")
        if array is not result and array.base is None:
            return array  # a copy
        if not array.flags.writeable:
            return array.copy()
    else:
        array = result
    if array.base is None:
        if id(array) in ends:
            return array.copy()
        ends[id(array)] = _EVERYTHING
        return array
    owner, start = id(_owner(array)), address_of(array)
    if start < ends.get(owner, 0) and array.nbytes:
        return array.copy()
    ends[owner] = start + array.nbytes
    return array


def _owner(array: Array) -> Array:
    """The array whose memory an array is a view of: the last one, where that memory is of something else."""
    base = array.base
    while isinstance(base, np.ndarray):
        array, base = base, base.base
    return array


def _note(feed: Any, ends: dict[int, int]) -> None:
    """Note that the memory of a feed belongs to others."""
    if isinstance(feed, np.ndarray):
        ends[id(feed if feed.base is None else _owner(feed))] = _EVERYTHING
    elif isinstance(feed, list):
        for item in feed:
            _note(item, ends)
