"""Non-maximum suppression in LLVM: candidates by their scores, each compared with the boxes selected, in vectors."""

from __future__ import annotations

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.candidates import BLOCK, Items
from ingot.codegen.llvm.emitter import Frame, NestEmitter
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.share import Share, Sharing, part_of, smaller
from ingot.codegen.llvm.sorting import MOST_ROUNDS, item_type, keys_of, place_of, sort_function
from ingot.codegen.llvm.types import F32, I32, I64, PTR, stack_slot, vector
from ingot.dtypes import DType
from ingot.loops.ir import COUNT, PLACE, Suppress, extent
from ingot.schedule.sort import DIGIT
from ingot.schedule.suppress import NUMBERS
from ingot.schedule.work import LOOP_GRAIN

_SCORE = DType.FLOAT32
_AREA = 4
"""Which of the numbers of a selected box."""

_MORE = 4
"""Candidates beyond twice as many as are to be selected that are sorted first, where these are few."""


def _emit(b: Builder, frame: Frame, nest: Suppress) -> None:
    """Classes, parallel."""
    emitter = _Emitter(b, frame, nest)
    low, high = part_of(b, frame.size(extent((nest.batch, nest.group))), frame.piece, frame.pieces)
    with emitter.loops.loop(low, high, 1, watched=True) as number:
        emitter.group(number)


def _share(b: Builder, sharing: Sharing, nest: Suppress) -> Share:
    rows = sharing.size(extent((nest.batch, nest.group)))
    return Share(b.sdiv(b.mul(rows, sharing.size(nest.box.extent)), I64(LOOP_GRAIN >> 4)), rows)


