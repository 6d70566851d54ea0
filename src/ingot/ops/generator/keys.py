"""Keys of random numbers: 64 bits that follow from a seed and the number of a draw."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ingot.dtypes import Array

STEP = 0x9E3779B97F4A7C15
MIXED = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
LAST = 31
"""What SplitMix64 counts by, and how it mixes bits: shifts and factors, and the last shift."""

_BITS = (1 << 64) - 1


def key_of(seed: int, number: int) -> int:
    """The key of the draw with this number, of a run or node with this seed."""
    return _mixed((_mixed((seed + STEP) & _BITS) + number * STEP) & _BITS)


@lru_cache(maxsize=256)
def key_array(seed: int, number: int) -> Array:
    """The key as a tensor of one uint64, which nobody may change."""
    array = np.array([key_of(seed, number)], np.uint64)
    array.flags.writeable = False
    return array


def node_key(seed: float) -> int:
    """The key of a node that has a seed of its own, a number of float32."""
    return key_of(np.float32(seed).view(np.uint32).item(), 0)


def _mixed(word: int) -> int:
    for shift, factor in MIXED:
        word = ((word ^ (word >> shift)) * factor) & _BITS
    return word ^ (word >> LAST)
