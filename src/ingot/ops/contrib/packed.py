"""Codes of a few bits packed into bytes, the lowest first: where a byte ends, a code may go on in the next one."""

from __future__ import annotations

from math import gcd

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError


def unpacked(packed: Array, bits: int) -> Array:
    """Bytes as the codes they hold: the last axis has as many as fit into it."""
    check_bits(bits)
    if bits == 8:
        return packed
    count = packed.shape[-1] * 8 // bits
    if 8 % bits == 0:
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        codes = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    else:
        first = np.arange(count) * bits
        following = np.concatenate((packed[..., 1:], np.zeros_like(packed[..., :1])), axis=-1).astype(np.uint16)
        codes = ((packed | following << 8)[..., first // 8] >> (first % 8).astype(np.uint16)) & ((1 << bits) - 1)
    return np.asarray(codes.reshape(*packed.shape[:-1], count), np.uint8)


def whole_in_bytes(packed: Array, bits: int) -> tuple[Array, int]:
    """An even number of codes in bytes that have whole ones each, and the bits of these."""
    if 8 % bits == 0:
        return packed, bits
    codes = unpacked(packed, bits)
    return (codes, 8) if bits > 4 else (codes[..., ::2] | codes[..., 1::2] << 4, 4)


def packed_group(bits: int) -> tuple[int, int]:
    """As few bytes as hold whole codes, and how many."""
    count = 8 // gcd(8, bits)
    return count * bits // 8, count


def unpacked_codes(packed: prim.Tensor, bits: int) -> prim.Tensor:
    """Groups of bytes as the codes they hold, in primitives: on an axis of their own behind the groups.

    The last axis is one of whole groups.
    """
    size, count = packed_group(bits)
    total = packed.shape[-1]
    assert isinstance(total, int)
    shape = (*packed.shape[:-1], total // size, count)
    first = np.arange(count) * bits
    groups = prim.reshape(packed, (*shape[:-1], size))
    front = [*range(packed.rank)]
    if size == 1:
        words = prim.expand(groups, shape)
    else:  # a code may begin in one byte and end in the next
        low, high = (
            prim.gather(groups, [*front, prim.constant(np.minimum(first // 8 + after, size - 1))], shape)
            for after in (0, 1)
        )
        words = prim.apply(
            "or", prim.cast(low, DType.UINT16), prim.apply("shift_left", prim.cast(high, DType.UINT16), 8)
        )
    shifts = prim.constant((first % 8).reshape(*(1,) * packed.rank, count).astype(words.dtype.numpy))
    return prim.cast(prim.apply("and", prim.apply("shift_right", words, shifts), (1 << bits) - 1), DType.UINT8)


def check_bits(bits: int) -> None:
    """CheckError unless codes of so many bits are known."""
    if not 2 <= bits <= 8:
        raise CheckError(f"bits is {bits}, expected 2 to 8")


def check_whole(bits: int) -> None:
    """CheckError unless a byte holds whole codes."""
    if bits not in (2, 4, 8):
        raise CheckError(f"bits is {bits}, expected 2, 4 or 8")


def check_block_size(block_size: int) -> None:
    """CheckError unless it is a power of two, of at least 16."""
    if block_size < 16 or block_size & (block_size - 1):
        raise CheckError(f"block_size is {block_size}, expected a power of two from 16 on")
