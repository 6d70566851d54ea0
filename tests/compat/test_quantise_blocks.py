"""Weights quantised in blocks: back to floats they are near, and the bytes are those of onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.compat.onnxruntime.capi import onnxruntime_pybind11_state as ours

SIZES = [(64, 6, 16), (44, 3, 16), (32, 5, 32), (72, 4, 32)]
"""Rows, columns and block; rows end with a byte, beyond which onnxruntime writes what happens to be there."""


def weights(rows: int, columns: int, dtype: Any = np.float32) -> Any:
    matrix = np.random.default_rng(rows).standard_normal((rows, columns)).astype(dtype)
    matrix[:16, 0] = 0  # a block without a scale
    return matrix


def matmul(module: Any, bits: int, matrix: Any, block: int, symmetric: bool) -> list[Any]:
    rows, columns = matrix.shape
    blocks = -(-rows // block)
    packed = np.zeros((columns, blocks, block * bits // 8), np.uint8)
    scales = np.zeros(columns * blocks, matrix.dtype)
    zeros = np.zeros(columns * -(-blocks * bits // 8), np.uint8)
    function = getattr(module, f"quantize_matmul_{bits}bits")
    function(packed, matrix, scales, zeros, block, columns, rows, symmetric)
    return [packed, scales, zeros]


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("rows", "columns", "block"), SIZES)
def test_eight_bits_are_near_the_weights(rows: int, columns: int, block: int, symmetric: bool) -> None:
    matrix = weights(rows, columns)
    packed, scales, zeros = matmul(ours, 8, matrix, block, symmetric)
    scale = scales.reshape(columns, -1, 1)
    zero = np.full_like(scale, 128) if symmetric else zeros.reshape(scale.shape)
    back = ((packed.astype(np.int32) - zero) * scale).reshape(columns, -1)[:, :rows].T
    # The highest value of symmetric weights has no step of its own.
    np.testing.assert_allclose(back, matrix, atol=float(np.abs(scale).max()) * (1.01 if symmetric else 0.51))


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(("rows", "columns", "block"), SIZES)
def test_the_bytes_are_those_of_onnxruntime(rows: int, columns: int, block: int, bits: int, symmetric: bool) -> None:
    pytest.importorskip("onnxruntime")
    from onnxruntime.capi import onnxruntime_pybind11_state as theirs

    matrix = weights(rows, columns)
    for mine, peer in zip(*(matmul(m, bits, matrix, block, symmetric) for m in (ours, theirs)), strict=True):
        np.testing.assert_array_equal(mine, peer)
    if bits == 4:
        results = []
        for module in (ours, theirs):
            blocks = -(-rows // block)
            arrays = [np.zeros((rows * columns + 1) // 2, np.uint8), np.zeros((blocks, columns), np.float32)]
            arrays.append(np.zeros((columns * blocks + 1) // 2, np.uint8))
            packed, scales, zeros = arrays
            signed = module.quantize_qdq_matmul_4bits(packed, matrix, scales, zeros, block, columns, rows, symmetric)
            results.append([*arrays, signed])
        for mine, peer in zip(*results, strict=True):
            np.testing.assert_array_equal(mine, peer)


@pytest.mark.parametrize("kind", [0, 1])
def test_four_bit_floats_are_near_the_weights_and_those_of_onnxruntime(kind: int) -> None:
    matrix = weights(64, 6).T.copy()
    packed, largest = np.zeros(192, np.uint8), np.zeros(12, np.float32)
    ours.quantize_matmul_bnb4(packed, matrix, largest, 32, kind, 6, 64)
    np.testing.assert_array_equal(largest, np.abs(matrix.reshape(-1, 32)).max(1))
    pytest.importorskip("onnxruntime")
    from onnxruntime.capi import onnxruntime_pybind11_state as theirs

    again, scales = np.zeros(192, np.uint8), np.zeros(12, np.float32)
    theirs.quantize_matmul_bnb4(again, matrix, scales, 32, kind, 6, 64)
    np.testing.assert_array_equal(packed, again)
