"""Memory of a device that a plan or a frame holds."""

from __future__ import annotations

from weakref import finalize

from ingot.dtypes import Array
from ingot.runtime.provider import DeviceMemory


class Block:
    """So many bytes of a device, given back when nothing references them; ProviderError if there are none left."""

    __slots__ = ("__weakref__", "address", "size")

    def __init__(self, device: DeviceMemory, size: int, shared: bool = False) -> None:
        self.address = device.allocate(size, shared)
        self.size = size
        finalize(self, device.free, self.address).atexit = False  # the memory ends with the process


def block_of(array: Array, device: DeviceMemory, shared: bool = False) -> Block:
    """A copy of a contiguous array on a device."""
    block = Block(device, max(1, array.nbytes), shared)
    if array.nbytes:
        device.upload(array, block.address)
    return block
