"""Memory of a device that a plan or a frame holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate
from weakref import finalize

from ingot.dtypes import Array
from ingot.runtime.provider import DeviceMemory

ALIGN = 256
"""Constants begin at multiples of so many bytes, as what a driver allocates does."""


class Block:
    """So many bytes of a device, given back when nothing references them; ProviderError if there are none left."""

    __slots__ = ("__weakref__", "address", "size")

    def __init__(self, device: DeviceMemory, size: int, shared: bool = False) -> None:
        self.address = device.allocate(size, shared)
        self.size = size
        finalize(self, device.free, self.address).atexit = False  # the memory ends with the process


def constants_on(
    device: DeviceMemory, arrays: Sequence[tuple[int, Array]], shared: Collection[int]
) -> tuple[dict[int, int], list[Block]]:
    """The addresses of copies of arrays by slot, and what holds them: one block, and one for each that is shared."""
    blocks, addresses = [], {}
    own = [(slot, array) for slot, array in arrays if slot not in shared]
    ends = list(accumulate([-(-array.nbytes // ALIGN) * ALIGN for _, array in own], initial=0))
    if own:
        blocks.append(Block(device, max(1, ends[-1])))
    for (slot, array), offset in zip(own, ends, strict=False):
        addresses[slot] = blocks[0].address + offset
        if array.nbytes:
            device.upload(array, addresses[slot])
    for slot, array in arrays:
        if slot in shared:
            blocks.append(block_of(array, device, shared=True))
            addresses[slot] = blocks[-1].address
    return addresses, blocks


def block_of(array: Array, device: DeviceMemory, shared: bool = False) -> Block:
    """A copy of a contiguous array on a device."""
    block = Block(device, max(1, array.nbytes), shared)
    if array.nbytes:
        device.upload(array, block.address)
    return block
