"""Keys and values in a cache as integers of 8 bits, or of 4 packed into bytes, times a scale."""

from __future__ import annotations

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.contrib.packed import unpacked

KINDS = ("NONE", "PER_TENSOR", "PER_CHANNEL")
"""How many scales a cache has: none, one, or one for each element of each head."""


@dataclass(frozen=True, slots=True)
class Codes:
    """The format of a cache: bits of an element, and scales that meet (batch, heads, length, size)."""

    bits: int
    scale: Array

    def of(self, x: Array) -> Array:
        """Numbers as codes, two in a byte if they have 4 bits, the first in its lower half."""
        inverse = np.where(self.scale == 0, np.float32(1), 1 / np.where(self.scale == 0, np.float32(1), self.scale))
        limit = 2 ** (self.bits - 1)
        steps = np.clip(np.rint(x.astype(np.float32) * inverse), -limit, limit - 1).astype(np.int16)
        if self.bits == 8:
            return steps.astype(np.int8)
        if x.shape[-1] % 2:
            raise ShapeError(f"a head of {x.shape[-1]} elements does not fill bytes of two")
        halves = (steps + limit).astype(np.uint8)
        return np.asarray(halves[..., ::2] | (halves[..., 1::2] << 4))

    def meant(self, codes: Array) -> Array:
        """What codes stand for, in float32."""
        steps = codes.astype(np.float32) if self.bits == 8 else unpacked(codes, 4).astype(np.float32) - 8
        return np.asarray(steps * self.scale)


def cache_type(bits: int) -> DType:
    """The element type of a cache whose codes have so many bits."""
    return DType.INT8 if bits == 8 else DType.UINT8


def check_cache(k_kind: str, v_kind: str, bits: int) -> bool:
    """Whether a cache is quantised; CheckError where its attributes contradict each other."""
    for kind in (k_kind, v_kind):
        if kind not in KINDS:
            raise CheckError(f"a quant_type is '{kind}'", hint=f"one of {', '.join(KINDS)}")
    if k_kind != v_kind:
        raise CheckError(f"keys are quantised {k_kind} and values {v_kind}: it must be the same")
    if bits not in ((0,) if k_kind == "NONE" else (4, 8)):
        raise CheckError(f"kv_cache_bit_width is {bits}, with a quant_type of {k_kind}")
    return k_kind != "NONE"


def cache_codes(scale: Array | None, kind: str, bits: int, heads: int, size: int, name: str) -> Codes:
    """The format of a cache of keys or of values."""
    if scale is None:
        raise InputError(f"{name} is needed for a cache that is quantised {kind}")
    expected = heads * size if kind == "PER_CHANNEL" else 1
    if scale.size != expected:
        raise ShapeError(f"{name} has {scale.size} elements, expected {expected}")
    shape = (1, heads, 1, size) if kind == "PER_CHANNEL" else (1, 1, 1, 1)
    return Codes(bits, scale.astype(np.float32).reshape(shape))
