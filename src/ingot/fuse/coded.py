"""Right operands in codes of few bits: which a contraction may read as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.dtypes import DType
from ingot.loops.ir import CodeBlocks
from ingot.prim.coded import Coded, under_permutes
from ingot.prim.tensor import Tensor


def coded_matrix(rhs: Tensor, labels: str, columns: Sequence[str], summed: Sequence[str]) -> Coded | None:
    """The matrix in codes that a right operand is, each of its rows a column of the product; None for any other."""
    matrix, own = under_permutes(rhs, labels)
    return matrix if isinstance(matrix, Coded) and [*own] == [*columns, *summed] else None


def code_blocks(matrix: Coded) -> CodeBlocks:
    """How panels hold a matrix in codes."""
    depth = matrix.shape[1]
    assert isinstance(depth, int)
    zeros = DType.of(matrix.zero.dtype) if isinstance(matrix.zero, np.ndarray) else None
    zero = 0 if isinstance(matrix.zero, np.ndarray) else matrix.zero
    block = 0 if matrix.block == depth else matrix.block
    rest = depth % (32 // matrix.bits) != 0
    return CodeBlocks(matrix.bits, block, zeros, zero, rest, matrix.rounded, meaning=matrix.meaning)
