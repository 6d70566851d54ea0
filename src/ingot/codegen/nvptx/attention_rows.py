"""Rows of attention, whatever multiplies: which keys they see, an online softmax, and what is stored.

Scores stay in the registers of their threads. A thread has a part of some rows of the tile; the threads that share a
row are of one warp. Where there are few rows, blocks divide the keys, and store what they have read, for `finish` to
add in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.share import larger, smaller, up
from ingot.codegen.llvm.types import F32, I1, I32, I64, stack_slot, vector
from ingot.codegen.nvptx.grid import exchanged, register
from ingot.codegen.nvptx.hidden_keys import Span, parts_of
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.codegen.nvptx.sums import SPLITS
from ingot.codegen.nvptx.warp_tiles import maximum, power_of_two
from ingot.loops.ir import Attention, Var, extent
from ingot.schedule.gpu_attention import SCALED, scaled_sum

SUM, READ, TOTAL = "sum", "read", "total"
"""The locals of the expressions of attention: see `Attention`."""

LOG2_E = 1.4426950408889634
LOW = float("-inf")


class Softmax(ThreadLoops):
    """What both functions know: the axes, the exponential, and the epilogue."""

    def __init__(self, b: Builder, frame: Frame, nest: Attention) -> None:
        super().__init__(b, frame)
        self.nest = nest
        size = frame.size
        self.batch, self.rows = size(extent(nest.batch)), size(extent(nest.m))
        self.columns, self.depth, self.keys = (size(var.extent) for var in (nest.n, nest.k, nest.t))
        self.score, self.scale = nest.score, None
        if nest.block == SCALED:
            scaled = scaled_sum(nest.score)
            assert scaled is not None
            factor = self.scalar(scaled.factor)
            self.score = scaled.sum
            self.scale = b.fdiv(F32(1.0), factor) if scaled.divides else factor

    def powers(self, scores: Sequence[ir.Value], shift: ir.Value) -> list[ir.Value]:
        """The exponentials of scores less a shift; of sums that are yet to be scaled, in one step with that.

        That a shift is rounded once it is scaled is no error: it is the same for all weights of a row.
        """
        b = self.b
        if self.scale is None:
            return [self.power(b.fsub(score, shift)) for score in scores]
        factor = b.fmul(self.scale, F32(LOG2_E))
        below = b.fneg(b.fmul(shift, factor))
        return [power_of_two(b, scalars.multiply_add(b, score, factor, below)) for score in scores]

    def power(self, x: ir.Value) -> ir.Value:
        """The exponential of a difference of scores."""
        return power_of_two(self.b, self.b.fmul(x, F32(LOG2_E)))

    def shift(self, greatest: ir.Value) -> ir.Value:
        """What is taken off scores: the greatest of them, but where all are minus infinity."""
        b = self.b
        return b.select(b.fcmp_ordered("==", greatest, F32(LOW)), F32(0.0), greatest)

    def end(self, read: ir.Value, total: ir.Value) -> None:
        """The epilogue of the weighted sum of values, or of a vector of them."""
        self._known = {}
        self.locals = {READ: read, TOTAL: total}
        self.statements(self.nest.body)
        self._known = {}

    def partial(self, place: ir.Value, row: ir.Value) -> tuple[ir.Value, Callable[[ir.Value], ir.Value]]:
        """The greatest score and the total of a part of the keys, side by side, and the sum of values of a column.

        `place` is that of the part and the batch together.
        """
        b = self.b
        line = b.add(b.mul(place, self.rows), row)
        sums, both = (self.frame.buffers[buffer] for buffer in self.nest.scratch)
        start = b.mul(line, self.columns)
        return (
            b.gep(both, [b.mul(line, I64(2))], source_etype=F32),
            lambda column: b.gep(sums, [b.add(start, column)], source_etype=F32),
        )


def emit_finish(b: Builder, frame: Frame, nest: Attention) -> None:
    """The parts of all blocks added, an element for each thread, with their epilogue."""
    softmax = Softmax(b, frame, nest)
    pair = vector(F32, 2)
    with softmax.loop(*softmax.strided(frame.size(extent((*nest.batch, *nest.m, nest.n))))) as number:
        line = b.sdiv(number, softmax.columns)
        place, row = b.sdiv(line, softmax.rows), b.srem(line, softmax.rows)
        column = b.srem(number, softmax.columns)
        greatest, total, read = (stack_slot(b, F32) for _ in range(3))
        for cell, start in ((greatest, LOW), (total, 0.0), (read, 0.0)):
            b.store(F32(start), cell)
        for is_last in (False, True):
            with b.counted(I64(0), SPLITS, I64(1)) as split:
                both, sums = softmax.partial(b.add(b.mul(split, softmax.batch), place), row)
                parts = b.load(both, pair, 8)
                most = b.extract_element(parts, I32(0))
                if not is_last:
                    b.store(maximum(b, b.load(greatest, F32), most), greatest)
                    continue
                factor = softmax.power(b.fsub(most, softmax.shift(b.load(greatest, F32))))
                for cell, part in ((total, b.extract_element(parts, I32(1))), (read, b.load(sums(column), F32))):
                    b.store(b.fadd(b.load(cell, F32), b.fmul(part, factor)), cell)
        softmax.unflatten((*nest.batch, *nest.m, nest.n), number)
        softmax.end(b.load(read, F32), b.load(total, F32))


class AttentionRows(Softmax, ABC):
    """A tile of `height` rows, and `step` keys at a time, whoever brings and multiplies them."""

    height: int
    step: int
    apart: tuple[int, ...]
    """How far apart the threads that share a row are: powers of two."""
    together: int
    """Neighbours among the columns that a thread has."""
    neighbours: int
    """Neighbours among the keys that a thread has."""

    def __init__(self, b: Builder, frame: Frame, nest: Attention) -> None:
        super().__init__(b, frame, nest)
        self.thread = self.thread_of_block()
        self.first_row = b.mul(register(b, "ctaid.x"), I64(self.height))

    # --- what a subclass has

    @abstractmethod
    def row_places(self) -> list[ir.Value]:
        """The rows of a thread, in the tile."""

    @abstractmethod
    def key_places(self) -> list[ir.Value]:
        """The keys whose scores a thread has of each of its rows, in their tile."""

    @abstractmethod
    def column_places(self) -> list[ir.Value]:
        """The columns of a thread, `together` of them from each of these on."""

    def placed_rows(self) -> list[dict[Var, ir.Value]]:
        """The values of the axes of each row of the thread; past the last row, those of the last."""
        b, last = self.b, self.b.sub(self.rows, I64(1))
        placed = []
        for row in self.row_places():
            self.unflatten(self.nest.m, smaller(b, b.add(self.first_row, row), last))
            placed.append({var: self.variables[var] for var in self.nest.m})
        return placed

    def tiles_seen(self, split: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The tiles of keys of this block: a part of those that a row of it sees."""
        b = self.b
        count = up(b, self.keys, I64(self.step))
        conditions = parts_of(self.nest.score).conditions
        first: ir.Value = I64(0)
        last: ir.Value = count
        if conditions:
            cells = [stack_slot(b, I32) for _ in range(2)]
            b.store(b.trunc(count, I32), cells[0])
            b.store(I32(0), cells[1])
            rows = self.span_of_rows()
            lane = b.srem(self.thread, I64(32))
            with self.loop(lane, count, I64(32)) as tile:
                seen = b.not_(self.span(rows, tile).never(conditions))
                number = b.trunc(tile, I32)
                before, after = (b.load(cell, I32) for cell in cells)
                low = b.select(b.icmp_signed("<", number, before), number, before)
                over = b.add(number, I32(1))
                high = b.select(b.icmp_signed(">", over, after), over, after)
                b.store(b.select(seen, low, before), cells[0])
                b.store(b.select(seen, high, after), cells[1])
            low, high = (b.load(cell, I32) for cell in cells)
            for distance in (1, 2, 4, 8, 16):
                other = exchanged(b, low, I32(distance))
                low = b.select(b.icmp_signed("<", other, low), other, low)
                other = exchanged(b, high, I32(distance))
                high = b.select(b.icmp_signed(">", other, high), other, high)
            first, last = b.sext(low, I64), b.sext(high, I64)
        part = up(b, larger(b, b.sub(last, first), I64(0)), SPLITS)
        begin = b.add(first, b.mul(split, part))
        return begin, smaller(b, b.add(begin, part), last)

    def span_of_rows(self) -> dict[Var, tuple[ir.Value, ir.Value]]:
        """The least and the greatest value of each axis of rows, in the tile of rows."""
        b, m = self.b, self.nest.m
        spans: dict[Var, tuple[ir.Value, ir.Value]] = {
            var: (I64(0), b.sub(self.frame.size(var.extent), I64(1))) for var in m
        }
        if m:  # rows of one tile may differ in outer axes: they go through all of the innermost one then
            inner = self.frame.size(m[-1].extent)
            low = b.srem(self.first_row, inner) if len(m) > 1 else self.first_row
            high = b.add(low, I64(self.height - 1))
            wraps = b.icmp_signed(">=", high, inner)
            lowest = b.select(wraps, I64(0), low) if len(m) > 1 else low
            spans[m[-1]] = lowest, smaller(b, high, b.sub(inner, I64(1)))
        return spans

    def span(self, rows: dict[Var, tuple[ir.Value, ir.Value]], tile: ir.Value) -> Span:
        b = self.b
        first = b.mul(tile, I64(self.step))
        keys = first, smaller(b, b.add(first, I64(self.step - 1)), b.sub(self.keys, I64(1)))
        return Span(self, {**rows, self.nest.t: keys})

    # --- the softmax

    def weights(
        self, scores: Sequence[ir.Value], greatest: ir.Value, total: ir.Value
    ) -> tuple[list[ir.Value], ir.Value]:
        """The weights of the scores of a row, and by what those before shrink as the greatest score grows."""
        b = self.b
        before = b.load(greatest, F32)
        most = self._across(_tree(scores, lambda x, y: maximum(b, x, y)), lambda x, y: maximum(b, x, y))
        most = maximum(b, before, most)
        shift = self.shift(most)
        shrink = self._shrink(before, shift)
        weights = self.powers(scores, shift)
        b.store(most, greatest)
        b.store(b.fadd(b.fmul(b.load(total, F32), shrink), _tree(weights, b.fadd)), total)
        return weights, shrink

    def _shrink(self, before: ir.Value, shift: ir.Value) -> ir.Value:
        """By what weights shrink that were taken relative to `before`, both rounded as `powers` does."""
        b = self.b
        if self.scale is None:
            return self.power(b.fsub(before, shift))
        factor = b.fmul(self.scale, F32(LOG2_E))
        return power_of_two(b, b.fsub(b.fmul(before, factor), b.fmul(shift, factor)))

    def _across(self, value: ir.Value, both: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
        """What the threads have that share a row, reduced."""
        for distance in self.apart:
            value = both(value, exchanged(self.b, value, I32(distance)))
        return value

    # --- the end

    def finish_rows(
        self,
        placed: Sequence[dict[Var, ir.Value]],
        read: Sequence[Sequence[ir.Value]],
        greatest: Sequence[ir.Value],
        total: Sequence[ir.Value],
        place: ir.Value,
    ) -> None:
        """Store the rows of the thread, with their epilogue, or as a part of the keys."""
        columns, split = self.column_places(), register(self.b, "ctaid.z")
        for row, at, line, most, sums in zip(self.row_places(), placed, read, greatest, total, strict=True):
            self._finish_row(self.b.add(self.first_row, row), at, columns, line, most, sums, place, split)

    def _finish_row(
        self,
        row: ir.Value,
        placed: dict[Var, ir.Value],
        columns: Sequence[ir.Value],
        read: Sequence[ir.Value],
        greatest: ir.Value,
        total: ir.Value,
        place: ir.Value,
        split: ir.Value,
    ) -> None:
        b, together = self.b, self.together
        whole_total = self._across(b.load(total, F32), b.fadd)
        with b.if_then(b.icmp_signed("<", row, self.rows)):
            self.variables.update(placed)
            with b.if_else(b.icmp_signed(">", SPLITS, I64(1))) as (divided, alone):
                with divided:
                    both, sums = self.partial(b.add(b.mul(split, self.batch), place), row)
                    with b.if_then(self._is_first_of_row()):
                        raw = b.load(greatest, F32)
                        most = raw if self.scale is None else b.fmul(raw, self.scale)
                        for number, value in enumerate((most, whole_total)):
                            b.store(value, b.gep(both, [I64(number)], source_etype=F32), 4)
                    for number, cell in enumerate(read):
                        column = b.add(columns[number // together], I64(number % together))
                        with b.if_then(b.icmp_signed("<", column, self.columns)):
                            b.store(b.load(cell, F32), sums(column), 4)
                with alone:
                    # a sum of nothing is zero, whatever it is divided by
                    none = b.icmp_signed("==", self.keys, I64(0))
                    self._store_row(columns, read, b.select(none, F32(1.0), whole_total))

    def _is_first_of_row(self) -> ir.Value:
        bits = sum(self.apart)
        if bits == 0:
            return I1(1)
        return self.b.icmp_signed("==", self.b.and_(self.thread, I64(bits)), I64(0))

    def _store_row(self, columns: Sequence[ir.Value], read: Sequence[ir.Value], total: ir.Value) -> None:
        """Store a row, as many neighbours at once as a thread has, where they are aligned."""
        b, nest, together = self.b, self.nest, self.together
        aligned = self.is_aligned(nest.body, nest.n, together)
        for number, first in enumerate(columns):
            own = [b.load(cell, F32) for cell in read[number * together : (number + 1) * together]]
            whole = b.and_(aligned, b.icmp_signed("<=", b.add(first, I64(together)), self.columns))
            with b.if_else(whole) as (at_once, singly):
                with at_once:
                    neighbours: ir.Value = ir.Constant(vector(F32, together), ir.Undefined)
                    for lane, value in enumerate(own):
                        neighbours = b.insert_element(neighbours, value, I32(lane))
                    self.variables[nest.n] = first
                    self._lane = Lane(nest.n, together, None)
                    self.end(neighbours, total)
                    self._lane = None
                with singly:
                    for lane, value in enumerate(own):
                        column = b.add(first, I64(lane))
                        with b.if_then(b.icmp_signed("<", column, self.columns)):
                            self.variables[nest.n] = column
                            self.end(value, total)


def _tree(values: Sequence[ir.Value], both: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    values = list(values)
    while len(values) > 1:
        pairs = [values[first : first + 2] for first in range(0, len(values), 2)]
        values = [both(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return values[0]
