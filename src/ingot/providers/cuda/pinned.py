"""Memory of the host that a GPU writes quickly, for results: used again once the caller has dropped them."""

from __future__ import annotations

import ctypes
from collections import deque
from ctypes import c_void_p
from math import prod
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from ingot.dtypes import Array
from ingot.errors import ProviderError
from ingot.runtime.frame import fresh_array
from ingot.runtime.memory import available

if TYPE_CHECKING:
    from ingot.providers.cuda.driver import Driver

_SMALLEST = 1 << 14
"""Bytes of a result from which on it is pinned."""

_SHARE = 8
"""All that the process may use is so many times as much as what is pinned."""

_PORTABLE = 1


class PinnedResults:
    """Pinned blocks: those that results lie in, and those that are free, by their sizes."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._left = available() // _SHARE
        self._free: dict[int, deque[int]] = {}
        self._used: dict[int, tuple[Any, int, int]] = {}

    def array(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array of any contents, whose context is current; not pinned where it is small, or too much is."""
        size = prod(shape) * dtype.itemsize
        own = rounded(size)
        address = self._block(own) if size >= _SMALLEST else None
        if address is None:
            return fresh_array(shape, dtype)
        memory: Any = (ctypes.c_uint8 * size).from_address(address)
        reference = ref(memory, self._release)
        self._used[id(reference)] = reference, address, own
        array: Array = np.frombuffer(memory, np.uint8).view(dtype).reshape(shape)
        return array

    def _block(self, size: int) -> int | None:
        try:
            return self._free[size].popleft()
        except (KeyError, IndexError):
            pass
        if size > self._left:
            return None
        address = c_void_p()
        try:
            self._driver.call("cuMemHostAlloc", ctypes.byref(address), size, _PORTABLE)
        except ProviderError:  # the system has no more that can be pinned
            return None
        self._left -= size
        self._free.setdefault(size, deque())
        return int(address.value or 0)

    def _release(self, reference: Any) -> None:
        """Free the block of an array that nothing references; wherever that happens, it waits for nothing."""
        _, address, size = self._used.pop(id(reference))
        self._free[size].append(address)


def rounded(size: int) -> int:
    """A size that blocks have, at most an eighth more than this one."""
    step = max(1 << 9, 1 << max(0, size.bit_length() - 4))
    return -(-size // step) * step