class _Emitter:
    def __init__(self, b: Builder, frame: Frame, nest: Suppress) -> None:
        self.b = b
        self.frame = frame
        self.nest = nest
        self.loops = Loops(b, frame)
        self.lanes = frame.target.lanes(4)
        self.most, self.overlap = self.loops.scalar(nest.most), self.loops.scalar(nest.overlap)
        self.floor = None if nest.floor is None else self.loops.scalar(nest.floor)
        line, self.line = (frame.size(size) for size in nest.lines)
        *sorting, held = nest.scratch
        sizes = (line, line, I64(DIGIT * 4))
        self.memory = [
            b.gep(frame.buffers[buffer], [b.mul(frame.thread, size)], source_etype=I64)
            for buffer, size in zip(sorting, sizes, strict=True)
        ]
        start = b.mul(frame.thread, b.mul(self.line, I64(NUMBERS)))
        self.held = b.gep(frame.buffers[held], [start], source_etype=F32)
        self.items = Items(self.loops, _SCORE, self._keys, frame.target.vector)
        self.sort = sort_function(b.module, _SCORE, frame.target)
        self.selected, self.next, self.ready = (stack_slot(b, I64) for _ in range(3))
        self.start = stack_slot(b, PTR)

    def group(self, number: ir.Value) -> None:
        """The boxes selected of one class."""
        b, nest, loops = self.b, self.nest, self.loops
        loops.unflatten((nest.batch, nest.group), number)
        loops.variables[nest.box] = I64(0)
        row = b.gep(self.frame.buffers[nest.scores.buffer], [loops.index(nest.scores.index)], source_etype=I32)
        many = self.frame.size(nest.box.extent)
        self.items.reset(self.memory[0])
        with b.if_then(b.icmp_signed(">", self.most, I64(0))):
            self._candidates(row, many)
        count = b.load(self.items.count, typ=I64)
        few = b.add(b.mul(smaller(b, self.most, I64(MOST_ROUNDS)), I64(2)), I64(_MORE))
        self._sort(count, b.select(b.icmp_signed("<=", few, I64(MOST_ROUNDS)), smaller(b, few, count), count))
        b.store(I64(0), self.selected)
        b.store(I64(0), self.next)
        b.store(ir.Constant(vector(F32, self.lanes), None), self._number(_AREA, I64(0)), align=4)
        head, body, last, more, end = (
            b.append_basic_block(name) for name in ("candidates", "candidate", "last", "more", "suppressed")
        )
        b.branch(head)
        b.position_at_end(head)
        place, selected = b.load(self.next, typ=I64), b.load(self.selected, typ=I64)
        ready = b.load(self.ready, typ=I64)
        is_missing = b.icmp_signed("<", selected, self.most)
        b.cbranch(b.and_(b.icmp_signed("<", place, ready), is_missing), body, last)
        b.position_at_end(last)
        b.cbranch(b.and_(b.icmp_signed("<", ready, count), is_missing), more, end)
        b.position_at_end(more)
        self._sort(count, count)
        b.branch(head)
        b.position_at_end(body)
        start = b.load(self.start, typ=PTR)
        kind = item_type(_SCORE)
        box = place_of(b, b.load(b.gep(start, [place], source_etype=kind), typ=kind, align=8), _SCORE)
        b.store(b.add(place, I64(1)), self.next)
        numbers = self._box(box)
        with b.if_then(b.not_(self._overlaps(numbers, selected))):
            for which, value in enumerate(numbers):
                b.store(value, self._number(which, selected))
            after = b.add(selected, I64(1))
            b.store(ir.Constant(vector(F32, self.lanes), None), self._number(_AREA, after), align=4)
            loops.locals = {PLACE: box}
            loops.variables[nest.rank] = selected
            loops.statements(nest.selected)
            b.store(after, self.selected)
        b.branch(head)
        b.position_at_end(end)
        loops.locals = {COUNT: b.load(self.selected, typ=I64)}
        loops.statements(nest.counted)

    def _sort(self, count: ir.Value, wanted: ir.Value) -> None:
        """Sort the candidates, or the first of them; the others stay where they are if these are few."""
        b = self.b
        arguments = [b.load(self.items.start, typ=PTR), *self.memory[1:], count, wanted]
        b.store(b.call(self.sort, arguments), self.start)
        b.store(wanted, self.ready)

    def _candidates(self, row: ir.Value, many: ir.Value) -> None:
        """Append the boxes whose scores are above the floor, or all."""
        b, floor = self.b, self.floor
        if floor is None:
            self.items.append_all(row, many)
            return
        known = b.fcmp_ordered("ord", floor, floor)
        limit = b.select(known, self._keys(b.bitcast(floor, I32)), I32(-(1 << 31)))
        floors = self.loops.splat(floor, BLOCK)

        def may_be(x: ir.Value) -> ir.Value:
            return b.fcmp_ordered(">", b.bitcast(x, vector(F32, BLOCK)), floors)

        with self.items.append_chosen(row, I64(0), many, may_be, lambda key: b.icmp_signed("<", key, limit)):
            pass

    def _box(self, place: ir.Value) -> list[ir.Value]:
        """The low and high coordinates of a box, and its area."""
        b, nest, loops = self.b, self.nest, self.loops
        loops.variables[nest.box] = place
        numbers: list[ir.Value] = []
        for corner in range(4):
            loops.variables[nest.corner] = I64(corner)
            start = self.frame.buffers[nest.boxes.buffer]
            numbers.append(b.load(b.gep(start, [loops.index(nest.boxes.index)], source_etype=F32), typ=F32))
        low, high = [], []
        for first, second in zip(numbers[:2], numbers[2:], strict=True):
            if nest.centred:
                half = b.fmul(second, ir.Constant(F32, 0.5))
                low.append(b.fsub(first, half))
                high.append(b.fadd(first, half))
            else:
                low.append(self._smaller(first, second))
                high.append(self._larger(first, second))
        return [*low, *high, b.fmul(b.fsub(high[0], low[0]), b.fsub(high[1], low[1]))]

    def _overlaps(self, box: list[ir.Value], selected: ir.Value) -> ir.Value:
        """Whether a box shares too much with one that is selected, of which those behind the last have no area."""
        b, lanes = self.b, self.lanes
        own = [self.loops.splat(value, lanes) for value in box]
        threshold = self.loops.splat(self.overlap, lanes)
        zero = ir.Constant(vector(F32, lanes), None)
        bits = ir.IntType(lanes)

        def is_any(mask: ir.Value) -> ir.Value:
            return b.icmp_unsigned("!=", b.bitcast(mask, bits), ir.Constant(bits, 0))

        before, head, body, end = b.block, *(b.append_basic_block(name) for name in ("selected", "compare", "compared"))
        b.branch(head)
        b.position_at_end(head)
        place = b.phi(I64)
        b.cbranch(b.icmp_signed("<", place, selected), body, end)
        b.position_at_end(body)
        other = [b.load(self._number(which, place), typ=vector(F32, lanes), align=4) for which in range(NUMBERS)]
        sides = [
            b.fsub(self._smaller(own[2 + axis], other[2 + axis]), self._larger(own[axis], other[axis]))
            for axis in range(2)
        ]
        shared = b.fmul(*sides)
        union = b.fsub(b.fadd(other[_AREA], own[_AREA]), shared)
        # a quotient above the threshold has a dividend of at least their product, however that is rounded
        covered = b.fcmp_ordered("<=", b.fmul(threshold, union), shared)
        for value in (*sides, shared, union, own[_AREA], other[_AREA]):
            covered = b.and_(covered, b.fcmp_ordered(">", value, zero))
        divide, next_ = (b.append_basic_block(name) for name in ("divide", "next"))
        b.cbranch(is_any(covered), divide, next_)
        b.position_at_end(divide)
        exact = b.and_(covered, b.fcmp_ordered(">", b.fdiv(shared, union), threshold))
        b.cbranch(is_any(exact), end, next_)
        b.position_at_end(next_)
        place.add_incoming(I64(0), before)
        place.add_incoming(b.add(place, I64(lanes)), b.block)
        b.branch(head)
        b.position_at_end(end)
        result = b.phi(ir.IntType(1))
        result.add_incoming(ir.Constant(ir.IntType(1), 0), head)
        result.add_incoming(ir.Constant(ir.IntType(1), 1), divide)
        return result

    def _smaller(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return self.b.select(self.b.fcmp_ordered("<", x, y), x, y)

    def _larger(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return self.b.select(self.b.fcmp_ordered(">", x, y), x, y)

    def _number(self, which: int, place: ir.Value) -> ir.Value:
        """Where a number of a selected box is."""
        return self.b.gep(self.held, [self.b.add(self.b.mul(self.line, I64(which)), place)], source_etype=F32)

    def _keys(self, x: ir.Value) -> ir.Value:
        return keys_of(self.b, x, _SCORE, descending=False, negated=True)


EMITTER = NestEmitter(_emit, _share)
