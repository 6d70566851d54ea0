"""Weights quantised in blocks: the functions of the native module that onnxruntime's quantiser calls.

They write into arrays of the caller. A matrix `[rows, columns]` is divided along its rows into blocks of one scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.ops.contrib.four_bit_levels import FP4, NF4


def quantize_matmul_2bits(*arguments: Any) -> None:
    """As `quantize_matmul_4bits`, four values a byte."""
    _matmul(2, *arguments)


def quantize_matmul_4bits(*arguments: Any) -> None:
    """Quantise a matrix for MatMulNBits.

    `(packed, weights, scales, zero_points, block_size, columns, rows, is_symmetric)`: `packed` is `[columns, blocks,
    bytes of a block]`, `scales` `[columns * blocks]` and `zero_points` `[columns * ceil(blocks / 2)]`; the first of two
    values is in the lower half of its byte. What is symmetric has the middle for its zero, and no zero points.
    """
    _matmul(4, *arguments)


def quantize_matmul_8bits(*arguments: Any) -> None:
    """As `quantize_matmul_4bits`, a value a byte."""
    _matmul(8, *arguments)


def quantize_qdq_matmul_4bits(*arguments: Any) -> bool:
    """Quantise a matrix for DequantizeLinear, in the order of its elements; returns whether the values are signed.

    The arguments are those of `quantize_matmul_4bits`; `packed` is `[rows * columns / 2]`, `scales` `[blocks, columns]`
    and `zero_points` `[blocks * columns / 2]`. What is symmetric is signed.
    """
    return _qdq(4, *arguments)


def quantize_matmul_bnb4(
    packed: Array, weights: Array, largest: Array, block_size: int, quant_type: int, columns: int, rows: int
) -> None:
    """Quantise a transposed matrix for MatMulBnb4: 4-bit floats (type 0) or quantiles of a normal distribution (1).

    Blocks are of elements in order; `largest` gets the largest magnitude of each. The first of two values is in the
    upper half of its byte.
    """
    flat = np.asarray(weights, np.float32).reshape(-1)
    assert flat.size == columns * rows
    padded = np.zeros(-(-flat.size // block_size) * block_size, np.float32)
    padded[: flat.size] = flat
    blocks = padded.reshape(-1, block_size)
    scale = np.abs(blocks).max(1)
    largest.reshape(-1)[:] = scale.astype(largest.dtype)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    scaled = (blocks * inverse[:, None]).reshape(-1)[: flat.size]
    values = np.zeros(-(-flat.size // 2) * 2, np.uint8)
    if quant_type == 0:
        magnitudes = FP4[:8]
        order = np.argsort(magnitudes)
        values[: flat.size] = order[_nearest(magnitudes[order], np.abs(scaled))] + 8 * (scaled < 0)
    else:
        values[: flat.size] = _nearest(NF4, scaled)
    packed.reshape(-1)[:] = values[0::2] << 4 | values[1::2]


def _nearest(levels: Array, values: Array) -> Array:
    """The index of the level, of ascending ones, that is nearest to each value."""
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, values, "left")


def _matmul(
    bits: int,
    packed: Array,
    weights: Array,
    scales: Array,
    zero_points: Array | None,
    block_size: int,
    columns: int,
    rows: int,
    is_symmetric: bool,
) -> None:
    values, scale, zero = _quantised(bits, weights, block_size, columns, rows, is_symmetric)
    scales.reshape(-1)[:] = scale.T.reshape(-1).astype(scales.dtype)
    if not is_symmetric and zero_points is not None:
        zero_points.reshape(-1)[:] = _packed(zero.T, bits, 1 << bits - 1).reshape(-1)
    packed.reshape(-1)[:] = _packed(values.transpose(2, 0, 1), bits).reshape(-1)


def _qdq(
    bits: int,
    packed: Array,
    weights: Array,
    scales: Array,
    zero_points: Array | None,
    block_size: int,
    columns: int,
    rows: int,
    is_symmetric: bool,
) -> bool:
    values, scale, zero = _quantised(bits, weights, block_size, columns, rows, is_symmetric)
    scales.reshape(-1)[:] = scale.reshape(-1).astype(scales.dtype)
    flat = values.reshape(-1, columns)[:rows].reshape(1, -1)
    if is_symmetric:
        flat = flat ^ (1 << bits - 1)  # the two's complement of what is above the middle
    elif zero_points is not None:
        zero_points.reshape(-1)[:] = _packed(zero.reshape(1, -1), bits).reshape(-1)
    packed.reshape(-1)[:] = _packed(flat, bits).reshape(-1)
    return bool(is_symmetric)


def _quantised(
    bits: int, weights: Array, block_size: int, columns: int, rows: int, is_symmetric: bool
) -> tuple[Array, Array, Array]:
    """Values `[blocks, block_size, columns]`, and the scale and the zero of each block, `[blocks, columns]`.

    A block that reaches beyond the rows is 0 there.
    """
    matrix = np.asarray(weights).astype(np.float32).reshape(-1, columns)[:rows]  # it may have more rows than count
    count = -(-rows // block_size)
    padded = np.zeros((count * block_size, columns), np.float32)
    padded[:rows] = matrix
    blocks = padded.reshape(count, block_size, columns)
    largest = (1 << bits) - 1
    middle = 1 << bits - 1
    low, high = np.minimum(blocks.min(1), 0), np.maximum(blocks.max(1), 0)
    if is_symmetric:
        scale = np.where(np.abs(high) > np.abs(low), high, low) / np.float32(-middle)
        zero = np.full(scale.shape, middle, np.uint8)
    else:
        scale = (high - low) / np.float32(largest)
        ratio = np.divide(-low, scale, out=np.zeros_like(low), where=scale != 0)
        zero = np.clip(_rounded(ratio), 0, largest).astype(np.uint8)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    values = np.clip(_rounded(blocks * inverse[:, None] + zero[:, None]), 0, largest).astype(np.uint8)
    values.reshape(-1, columns)[rows:] = 0
    return values, scale, zero


def _rounded(values: Array) -> Array:
    """To the nearest integer, halves away from zero."""
    rounded: Array = np.trunc(values + np.copysign(np.float32(0.5), values))
    return rounded


def _packed(values: Array, bits: int, fill: int = 0) -> Array:
    """Values along the last axis, as many a byte as fit, the first in the lowest bits; the last byte ends in `fill`."""
    each = 8 // bits
    *outer, count = values.shape
    padded = np.full((*outer, -(-count // each) * each), fill, np.uint8)
    padded[..., :count] = values
    parts = padded.reshape(*outer, -1, each)
    result = np.zeros(parts.shape[:-1], np.uint8)
    for index in range(each):
        result |= parts[..., index] << np.uint8(bits * index)
    return result
