"""MurmurHash3: numbers of 32 bits that stand for elements, the same wherever they are computed."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import INT32, STRING, WIDE_INTEGERS, tensors, types

T1: TypeAlias = Annotated[Array, types("T1", WIDE_INTEGERS | tensors(DType.FLOAT32, DType.FLOAT64) | STRING)]
T2: TypeAlias = Annotated[Array, types("T2", INT32 | tensors(DType.UINT32))]

_LIMIT = 0xFFFFFFFF


@operator("MurmurHash3", since=1, domain=MICROSOFT)
def murmur_hash(x: T1, /, *, positive: int = 1, seed: int = 0) -> T2:
    """The hash of each element's bytes, of a string's in UTF-8: as uint32, or int32 unless `positive`."""
    _check(seed)
    flat = x.reshape(-1)
    hashes = np.fromiter((murmur_hash_of(_bytes(item), seed) for item in flat), np.uint32, flat.size)
    return (hashes if positive else hashes.view(np.int32)).reshape(x.shape)


@murmur_hash.infer
def infer(x: Fact, /, *, positive: int, seed: int) -> Inferred:
    _check(seed)
    return TensorType(DType.UINT32 if positive else DType.INT32, x.shape)


@murmur_hash.lower
def lower(x: prim.Tensor, /, *, positive: int, seed: int) -> prim.Tensor:
    """The words of an element are the two halves of its bits, the lower first, or all of them."""
    many = x.dtype.numpy.itemsize // 4
    bits = prim.bitcast(x, DType.UINT32 if many == 1 else DType.UINT64)
    words = [bits] if many == 1 else [prim.cast(each, DType.UINT32) for each in (bits, _right(bits, 32))]
    state: prim.Tensor = prim.full(seed, x.shape, DType.UINT32)
    for word in words:
        mixed = _rotated(word * 0xCC9E2D51, 15) * 0x1B873593
        state = _rotated(prim.apply("xor", state, mixed), 13) * 5 + 0xE6546B64
    state = prim.apply("xor", state, 4 * many)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = prim.apply("xor", state, _right(state, shift)) * factor
    state = prim.apply("xor", state, _right(state, 16))
    return state if positive else prim.bitcast(state, DType.INT32)


def _right(x: prim.Tensor, bits: int) -> prim.Tensor:
    return prim.apply("shift_right", x, bits)


def _rotated(x: prim.Tensor, bits: int) -> prim.Tensor:
    return prim.apply("or", prim.apply("shift_left", x, bits), _right(x, 32 - bits))


def murmur_hash_of(text: bytes, seed: int) -> int:
    """The 32 bits of Austin Appleby's MurmurHash3_x86_32."""
    state = seed
    whole = len(text) // 4
    for word in np.frombuffer(text, "<u4", whole).tolist():
        state ^= _mixed(word)
        state = (_turned(state, 13) * 5 + 0xE6546B64) & _LIMIT
    rest = text[4 * whole :]
    if rest:
        state ^= _mixed(int.from_bytes(rest, "little"))
    state ^= len(text)
    state = ((state ^ (state >> 16)) * 0x85EBCA6B) & _LIMIT
    state = ((state ^ (state >> 13)) * 0xC2B2AE35) & _LIMIT
    return state ^ (state >> 16)


def _mixed(word: int) -> int:
    return (_turned((word * 0xCC9E2D51) & _LIMIT, 15) * 0x1B873593) & _LIMIT


def _turned(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _LIMIT


def _bytes(item: Any) -> bytes:
    return item.encode() if isinstance(item, str) else bytes(item.tobytes())


def _check(seed: int) -> None:
    if not 0 <= seed <= _LIMIT:
        raise CheckError(f"seed is {seed}, expected 32 bits without a sign")
