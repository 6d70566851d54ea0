"""Tiles of an operand in shared memory: lines of it, copied by all threads of a block, 16 bytes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.share import larger, smaller
from ingot.codegen.llvm.types import I1, I32, I64, stack_slot, stored, vector, width
from ingot.codegen.nvptx.async_copy import copy_part
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.codegen.nvptx.warp_tiles import COPIED, at_byte
from ingot.loops.ir import Load, Scalar, Var


class SharedTile:
    """`lines` places of the axes `rows`, each of `elements` along an axis; zeros where there is none.

    A piece of 16 bytes of a line lies at `place(line, piece)` in `memory`. What is not a load of neighbours that are
    aligned is computed element by element.
    """

    def __init__(
        self,
        loops: ThreadLoops,
        threads: int,
        value: Scalar,
        rows: Sequence[Var],
        along: Var,
        shape: tuple[int, int],
        memory: ir.Value,
        place: Callable[[ir.Value, ir.Value], ir.Value],
    ) -> None:
        self.loops, self.threads, self.value, self.rows, self.along = loops, threads, value, rows, along
        self.lines, self.elements = shape
        self.memory, self.place = memory, place
        self.kind = stored(value.dtype)
        self.each = COPIED // width(value.dtype)
        self.pieces = -(-self.elements // self.each)
        size = loops.frame.size
        self.length = size(along.extent)
        self.count: ir.Value = I64(1)
        for var in rows:
            self.count = loops.b.mul(self.count, size(var.extent))
        self.aligned = self._is_aligned()

    def _is_aligned(self) -> ir.Value:
        """Whether every piece lies at a multiple of 16 bytes; false where a value is no load of neighbours."""
        value, b, size = self.value, self.loops.b, self.loops.frame.size
        if not isinstance(value, Load) or value.where or value.index.factor(self.along) != 1:
            return I1(0)
        if not all(isinstance(term, Var) for term, _ in value.index.terms):
            return I1(0)
        bits = size(value.index.offset)
        for term, factor in value.index.terms:
            if term is not self.along:
                bits = b.or_(bits, size(factor))
        return b.icmp_signed("==", b.and_(bits, I64(self.each - 1)), I64(0))

    def copy(self, first: ir.Value) -> None:
        """Begin to copy lines, from one on."""
        b = self.loops.b
        if self.aligned.number == 0:
            self._compute(first)
            return
        with b.if_else(self.aligned) as (at_once, singly):
            with at_once:
                self._copy_pieces(first)
            with singly:
                self._compute(first)

    def _copy_pieces(self, first: ir.Value) -> None:
        loops, b, value = self.loops, self.loops.b, self.value
        assert isinstance(value, Load)
        size, thread = loops.frame.size, loops.thread_of_block()
        total, last = self.lines * self.pieces, b.sub(self.count, I64(1))
        buffer = loops.frame.buffers[value.buffer]
        source: ir.Value | None = None
        for number in range(-(-total // self.threads)):
            if self.threads % self.pieces == 0:  # a thread has the same piece of all of its lines
                apart = self.threads // self.pieces
                line = b.add(b.sdiv(thread, I64(self.pieces)), I64(number * apart))
                piece = b.srem(thread, I64(self.pieces))
            else:
                apart = 0
                at = b.add(thread, I64(number * self.threads))
                line, piece = b.sdiv(at, I64(self.pieces)), b.srem(at, I64(self.pieces))
            row = b.add(first, line)
            if source is not None and apart and len(self.rows) == 1:  # one step further, of one product for all
                step = b.mul(size(value.index.factor(self.rows[0])), I64(apart))
                source = b.gep(source, [step], source_etype=self.kind)
            else:
                loops.variables[self.along] = b.mul(piece, I64(self.each))
                if len(self.rows) == 1:
                    loops.variables[self.rows[0]] = row
                else:
                    loops.unflatten(self.rows, smaller(b, row, last))
                source = b.gep(buffer, [loops.index(value.index)], source_etype=self.kind)
            count = b.select(b.icmp_signed("<=", row, last), self._bytes_left(piece), I32(0))
            to = at_byte(b, self.memory, self.place(line, piece))
            if (number + 1) * self.threads <= total:
                copy_part(b, to, source, COPIED, count)
            else:
                with b.if_then(b.icmp_signed("<", line, I64(self.lines))):
                    copy_part(b, to, source, COPIED, count)

    def _bytes_left(self, piece: ir.Value) -> ir.Value:
        """The bytes of a piece that are elements."""
        b, item = self.loops.b, width(self.value.dtype)
        left = b.mul(b.sub(self.length, b.mul(piece, I64(self.each))), I64(item))
        return b.trunc(smaller(b, larger(b, left, I64(0)), I64(COPIED)), I32)

    def _compute(self, first: ir.Value) -> None:
        """Store what each element is, sixteen bytes at once."""
        loops, b = self.loops, self.loops.b
        whole = vector(self.kind, self.each)
        total = self.lines * self.pieces
        last = b.sub(self.count, I64(1))
        zero = scalars.number(self.value.dtype, 0, 1)
        memory = stack_slot(b, whole, COPIED)
        with loops.loop(loops.thread_of_block(), I64(total), I64(self.threads)) as at:
            line, piece = b.sdiv(at, I64(self.pieces)), b.srem(at, I64(self.pieces))
            row, column = b.add(first, line), b.mul(piece, I64(self.each))
            loops.unflatten(self.rows, smaller(b, row, last))
            with loops.loop(I64(0), I64(self.each), I64(1)) as number:
                here = b.add(column, number)
                inside = b.and_(b.icmp_signed("<=", row, last), b.icmp_signed("<", here, self.length))
                cell = b.gep(memory, [number], source_etype=self.kind)
                b.store(zero, cell)
                with b.if_then(inside):
                    loops.variables[self.along] = here
                    loops._known = {}
                    b.store(loops.scalar(self.value), cell)
                    loops._known = {}
            b.store(b.load(memory, whole, COPIED), at_byte(b, self.memory, self.place(line, piece)), COPIED)
