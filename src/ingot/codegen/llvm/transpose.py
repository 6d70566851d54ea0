"""Transposition of square blocks in registers, by exchanges of ever smaller blocks."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I32


def transposed(b: Builder, lines: Sequence[ir.Value]) -> list[ir.Value]:
    """As many vectors as each of `lines` has lanes: lane `i` of vector `j` is lane `j` of line `i`.

    There must be as many lines as lanes, a power of two.
    """
    vectors = list(lines)
    lanes = len(vectors)
    block = lanes // 2
    while block:
        for first in range(lanes):
            if first & block == 0:
                vectors[first], vectors[first + block] = _exchanged(
                    b, vectors[first], vectors[first + block], lanes, block
                )
        block //= 2
    return vectors


def _exchanged(b: Builder, x: ir.Value, y: ir.Value, lanes: int, block: int) -> tuple[ir.Value, ir.Value]:
    """The odd blocks of one vector exchanged for the even ones of another."""
    low = [lane if lane & block == 0 else lanes + lane - block for lane in range(lanes)]
    high = [lane + block if lane & block == 0 else lanes + lane for lane in range(lanes)]
    kind = ir.VectorType(I32, lanes)
    return b.shuffle_vector(x, y, ir.Constant(kind, low)), b.shuffle_vector(x, y, ir.Constant(kind, high))
