"""Panels of codes of few bits, as kernels walk through them: blocks, and in each scales, zeros and words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.share import smaller, up
from ingot.codegen.llvm.types import F32, I8, I32, I64, PTR, vector
from ingot.dataclass import dataclass
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


@dataclass(frozen=True, slots=True)
class Block:
    """Block `number` of a panel, which begins at an address: rows `first` on of `k`, `count` of them."""

    loops: Loops
    codes: CodeBlocks
    tile: Tile
    start: ir.Value
    number: ir.Value
    first: ir.Value
    count: ir.Value

    def scales(self) -> list[ir.Value]:
        """The scales of columns, in vectors."""
        return [self._vector(4 * index * self.tile.lanes, F32, 4) for index in range(self.tile.vectors)]

    def zeros(self) -> list[ir.Value]:
        """The zeros of columns as floats, in vectors."""
        codes, tile = self.codes, self.tile
        if codes.zeros is None:
            return [scalars.number(DType.FLOAT32, float(codes.zero), tile.lanes)] * tile.vectors
        if codes.zeros is DType.UINT8:
            return [self.loops.b.uitofp(small, vector(F32, tile.lanes)) for small in self.byte_zeros()]
        return [self._vector(4 * (tile.columns + index * tile.lanes), F32, 4) for index in range(tile.vectors)]

    def byte_zeros(self) -> list[ir.Value]:
        """The zeros of columns that are bytes, in vectors."""
        tile = self.tile
        return [self._vector(4 * tile.columns + index * tile.lanes, I8, 1) for index in range(tile.vectors)]

    def words(self, group: ir.Value) -> list[ir.Value]:
        """A row of words, in vectors."""
        b, tile = self.loops.b, self.tile
        begin = b.add(b.mul(group, I64(4 * tile.columns)), I64(self.codes.head(tile.columns)))
        kind = vector(I32, tile.lanes)
        return [
            b.load(b.gep(self.start, [b.add(begin, I64(4 * index * tile.lanes))], source_etype=I8), typ=kind, align=4)
            for index in range(tile.vectors)
        ]

    def fetch_ahead(self, group: ir.Value) -> None:
        """Prefetch what is read after some more blocks: wherever that is, a prefetch does no harm.

        It helps who computes long enough between two lines; who does not only keeps the hardware from prefetching.
        """
        b, columns = self.loops.b, self.tile.columns
        begin = b.add(b.mul(group, I64(4 * columns)), I64(self.codes.head(columns) + _AHEAD))
        for line in range(0, 4 * columns, _LINE):
            place = b.gep(self.start, [b.add(begin, I64(line))], source_etype=I8)
            for_reading, keep, of_memory = I32(0), I32(3), I32(1)
            scalars.intrinsic(b, "prefetch", ir.VoidType(), [place, for_reading, keep, of_memory], PTR)

    def _vector(self, offset: int, kind: ir.Type, align: int) -> ir.Value:
        b = self.loops.b
        return b.load(b.gep(self.start, [I64(offset)], source_etype=I8), typ=vector(kind, self.tile.lanes), align=align)


@contextmanager
def blocks_of(loops: Loops, codes: CodeBlocks, tile: Tile, panel: ir.Value, depth: ir.Value) -> Iterator[Block]:
    """A loop over the blocks of a panel; its body is emitted meanwhile."""
    b = loops.b
    if codes.block == 0:
        yield Block(loops, codes, tile, panel, I64(0), I64(0), depth)
        return
    size = codes.head(tile.columns) + codes.block // codes.each * 4 * tile.columns
    with loops.loop(I64(0), up(b, depth, I64(codes.block)), 1) as number:
        first = b.mul(number, I64(codes.block))
        count = smaller(b, b.sub(depth, first), I64(codes.block))
        start = b.gep(panel, [b.mul(number, I64(size))], source_etype=I8)
        yield Block(loops, codes, tile, start, number, first, count)


def splat_word(number: int, lanes: int) -> ir.Value:
    """A word in every lane."""
    number -= (number >> 31) << 32
    return ir.Constant(vector(I32, lanes), [number] * lanes if lanes > 1 else number)
