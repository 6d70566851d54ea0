"""Results of a run: contiguous arrays that no one but the caller references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ingot.dtypes import Array

_FEW = 8
"""Views of one array that are compared one by one."""


def owned(results: Sequence[Any], feeds: Iterable[Any]) -> list[Any]:
    """The results, with a copy of every array that is read-only or shares memory with a feed or an earlier result."""
    seen = _Seen()
    for feed in feeds:
        for array in _arrays(feed):
            seen.add(array)
    return [_owned(result, seen) for result in results]


class _Seen:
    """Arrays by whose memory they are views of: those of different owners share nothing."""

    def __init__(self) -> None:
        self._by_owner: dict[int, list[Array]] = {}

    def add(self, array: Array) -> None:
        self._by_owner.setdefault(id(_owner(array)), []).append(array)

    def shares(self, array: Array) -> bool:
        """Whether it may share memory with one of them: it is taken to where many have one owner."""
        others = self._by_owner.get(id(_owner(array)), ())
        return len(others) > _FEW or any(np.may_share_memory(array, other) for other in others)


def _owned(result: Any, seen: _Seen) -> Any:
    if isinstance(result, list):
        return [_owned(item, seen) for item in result]
    if not isinstance(result, np.ndarray | np.generic):
        return result
    array = np.asarray(result, order="C")
    if not array.flags.writeable or seen.shares(array):
        array = array.copy()
    seen.add(array)
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
