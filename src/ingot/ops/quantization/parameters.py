"""Scales and zero points: how a range of numbers is spread over the codes of an integer type."""

from __future__ import annotations

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType

SMALLEST_SCALE = float(np.finfo(np.float32).tiny)
"""A scale below it would be subnormal, and its reciprocal infinite."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How numbers are coded: `code = round(x / scale) + zero_point`, inside of the codes from `low` to `high`.

    Both are arrays of one shape: a scalar, one for each channel, or one for each block.
    """

    scale: Array
    zero_point: Array
    dtype: DType
    low: int
    high: int


def code_range(dtype: DType, symmetric: bool, reduced: bool = False) -> tuple[int, int]:
    """The least and the greatest code; symmetric signed codes leave out the least, and reduced ones have a bit less."""
    bits = dtype.bits - reduced
    if dtype.label.startswith("u"):
        return 0, (1 << bits) - 1
    most = (1 << (bits - 1)) - 1
    return (-most if symmetric and bits > 2 else -most - 1), most


def parameters(low: Array, high: Array, dtype: DType, symmetric: bool, *, reduced: bool = False) -> Parameters:
    """The codes for numbers from `low` to `high`, which are float64 arrays of one shape; zero always has a code.

    Symmetric codes have their zero point in the middle: 0, or for unsigned ones half of the codes.
    """
    least, most = code_range(dtype, symmetric, reduced)
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    if symmetric:
        middle = 0 if least < 0 else (most + 1) // 2
        reach = np.maximum(-low, high)
        scale = _scale(reach / (most - middle))
        zero = np.full(scale.shape, middle)
    else:
        scale = _scale((high - low) / (most - least))
        zero = np.clip(np.rint(least - low / scale), least, most).astype(np.int64)
    return Parameters(scale, zero.astype(dtype.numpy), dtype, least, most)


def encode(x: Array, scale: Array, zero_point: Array, low: int, high: int) -> Array:
    """The codes of `x` as int64; scales and zero points are broadcast against it. Ties round to even, as in ONNX."""
    steps = np.rint(x.astype(np.float32) / scale) + zero_point.astype(np.float32)
    codes: Array = np.clip(steps, low, high).astype(np.int64)
    return codes


def decode(codes: Array, scale: Array, zero_point: Array) -> Array:
    """The float32 numbers that codes stand for."""
    return np.asarray((codes - zero_point.astype(np.int64)).astype(np.float32) * scale)


def _scale(exact: Array) -> Array:
    """As float32; 1 for a range of nothing but zero."""
    with np.errstate(over="ignore"):
        scale = np.asarray(exact, np.float32)
    scale = np.minimum(scale, np.finfo(np.float32).max)
    return np.where(exact > 0, np.maximum(scale, np.float32(SMALLEST_SCALE)), np.float32(1)).astype(np.float32)
