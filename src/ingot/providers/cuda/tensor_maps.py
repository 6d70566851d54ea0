"""Tensor maps: how the copy engine (TMA) of Hopper walks a buffer, as the driver encodes it."""

from __future__ import annotations

import ctypes
from ctypes import c_uint32, c_uint64
from typing import Any

from ingot.codegen.nvptx.step import TensorMap
from ingot.dtypes import DType
from ingot.providers.cuda.driver import Driver

_TYPES = {DType.FLOAT16: 6, DType.FLOAT32: 7, DType.BFLOAT16: 9}
_SWIZZLE_128, _PROMOTE_128 = 3, 2
"""Numbers of the driver's interface: the types of elements, how lines are swizzled, and how much L2 reads at once."""

_BYTES, _ALIGN = 128, 64


def encoded(of: TensorMap, address: int, driver: Driver) -> Any:
    """A tensor map for a buffer at an address: 128 bytes."""
    memory = ctypes.create_string_buffer(_BYTES + _ALIGN)
    result = (c_uint64 * (_BYTES // 8)).from_buffer(memory, -ctypes.addressof(memory) % _ALIGN)
    rank = len(of.sizes)
    driver.call(
        "cuTensorMapEncodeTiled",
        ctypes.byref(result),
        _TYPES[of.dtype],
        rank,
        address + of.offset,
        (c_uint64 * rank)(*of.sizes),
        (c_uint64 * max(1, rank - 1))(*of.strides),
        (c_uint32 * rank)(*of.box),
        (c_uint32 * rank)(*[1] * rank),
        0,
        _SWIZZLE_128,
        _PROMOTE_128,
        0,
    )
    return result
