"""Non-maximum suppression in LLVM: candidates by their scores, each compared with the boxes selected, in vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.candidates import BLOCK, Items
from ingot.codegen.llvm.emitter import Frame, NestEmitter
from ingot.codegen.llvm.lanes import count_of
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.share import Share, Sharing, part_of, smaller
from ingot.codegen.llvm.sorting import item_type, keys_of, place_of, sort_function
from ingot.codegen.llvm.types import F32, I32, I64, PTR, stack_slot, vector
from ingot.dtypes import DType
from ingot.loops.ir import COUNT, PLACE, Suppress, extent
from ingot.schedule.sort import DIGIT
from ingot.schedule.suppress import NUMBERS
from ingot.schedule.work import LOOP_GRAIN

_SCORE = DType.FLOAT32
_AREA = 4
"""Which of the numbers of a selected box."""

_FEW = 7
"""Boxes to be selected up to which as many candidates, and one more, are looked for before all are sorted."""


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
        self.selected, self.next, self.ready, self.wanted = (stack_slot(b, I64) for _ in range(4))
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
        is_few = b.icmp_signed("<=", self.most, I64(_FEW))
        b.store(b.select(is_few, b.add(self.most, I64(1)), many), self.wanted)
        self._sort(b.load(self.wanted, typ=I64))
        b.store(I64(0), self.selected)
        b.store(ir.Constant(vector(F32, self.lanes), None), self._number(_AREA, I64(0)), align=4)
        head, body, last, more, end = (
            b.append_basic_block(name) for name in ("candidates", "candidate", "last", "more", "suppressed")
        )
        b.branch(head)
        b.position_at_end(head)
        place, selected = b.load(self.next, typ=I64), b.load(self.selected, typ=I64)
        ready, count = b.load(self.ready, typ=I64), b.load(self.items.count, typ=I64)
        is_missing = b.icmp_signed("<", selected, self.most)
        b.cbranch(b.and_(b.icmp_signed("<", place, ready), is_missing), body, last)
        b.position_at_end(last)
        b.cbranch(b.and_(b.icmp_signed("<", ready, count), is_missing), more, end)
        b.position_at_end(more)
        self._leave_out(selected, ready, count)
        self._sort(b.load(self.wanted, typ=I64))
        b.store(many, self.wanted)
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

    def _sort(self, most: ir.Value) -> None:
        """Sort the candidates, or the first of them; the others stay where they are if these are few."""
        b, count = self.b, self.b.load(self.items.count, typ=I64)
        wanted = smaller(b, most, count)
        arguments = [b.load(self.items.start, typ=PTR), *self.memory[1:], count, wanted]
        b.store(b.call(self.sort, arguments), self.start)
        b.store(wanted, self.ready)
        b.store(I64(0), self.next)

    def _leave_out(self, selected: ir.Value, ready: ir.Value, count: ir.Value) -> None:
        """Leave the candidates that were compared out of the list, and those that overlap a box selected.

        Where many overlap, as of one object, few are left to be sorted, and vectors of candidates are compared at once.
        """
        b, lanes = self.b, self.lanes
        kind, bits = item_type(_SCORE), ir.IntType(lanes)
        start = b.load(self.items.start, typ=PTR)
        last = b.load(b.gep(b.load(self.start, typ=PTR), [b.sub(ready, I64(1))], source_etype=kind), typ=kind, align=8)
        kept, left = stack_slot(b, I64), stack_slot(b, I64)
        b.store(I64(0), kept)
        with b.counted(I64(0), count, I64(lanes)) as at:
            items = b.load(b.gep(start, [at], source_etype=kind), typ=vector(kind, lanes), align=8)
            is_later = b.icmp_signed(">", items, self.loops.splat(last, lanes))
            is_later = b.and_(is_later, self.loops.lanes_below(b.sub(count, at), lanes))
            places = b.select(is_later, place_of(b, items, _SCORE), ir.Constant(vector(I64, lanes), None))
            own = self._numbers(self._corners_of(places))
            b.store(b.zext(b.bitcast(is_later, bits), I64), left)
            with b.counted(I64(0), selected, I64(1)) as place:
                other = [
                    self.loops.splat(b.load(self._number(which, place), typ=F32), lanes) for which in range(NUMBERS)
                ]
                covered, exact = self._shares(own, other)
                both = b.zext(b.bitcast(b.and_(covered, exact()), bits), I64)
                b.store(b.and_(b.load(left, typ=I64), b.not_(both)), left)
            with b.counted(I64(0), I64(lanes), I64(1)) as lane:
                one = b.load(b.gep(start, [b.add(at, lane)], source_etype=kind), typ=kind, align=8)
                many = b.load(kept, typ=I64)
                b.store(one, b.gep(start, [many], source_etype=kind), align=8)
                b.store(b.add(many, b.and_(b.lshr(b.load(left, typ=I64), lane), I64(1))), kept)
        b.store(b.load(kept, typ=I64), self.items.count)

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

        def is_chosen(key: ir.Value) -> ir.Value:
            return b.icmp_signed("<", key, limit)

        with self.items.append_chosen(row, I64(0), many, may_be, is_chosen, is_exact=True):
            pass

    def _box(self, place: ir.Value) -> list[ir.Value]:
        """The low and high coordinates of a box, and its area."""
        return self._numbers([self._corner(place, corner) for corner in range(4)])

    def _corner(self, place: ir.Value, corner: int, lanes: int = 1) -> ir.Value:
        """A number of a box, and those that lie behind it."""
        b, nest, loops = self.b, self.nest, self.loops
        loops.variables[nest.box], loops.variables[nest.corner] = place, I64(corner)
        start = b.gep(self.frame.buffers[nest.boxes.buffer], [loops.index(nest.boxes.index)], source_etype=F32)
        return b.load(start, typ=vector(F32, lanes), align=4)

    def _corners_of(self, places: ir.Value) -> list[ir.Value]:
        """The four numbers of boxes at places, each as a vector."""
        b, lanes = self.b, self.lanes
        each = [b.extract_element(places, I32(lane)) if lanes > 1 else places for lane in range(lanes)]
        if lanes == 1 or self.nest.boxes.index.factor(self.nest.corner) != 1:
            numbers = [[self._corner(place, corner) for place in each] for corner in range(4)]
            return [self._packed(column) for column in numbers]
        parts = [self._corner(place, 0, 4) for place in each]
        while len(parts) > 1:
            width = 4 * lanes // len(parts)
            whole = ir.Constant(vector(I32, 2 * width), list(range(2 * width)))
            parts = [b.shuffle_vector(*pair, whole) for pair in zip(parts[::2], parts[1::2], strict=True)]
        columns = [list(range(corner, 4 * lanes, 4)) for corner in range(4)]
        return [b.shuffle_vector(parts[0], parts[0], ir.Constant(vector(I32, lanes), column)) for column in columns]

    def _packed(self, numbers: list[ir.Value]) -> ir.Value:
        """Numbers as a vector, or the only one."""
        if len(numbers) == 1:
            return numbers[0]
        packed: ir.Value = ir.Constant(vector(F32, len(numbers)), ir.Undefined)
        for lane, number in enumerate(numbers):
            packed = self.b.insert_element(packed, number, I32(lane))
        return packed

    def _numbers(self, corners: list[ir.Value]) -> list[ir.Value]:
        """The low and high coordinates of boxes, and their areas, from the four numbers that each has."""
        b, nest = self.b, self.nest
        lanes = count_of(corners[0])
        low, high = [], []
        for first, second in zip(corners[:2], corners[2:], strict=True):
            if nest.centred:
                half = b.fmul(second, self.loops.splat(ir.Constant(F32, 0.5), lanes))
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
        covered, is_above = self._shares(own, other)
        divide, next_ = (b.append_basic_block(name) for name in ("divide", "next"))
        b.cbranch(is_any(covered), divide, next_)
        b.position_at_end(divide)
        exact = b.and_(covered, is_above())
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

    def _shares(self, own: Sequence[ir.Value], other: Sequence[ir.Value]) -> tuple[ir.Value, Callable[[], ir.Value]]:
        """Where boxes may share too much with others; the function emits the division that says whether they do."""
        b = self.b
        threshold = self.loops.splat(self.overlap, self.lanes)
        zero = ir.Constant(vector(F32, self.lanes), None)
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
        return covered, lambda: b.fcmp_ordered(">", b.fdiv(shared, union), threshold)

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
