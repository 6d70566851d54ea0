"""What codes of few bits stand for, where that is not the code itself: floats of few bits, levels of a table."""

from __future__ import annotations

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType

_FORMS = {
    DType.FLOAT8E4M3FN: (7, 2.0**8),
    DType.FLOAT8E4M3FNUZ: (7, 2.0**7),
    DType.FLOAT8E5M2: (8, 1.0),
    DType.FLOAT8E5M2FNUZ: (8, 2.0**-1),
}
"""Where the seven bits behind the sign are in a float16, and how many times as large the float8 is."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Codes of four bits that stand for one of sixteen levels, which are finite."""

    levels: tuple[float, ...]

    def numbers(self) -> Array:
        """What the codes stand for, in their order, as FLOAT32."""
        return np.array(self.levels, np.float32)


@dataclass(frozen=True, slots=True)
class HalfBits:
    """Codes of eight bits that are a sign and bits of a float16, from bit `shift` on."""

    shift: int

    def numbers(self) -> Array:
        """What the codes stand for, in their order, as FLOAT32."""
        codes = np.arange(256, dtype=np.uint16)
        halves: Array = (codes & 0x80) << 8 | (codes & 0x7F) << self.shift
        return halves.view(np.float16).astype(np.float32)


def meaning_of(dtype: DType, codes: Array) -> tuple[Levels | HalfBits, float] | None:
    """What elements of a float of four or eight bits stand for, and what that is to be multiplied by.

    None for elements of any other type, and where some are infinite or no numbers.
    """
    if dtype is DType.FLOAT4E2M1:
        return Levels(tuple(np.arange(16, dtype=np.uint8).view(dtype.numpy).astype(np.float32).tolist())), 1.0
    if dtype not in _FORMS:
        return None
    shift, factor = _FORMS[dtype]
    meaning = HalfBits(shift)
    with np.errstate(invalid="ignore"):
        numbers = np.arange(256, dtype=np.uint8).view(dtype.numpy).astype(np.float32)
        is_same = np.isfinite(numbers) & (meaning.numbers() * np.float32(factor) == numbers)
    return (meaning, factor) if is_same[codes.view(np.uint8)].all() else None
