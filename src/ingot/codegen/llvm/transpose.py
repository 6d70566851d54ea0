"""Vectors turned in registers: square blocks, by exchanges of ever smaller blocks, and a few vectors interleaved."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.lanes import count_of
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


def interleaved(b: Builder, vectors: Sequence[ir.Value]) -> list[ir.Value]:
    """The first lanes of vectors, then their second ones, and so on, in as many vectors."""
    many, lanes = len(vectors), count_of(vectors[0])
    results = []
    for number in range(many):
        sources = [divmod(number * lanes + at, many) for at in range(lanes)]  # the lane, and of which vector
        result = vectors[0]
        for place, vector in enumerate(vectors[1:], 1):
            chosen = [
                lanes + lane if source == place else lane if place == 1 else at
                for at, (lane, source) in enumerate(sources)
            ]
            result = b.shuffle_vector(result, vector, ir.Constant(ir.VectorType(I32, lanes), chosen))
        results.append(result)
    return results
