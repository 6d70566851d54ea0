"""Loops in LLVM over rows in which something is found, marked, or looked up, in less time than each element takes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.byte_table import BYTES, ByteTable, looked_up
from ingot.codegen.llvm.expressions import Expressions
from ingot.codegen.llvm.first_place import FirstPlace
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.marked_row import MarkedRow
from ingot.codegen.llvm.types import I1, I8, I16, I32, I64, PTR, lane_numbers, stack_slot
from ingot.loops.ir import For, Statement

_SOUGHT = 4
"""Vectors in which a condition is sought at once: the bits of 16 lanes each fill a word."""


class SpecialRows(Expressions):
    """Emits loops, and those over rows that are made in a way of their own."""

    @abstractmethod
    def statements(self, statements: Sequence[Statement]) -> None:
        """Statements one after another."""

    @contextmanager
    def loop(self, low: ir.Value, high: ir.Value, step: int, watched: bool = False) -> Iterator[ir.Value]:
        """A loop from `low` while below `high`; what is emitted while it is open is its body.

        If it is `watched`, every iteration checks whether the run is cancelled.
        """
        with self.b.counted(low, high, I64(step), self._is_wanted if watched else None) as index:
            known = dict(self._known)
            yield index
            self._known = known

    def _is_wanted(self) -> ir.Value:
        """Whether the run is not cancelled, which other threads may do at any time."""
        word = self.b.gep(self.frame.state, [I64(1)], source_etype=I32)
        return self.b.icmp_signed("==", self.b.load_atomic(word, "monotonic", 4, typ=I32), I32(0))

    def _mark(self, row: MarkedRow, low: ir.Value, high: ir.Value) -> None:
        """Store what a row has at one place, if that is from `low` to before `high`."""
        b, var = self.b, row.filling.var
        place = self.scalar(row.place)
        along = b.sub(place if place.type == I64 else b.sext(place, I64), self._sum(row.position.index, var))
        with b.if_then(b.icmp_unsigned("<", b.sub(along, low), b.sub(high, low))):
            known = dict(self._known)
            self.variables[var] = along
            self.statements((row.mark,))
            self._known = known

    def _by_table(self, loop: For, table: ByteTable, low: ir.Value, high: ir.Value, lanes: int) -> None:
        """A loop over bytes that looks up the results, which it computes for all bytes first."""
        b, store = self.b, table.store
        known = dict(self._known)
        whole, vector_of_bytes = 4 * BYTES, ir.VectorType(I8, BYTES)
        memory = stack_slot(b, ir.VectorType(I8, whole))
        with self.loop(I64(0), I64(whole), lanes) as code:
            codes = b.add(self.splat(b.trunc(code, I8), lanes), lane_numbers(I8, lanes))
            for load in table.loads:
                self._known[id(load)] = (load, codes)
            self._lane = Lane(loop.var, lanes, None, None)
            results = self._stored(self._in_lanes(self.scalar(store.value)), store.buffer.dtype)
            self._lane = None
            b.store(results, b.gep(memory, [code], source_etype=I8)).align = 1
        quarters = [
            b.load(b.gep(memory, [I64(start)], source_etype=I8), typ=ir.VectorType(I16, BYTES // 2))
            for start in range(0, whole, BYTES)
        ]
        for quarter in quarters:
            quarter.align = 1
        self._known = known

        def looked(index: ir.Value, mask: ir.Value | None) -> None:
            self.variables[loop.var] = index
            source, to = (
                b.gep(self.frame.buffers[buffer], [self._base(place)], source_etype=I8)
                for buffer, place in ((table.loads[0].buffer, table.loads[0].index), (store.buffer, store.index))
            )
            if mask is None:
                codes = b.load(source, typ=vector_of_bytes)
                codes.align = 1
                b.store(looked_up(b, quarters, codes), to).align = 1
            else:
                arguments = [source, I32(1), mask, ir.Constant(vector_of_bytes, None)]
                part = self._masked("masked.load", vector_of_bytes, arguments, vector_of_bytes, PTR)
                arguments = [looked_up(b, quarters, part), to, I32(1), mask]
                self._masked("masked.store", ir.VoidType(), arguments, vector_of_bytes, PTR)

        end = b.add(low, b.mul(b.sdiv(b.sub(high, low), I64(BYTES)), I64(BYTES)))
        with self.loop(low, end, BYTES) as index:
            looked(index, None)
        with b.if_then(b.icmp_signed(">", high, end)):
            looked(end, self.lanes_below(b.sub(high, end), BYTES))

    def _find(self, loop: For, sought: FirstPlace, length: ir.Value, lanes: int) -> None:
        """A loop that finds the first place of a condition, some vectors at a time, and ends there.

        A processor foresees the end and goes on with what follows, which would otherwise wait for the extreme that is
        sought: no vector of places and no minimum of it is as quick, even of a short row.
        """
        b = self.b
        start, bits = stack_slot(b, I64), stack_slot(b, I64)
        b.store_local(I64(0), start)
        b.store_local(I64(0), bits)

        def is_sought() -> ir.Value:
            return b.icmp_signed("==", b.load_local(bits, typ=I64), I64(0))

        stride = lanes * _SOUGHT
        whole = b.mul(b.sdiv(length, I64(stride)), I64(stride))
        with b.counted(I64(0), whole, I64(stride), is_sought) as index:
            parts = [self._holding(loop, sought, index, lanes, part) for part in range(_SOUGHT)]
            b.store_local(reduce(b.or_, parts), bits)
            b.store_local(index, start)
        with b.if_then(is_sought()), b.counted(whole, length, I64(lanes), is_sought) as index:
            rest = self.lanes_below(b.sub(length, index), lanes)
            b.store_local(self._holding(loop, sought, index, lanes, 0, rest), bits)
            b.store_local(index, start)
        with b.if_then(b.not_(is_sought())):
            lane = scalars.intrinsic(b, "cttz", I64, [b.load_local(bits, typ=I64), I1(1)], I64)
            self.variables[loop.var] = b.add(b.load_local(start, typ=I64), lane)
            known = dict(self._known)
            cell, place = self.cells[sought.update.name], self.scalar(sought.place)
            self._known = known
            least = scalars.combined(b, sought.update.function, cell.dtype, [self._fetched(cell), place])
            b.store_local(self._stored(least, cell.dtype), cell.pointer)

    def _holding(
        self, loop: For, sought: FirstPlace, first: ir.Value, lanes: int, part: int, mask: ir.Value | None = None
    ) -> ir.Value:
        """A bit for each lane of one of the vectors from `first` on: whether the condition holds there."""
        b, known = self.b, dict(self._known)
        self._lane = Lane(loop.var, lanes, mask, None)
        self.variables[loop.var] = b.add(first, I64(part * lanes))
        holds = self._in_lanes(self.scalar(sought.condition))
        self._lane, self._known = None, known
        own = b.bitcast(holds if mask is None else b.and_(holds, mask), ir.IntType(lanes))
        return b.shl(b.zext(own, I64), I64(part * lanes))
