"""Codes of two or four bits packed into bytes, the lowest first."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError


def unpacked(packed: Array, bits: int) -> Array:
    """Bytes as the codes they hold: the last axis grows by as many as fit into a byte."""
    if bits not in (2, 4, 8):
        raise CheckError(f"bits is {bits}, expected 2, 4 or 8")
    if bits == 8:
        return packed
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return np.asarray(codes.reshape(*packed.shape[:-1], packed.shape[-1] * len(shifts)))


def check_block_size(block_size: int) -> None:
    """CheckError unless it is a power of two, of at least 16."""
    if block_size < 16 or block_size & (block_size - 1):
        raise CheckError(f"block_size is {block_size}, expected a power of two from 16 on")
