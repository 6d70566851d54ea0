"""Panels of codes of few bits: for each block of `k` its scales, its zeros, and words of codes of several rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ingot.dtypes import Array
from ingot.loops.ir import CodeBlocks, Tile
from ingot.prim.coded import Coded


def code_panels(matrix: Coded, codes: CodeBlocks, tile: Tile, zeros: Callable[[int], Array]) -> Array:
    """[panel, byte], each panel as `CodeBlocks` describes it; the first one begins at a cache line.

    They are written to memory from `zeros`, of so many bytes.
    """
    rows, depth = matrix.shape
    assert isinstance(rows, int)
    assert isinstance(depth, int)
    columns, block = tile.columns, codes.block or depth
    whole, inside = depth // block, -(-block // codes.each)
    head, words = codes.head(columns), -(-depth // codes.each)
    count, size = -(-rows // columns), -(-depth // block) * head + words * 4 * columns
    memory = zeros(count * size + 64)
    start = -memory.ctypes.data % 64
    panels = memory[start : start + count * size].reshape(count, size)
    end = whole * (head + inside * 4 * columns)
    for panel, first in zip(panels, range(0, rows, columns), strict=True):
        own = slice(first, min(first + columns, rows))
        grid = matrix.words(own.start, own.stop)
        if whole:
            _fill(panel[:end].reshape(whole, -1), matrix, own, slice(0, whole), grid[:, : whole * inside], columns)
        if end < size:
            rest = slice(whole, whole + 1)
            _fill(panel[end:].reshape(1, -1), matrix, own, rest, grid[:, whole * inside :], columns)
    return panels


def _fill(blocks: Array, matrix: Coded, own: slice, numbers: slice, words: Array, columns: int) -> None:
    """Write some blocks, [block, byte], of the columns of a panel that are rows `own` of a matrix."""
    wide = blocks.view(np.dtype("<u4"))
    rows = own.stop - own.start
    wide[:, :rows] = matrix.scale[own, numbers].T.astype("<f4").view("<u4")
    head = columns
    if isinstance(matrix.zero, np.ndarray):
        zeros = matrix.zero[own, numbers].T
        if matrix.is_byte_zero:
            blocks[:, 4 * columns : 4 * columns + rows] = zeros
            head += columns // 4
        else:
            wide[:, columns : columns + rows] = zeros.astype("<f4").view("<u4")
            head += columns
    target = wide[:, head:].reshape(len(blocks), -1, columns)
    target[:, :, :rows] = words.reshape(rows, len(blocks), -1).transpose(1, 2, 0)
