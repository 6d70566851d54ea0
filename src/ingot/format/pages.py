"""Arrays in mapped files: copies of them, and their pages, given back when what is in them has been copied."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.format.content import FileMap


def release(array: Array) -> None:
    """Give back the memory of an array that is a view of a mapped file; it comes back when it is read again.

    Nothing happens to an array that is none, or where the system has no way to say it.
    """
    pages = _holder(array)
    if not isinstance(pages, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED") or not array.size:
        return
    whole = np.frombuffer(pages, np.uint8)
    if whole.flags.writeable:  # what was changed there is nowhere else
        return
    first, last = _byte_bounds(array)
    begin = -(-(first - whole.ctypes.data) // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (last - whole.ctypes.data) // mmap.PAGESIZE * mmap.PAGESIZE
    if end > begin:
        pages.madvise(mmap.MADV_DONTNEED, begin, end - begin)


def unmapped(array: Array) -> Array:
    """An array, or a copy of it where it is a view of a mapped file, which others may write to."""
    return array.copy() if isinstance(_holder(array), FileMap) else array


def _holder(array: Array) -> Any:
    """What holds the memory of an array."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base.obj if isinstance(base, memoryview) else base


def _byte_bounds(array: Array) -> tuple[int, int]:
    """The address of the first byte of an array, and the one after its last."""
    first = last = array.ctypes.data
    for size, stride in zip(array.shape, array.strides, strict=True):
        first += min(0, (size - 1) * stride)
        last += max(0, (size - 1) * stride)
    return first, last + array.itemsize
