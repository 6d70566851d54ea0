"""The GEMM micro-kernel of matrices: rows of the left operand times units of columns, 16 of each at once.

A tile has sums in registers of matrices, as many blocks of 16 rows as it has, times its vectors of columns. Rows are
loaded where they lie; fewer than 16, and what is left of their bytes, are copied first, with zeros behind.
"""

from __future__ import annotations

from collections.abc import Callable

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm import matrix_registers as registers
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.matrix_registers import REGISTERS, ROW
from ingot.codegen.llvm.types import I1, I8, I32, I64, PTR, stack_slot, vector
from ingot.dataclass import dataclass
from ingot.loops.ir import MATRIX_ROWS, Tile

_BYTES = vector(I8, ROW)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a left operand: the address of the first, the bytes from each to the next, and how many there are."""

    first: ir.Value
    apart: ir.Value
    count: ir.Value


@dataclass(frozen=True, slots=True)
class Gathered:
    """Rows of a left operand as matrices: after each other, for each 16 rows, all chunks of 64 bytes of these."""

    first: ir.Value
    chunks: ir.Value
    count: ir.Value

    def place(self, b: Builder, block: ir.Value, chunk: ir.Value) -> ir.Value:
        """The address of a chunk of 16 rows."""
        number = b.add(b.mul(block, self.chunks), chunk)
        return b.gep(self.first, [b.mul(number, I64(MATRIX_ROWS * ROW))], source_etype=I8)

    def row(self, b: Builder, row: ir.Value) -> ir.Value:
        """The address of the first 64 bytes of a row; the next ones are in the next matrix."""
        place = self.place(b, b.lshr(row, I64(4)), I64(0))
        return b.gep(place, [b.mul(b.and_(row, I64(MATRIX_ROWS - 1)), I64(ROW))], source_etype=I8)

    def part(self, b: Builder, row: ir.Value, count: ir.Value) -> Gathered:
        """So many rows, from one that begins a matrix on."""
        return Gathered(self.place(b, b.lshr(row, I64(4)), I64(0)), self.chunks, count)


class MatrixSums:
    """Sums of the tiles of a product, stored at `sums`: row by row, the vectors of each side by side."""

    def __init__(self, loops: Loops, tile: Tile, sums: ir.Value) -> None:
        assert tile.of_matrices
        self._loops = loops
        self._b: Builder = loops.b
        self._tile = tile
        self._sums = sums
        self._blocks = tile.rows // MATRIX_ROWS
        free = range(self._blocks * tile.vectors, REGISTERS)
        few = min(self._blocks, tile.vectors)  # of this operand all are held, of the other one at a time
        self._held, self._passing = free[:few], free[few:]
        self._copies = [stack_slot(self._b, ir.ArrayType(I8, MATRIX_ROWS * ROW), ROW) for _ in range(self._blocks)]

    def of_rows(self, rows: Rows, depth: ir.Value, panel: ir.Value) -> None:
        """Sum rows of `depth` bytes where they lie."""
        b, blocks = self._b, self._blocks
        whole, rest = b.lshr(depth, I64(6)), b.and_(depth, I64(ROW - 1))
        with b.if_else(b.icmp_signed("==", rows.count, I64(self._tile.rows))) as (full, part):
            with full:
                self._sum(rows, blocks, whole, rest, panel, None)
            with part:
                self._by_blocks(
                    rows.count,
                    lambda count: self._sum(
                        rows, count, whole, rest, panel, b.sub(rows.count, I64((count - 1) * MATRIX_ROWS))
                    ),
                )

    def of_gathered(self, rows: Gathered, panel: ir.Value) -> None:
        """Sum rows that were gathered."""
        self._by_blocks(rows.count, lambda count: self._sum_gathered(rows, count, panel))

    def _by_blocks(self, rows: ir.Value, sum_: Callable[[int], None]) -> None:
        """Sum as many blocks as there are rows for."""
        b = self._b
        done = b.append_basic_block("summed")
        for count in range(self._blocks, 0, -1):
            if count > 1:
                here, fewer = b.append_basic_block(f"blocks{count}"), b.append_basic_block("fewer")
                b.cbranch(b.icmp_signed(">", rows, I64((count - 1) * MATRIX_ROWS)), here, fewer)
                b.position_at_end(here)
            sum_(count)
            b.branch(done)
            b.position_at_end(fewer if count > 1 else done)

    def _sum(
        self, rows: Rows, count: int, whole: ir.Value, rest: ir.Value, panel: ir.Value, last: ir.Value | None
    ) -> None:
        """Sum `count` blocks: `whole` chunks of their rows and `rest` bytes; the last has `last` rows, if fewer."""
        b, loop = self._b, self._loops.loop
        self._clear(count)

        def direct(block: int, register: int, chunk: ir.Value) -> None:
            registers.load(b, register, self._place(rows, block, I64(0), chunk), rows.apart)

        def copied(block: int, register: int, chunk: ir.Value, bytes_: ir.Value) -> None:
            few = last is not None and block == count - 1
            lines = last if few and last is not None else I64(MATRIX_ROWS)
            self._copy(rows, block, chunk, lines, bytes_)
            registers.load(b, register, self._copies[block], I64(ROW))

        def loaded(block: int, register: int, chunk: ir.Value) -> None:
            if last is not None and block == count - 1:
                copied(block, register, chunk, I64(ROW))
            else:
                direct(block, register, chunk)

        with loop(I64(0), whole, 1) as chunk:
            self._add(count, chunk, panel, lambda block, register: loaded(block, register, chunk))
        if rest.number != 0:
            with b.if_then(b.icmp_signed(">", rest, I64(0))):
                self._add(count, whole, panel, lambda block, register: copied(block, register, whole, rest))
        self._store(count)

    def _sum_gathered(self, rows: Gathered, count: int, panel: ir.Value) -> None:
        """Sum `count` blocks of rows."""
        b = self._b
        self._clear(count)
        with self._loops.loop(I64(0), rows.chunks, 1) as chunk:
            places = [rows.place(b, I64(block), chunk) for block in range(count)]
            self._add(count, chunk, panel, lambda block, register: registers.load(b, register, places[block], I64(ROW)))
        self._store(count)

    def _clear(self, count: int) -> None:
        for block in range(count):
            for index in range(self._tile.vectors):
                registers.zero(self._b, self._at(block, index))

    def _store(self, count: int) -> None:
        b, apart = self._b, I64(self._tile.vectors * ROW)
        for block in range(count):
            for index in range(self._tile.vectors):
                offset = (block * MATRIX_ROWS * self._tile.vectors + index) * ROW
                registers.store(b, self._at(block, index), b.gep(self._sums, [I64(offset)], source_etype=I8), apart)

    def _add(self, count: int, chunk: ir.Value, panel: ir.Value, load: Callable[[int, int], None]) -> None:
        """Add the products of a chunk of `count` blocks of rows."""
        b, tile, dot = self._b, self._tile, self._tile.dot
        assert dot is not None
        start = b.mul(chunk, I64(dot.units * tile.columns))

        def load_columns(index: int, register: int) -> None:
            place = b.gep(panel, [b.add(start, I64(index * MATRIX_ROWS))], source_etype=I32)
            registers.load(b, register, place, I64(4 * tile.columns))

        if self._blocks <= tile.vectors:
            for block in range(count):
                load(block, self._held[block])
            for index in range(tile.vectors):
                columns = self._passing[index % len(self._passing)]
                load_columns(index, columns)
                for block in range(count):
                    registers.multiply(b, dot, self._at(block, index), self._held[block], columns)
            return
        for index in range(tile.vectors):
            load_columns(index, self._held[index])
        for block in range(count):
            lines = self._passing[block % len(self._passing)]
            load(block, lines)
            for index in range(tile.vectors):
                registers.multiply(b, dot, self._at(block, index), lines, self._held[index])

    def _at(self, block: int, index: int) -> int:
        """The register with the sums of a block of rows and a vector of columns."""
        return block * self._tile.vectors + index

    def _place(self, rows: Rows, block: int, line: ir.Value, chunk: ir.Value) -> ir.Value:
        b = self._b
        row = b.mul(b.add(line, I64(block * MATRIX_ROWS)), rows.apart)
        return b.gep(rows.first, [b.add(row, b.mul(chunk, I64(ROW)))], source_etype=I8)

    def _copy(self, rows: Rows, block: int, chunk: ir.Value, lines: ir.Value, bytes_: ir.Value) -> None:
        """Copy so many bytes of so many rows of a block, from a chunk on; zeros come behind them."""
        b = self._b
        with self._loops.loop(I64(0), lines, 1) as line:
            place = b.gep(self._copies[block], [b.mul(line, I64(ROW))], source_etype=I8)
            b.store(read_bytes(b, self._place(rows, block, line, chunk), bytes_), place, align=ROW)


def read_bytes(b: Builder, place: ir.Value, count: ir.Value) -> ir.Value:
    """A row of so many bytes, from 1 to 64, that may lie anywhere, with zeros behind the last."""
    if count.number == ROW:
        return b.load(place, typ=_BYTES, align=1)
    bits = b.lshr(I64(-1), b.sub(I64(ROW), count))
    mask = b.bitcast(bits, vector(I1, ROW))
    return scalars.intrinsic(b, "masked.load", _BYTES, [place, I32(1), mask, ir.Constant(_BYTES, None)], _BYTES, PTR)


def copy_run(loops: Loops, source: ir.Value, target: ir.Value, count: ir.Value, apart: int = ROW) -> None:
    """Copy so many bytes, and zeros up to a multiple of 64; 64 bytes each to places `apart` bytes from each other."""
    b = loops.b
    whole = b.lshr(count, I64(6))
    with loops.loop(I64(0), whole, 1) as number:
        value = read_bytes(b, b.gep(source, [b.mul(number, I64(ROW))], source_etype=I8), I64(ROW))
        b.store(value, b.gep(target, [b.mul(number, I64(apart))], source_etype=I8), align=4)
    rest = b.and_(count, I64(ROW - 1))
    with b.if_then(b.icmp_signed(">", rest, I64(0))):
        value = read_bytes(b, b.gep(source, [b.mul(whole, I64(ROW))], source_etype=I8), rest)
        b.store(value, b.gep(target, [b.mul(whole, I64(apart))], source_etype=I8), align=4)
