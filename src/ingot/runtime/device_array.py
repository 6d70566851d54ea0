"""Tensors in the memory of a device: results that stay there, and what other libraries have there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ingot.dtypes import Array
from ingot.runtime.device import Block

if TYPE_CHECKING:
    from ingot.runtime.provider import DeviceMemory

_ALIGN = 16
"""Kernels take tensors to begin at multiples of so many bytes."""

DLPACK_CUDA = 2
"""The type of device of NVIDIA's GPUs, in DLPack."""

_NOT_ASKED = object()


def is_contiguous(shape: Sequence[int], strides: Sequence[int], size: int) -> bool:
    """Whether elements that are so far apart along each axis lie in order, `size` from one to the next."""
    expected = size
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length > 1 and stride != expected:
            return 0 in shape
        expected *= length
    return True


class DeviceArray:
    """A contiguous tensor on a device: an input of runs, and what other libraries take by DLPack without a copy."""

    __slots__ = ("__weakref__", "_keep", "address", "dtype", "memory", "shape")

    def __init__(self, memory: DeviceMemory, address: int, shape: tuple[int, ...], dtype: Any, keep: Any) -> None:
        """`keep` owns the memory at the address."""
        self.memory, self.address, self.shape, self.dtype = memory, address, shape, np.dtype(dtype)
        self._keep = keep

    @classmethod
    def new(cls, memory: DeviceMemory, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """A tensor of any contents; ProviderError if there is no memory for it."""
        block = Block(memory, max(1, prod(shape) * np.dtype(dtype).itemsize))
        return cls(memory, block.address, shape, dtype, block)

    @classmethod
    def of(cls, array: Array, memory: DeviceMemory) -> DeviceArray:
        """A copy of an array of the host."""
        own = cls.new(memory, array.shape, array.dtype)
        if array.nbytes:
            memory.upload(np.ascontiguousarray(array), own.address)
        return own

    @property
    def nbytes(self) -> int:
        return int(prod(self.shape) * self.dtype.itemsize)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_aligned(self) -> bool:
        """Whether kernels may read it in place."""
        return self.address % _ALIGN == 0

    def numpy(self) -> Array:
        """A copy in the memory of the host."""
        array: Array = np.empty(self.shape, self.dtype)
        if array.nbytes:
            self.memory.download(self.address, array)
            self.memory.finish()
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a tensor on a device is an array of the host only by a copy")
        return self.numpy() if dtype is None else self.numpy().astype(dtype, copy=False)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.memory.dlpack_device

    def __dlpack__(
        self,
        *,
        stream: Any = _NOT_ASKED,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule for `from_dlpack` of other libraries; what wrote the tensor is done, so that no stream waits.

        It is one of DLPack's first version, which all know. BufferError for those that know no streams, and so no
        devices, or want it on another device.
        """
        if stream is _NOT_ASKED or tuple(dl_device or self.__dlpack_device__()) != self.__dlpack_device__():
            raise BufferError("the tensor is on a device: x.numpy() is a copy on the host")
        from ingot.runtime.dlpack import exported  # few programs need it

        return exported(self._copied() if copy else self)

    def _copied(self) -> DeviceArray:
        own = DeviceArray.new(self.memory, self.shape, self.dtype)
        if self.nbytes:
            self.memory.copy([(own.address, self.address, self.nbytes)])
            self.memory.finish()
        return own

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.dtype.kind not in "biufc":
            raise AttributeError(f"__cuda_array_interface__ has no type for {self.dtype}")
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3,
            "strides": None, "stream": None,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype}{list(self.shape)}>"
