"""What a plan file has for a device: the code of its kernels, and constants, which are copied there at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from math import prod

from ingot.codegen.executable_memory import Code
from ingot.dtypes import Array, DType
from ingot.runtime.device import Block, block_of
from ingot.runtime.plan_schema import StoredArray, StoredBody, StoredFile, StoredPlan
from ingot.runtime.provider import DeviceMemory


class StoredOnDevice:
    """The part of a plan file that is on a device. It has to be referenced as long as plans of the file are."""

    def __init__(self, file: StoredFile, arrays: Array, memory: DeviceMemory, code: bytes) -> None:
        """`arrays` are the bytes of all constants, which begin to be copied; `code` are those of all kernels."""
        self.memory = memory
        self._arrays = [StoredArray(*stored) for stored in file.arrays]
        self._bytes = arrays
        plans = [*_plans(StoredPlan(*file.plan))]
        copied = {number for plan in plans for slot, number in plan.memory if slot not in plan.shared}
        places = [self._arrays[number].offset for number in copied]
        self._start = min(places, default=0)
        end = max((self._arrays[number].offset + self._size(number) for number in copied), default=0)
        self._block = Block(memory, end - self._start) if copied else None
        self._copying = self._began(arrays[self._start : end])
        self._shared: list[Block] = []
        self._codes = [memory.restored(code[begin:end]) for begin, end in file.codes]

    def _began(self, arrays: Array) -> Future[None]:
        """A copy of constants to the device, while the plan is decoded."""
        copying: Future[None] = Future()

        def copy() -> None:
            try:
                if self._block is not None and arrays.nbytes:
                    self.memory.upload_own(arrays, self._block.address)
                copying.set_result(None)
            except BaseException as error:
                copying.set_exception(error)

        threading.Thread(target=copy, name="ingot-constants").start()
        return copying

    def finish(self) -> None:
        """Wait until the constants are on the device."""
        self._copying.result()

    def code(self, number: int) -> Code:
        """The code of a kernel, by its place in the file."""
        return self._codes[number]

    def addresses(self, plan: StoredPlan) -> Mapping[int, int]:
        """Where the constants of a plan are, by slot."""
        addresses = {}
        for slot, number in plan.memory:
            stored = self._arrays[number]
            if slot in plan.shared:
                array = self._bytes[stored.offset : stored.offset + self._size(number)]
                self._shared.append(block_of(array, self.memory, shared=True))
                addresses[slot] = self._shared[-1].address
            else:
                assert self._block is not None
                addresses[slot] = self._block.address + stored.offset - self._start
        return addresses

    def _size(self, number: int) -> int:
        stored = self._arrays[number]
        return DType(stored.dtype).numpy.itemsize * prod(stored.shape)


def _plans(plan: StoredPlan) -> Iterator[StoredPlan]:
    """A plan, and those of the bodies in it."""
    yield plan
    for _, bodies in plan.bodies:
        for body in bodies:
            yield from _of_body(body)


def _of_body(fields: StoredBody | None) -> Iterator[StoredPlan]:
    if fields is None:
        return
    body = StoredBody(*fields)
    if body.plan is not None:
        yield from _plans(StoredPlan(*body.plan))
    yield from _of_body(body.invariant)
