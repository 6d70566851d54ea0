"""Sorted rows in LLVM: whole rows, or of the few first of many those that are below the last of them so far."""

from __future__ import annotations

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.candidates import BLOCK, Items
from ingot.codegen.llvm.emitter import Frame, NestEmitter
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.share import Share, Sharing, larger, part_of
from ingot.codegen.llvm.sorting import bits_of, item_type, key_of, keys_of, may_be_below, place_of, sort_function
from ingot.codegen.llvm.types import I32, I64, PTR, stack_slot, vector
from ingot.loops.ir import PLACE, Sort, extent
from ingot.schedule.sort import DIGIT
from ingot.schedule.work import LOOP_GRAIN

_FEW = 8
"""How many times longer a row is than what is asked of it from which on it is not sorted whole."""

_SHORT = 80
"""Elements of a row up to which all are sorted."""

_CAPACITY = 4
"""How many times more items than are asked for there are before those that are too many are left out."""

_FEWEST = {64: 16, 128: 64}
"""Items of so many bits that there are at least before there is a last one to compare with."""

_MOST = (1 << 31) - 1
"""Elements of the longest row whose places are half an item."""


def _emit(b: Builder, frame: Frame, nest: Sort) -> None:
    """Rows, parallel."""
    size = frame.size
    many = size(nest.element.extent)
    with b.if_else(b.icmp_signed(">", many, I64(_MOST)), likely=False) as (long, usual):
        with long:
            b.store(I32(1), frame.state)
        with usual:
            emitter = _Emitter(b, frame, nest)
            low, high = part_of(b, size(extent(nest.rows)), frame.piece, frame.pieces)
            with emitter.loops.loop(low, high, 1, watched=True) as row:
                emitter.row(row)


def _share(b: Builder, sharing: Sharing, nest: Sort) -> Share:
    rows = sharing.size(extent(nest.rows))
    return Share(b.sdiv(b.mul(rows, sharing.size(nest.element.extent)), I64(LOOP_GRAIN >> 3)), rows)


class _Emitter:
    def __init__(self, b: Builder, frame: Frame, nest: Sort) -> None:
        self.b = b
        self.frame = frame
        self.nest = nest
        self.loops = Loops(b, frame)
        self.dtype = nest.x.dtype
        self.item = item_type(self.dtype)
        self.sort = sort_function(b.module, self.dtype, frame.target)
        self.many, self.wanted = frame.size(nest.element.extent), frame.size(nest.rank.extent)
        parts = zip(nest.scratch, (nest.line, nest.line, DIGIT * (bits_of(self.dtype) // 8)), strict=True)
        self.memory = [
            b.gep(frame.buffers[buffer], [b.mul(frame.thread, frame.size(line))], source_etype=I64)
            for buffer, line in parts
        ]
        self.items = Items(self.loops, self.dtype, self._keys, frame.target.vector)
        self.other = stack_slot(b, PTR)

    def row(self, number: ir.Value) -> None:
        """Sort a row, and store its places."""
        b, nest, loops = self.b, self.nest, self.loops
        loops.unflatten(nest.rows, number)
        loops.variables[nest.element] = I64(0)
        kind = ir.IntType(bits_of(self.dtype))
        row = b.gep(self.frame.buffers[nest.x.buffer], [loops.index(nest.x.index)], source_etype=kind)
        self.items.reset(self.memory[0])
        b.store(self.memory[1], self.other)
        many, wanted = self.many, self.wanted
        short = b.icmp_signed("<", many, I64(_SHORT))
        whole = b.or_(short, b.icmp_signed("<", many, b.mul(wanted, I64(_FEW))))
        with b.if_else(whole) as (all_, few):
            with all_:
                self.items.append_all(row, many)
            with few:
                self._choose(row)
        self._sort()
        self._store()

    def _choose(self, row: ir.Value) -> None:
        """The first items of a row, unsorted, and some others."""
        b, items = self.b, self.items
        capacity = larger(b, b.mul(self.wanted, I64(_CAPACITY)), I64(_FEWEST[self.item.width]))
        last = stack_slot(b, ir.IntType(bits_of(self.dtype)))

        def cut() -> None:
            self._sort()
            b.store(self.wanted, items.count)
            place = b.sub(self.wanted, I64(1))
            start = b.load(items.start, typ=PTR)
            worst = b.load(b.gep(start, [place], source_etype=self.item), typ=self.item, align=8)
            b.store(key_of(b, worst, self.dtype), last)

        def limit() -> ir.Value:
            return b.load(last, typ=ir.IntType(bits_of(self.dtype)))

        def may_be(x: ir.Value) -> ir.Value:
            limits = self.loops.splat(limit(), BLOCK)
            return may_be_below(b, x, limits, self.dtype, descending=self.nest.descending)

        with b.if_then(b.icmp_signed(">", self.wanted, I64(0))):
            items.append_all(row, capacity)
            cut()
            with (
                items.append_chosen(row, capacity, self.many, may_be, lambda key: b.icmp_signed("<", key, limit())),
                b.if_then(b.icmp_signed(">=", b.load(items.count, typ=I64), capacity)),
            ):
                cut()

    def _sort(self) -> None:
        """Sort the items; they may change places with the other memory."""
        b, items = self.b, self.items
        start, other = b.load(items.start, typ=PTR), b.load(self.other, typ=PTR)
        sorted_ = b.call(self.sort, [start, other, self.memory[2], b.load(items.count, typ=I64), self.wanted])
        same = b.icmp_unsigned("==", b.ptrtoint(sorted_, I64), b.ptrtoint(start, I64))
        b.store(b.select(same, other, start), self.other)
        b.store(sorted_, items.start)

    def _store(self) -> None:
        """The epilogue, for the places of the first items."""
        b, loops, nest = self.b, self.loops, self.nest
        start = b.load(self.items.start, typ=PTR)

        def places(first: ir.Value, lanes: int) -> ir.Value:
            where = b.gep(start, [first], source_etype=self.item)
            return place_of(b, b.load(where, typ=vector(self.item, lanes), align=8), self.dtype)

        if nest.rank.extent == 1:
            loops.locals = {PLACE: places(I64(0), 1)}
            loops.variables[nest.rank] = I64(0)
            loops.statements(nest.body)
            return
        lanes = max(1, self.frame.target.vector // 8)
        whole = b.mul(b.sdiv(self.wanted, I64(lanes)), I64(lanes))
        with loops.loop(I64(0), whole, lanes) as first:
            loops.locals = {PLACE: places(first, lanes)}
            loops.in_lanes(nest.body, Lane(nest.rank, lanes, None), first)
        with loops.loop(whole, self.wanted, 1) as first:
            loops.locals = {PLACE: places(first, 1)}
            loops.variables[nest.rank] = first
            loops.statements(nest.body)

    def _keys(self, x: ir.Value) -> ir.Value:
        return keys_of(self.b, x, self.dtype, descending=self.nest.descending)


EMITTER = NestEmitter(_emit, _share)
