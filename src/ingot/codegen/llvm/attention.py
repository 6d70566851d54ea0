"""Attention in LLVM: an online softmax over blocks of scores, each computed by a GEMM in a tile of registers."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame, NestEmitter
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.math.exponential import exp_weight
from ingot.codegen.llvm.math.lanes import lanes_of
from ingot.codegen.llvm.micro import Cells, accumulate, cells_of
from ingot.codegen.llvm.narrow_micro import accumulate_narrow
from ingot.codegen.llvm.pair_micro import accumulate_pairs
from ingot.codegen.llvm.pair_pack import paired
from ingot.codegen.llvm.product import SUM
from ingot.codegen.llvm.share import Share, Sharing, larger, part_of, smaller, up
from ingot.codegen.llvm.transpose import transposed
from ingot.codegen.llvm.types import I16, I64, element, stack_slot, vector, width
from ingot.dtypes import DType
from ingot.loops.ir import (
    Attention,
    Index,
    Local,
    PairDot,
    Scalar,
    Store,
    Tile,
    Var,
    before_widening,
    extent,
    paired_load,
)
from ingot.schedule.tile import heights
from ingot.schedule.work import CONTRACTION_GRAIN, STACKS_PER_THREAD

READ, TOTAL = "read", "total"
"""The locals that hold the weighted sum of values and the sum of weights in the epilogue."""

_KEYS, _VALUES, _SCORES = 0, 1, 2
"""Which of the scratch buffers."""


def _emit(b: Builder, frame: Frame, nest: Attention) -> None:
    """Attention, parallel over tiles of rows; each thread packs keys and values into panels for the stacks it meets.

    The order in which a row is summed does not depend on how rows are shared.
    """
    _Emitter(b, frame, nest).emit()


def _share(b: Builder, sharing: Sharing, nest: Attention) -> Share:
    """How attention is divided: by stacks; where these are few, by tiles of rows too."""
    assert nest.tile is not None
    size, threads = sharing.size, sharing.threads
    stacks, rows = extent(nest.batch), extent(nest.m)
    tiles = up(b, size(rows), I64(nest.tile.rows))
    work = b.sdiv(size(stacks * rows * nest.t.extent * (nest.k.extent + nest.n.extent)), I64(CONTRACTION_GRAIN))
    wanted = up(b, b.mul(threads, I64(STACKS_PER_THREAD)), larger(b, size(stacks), I64(1)))
    return Share(work, b.mul(size(stacks), smaller(b, tiles, wanted)))


class _Emitter:
    def __init__(self, b: Builder, frame: Frame, nest: Attention) -> None:
        self.b = b
        self.frame = frame
        self.nest = nest
        self.loops = Loops(b, frame)
        assert nest.tile is not None
        self.tile = nest.tile
        self.kind = element(nest.dtype)
        self.lanes = vector(self.kind, self.tile.lanes)
        self.align = width(nest.dtype) * self.tile.lanes
        self.depth, self.keys, self.columns = (frame.size(var.extent) for var in (nest.k, nest.t, nest.n))
        self.panels = self._ceil(self.columns, self.tile.columns)
        self.of_scores, self.of_means = nest.dots
        self.key_rows = self.depth if self.of_scores is None else self._ceil(self.depth, 2)
        self.value_rows = self.keys if self.of_means is None else self._ceil(self.keys, 2)
        self.height = -(-self.tile.rows // self.tile.lanes) * self.tile.lanes
        rows = ir.ArrayType(self.kind, self.height)
        self.greatest, self.higher, self.total, self.scale = (stack_slot(b, rows, self.align) for _ in range(4))
        self.scratch = [self._own(which) for which in (_KEYS, _VALUES, _SCORES)]

    def emit(self) -> None:
        b, size, loop = self.b, self.frame.size, self.loops.loop
        nest = self.nest
        tiles = self._ceil(size(extent(nest.m)), self.tile.rows)
        total = b.mul(size(extent(nest.batch)), tiles)
        low, high = part_of(b, total, self.frame.piece, self.frame.pieces)
        with b.if_then(b.icmp_signed("<", low, high)):
            last = b.add(b.sdiv(b.sub(high, I64(1)), tiles), I64(1))
            with loop(b.sdiv(low, tiles), last, 1) as stack:
                self.loops.unflatten(nest.batch, stack)
                self._pack_keys()
                self._pack_values()
                before = b.mul(stack, tiles)
                begin = larger(b, b.sub(low, before), I64(0))
                with loop(begin, smaller(self.b, b.sub(high, before), tiles), 1, watched=True) as tile:
                    self._rows(b.mul(tile, I64(self.tile.rows)))

    # --- panels

    def _pack_keys(self) -> None:
        """Pack keys into panels: rows of `k`, as many keys in each as a tile has columns, zeros past the last."""
        b, nest, tile, loop = self.b, self.nest, self.tile, self.loops.loop
        row, value = nest.k, nest.keys
        full = self.depth
        if self.of_scores is not None:
            row, value = self._paired(nest.keys, nest.k, self.of_scores)
            full = b.lshr(self.depth, I64(1))
        whole = b.mul(self._ceil(self.keys, tile.columns), I64(tile.columns))
        with loop(I64(0), whole, tile.lanes) as first:
            panel = b.sdiv(first, I64(tile.columns))
            start = b.add(b.mul(panel, b.mul(self.key_rows, I64(tile.columns))), b.srem(first, I64(tile.columns)))
            done: ir.Value = I64(0)
            if self._can_transpose(nest.keys):
                is_any = b.icmp_signed("<", first, self.keys)
                done = b.select(is_any, b.and_(full, I64(-tile.lanes)), I64(0))
                with loop(I64(0), done, tile.lanes) as k:
                    self._transpose_keys(first, k, start)
            with loop(done, self.key_rows, 1) as k:
                self.loops.variables[row] = k
                self._copy(_KEYS, value, nest.t, first, b.add(start, b.mul(k, I64(tile.columns))))

    def _paired(self, value: Scalar, along: Var, dot: PairDot) -> tuple[Var, Scalar]:
        """A variable of pairs along another, and the pair there, as a number of the scratch memory."""
        load = paired_load(value)
        assert load is not None
        pair = Var("pair", -(-along.extent // 2))
        return pair, paired(load, along, pair, dot)

    def _can_transpose(self, keys: Scalar) -> bool:
        """Whether the elements of a key are contiguous, so that squares of them can be transposed in registers."""
        nest, load = self.nest, before_widening(keys)
        if load is None or load.where or self.tile.lanes == 1:
            return False
        return load.index.factor(nest.k) == 1 and all(isinstance(term, Var) for term, _ in load.index.terms)

    def _transpose_keys(self, first: ir.Value, k: ir.Value, start: ir.Value) -> None:
        """Pack a square of lanes x lanes elements of keys, transposed.

        Past the last key that key is packed again: its sums are never read.
        """
        b, nest, tile = self.b, self.nest, self.tile
        keys = before_widening(nest.keys)
        assert keys is not None
        # Two elements of bfloat16 that are a pair are moved as one number.
        dtype, terms = (keys.dtype, 1) if self.of_scores is None else (nest.dtype, 2)
        last = b.sub(self.keys, I64(1))
        self.loops.variables[nest.k] = b.mul(k, I64(terms))
        lines = []
        for line in range(tile.lanes):
            self.loops.variables[nest.t] = smaller(self.b, b.add(first, I64(line)), last)
            place = self.loops.index(keys.index)
            start_of_key = b.gep(self.frame.buffers[keys.buffer], [place], source_etype=element(keys.dtype))
            loaded = b.load(start_of_key, typ=vector(element(dtype), tile.lanes), align=width(keys.dtype))
            lines.append(scalars.cast(b, loaded, dtype, nest.dtype))
        for line, value in enumerate(transposed(b, lines)):
            place = b.add(start, b.mul(b.add(k, I64(line)), I64(tile.columns)))
            b.store(value, self._at(_KEYS, place)).align = self.align

    def _pack_values(self) -> None:
        """Pack values into panels: a row for each key, or for each two, zeros past the last column."""
        b, nest, tile, loop = self.b, self.nest, self.tile, self.loops.loop
        row, value = nest.t, nest.values
        if self.of_means is not None:
            row, value = self._paired(nest.values, nest.t, self.of_means)
        whole = b.mul(self.panels, I64(tile.columns))
        with loop(I64(0), whole, tile.lanes) as first:
            panel = b.sdiv(first, I64(tile.columns))
            start = b.add(b.mul(panel, b.mul(self.value_rows, I64(tile.columns))), b.srem(first, I64(tile.columns)))
            with loop(I64(0), self.value_rows, 1) as place:
                self.loops.variables[row] = place
                self._copy(_VALUES, value, nest.n, first, b.add(start, b.mul(place, I64(tile.columns))))

    def _copy(self, which: int, value: Scalar, along: Var, first: ir.Value, place: ir.Value) -> None:
        """Store a vector of loads along a variable, zeros past its end."""
        b, loops, lanes = self.b, self.loops, self.tile.lanes
        buffer, offset = self.nest.scratch[which], Var("offset", 1)
        base = b.mul(self.frame.thread, self.frame.size(self.nest.lines[which]))
        loops.variables[offset] = b.sub(b.add(base, place), first)
        store = (Store(buffer, Index(((along, 1), (offset, 1))), value),)
        left = b.sub(self.frame.size(along.extent), first)
        with b.if_else(b.icmp_signed(">=", left, I64(lanes))) as (whole, part):
            with whole:
                loops.in_lanes(store, Lane(along, lanes, None), first)
            with part:
                b.store(ir.Constant(self.lanes, None), self._at(which, place)).align = self.align
                with b.if_then(b.icmp_signed(">", left, I64(0))):
                    loops.in_lanes(store, Lane(along, lanes, self.loops.lanes_below(left, self.tile.lanes)), first)

    # --- rows

    def _rows(self, row: ir.Value) -> None:
        """Attention for a tile of rows."""
        b, size, loop = self.b, self.frame.size, self.loops.loop
        rows = smaller(self.b, b.sub(size(extent(self.nest.m)), row), I64(self.tile.rows))
        read = b.mul(self.panels, I64(self.tile.columns * self.tile.rows))
        with loop(I64(0), read, self.tile.lanes) as place:
            b.store(ir.Constant(self.lanes, None), self._at(_SCORES, self._read(place))).align = self.align
        none = b.icmp_signed("==", self.keys, I64(0))  # a sum of nothing is zero, whatever it is divided by
        start = b.select(none, ir.Constant(self.kind, 1.0), ir.Constant(self.kind, 0.0))
        low = scalars.number(self.nest.dtype, float("-inf"), self.tile.lanes)
        for array, value in (
            (self.greatest, low),
            (self.higher, low),
            (self.total, self.loops.splat(start, self.tile.lanes)),
        ):
            for first in range(0, self.height, self.tile.lanes):
                b.store(value, self._of_row(array, I64(first))).align = self.align
        with loop(I64(0), self.keys, self.nest.block) as key:
            count = smaller(self.b, b.sub(self.keys, key), I64(self.nest.block))
            for height in self._heights(rows):
                self._score(height, row, rows, key, count)
            with loop(I64(0), rows, 1) as line:
                self._find_greatest(b.add(row, line), line, key, count)
            self._rescale()
            with loop(I64(0), rows, 1) as line:
                self._weigh(line, count)
            for height in self._heights(rows):
                self._gather(height, key, count)
        self._finish(row, rows)

    def _heights(self, rows: ir.Value) -> Iterator[int]:
        """Emit what follows for each height of a tile: the smallest that has all rows runs."""
        b, rows_of = self.b, heights(self.tile, self.frame.compact)
        done = b.append_basic_block("done")
        for position, height in enumerate(rows_of):
            if position + 1 == len(rows_of):
                yield height
                b.branch(done)
                break
            here, fewer = b.append_basic_block(f"rows{height}"), b.append_basic_block("fewer")
            b.cbranch(b.icmp_signed(">", rows, I64(rows_of[position + 1])), here, fewer)
            b.position_at_end(here)
            yield height
            b.branch(done)
            b.position_at_end(fewer)
        b.position_at_end(done)

    def _score(self, height: int, row: ir.Value, rows: ir.Value, key: ir.Value, count: ir.Value) -> None:
        """Store the sums of rows and a block of keys; where there are fewer rows, the last is summed again."""
        b, nest, tile = self.b, self.nest, self.tile
        step = nest.queries.index.factor(nest.k)
        self.loops.variables[nest.k] = I64(0)
        pointers = []
        for line in range(height):
            self.loops.unflatten(nest.m, b.add(row, smaller(self.b, I64(line), b.sub(rows, I64(1)))))
            place = self.loops.index(nest.queries.index)
            kind = element(nest.queries.dtype)
            pointers.append(b.gep(self.frame.buffers[nest.queries.buffer], [place], source_etype=kind))
        with self.loops.loop(I64(0), count, tile.columns) as first:
            panel = self._at(_KEYS, b.mul(b.add(key, first), self.key_rows))
            cells = cells_of(b, nest.dtype, tile, height)
            if self.of_scores is None:
                accumulate_narrow(
                    self.loops, nest.dtype, tile, cells, pointers, nest.queries.dtype, step, panel, nest.dtype,
                    self.depth,
                )  # fmt: skip
            else:
                accumulate_pairs(self.loops, tile, self.of_scores, cells, pointers, step, panel, self.depth)
            for line, sums in enumerate(cells):
                for index, cell in enumerate(sums):
                    place = b.add(first, I64(line * nest.block + index * tile.lanes))
                    b.store(b.load(cell, typ=self.lanes), self._at(_SCORES, place)).align = self.align

    def _find_greatest(self, row: ir.Value, line: ir.Value, key: ir.Value, count: ir.Value) -> None:
        """Turn the stored sums of a row into scores, and note whether one exceeds the maximum so far."""
        b, nest, lanes = self.b, self.nest, self.tile.lanes
        start = b.mul(line, I64(nest.block))
        self.loops.unflatten(nest.m, row)
        before = b.load(self._of_row(self.greatest, line), typ=self.kind)
        most = stack_slot(b, self.lanes)
        b.store(self.loops.splat(before, lanes), most)
        whole = b.and_(count, I64(-lanes))
        with self.loops.loop(I64(0), whole, lanes) as first:
            self._score_vector(start, first, key, None, most)
        left = b.sub(count, whole)
        with b.if_then(b.icmp_signed(">", left, I64(0))):
            self._score_vector(start, whole, key, self.loops.lanes_below(left, self.tile.lanes), most)
        greatest = self.loops.across(b.load(most, typ=self.lanes), self._greater)
        b.store(greatest, self._of_row(self.higher, line))

    def _rescale(self) -> None:
        """Compute the factors by which earlier weights of all rows shrink, now that the maxima have grown."""
        b, lanes = self.b, self.tile.lanes
        low = scalars.number(self.nest.dtype, float("-inf"), lanes)
        for first in range(0, self.height, lanes):
            arrays = (self.greatest, self.higher, self.scale, self.total)
            places = [self._of_row(array, I64(first)) for array in arrays]
            before, greatest, _, total = (b.load(place, typ=self.lanes) for place in places)
            shift = b.select(b.fcmp_ordered("==", greatest, low), ir.Constant(self.lanes, None), greatest)
            scale = self._exp(b.fsub(before, shift))
            for place, value in zip(places, (greatest, shift, scale, b.fmul(total, scale)), strict=True):
                b.store(value, place).align = self.align

    def _weigh(self, line: ir.Value, count: ir.Value) -> None:
        """Turn the scores of a row into weights (the exponentials of a softmax), and add them up."""
        b, lanes = self.b, self.tile.lanes
        start = b.mul(line, I64(self.nest.block))
        shift = self.loops.splat(b.load(self._of_row(self.higher, line), typ=self.kind), lanes)
        sums = stack_slot(b, self.lanes)
        b.store(ir.Constant(self.lanes, None), sums)
        with self.loops.loop(I64(0), count, lanes) as first:
            place = self._at(_SCORES, b.add(start, first))
            score = b.load(place, typ=self.lanes, align=self.align)
            weight = self._exp(b.fsub(score, shift))
            if self.of_means is None:
                b.store(weight, place).align = self.align
            else:
                weight = self._store_rounded(weight, start, first)
            b.store(b.fadd(b.load(sums, typ=self.lanes), weight), sums)
        total = self._of_row(self.total, line)
        added = self.loops.across(b.load(sums, typ=self.lanes), b.fadd)
        b.store(b.fadd(b.load(total, typ=self.kind), added), total)

    def _store_rounded(self, weight: ir.Value, start: ir.Value, first: ir.Value) -> ir.Value:
        """Store a vector of weights as bfloat16, from the beginning of the row on: behind the scores still to be read.

        They are added up as they are stored, so that what is divided by their sum is a mean.
        """
        b, nest = self.b, self.nest
        stored = scalars.cast(b, weight, nest.dtype, DType.BFLOAT16)
        place = b.gep(self._at(_SCORES, start), [first], source_etype=I16)
        b.store(stored, place).align = self.align // 2
        return scalars.cast(b, stored, DType.BFLOAT16, nest.dtype)

    def _score_vector(
        self, start: ir.Value, first: ir.Value, key: ir.Value, mask: ir.Value | None, most: ir.Value
    ) -> None:
        """Turn a vector of stored sums into scores, minus infinity past the last; `most` gets the maximum."""
        b, loops, nest = self.b, self.loops, self.nest
        place = self._at(_SCORES, b.add(start, first))
        value: ir.Value = b.load(place, typ=self.lanes, align=self.align)
        if not isinstance(nest.score, Local):
            loops.locals = {SUM: value}
            value = loops.value_in_lanes(nest.score, Lane(nest.t, self.tile.lanes, mask), b.add(key, first))
        if mask is not None:
            value = b.select(mask, value, scalars.number(nest.dtype, float("-inf"), self.tile.lanes))
        if mask is not None or not isinstance(nest.score, Local):
            b.store(value, place).align = self.align
        b.store(self._greater(value, b.load(most, typ=self.lanes)), most)

    def _greater(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """The maximum of two, the second if the first is NaN: a NaN makes its own weight NaN, and so the total."""
        return self.b.select(self.b.fcmp_ordered(">", x, y), x, y)

    def _exp(self, x: ir.Value) -> ir.Value:
        return lanes_of(exp_weight)(self.b, x)

    def _gather(self, height: int, key: ir.Value, count: ir.Value) -> None:
        """Add the values of a block of keys times their weights to the output rows."""
        b, tile, loop = self.b, self.tile, self.loops.loop
        with loop(I64(0), self.panels, 1) as panel:
            column = b.mul(panel, I64(tile.columns))
            narrow = b.icmp_signed("<=", b.sub(self.columns, column), I64(tile.lanes))
            with b.if_else(narrow) as (one, all_):
                with one:
                    self._gather_panel(height, key, count, panel, 1)
                with all_:
                    self._gather_panel(height, key, count, panel, tile.vectors)

    def _gather_panel(self, height: int, key: ir.Value, count: ir.Value, panel: ir.Value, vectors: int) -> None:
        b, nest, tile = self.b, self.nest, self.tile
        rows = [self._at(_SCORES, I64(line * nest.block)) for line in range(height)]
        row = key if self.of_means is None else b.lshr(key, I64(1))  # a block is of whole pairs
        values = self._at(_VALUES, b.mul(b.add(b.mul(panel, self.value_rows), row), I64(tile.columns)))
        part = Tile(tile.rows, vectors, tile.lanes)
        cells = cells_of(b, nest.dtype, part, height)
        if self.of_means is None:
            accumulate(self.loops, nest.dtype, part, cells, rows, I64(1), values, count, tile.columns)
        else:
            accumulate_pairs(self.loops, part, self.of_means, cells, rows, 1, values, count, tile.columns)
        self._keep(cells, b.mul(panel, I64(tile.columns * tile.rows)))

    def _keep(self, cells: Cells, start: ir.Value) -> None:
        b, tile = self.b, self.tile
        for line, sums in enumerate(cells):
            scale = self.loops.splat(b.load(self._of_row(self.scale, I64(line)), typ=self.kind), tile.lanes)
            for index, cell in enumerate(sums):
                offset = I64(line * tile.columns + index * tile.lanes)
                place = self._at(_SCORES, self._read(b.add(start, offset)))
                before = b.load(place, typ=self.lanes, align=self.align)
                added = scalars.multiply_add(b, before, scale, b.load(cell, typ=self.lanes))
                b.store(added, place).align = self.align

    def _finish(self, row: ir.Value, rows: ir.Value) -> None:
        """The epilogue, for each row."""
        b, loops, nest, tile = self.b, self.loops, self.nest, self.tile
        with loops.loop(I64(0), rows, 1) as line:
            loops.unflatten(nest.m, b.add(row, line))
            total = b.load(self._of_row(self.total, line), typ=self.kind)
            with loops.loop(I64(0), self.columns, tile.lanes) as first:
                panel = b.sdiv(first, I64(tile.columns))
                place = b.mul(b.add(b.mul(panel, I64(tile.rows)), line), I64(tile.columns))
                place = b.add(place, b.srem(first, I64(tile.columns)))
                values = b.load(self._at(_SCORES, self._read(place)), typ=self.lanes, align=self.align)
                left = b.sub(self.columns, first)
                loops.locals = {READ: values, TOTAL: total}
                with b.if_else(b.icmp_signed(">=", left, I64(tile.lanes))) as (whole, part):
                    with whole:
                        loops.in_lanes(nest.body, Lane(nest.n, tile.lanes, None), first)
                    with part:
                        loops.in_lanes(
                            nest.body, Lane(nest.n, tile.lanes, self.loops.lanes_below(left, self.tile.lanes)), first
                        )

    # --- places

    def _own(self, which: int) -> ir.Value:
        """The part of a scratch buffer that belongs to this thread."""
        place = self.b.mul(self.frame.thread, self.frame.size(self.nest.lines[which]))
        return self.b.gep(self.frame.buffers[self.nest.scratch[which]], [place], source_etype=self.kind)

    def _at(self, which: int, place: ir.Value) -> ir.Value:
        return self.b.gep(self.scratch[which], [place], source_etype=self.kind)

    def _read(self, place: ir.Value) -> ir.Value:
        """The output rows so far: behind the scores."""
        return self.b.add(place, I64(self.nest.block * self.tile.rows))

    def _of_row(self, array: ir.Value, line: ir.Value) -> ir.Value:
        return self.b.gep(array, [line], source_etype=self.kind)

    def _ceil(self, value: ir.Value, by: int) -> ir.Value:
        return self.b.sdiv(self.b.add(value, I64(by - 1)), I64(by))


EMITTER = NestEmitter(_emit, _share)
