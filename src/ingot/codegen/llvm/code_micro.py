"""The GEMM micro-kernel of codes of few bits: unpacked in registers, summed block by block, and each block scaled.

A code is bits of a float's mantissa: with the exponent of 2 ** (23 - place) in front of it, where `place` is its lowest
bit, the float is that power plus the code. Subtracting the power plus the zero is exact, and leaves `code - zero`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.micro import Cells, cells_of
from ingot.codegen.llvm.share import smaller, up
from ingot.codegen.llvm.types import F32, I8, I32, I64, PTR, vector
from ingot.dtypes import DType
from ingot.loops.ir import CodeBlocks, Tile

_AHEAD = 5 << 10
"""Bytes that a panel is prefetched ahead: what a core reads while memory answers."""

_LINE = 64
"""Bytes of a cache line, at least."""


def panel_bytes(loops: Loops, codes: CodeBlocks, tile: Tile, depth: ir.Value) -> ir.Value:
    """The bytes of a panel of so many rows of `k`."""
    b = loops.b
    blocks = I64(1) if codes.block == 0 else up(b, depth, I64(codes.block))
    words = up(b, depth, I64(codes.each))
    return b.add(b.mul(blocks, I64(codes.head(tile.columns))), b.mul(words, I64(4 * tile.columns)))


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

    with _blocks(loops, codes, tile, panel, depth) as block:
        sums = cells_of(b, DType.FLOAT32, tile, len(cells))
        with loops.loop(I64(0), block.whole, 1) as group:
            block.fetch_ahead(group)
            words = block.words(group)
            first = b.add(block.first, b.mul(group, I64(codes.each)))
            for place in range(codes.each):
                add(sums, place, words, [element(row, b.add(first, I64(place))) for row in rows])
        if codes.rest:
            first = b.add(block.first, b.mul(block.whole, I64(codes.each)))
            with b.if_then(b.icmp_signed(">", b.sub(block.count, b.mul(block.whole, I64(codes.each))), I64(0))):
                words = block.words(block.whole)
                for place in range(codes.each):
                    k = b.add(first, I64(place))
                    inside = b.icmp_signed("<", k, depth)
                    at = b.select(inside, k, first)
                    none = ir.Constant(F32, 0.0)
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

    with _blocks(loops, codes, tile, panel, depth) as block:
        scales = block.scales()
        with loops.loop(I64(0), block.whole, 1) as group:
            block.fetch_ahead(group)
            words = block.words(group)
            first = b.add(block.first, b.mul(group, I64(codes.each)))
            for place in range(codes.each):
                store(b.add(first, I64(place)), place, words, scales)
        if codes.rest:
            first = b.add(block.first, b.mul(block.whole, I64(codes.each)))
            for place in range(codes.each - 1):
                k = b.add(first, I64(place))
                with b.if_then(b.icmp_signed("<", k, b.add(block.first, block.count))):
                    store(k, place, block.words(block.whole), scales)


@contextmanager
def _blocks(loops: Loops, codes: CodeBlocks, tile: Tile, panel: ir.Value, depth: ir.Value) -> Iterator[_Block]:
    """A loop over the blocks of a panel; its body is emitted meanwhile."""
    b = loops.b
    if codes.block == 0:
        yield _Block.at(loops, codes, tile, panel, I64(0), depth)
        return
    size = codes.head(tile.columns) + codes.block // codes.each * 4 * tile.columns
    with loops.loop(I64(0), up(b, depth, I64(codes.block)), 1) as number:
        first = b.mul(number, I64(codes.block))
        count = smaller(b, b.sub(depth, first), I64(codes.block))
        start = b.gep(panel, [b.mul(number, I64(size))], source_etype=I8)
        yield _Block.at(loops, codes, tile, start, first, count)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of a panel that begins at an address: rows `first` on of `k`, `count` of them.

    `whole` is how many rows of words there are that are full, and `zeros` what is subtracted from codes, in vectors.
    """

    loops: Loops
    codes: CodeBlocks
    tile: Tile
    start: ir.Value
    first: ir.Value
    count: ir.Value
    whole: ir.Value
    zeros: tuple[ir.Value, ...]

    @classmethod
    def at(
        cls, loops: Loops, codes: CodeBlocks, tile: Tile, start: ir.Value, first: ir.Value, count: ir.Value
    ) -> _Block:
        b = loops.b
        whole = b.lshr(count, I64(codes.each.bit_length() - 1))
        zeros: list[ir.Value] = []
        for index in range(tile.vectors):
            if codes.zeros is None:
                zeros.append(scalars.number(DType.FLOAT32, float(codes.zero), tile.lanes))
            elif codes.zeros is DType.UINT8:
                place = b.gep(start, [I64(4 * tile.columns + index * tile.lanes)], source_etype=I8)
                small = b.load(place, typ=vector(I8, tile.lanes), align=1)
                zeros.append(b.uitofp(small, vector(F32, tile.lanes)))
            else:
                place = b.gep(start, [I64(4 * (tile.columns + index * tile.lanes))], source_etype=I8)
                zeros.append(b.load(place, typ=vector(F32, tile.lanes), align=4))
        return cls(loops, codes, tile, start, first, count, whole, tuple(zeros))

    def scales(self) -> list[ir.Value]:
        b, tile = self.loops.b, self.tile
        return [
            b.load(
                b.gep(self.start, [I64(4 * index * tile.lanes)], source_etype=I8),
                typ=vector(F32, tile.lanes),
                align=4,
            )
            for index in range(tile.vectors)
        ]

    def words(self, group: ir.Value) -> list[_Words]:
        """A row of words, in vectors."""
        b, tile = self.loops.b, self.tile
        begin = b.add(b.mul(group, I64(4 * tile.columns)), I64(self.codes.head(tile.columns)))
        words = []
        for index, zero in enumerate(self.zeros):
            place = b.gep(self.start, [b.add(begin, I64(4 * index * tile.lanes))], source_etype=I8)
            word = b.load(place, typ=vector(I32, tile.lanes), align=4)
            high = b.lshr(word, _splat(16, tile.lanes))
            words.append(_Words(self.loops, self.codes, tile.lanes, word, high, zero))
        return words

    def fetch_ahead(self, group: ir.Value) -> None:
        """Prefetch what is read after some more blocks: wherever that is, a prefetch does no harm."""
        b, columns = self.loops.b, self.tile.columns
        begin = b.add(b.mul(group, I64(4 * columns)), I64(self.codes.head(columns) + _AHEAD))
        for line in range(0, 4 * columns, _LINE):
            place = b.gep(self.start, [b.add(begin, I64(line))], source_etype=I8)
            for_reading, keep, of_memory = I32(0), I32(3), I32(1)
            scalars.intrinsic(b, "prefetch", ir.VoidType(), [place, for_reading, keep, of_memory], PTR)


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
        """Code `place` of each word, less its zero."""
        b, codes = self.loops.b, self.codes
        half = codes.each // 2
        bit = codes.bits * (place % half)
        power = 23 - bit
        bits = b.and_(self.low if place < half else self.high, _splat(((1 << codes.bits) - 1) << bit, self.lanes))
        bits = b.or_(bits, _splat((127 + power) << 23, self.lanes))
        moved = b.bitcast(bits, vector(F32, self.lanes))
        by: ir.Value = scalars.number(DType.FLOAT32, float(1 << power), self.lanes)
        if codes.zeros is DType.FLOAT32:
            return b.fsub(b.fsub(moved, by), self.zero)
        if codes.zeros is None:
            by = scalars.number(DType.FLOAT32, float((1 << power) + codes.zero), self.lanes)
        else:
            by = b.fadd(by, self.zero)
        return b.fsub(moved, by)


def _splat(number: int, lanes: int) -> ir.Value:
    return ir.Constant(vector(I32, lanes), [number] * lanes if lanes > 1 else number)
