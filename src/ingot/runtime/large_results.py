"""Memory for large results, used again once the caller has dropped them.

Allocators give large blocks back to the system at once, and every page of the next one is a fault: writing a result of
64 MiB then takes twice as long. What is kept here the system may take back whenever it needs memory.
"""

from __future__ import annotations

import mmap
from collections import deque
from contextlib import suppress
from functools import cache
from math import prod
from typing import Any
from weakref import ref

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.runtime.memory import available

_LARGE = 1 << 25
"""Bytes of a result from which on its memory is kept: the C library of Linux keeps smaller blocks itself."""

_FITS = 1.25
"""How many times as large as a result the memory for it may be."""

_FREE_SHARE = 8
"""All that the process may use is so many times as much as the blocks that are free."""

_IS_SUPPORTED = all(hasattr(mmap, name) for name in ("MADV_FREE", "MAP_PRIVATE", "MAP_ANONYMOUS"))


def is_large(shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether memory for a result is kept when the caller drops it."""
    return _IS_SUPPORTED and prod(shape) * dtype.itemsize >= _LARGE


@cache
def result_memory() -> ResultMemory:
    """The memory of all results of this process."""
    return ResultMemory(available() // _FREE_SHARE)


@dataclass(frozen=True, eq=False, slots=True)
class _Block:
    """Memory, and the array of its bytes."""

    memory: mmap.mmap
    bytes_: Array


class _Holder:
    """What an array in a block references: it is gone when the array and all its views are."""

    __slots__ = ("__array_interface__", "__weakref__")

    def __init__(self, array: Array) -> None:
        self.__array_interface__ = array.__array_interface__


class ResultMemory:
    """Blocks of memory: those that results lie in, and those that are free."""

    def __init__(self, most_bytes: int) -> None:
        """At most so many bytes are kept that are free."""
        self._most_bytes = most_bytes
        self._free: deque[_Block] = deque()
        self._used: dict[int, tuple[Any, _Block]] = {}
        self._may_take_back = mmap.MADV_FREE

    @property
    def free_bytes(self) -> int:
        """The bytes of blocks that are free."""
        return sum([block.bytes_.nbytes for block in self._free.copy()])

    def array(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array of any contents; its memory is used again when nothing references the array or a view of it."""
        size = prod(shape) * dtype.itemsize
        block = self._free_block(size) or self._new(size)
        holder = _Holder(block.bytes_[:size])
        reference = ref(holder, self._release)
        self._used[id(reference)] = reference, block
        array: Array = np.asarray(holder).view(dtype).reshape(shape)
        return array

    def _free_block(self, size: int) -> _Block | None:
        """A free block that fits, which is not free any more; other threads may take and free some meanwhile."""
        for _ in range(len(self._free)):
            try:
                block = self._free.popleft()
            except IndexError:
                return None
            if size <= block.bytes_.nbytes <= _FITS * size:
                return block
            self._free.append(block)
        return None

    def _new(self, size: int) -> _Block:
        try:
            return _new_block(size)
        except OSError:  # too little memory
            self._free.clear()
        try:
            return _new_block(size)
        except OSError:
            raise MemoryError(f"there is no memory for a result of {size:,} bytes") from None

    def _release(self, reference: Any) -> None:
        """Free the block of an array that nothing references.

        It is called wherever that happens, perhaps when the process ends: it waits for nothing and reads no globals.
        """
        _, block = self._used.pop(id(reference))
        try:
            block.memory.madvise(self._may_take_back)
        except OSError:  # a system that cannot: the memory is given back at once
            return
        self._free.append(block)
        while self.free_bytes > self._most_bytes:
            try:
                self._free.popleft()
            except IndexError:
                return


def _new_block(size: int) -> _Block:
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system without large pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return _Block(memory, np.frombuffer(memory, np.uint8))
