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
    taken = {id(_owner(array)): _EVERYTHING for feed in feeds for array in _arrays(feed)}
    return [_owned(result, taken) for result in results]


def _owned(result: Any, taken: dict[int, int]) -> Any:
    """A result; `taken` is up to which address the memory of an array, by its identity, belongs to others."""
    if type(result) is list:
        return [_owned(item, taken) for item in result]
    if not isinstance(result, np.ndarray | np.generic):
        return result
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


def _arrays(value: Any) -> Iterable[Array]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _arrays(item)
