"""Random numbers by counting: each is a function of a key and of its own place, in numpy and in primitives alike.

A word is what SplitMix64 gives after so many steps from a key: a product with an odd number, and the bits mixed. No
number depends on another, so that threads and vectors draw them in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ops.generator.keys import LAST, MIXED, STEP, key_of
from ingot.prim.tensor import Sizes


def words(key: int, shape: Sequence[int]) -> Array:
    """Random 64 bits for each element of a shape."""
    places = np.arange(1, int(np.prod(shape, dtype=np.int64)) + 1, dtype=np.uint64)
    result = places * np.uint64(STEP) + np.uint64(key)
    for shift, factor in MIXED:
        result = (result ^ (result >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(result ^ (result >> np.uint64(LAST))).reshape(tuple(shape))


def uniform(key: int, shape: Sequence[int], dtype: DType) -> Array:
    """Numbers from 0 to below 1: of FLOAT64 with 53 bits, else in float32, of 24."""
    drawn = words(key, shape)
    if dtype is DType.FLOAT64:
        return np.asarray((drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53)
    return np.asarray((drawn >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24))


def normal(key: int, shape: Sequence[int], dtype: DType) -> Array:
    """Numbers of a standard normal distribution, by the radius and the angle of a point (Box and Muller)."""
    drawn = words(key, shape)
    if dtype is DType.FLOAT64:
        radius, angle = (drawn >> np.uint64(11)).astype(np.float64), uniform(key_of(key, 0), shape, dtype)
        return np.asarray(np.sqrt(-2 * np.log((radius + 1) * 2.0**-53)) * np.cos(2 * np.pi * angle))
    upper, lower = (drawn >> np.uint64(32)).astype(np.float32), (drawn & np.uint64(0xFFFFFF)).astype(np.float32)
    radius = np.sqrt(np.float32(-2) * np.log((upper + np.float32(1)) * np.float32(2.0**-32)))
    return np.asarray(radius * np.cos(np.float32(2 * np.pi * 2.0**-24) * lower))


def lowered_words(key: prim.Tensor, shape: Sizes) -> prim.Tensor:
    """The same words in primitives, from a key without axes."""
    place = prim.reshape(prim.iota((prim.count(shape),), 0), shape)
    return _lowered_mixed(prim.cast(place + 1, DType.UINT64) * STEP + key)


def lowered_uniform(key: prim.Tensor, shape: Sizes, dtype: DType) -> prim.Tensor:
    """`uniform` in primitives: FLOAT64, else FLOAT32."""
    word = lowered_words(key, shape)
    if dtype is DType.FLOAT64:
        return prim.cast(prim.cast(_right(word, 11), DType.INT64), dtype) * 2.0**-53
    return _floats(_right(word, 40)) * 2.0**-24


def lowered_normal(key: prim.Tensor, shape: Sizes, dtype: DType) -> prim.Tensor:
    """`normal` in primitives: FLOAT64, else FLOAT32."""
    word = lowered_words(key, shape)
    if dtype is DType.FLOAT64:
        other = _lowered_mixed(_lowered_mixed(key + STEP))
        radius = prim.cast(prim.cast(_right(word, 11), DType.INT64), dtype)
        angle = lowered_uniform(other, shape, dtype)
        return prim.apply("sqrt", -2.0 * prim.apply("log", (radius + 1.0) * 2.0**-53)) * prim.apply(
            "cos", angle * (2 * np.pi)
        )
    upper = prim.cast(prim.cast(_right(word, 32), DType.UINT32), DType.FLOAT32)
    lower = _floats(prim.apply("and", word, 0xFFFFFF))
    radius = prim.apply("sqrt", prim.apply("log", (upper + 1.0) * 2.0**-32) * -2.0)
    return radius * prim.apply("cos", lower * float(np.float32(2 * np.pi * 2.0**-24)))


def _lowered_mixed(word: prim.Tensor) -> prim.Tensor:
    for shift, factor in MIXED:
        word = prim.apply("xor", word, _right(word, shift)) * factor
    return prim.apply("xor", word, _right(word, LAST))


def _right(word: prim.Tensor, bits: int) -> prim.Tensor:
    return prim.apply("shift_right", word, bits)


def _floats(word: prim.Tensor) -> prim.Tensor:
    """Natural numbers of few bits as FLOAT32: by way of INT32, which every machine converts in vectors."""
    return prim.cast(prim.cast(word, DType.INT32), DType.FLOAT32)
