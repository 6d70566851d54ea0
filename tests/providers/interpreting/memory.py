"""Memory that the host cannot read or write but by copies: its addresses are those of no process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Sequence
from time import perf_counter
from typing import Any, NoReturn

import numpy as np

from ingot.dtypes import Array
from ingot.runtime.provider import Replay

_FIRST = 1 << 62
"""The first address: the host that reads or writes there is ended by the system."""


class OwnMemory:
    """Allocations by address, and every copy to and from the host, in bytes."""

    def __init__(self) -> None:
        self.uploaded: list[int] = []
        self.downloaded: list[int] = []
        self._next = _FIRST
        self._blocks: dict[int, memoryview] = {}

    def begin_run(self) -> None:
        """Nothing is prepared."""

    def end_run(self) -> None:
        """Nothing was prepared."""

    @property
    def allocated(self) -> int:
        """Bytes that were not given back."""
        return sum(map(len, self._blocks.values()))

    def allocate(self, size: int, shared: bool = False) -> int:
        if shared:
            block: Any = (ctypes.c_byte * (size + 64))()
            start = -ctypes.addressof(block) % 64
            address = ctypes.addressof(block) + start
            self._blocks[address] = memoryview(block).cast("B")[start : start + size]
        else:
            address = self._next
            self._next += (size // 64 + 2) * 64
            self._blocks[address] = memoryview(bytearray(size))
        return address

    def free(self, address: int) -> None:
        del self._blocks[address]

    def upload(self, array: Array, address: int) -> None:
        assert array.flags.c_contiguous
        self.bytes_at(address, array.nbytes)[:] = array.tobytes()
        self.uploaded.append(array.nbytes)

    upload_own = upload

    def download(self, address: int, array: Array) -> None:
        array.reshape(-1).view(np.uint8)[:] = np.frombuffer(self.bytes_at(address, array.nbytes), np.uint8)
        self.downloaded.append(array.nbytes)

    def copy(self, copies: Sequence[tuple[int, int, int]]) -> None:
        for to, source, size in copies:
            self.bytes_at(to, size)[:] = bytes(self.bytes_at(source, size))

    def result_array(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return np.empty(shape, dtype)

    def adopted(self, value: Any) -> None:
        """No other library has memory of this machine."""

    dlpack_device = (99, 0)

    def settle(self) -> None:
        """Nobody else uses this machine."""

    def finish(self) -> None:
        """Every kernel is done when it returns."""

    def capture(self, begin: Callable[[], None], before: Replay | None = None, counters: Collection[int] = ()) -> None:
        """There is nothing that begins several kernels at once."""

    def timed(self, begin: Callable[[], object]) -> float:
        start = perf_counter()
        begin()
        return perf_counter() - start

    def limits(self) -> tuple[float, float]:
        return 1e9, 1e9

    def stored(self, address: int) -> None:
        """Kernels are functions of this process."""

    def restored(self, stored: bytes) -> NoReturn:
        raise AssertionError(f"{len(stored)} bytes were stored by nobody")

    def bytes_at(self, address: int, size: int) -> memoryview:
        """The bytes at an address; AssertionError if they are not all in one allocation."""
        for start, block in self._blocks.items():
            if start <= address and address + size <= start + len(block):
                return block[address - start : address - start + size]
        raise AssertionError(f"{size} bytes at {address:#x} are not in the memory of this machine")
