"""Codes of two or four bits packed into bytes, the lowest first."""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
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


def unpacked_codes(packed: prim.Tensor, bits: int) -> prim.Tensor:
    """Bytes as the codes they hold, in primitives: on an axis of their own behind the others."""
    shape = (*packed.shape, 8 // bits)
    shifts = prim.cast(prim.iota((*(1,) * packed.rank, 8 // bits), packed.rank) * bits, DType.UINT8)
    moved = prim.apply("shift_right", prim.expand(prim.unsqueeze(packed, [packed.rank]), shape), shifts)
    return prim.apply("and", moved, (1 << bits) - 1)


def check_block_size(block_size: int) -> None:
    """CheckError unless it is a power of two, of at least 16."""
    if block_size < 16 or block_size & (block_size - 1):
        raise CheckError(f"block_size is {block_size}, expected a power of two from 16 on")
