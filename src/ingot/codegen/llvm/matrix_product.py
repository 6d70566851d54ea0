"""Contractions in LLVM: products of matrices, whose rows are gathered or lie at one distance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.matrix_micro import Gathered, MatrixSums, Rows, copy_run
from ingot.codegen.llvm.matrix_registers import ROW
from ingot.codegen.llvm.product_rows import ProductRows, nested
from ingot.codegen.llvm.share import larger, smaller, up
from ingot.codegen.llvm.types import I8, I64, PTR, stack_slot, vector
from ingot.loops.ir import GATHERED_ROWS, MATRIX_ROWS, extent


class MatrixProduct(ProductRows):
    """A contraction whose instructions multiply matrices."""

    def _emit_gathered(self, panels: ir.Value) -> None:
        """The columns of a piece, counted through all blocks of rows, each of which is gathered once."""
        b, tile, size = self.b, self.tile, self.frame.size
        height = I64(GATHERED_ROWS)
        blocks = up(b, size(self.m), height)
        low, high = self._part(b.mul(size(extent(self.product.batch)), blocks), panels)
        with b.if_then(b.icmp_signed("<", low, high)):
            last = b.add(b.sdiv(b.sub(high, I64(1)), panels), I64(1))
            with self.loops.loop(b.sdiv(low, panels), last, 1, watched=True) as step:
                batch, first = b.sdiv(step, blocks), b.mul(b.srem(step, blocks), height)
                self._bind(self.product.batch, batch)
                gathered = self._gather(first, smaller(b, b.sub(size(self.m), first), height))
                before = b.mul(step, panels)
                begin, end = larger(b, b.sub(low, before), I64(0)), smaller(b, b.sub(high, before), panels)
                with self.loops.loop(begin, end, 1, watched=True) as panel:
                    column = b.mul(panel, I64(self.columns))
                    columns = smaller(b, b.sub(size(self.n), column), I64(self.columns))
                    start = b.mul(b.add(b.mul(batch, panels), panel), size(self.depth * tile.columns))
                    base = self.frame.buffers[self.product.rhs.buffer]
                    packed = b.gep(base, [start], source_etype=self.panel_kind)
                    with self.loops.loop(I64(0), gathered.count, tile.rows) as line:
                        rows = smaller(b, b.sub(gathered.count, line), I64(tile.rows))
                        MatrixSums(self.loops, tile, self.sums).of_gathered(gathered.part(b, line, rows), packed)
                        self._finish(b.add(first, line), rows, column, columns)

    def _gather(self, first: ir.Value, count: ir.Value) -> Gathered:
        """Copy rows of the left operand as matrices, into the memory of this thread."""
        b, product, size = self.b, self.product, self.frame.size
        (buffer,) = product.scratch
        assert self.tile.dot is not None
        chunks = size(self.depth // self.tile.dot.units)
        own = b.mul(self.frame.thread, size(product.gathered_bytes))
        begin = b.gep(self.frame.buffers[buffer], [own], source_etype=I8)
        gathered = Gathered(begin, chunks, count)
        if product.has_plain_rows(self.tile.dot.rest):
            bytes_ = size(extent(product.k) * product.lhs.dtype.numpy.itemsize)
            with self._each_row(first, count) as row:
                source = self._row(*self._starts(), ())
                copy_run(self.loops, source, gathered.row(b, row), bytes_, MATRIX_ROWS * ROW)
            return gathered
        lines = b.gep(begin, [b.mul(chunks, I64(GATHERED_ROWS * ROW))], source_etype=I8)
        with b.if_else(b.icmp_signed("==", b.and_(self._run_bytes(), I64(ROW - 1)), I64(0))) as (whole, rest):
            with whole:
                self._gather_runs(first, count, gathered)
            with rest, self.loops.loop(I64(0), count, MATRIX_ROWS) as base:
                few = smaller(b, b.sub(count, base), I64(MATRIX_ROWS))
                self._gather_lines(b.add(first, base), few, lines)
                with self.loops.loop(I64(0), few, 1) as row:  # what was stored just now is not read yet
                    line = b.gep(lines, [b.mul(row, size(product.gathered_line))], source_etype=I8)
                    target = gathered.row(b, b.add(base, row))
                    copy_run(self.loops, line, target, b.mul(chunks, I64(ROW)), MATRIX_ROWS * ROW)
        return gathered

    def _gather_runs(self, first: ir.Value, count: ir.Value, gathered: Gathered) -> None:
        """Copy rows whose runs are multiples of 64 bytes, each to its places in matrices."""
        b = self.b
        cell = stack_slot(b, PTR)
        with self._each_row(first, count) as row:
            b.store(gathered.row(b, row), cell)
            with self._each_run() as (source, bytes_):
                target = b.load(cell, typ=PTR)
                copy_run(self.loops, source, target, bytes_, MATRIX_ROWS * ROW)
                b.store(b.gep(target, [b.mul(bytes_, I64(MATRIX_ROWS))], source_etype=I8), cell)

    def _gather_lines(self, first: ir.Value, count: ir.Value, lines: ir.Value) -> None:
        """Copy rows, each in a line of its own, with zeros behind."""
        b = self.b
        cell = stack_slot(b, PTR)
        units = b.mul(up(b, self._run_bytes(), I64(4)), I64(4))
        with self._each_row(first, count) as row:
            start = b.mul(row, self.frame.size(self.product.gathered_line))
            b.store(b.gep(lines, [start], source_etype=I8), cell)
            with self._each_run() as (source, bytes_):
                target = b.load(cell, typ=PTR)
                copy_run(self.loops, source, target, bytes_)
                b.store(b.gep(target, [units], source_etype=I8), cell)
            b.store(ir.Constant(vector(I8, ROW), None), b.load(cell, typ=PTR), align=4)

    def _run_bytes(self) -> ir.Value:
        """The bytes of a row that are neighbours."""
        return self.frame.size(self.product.k[-1].extent * self.product.lhs.dtype.numpy.itemsize)

    @contextmanager
    def _each_run(self) -> Iterator[tuple[ir.Value, ir.Value]]:
        """Loops over the runs of the current row: the address and the bytes of one; meanwhile their body is emitted."""
        start, where = self._starts()
        *outer, _ = self.product.k
        with nested(self.loops, self.frame, outer):
            yield self._row(start, where, outer), self._run_bytes()

    def _sum_matrices(self, row: ir.Value, rows: ir.Value, packed: ir.Value) -> None:
        """Sum a tile of rows that each lie in line, at one distance from each other."""
        product, size = self.product, self.frame.size
        self._bind(product.m, row)
        width_ = product.lhs.dtype.numpy.itemsize
        apart = product.lhs.index.factor(product.m[0]) if product.m else 0
        first = self._row(*self._starts(), ())
        lines = Rows(first, size(apart * width_), rows)
        MatrixSums(self.loops, self.tile, self.sums).of_rows(lines, size(extent(product.k) * width_), packed)
