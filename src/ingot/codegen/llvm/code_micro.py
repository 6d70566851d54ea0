"""The GEMM micro-kernel of codes of few bits: unpacked in registers, summed block by block, and each block scaled.

A code is bits of a float's mantissa: with the exponent of 2 ** (23 - place) in front of it, where `place` is its lowest
bit, the float is that power plus the code. Subtracting the power plus the zero is exact, and leaves `code - zero`.
Codes that stand for other numbers than themselves are looked up, or converted (`code_numbers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.code_blocks import Block, blocks_of, splat_word
from ingot.codegen.llvm.code_numbers import number_of
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.micro import Cells, cells_of
from ingot.codegen.llvm.types import F32, I64, vector
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import CodeBlocks, Tile


def accumulate_codes(
    loops: Loops,
    codes: CodeBlocks,
    tile: Tile,
    cells: Cells,
    rows: Sequence[ir.Value],
    step: ir.Value,
    panel: ir.Value,
    depth: ir.Value,
) -> None:
    """Add `depth` terms to each accumulator: elements of a row, `step` apart, times those of a column in codes."""
    b = loops.b
    lanes = vector(F32, tile.lanes)

    def element(row: ir.Value, k: ir.Value) -> ir.Value:
        return b.load(b.gep(row, [b.mul(k, step)], source_etype=F32), typ=F32)

    def add(sums: Cells, place: int, words: Sequence[_Words], elements: Sequence[ir.Value]) -> None:
        spread = [loops.splat(one, tile.lanes) for one in elements]
        for index, word in enumerate(words):
            weights = word.number(place)
            for one, own in zip(spread, sums, strict=True):
                b.store(scalars.multiply_add(b, one, weights, b.load(own[index], typ=lanes)), own[index])

    with blocks_of(loops, codes, tile, panel, depth) as block:
        sums = cells_of(b, DType.FLOAT32, tile, len(cells))
        zeros = block.zeros()
        whole = b.lshr(block.count, I64(codes.each.bit_length() - 1))
        with loops.loop(I64(0), whole, 1) as group:
            block.fetch_ahead(group)
            words = _words(block, group, zeros)
            first = b.add(block.first, b.mul(group, I64(codes.each)))
            for place in range(codes.each):
                add(sums, place, words, [element(row, b.add(first, I64(place))) for row in rows])
        if codes.rest:
            first = b.add(block.first, b.mul(whole, I64(codes.each)))
            with b.if_then(b.icmp_signed("<", first, b.add(block.first, block.count))):
                words = _words(block, whole, zeros)
                for place in range(codes.each):
                    k = b.add(first, I64(place))
                    inside = b.icmp_signed("<", k, depth)
                    at, none = b.select(inside, k, first), ir.Constant(F32, 0.0)
                    add(sums, place, words, [b.select(inside, element(row, at), none) for row in rows])
        for index, scale in enumerate(block.scales()):
            for total, own in zip(cells, sums, strict=True):
                value = scalars.multiply_add(b, b.load(own[index], typ=lanes), scale, b.load(total[index], typ=lanes))
                b.store(value, total[index])


def unpack_codes(
    loops: Loops, codes: CodeBlocks, tile: Tile, panel: ir.Value, depth: ir.Value, unpacked: ir.Value
) -> None:
    """Store the numbers of a panel in codes as a panel of floats."""
    b = loops.b

    def store(k: ir.Value, place: int, words: Sequence[_Words], scales: Sequence[ir.Value]) -> None:
        row = b.mul(k, I64(tile.columns))
        for index, (word, scale) in enumerate(zip(words, scales, strict=True)):
            at = b.gep(unpacked, [b.add(row, I64(index * tile.lanes))], source_etype=F32)
            b.store(b.fmul(word.number(place), scale), at, align=4 * tile.lanes)

    with blocks_of(loops, codes, tile, panel, depth) as block:
        scales, zeros = block.scales(), block.zeros()
        whole = b.lshr(block.count, I64(codes.each.bit_length() - 1))
        with loops.loop(I64(0), whole, 1) as group:
            block.fetch_ahead(group)
            words = _words(block, group, zeros)
            first = b.add(block.first, b.mul(group, I64(codes.each)))
            for place in range(codes.each):
                store(b.add(first, I64(place)), place, words, scales)
        if codes.rest:
            first = b.add(block.first, b.mul(whole, I64(codes.each)))
            for place in range(codes.each - 1):
                k = b.add(first, I64(place))
                with b.if_then(b.icmp_signed("<", k, b.add(block.first, block.count))):
                    store(k, place, _words(block, whole, zeros), scales)


def _words(block: Block, group: ir.Value, zeros: Sequence[ir.Value]) -> list[_Words]:
    """A row of words, in vectors, with the zeros of their columns."""
    b, lanes = block.loops.b, block.tile.lanes
    return [
        _Words(block.loops, block.codes, lanes, word, b.lshr(word, splat_word(16, lanes)), zero)
        for word, zero in zip(block.words(group), zeros, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Words:
    """A vector of words of 32 bits, which have a code of each of several rows of `k`, and their upper halves."""

    loops: Loops
    codes: CodeBlocks
    lanes: int
    low: ir.Value
    high: ir.Value
    zero: ir.Value

    def number(self, place: int) -> ir.Value:
        """Code `place` of each word, or what it stands for, less its zero."""
        b, codes = self.loops.b, self.codes
        if codes.meaning is not None:
            moved = b.lshr(self.low, splat_word(codes.bits * place, self.lanes)) if place else self.low
            return number_of(b, self.loops.frame.target, codes.meaning, moved)
        half = codes.each // 2
        bit = codes.bits * (place % half)
        power = 23 - bit
        bits = b.and_(self.low if place < half else self.high, splat_word(((1 << codes.bits) - 1) << bit, self.lanes))
        bits = b.or_(bits, splat_word((127 + power) << 23, self.lanes))
        moved = b.bitcast(bits, vector(F32, self.lanes))
        by: ir.Value = scalars.number(DType.FLOAT32, float(1 << power), self.lanes)
        if codes.zeros is DType.FLOAT32:
            return b.fsub(b.fsub(moved, by), self.zero)
        if codes.zeros is None:
            by = scalars.number(DType.FLOAT32, float((1 << power) + codes.zero), self.lanes)
        else:
            by = b.fadd(by, self.zero)
        return b.fsub(moved, by)
