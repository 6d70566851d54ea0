"""Contractions (GEMM) in LLVM: sums of products in a tile of registers, and their epilogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.byte_micro import accumulate_bytes, start_sums
from ingot.codegen.llvm.byte_pack import moved_load, pack_bytes
from ingot.codegen.llvm.code_blocks import panel_bytes
from ingot.codegen.llvm.code_dot import ByteRow, accumulate_rounded
from ingot.codegen.llvm.code_micro import accumulate_codes, unpack_codes
from ingot.codegen.llvm.column_micro import accumulate_columns, column_masks, columns_at
from ingot.codegen.llvm.emitter import Frame, NestEmitter
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.matrix_micro import Gathered, MatrixSums, Rows, copy_run
from ingot.codegen.llvm.matrix_registers import ROW
from ingot.codegen.llvm.micro import Cells, cells_of
from ingot.codegen.llvm.narrow_micro import accumulate_narrow
from ingot.codegen.llvm.pair_micro import accumulate_pairs
from ingot.codegen.llvm.pair_pack import pack_pairs
from ingot.codegen.llvm.share import Share, Sharing, larger, part_of, smaller, up
from ingot.codegen.llvm.types import I8, I64, PTR, element, stack_slot, vector, width
from ingot.codegen.llvm.unpacked import (
    MOST_DOT_ROWS,
    MOST_ROWS,
    dot_columns,
    pack_blocks,
    packs_blocks,
    packs_columns,
    reads_columns,
    reads_dots,
    store_dots,
    store_row,
)
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import (
    GATHERED_ROWS,
    MATRIX_ROWS,
    Buffer,
    ByteDot,
    CodeBlocks,
    Contraction,
    For,
    Index,
    Inside,
    Kind,
    Load,
    PairDot,
    Store,
    Tile,
    Var,
    extent,
    widened,
)
from ingot.schedule.tile import heights
from ingot.schedule.work import CONTRACTION_GRAIN, LEAST_TILES, MATRIX_SPEED, ROWS_HIDING_A_READ, UNPACKED_TILES

SUM = "sum"
"""The local that holds a sum in the epilogue of a product without groups."""


def _emit(b: Builder, frame: Frame, product: Contraction) -> None:
    """A contraction, parallel over tiles: column panels outermost, so that each is read from memory once."""
    _Emitter(b, frame, product).emit()


def emit_rows(b: Builder, frame: Frame, product: Contraction, low: ir.Value, high: ir.Value) -> None:
    """All columns of the rows from `low` to `high` of a contraction that reads panels, and of one stack."""
    _Emitter(b, frame, product).emit_rows(low, high)


def _share(b: Builder, sharing: Sharing, product: Contraction) -> Share:
    """How a contraction is divided: by tiles; if it packs, by column panels, and by tiles only if these are few.

    One that unpacks does as one that packs: every piece of a panel would unpack it again.
    """
    assert product.tile is not None
    size, threads = sharing.size, sharing.threads
    depth = extent(product.batch) * extent(product.n) * extent(product.k) * product.groups
    work = b.sdiv(size(depth * (extent(product.m) + ROWS_HIDING_A_READ)), I64(CONTRACTION_GRAIN))
    panels = up(b, size(extent(product.n)), I64(product.tile.columns // product.groups))
    tiles = up(b, size(extent(product.m)), I64(product.tile.rows))
    stacks = b.mul(size(extent(product.batch)), panels)
    if product.panels is not None:
        return Share(b.sdiv(size(depth * ROWS_HIDING_A_READ), I64(CONTRACTION_GRAIN)), stacks)
    if product.gathers:  # rows are gathered again for every piece of their columns
        blocks = b.mul(size(extent(product.batch)), up(b, size(extent(product.m)), I64(GATHERED_ROWS)))
        wanted = b.sub(b.mul(threads, I64(2)), I64(1))  # two for each thread, but one for one
        times = smaller(b, up(b, wanted, larger(b, blocks, I64(1))), panels)
        return Share(b.sdiv(work, I64(MATRIX_SPEED)), b.mul(blocks, times))
    if not product.packed or product.unpacks:
        wanted = up(b, b.mul(threads, I64(2)), larger(b, stacks, I64(1)))
        tiles = larger(b, smaller(b, b.sdiv(tiles, I64(LEAST_TILES)), wanted), I64(1))
    return Share(work, b.mul(stacks, tiles))


@dataclass(frozen=True, slots=True)
class Part:
    """Some terms of all that are summed: the first, and how many."""

    first: ir.Value
    count: ir.Value


class _Emitter:
    def __init__(self, b: Builder, frame: Frame, product: Contraction) -> None:
        self.b = b
        self.frame = frame
        self.product = product
        self.loops = Loops(b, frame)
        self.m = extent(product.m)
        self.n = extent(product.n)
        assert product.tile is not None
        self.tile = product.tile
        self.depth = product.depth
        self.columns = self.tile.columns // product.groups
        self.kind = element(product.dtype)
        self.lanes = vector(self.kind, self.tile.lanes)
        bytes_ = width(product.dtype) * self.tile.lanes
        self.panel_kind = element(product.panel_dtype)
        self.masks: Sequence[Sequence[ir.Value]] = ()
        self.sums = stack_slot(b, ir.ArrayType(self.lanes, self.tile.rows * self.tile.vectors), bytes_)

    def emit(self) -> None:
        b, tile, size = self.b, self.tile, self.frame.size
        rows, columns = size(self.m), size(self.n)
        panels = up(b, columns, I64(self.columns))
        tiles = up(b, rows, I64(tile.rows))
        stacks = b.mul(size(extent(self.product.batch)), panels)
        if self.product.panels is not None:
            self._store_panels(stacks, panels, self.product.panels)
            return
        if self.product.gathers:
            self._emit_gathered(panels)
            return
        low, high = self._part(stacks, tiles)
        with b.if_then(b.icmp_signed("<", low, high)):
            first = b.sdiv(low, tiles)
            last = b.add(b.sdiv(b.sub(high, I64(1)), tiles), I64(1))
            with self.loops.loop(first, last, 1, watched=True) as step:
                self._stack(self._turned(step, first, last), panels, tiles, low, high)

    def emit_rows(self, low: ir.Value, high: ir.Value) -> None:
        b, tile = self.b, self.tile
        panels = up(b, self.frame.size(self.n), I64(self.columns))
        base = self.frame.buffers[self.product.rhs.buffer]
        with self.loops.loop(I64(0), panels, 1) as step:
            panel = self._turned(step, I64(0), panels)
            column = b.mul(panel, I64(self.columns))
            columns = smaller(b, b.sub(self.frame.size(self.n), column), I64(self.columns))
            start = b.mul(panel, self.frame.size(self.depth * tile.columns))
            packed = b.gep(base, [start], source_etype=self.panel_kind)
            with self.loops.loop(low, high, tile.rows) as row:
                rows = smaller(b, b.sub(high, row), I64(tile.rows))
                if self.product.gathers:
                    MatrixSums(self.loops, tile, self.sums).of_gathered(self._gather(row, rows), packed)
                else:
                    self._sum(row, rows, packed)
                self._finish(row, rows, column, columns)

    def _turned(self, step: ir.Value, first: ir.Value, last: ir.Value) -> ir.Value:
        """The panel of a step: from the first to the last, or the other way round in every other run."""
        if self.product.number is None:
            return step
        b = self.b
        odd = b.icmp_signed("!=", b.and_(self._number(), I64(1)), I64(0))
        return b.select(odd, b.sub(b.add(first, b.sub(last, I64(1))), step), step)

    def _number(self) -> ir.Value:
        assert self.product.number is not None
        return self.loops.scalar(self.product.number)

    def _part(self, stacks: ir.Value, tiles: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The tiles of a piece, counted through all panels; if it packs or unpacks, whole panels as far as possible.

        If it gathers, the panels of a piece, counted through all blocks of rows: whole blocks as far as possible.
        """
        b, piece, pieces = self.b, self.frame.piece, self.frame.pieces
        if self.product.packed and not self.product.unpacks and not self.product.gathers:
            return part_of(b, b.mul(stacks, tiles), piece, pieces)
        times = up(b, pieces, larger(b, stacks, I64(1)))
        first, last = part_of(b, b.mul(stacks, times), piece, pieces)
        low, high = (
            b.add(b.mul(b.sdiv(at, times), tiles), b.sdiv(b.mul(b.srem(at, times), tiles), times))
            for at in (first, last)
        )
        return low, high

    def _store_panels(self, stacks: ir.Value, panels: ir.Value, buffer: Buffer) -> None:
        """Pack the panels of a piece into the buffer that a later contraction reads."""
        b = self.b
        low, high = part_of(b, stacks, self.frame.piece, self.frame.pieces)
        with self.loops.loop(low, high, 1, watched=True) as stack:
            self._bind(self.product.batch, b.sdiv(stack, panels))
            self._pack(b.mul(b.srem(stack, panels), I64(self.columns)), buffer, stack)

    def _stack(self, stack: ir.Value, panels: ir.Value, tiles: ir.Value, low: ir.Value, high: ir.Value) -> None:
        """The tiles of one column panel that belong to this piece."""
        b = self.b
        panel, batch = b.srem(stack, panels), b.sdiv(stack, panels)
        self._bind(self.product.batch, batch)
        column = b.mul(panel, I64(self.columns))
        left = b.sub(self.frame.size(self.n), column)
        columns = b.select(b.icmp_signed("<", left, I64(self.columns)), left, I64(self.columns))
        begin = b.sub(low, b.mul(stack, tiles))
        begin = b.select(b.icmp_signed(">", begin, I64(0)), begin, I64(0))
        end = b.sub(high, b.mul(stack, tiles))
        end = b.select(b.icmp_signed("<", end, tiles), end, tiles)
        if self.product.unpacks:
            self._unpacked_stack(stack, column, columns, begin, end)
            return
        summed = self._panel(stack, column)
        with self.loops.loop(begin, end, 1, watched=True) as index:
            row, rows = self._rows_of(index)
            summed(row, rows)
            self._finish(row, rows, column, columns)

    def _rows_of(self, index: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The first row of a tile, and how many it has."""
        b, tile = self.b, self.tile
        row = b.mul(index, I64(tile.rows))
        left = b.sub(self.frame.size(self.m), row)
        return row, b.select(b.icmp_signed("<", left, I64(tile.rows)), left, I64(tile.rows))

    def _unpacked_stack(
        self, stack: ir.Value, column: ir.Value, columns: ir.Value, begin: ir.Value, end: ir.Value
    ) -> None:
        """Some tiles of a panel in codes: for more rows than one has, parts of the panel are unpacked before."""
        b, loop, tile, codes = self.b, self.loops.loop, self.tile, self.product.codes
        assert codes is not None
        packed, (panel, held) = self._codes_of(stack), self.product.scratch
        with b.if_else(b.icmp_signed("<=", self.frame.size(self.m), I64(tile.rows))) as (few, many):
            with few, loop(begin, end, 1, watched=True) as index:
                row, rows = self._rows_of(index)
                self._sum(row, rows, packed, codes)
                self._finish(row, rows, column, columns)
            with many:
                thread, depth, most = self.frame.thread, self.frame.size(self.depth), self.product.unpacked_rows
                own = b.mul(thread, self.frame.size(most * tile.columns))
                unpacked = b.gep(self.frame.buffers[panel], [own], source_etype=self.kind)
                size = tile.rows * tile.columns
                own = b.mul(thread, I64(UNPACKED_TILES * size))
                sums, stack_sums = b.gep(self.frame.buffers[held], [own], source_etype=self.kind), self.sums
                bytes_ = panel_bytes(self.loops, codes, tile, self.frame.size(most))
                with loop(begin, end, UNPACKED_TILES) as first:
                    last = smaller(b, b.add(first, I64(UNPACKED_TILES)), end)
                    with b.counted(I64(0), depth, self.frame.size(most)) as done:
                        part = Part(done, smaller(b, b.sub(depth, done), self.frame.size(most)))
                        number = b.sdiv(done, self.frame.size(most))
                        start = b.gep(packed, [b.mul(number, bytes_)], source_etype=I8)
                        unpack_codes(self.loops, codes, tile, start, part.count, unpacked)
                        with loop(first, last, 1, watched=True) as index:
                            place = b.mul(b.sub(index, first), I64(size))
                            self.sums = b.gep(sums, [place], source_etype=self.kind)
                            row, rows = self._rows_of(index)
                            self._sum(row, rows, unpacked, part=part)
                    with loop(first, last, 1) as index:
                        place = b.mul(b.sub(index, first), I64(size))
                        self.sums = b.gep(sums, [place], source_etype=self.kind)
                        row, rows = self._rows_of(index)
                        self._finish(row, rows, column, columns)
                self.sums = stack_sums

    # --- the panel of columns

    def _panel(self, stack: ir.Value, column: ir.Value) -> Callable[[ir.Value, ir.Value], None]:
        """Prepare the panel of a stack, from a column on: the function that sums a tile of rows with it."""
        b, elements = self.b, self.depth * self.tile.columns
        if (codes := self.product.codes) is not None:
            words = self._codes_of(stack)
            return lambda row, rows: self._sum(row, rows, words, codes)
        if self.product.packed:
            start, base = b.mul(stack, self.frame.size(elements)), self.frame.buffers[self.product.rhs.buffer]
        else:
            return self._computed_panel(column)
        packed = b.gep(base, [start], source_etype=self.panel_kind)
        return lambda row, rows: self._sum(row, rows, packed)

    def _computed_panel(self, column: ir.Value) -> Callable[[ir.Value, ir.Value], None]:
        """The same of columns that a run computes: for few rows these are read where they lie, and else packed."""
        b, product = self.b, self.product
        left = b.sub(self.frame.size(self.n), column)
        if product.in_place:
            self.masks, first = self._column_masks(column), self._first_column(column)
            return lambda row, rows: self._sum_panel(row, rows, first, left)
        (buffer,) = product.scratch
        start = b.mul(self.frame.thread, self.frame.size(self.depth * self.tile.columns))
        packed = b.gep(self.frame.buffers[buffer], [start], source_etype=self.panel_kind)
        if reads_columns(product):
            is_whole = b.icmp_signed(">=", left, I64(self.columns))
            few = b.and_(is_whole, b.icmp_signed("<=", self.frame.size(self.m), I64(MOST_ROWS)))
        elif reads_dots(product):
            few = b.icmp_signed("<=", self.frame.size(self.m), I64(MOST_DOT_ROWS))
        else:
            self._pack(column, buffer, self.frame.thread)
            return lambda row, rows: self._sum_panel(row, rows, packed, left)
        with b.if_then(b.not_(few)):
            self._pack(column, buffer, self.frame.thread)

        def summed(row: ir.Value, rows: ir.Value) -> None:
            with b.if_else(few) as (in_place, from_panel):
                with in_place, self.loops.loop(I64(0), rows, 1) as line:
                    self._sum_in_place(b.add(row, line), line, column, left)
                with from_panel:
                    self._sum_panel(row, rows, packed, left)

        return summed

    def _sum_panel(self, row: ir.Value, rows: ir.Value, packed: ir.Value, left: ir.Value) -> None:
        """Sum a tile of a panel of which so many columns are left: where one vector holds these, that one alone."""
        b = self.b
        if isinstance(self.n, int) or self.tile.vectors == 1 or self.tile.dot is not None or self.product.groups > 1:
            self._sum(row, rows, packed)
            return
        with b.if_else(b.icmp_signed("<=", left, I64(self.tile.lanes))) as (narrow, wide):
            with narrow:
                self._sum(row, rows, packed, tile=replace(self.tile, vectors=1))
            with wide:
                self._sum(row, rows, packed)

    def _sum_in_place(self, row: ir.Value, line: ir.Value, column: ir.Value, left: ir.Value) -> None:
        """Sum one row with the columns of a tile, of which so many are left, where these lie."""
        b, product, size = self.b, self.product, self.frame.size
        (k,), (n,) = product.k, product.n
        self._bind(product.m, row)
        own, first = self._row(*self._starts(), ()), self._first_column(column)
        if reads_columns(product):
            targets = [self._sum_place(line, index) for index in range(self.tile.vectors)]
            store_row(self.loops, product, own, first, size(k.extent), targets)
            return
        sums, last, stride = self._sum_place(line, 0), b.sub(left, I64(1)), size(product.rhs.index.factor(n))
        count = dot_columns(self.tile)
        with self.loops.loop(I64(0), smaller(b, left, I64(self.columns)), count) as start:
            places = [b.add(start, I64(number)) for number in range(count)]
            columns = [b.gep(first, [b.mul(smaller(b, at, last), stride)], source_etype=self.kind) for at in places]
            targets = [b.gep(sums, [at], source_etype=self.kind) for at in places]
            store_dots(self.loops, product, own, columns, size(k.extent), targets)

    def _first_column(self, column: ir.Value) -> ir.Value:
        """The address of the first term of a column of the right operand, which no kernel has packed."""
        b, rhs, (n,) = self.b, self.product.rhs, self.product.n
        place = b.add(self._base(rhs.index, (*self.product.k, n)), b.mul(column, self.frame.size(rhs.index.factor(n))))
        return b.gep(self.frame.buffers[rhs.buffer], [place], source_etype=element(rhs.dtype))

    def _codes_of(self, stack: ir.Value) -> ir.Value:
        """Where a panel in codes begins."""
        b, product = self.b, self.product
        assert product.codes is not None
        start = b.mul(stack, panel_bytes(self.loops, product.codes, self.tile, self.frame.size(self.depth)))
        return b.gep(self.frame.buffers[product.rhs.buffer], [start], source_etype=I8)

    def _pack(self, column: ir.Value, buffer: Buffer, number: ir.Value) -> None:
        """Pack a panel of columns into a buffer: rows of `k`, and past the last column of each group anything."""
        product, inner = self.product, self.product.k[-1].extent
        if packs_columns(product) and self.frame.target.masks:
            self._pack_columns(column, buffer, number)
        elif not packs_blocks(product) or (isinstance(inner, int) and inner < self.tile.lanes):
            self._pack_rows(column, buffer, number)
        elif isinstance(inner, int):
            self._pack_blocks(column, buffer, number)
        else:
            with self.b.if_else(self.b.icmp_signed(">=", self.frame.size(inner), I64(self.tile.lanes))) as (
                long,
                short,
            ):
                with long:
                    self._pack_blocks(column, buffer, number)
                with short:
                    self._pack_rows(column, buffer, number)

    def _pack_columns(self, column: ir.Value, buffer: Buffer, number: ir.Value) -> None:
        """The same of columns that are neighbours, a few elements apart from each other, with zeros past the last."""
        b, product, tile = self.b, self.product, self.tile
        masks, first = self._column_masks(column), self._first_column(column)
        step_cell = stack_slot(b, I64)
        b.store(b.mul(number, self.frame.size(self.depth * tile.columns)), step_cell)  # how far the panel is written
        with _nested(self.loops, self.frame, product.k):
            written = b.load(step_cell, typ=I64)
            place = b.gep(first, [self._moved(product.rhs.index, product.k)], source_etype=self.kind)
            for index, values in enumerate(columns_at(self.loops, product.dtype, tile, place, masks)):
                target = b.add(written, I64(index * tile.lanes))
                store = b.store(values, b.gep(self.frame.buffers[buffer], [target], source_etype=self.kind))
                store.align = width(product.dtype) * tile.lanes
            b.store(b.add(written, I64(tile.columns)), step_cell)

    def _column_masks(self, column: ir.Value) -> list[list[ir.Value]]:
        apart = self.product.rhs.index.factor(self.product.n[0])
        assert isinstance(apart, int)
        return column_masks(self.loops, self.tile, self.b.sub(self.frame.size(self.n), column), apart)

    def _pack_blocks(self, column: ir.Value, buffer: Buffer, number: ir.Value) -> None:
        """The same of columns that are contiguous along the innermost axis of `k`, by transposing blocks of them."""
        b, product, tile, size = self.b, self.product, self.tile, self.frame.size
        *outer, inner = product.k
        stride, left = size(product.rhs.index.factor(product.n[0])), b.sub(size(self.n), column)
        first, panel = self._first_column(column), self.frame.buffers[buffer]
        step_cell = stack_slot(b, I64)
        b.store(b.mul(number, size(self.depth * tile.columns)), step_cell)  # how far the panel has been written
        with _nested(self.loops, self.frame, outer):
            written = b.load(step_cell, typ=I64)
            base = b.gep(first, [self._moved(product.rhs.index, outer)], source_etype=self.kind)
            rows = b.gep(panel, [written], source_etype=self.kind)
            pack_blocks(self.loops, tile, product.dtype, base, stride, left, size(inner.extent), rows)
            b.store(b.add(written, size(inner.extent * tile.columns)), step_cell)

    def _pack_rows(self, column: ir.Value, buffer: Buffer, number: ir.Value) -> None:
        """The same row by row of `k`, with zeros past the last column of each group."""
        product, tile = self.product, self.tile
        first, place = Var("column", 1), Var("lane", self.columns)
        self.loops.variables[first] = column
        which = Var("number", 1)
        self.loops.variables[which] = number
        if tile.dot is not None:
            pack = pack_pairs if isinstance(tile.dot, PairDot) else pack_bytes
            self.loops.statements(pack(product, buffer, first, place, which))
            return
        inside = Inside(Index(((first, 1), (place, 1))), self.n)
        target = Index(((which, self.depth * tile.columns), (place, 1)))
        step: Dim = tile.columns
        for var in reversed(product.k):
            target = target + Index(((var, step),))
            step = step * var.extent
        body: tuple[For | Store, ...] = ()
        for group in range(product.groups):
            source = moved_load(product.rhs, product.n[0], Index(((first, 1), (place, 1)), self.n * group))
            value = Load(source.dtype, source.buffer, source.index, (*source.where, inside), 0)
            store = Store(buffer, target.plus(group * self.columns), widened(value, buffer.dtype))
            body = (*body, For(place, (store,), Kind.VECTOR))
        for var in reversed(product.k):
            body = (For(var, body),)
        self.loops.statements(body)

    # --- products of matrices

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
        """Loops over the runs of the current row, with the address and the bytes of one; their body is emitted in it."""
        start, where = self._starts()
        *outer, _ = self.product.k
        with _nested(self.loops, self.frame, outer):
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

    # --- sums

    def _sum(
        self,
        row: ir.Value,
        rows: ir.Value,
        packed: ir.Value,
        codes: CodeBlocks | None = None,
        tile: Tile | None = None,
        part: Part | None = None,
    ) -> None:
        """Sum a tile, or a narrower one of the same panel, with the smallest height that covers the rows left.

        With a `part`, `packed` has these terms alone, which are added to what the terms before them came to.
        """
        b, tile = self.b, tile or self.tile
        if tile.of_matrices:
            self._sum_matrices(row, rows, packed)
            return
        rows_of = heights(tile)
        done = b.append_basic_block("summed")
        for position, height in enumerate(rows_of):
            if position + 1 == len(rows_of):
                self._sum_height(height, row, rows, packed, codes, tile, part)
                b.branch(done)
                break
            here, smaller = b.append_basic_block(f"rows{height}"), b.append_basic_block("fewer")
            b.cbranch(b.icmp_signed(">", rows, I64(rows_of[position + 1])), here, smaller)
            b.position_at_end(here)
            self._sum_height(height, row, rows, packed, codes, tile, part)
            b.branch(done)
            b.position_at_end(smaller)
        b.position_at_end(done)

    def _sum_height(
        self,
        height: int,
        row: ir.Value,
        rows: ir.Value,
        packed: ir.Value,
        codes: CodeBlocks | None,
        tile: Tile,
        part: Part | None,
    ) -> None:
        """Sum `height` rows; where there are fewer, the last one is summed again."""
        b, product, apart = self.b, self.product, self.tile.columns
        cells = cells_of(b, product.dtype, tile, height)
        starts_apart = isinstance(tile.dot, ByteDot)
        if starts_apart:
            start_sums(b, tile, cells, packed)
        if part is not None:
            with b.if_then(b.icmp_signed(">", part.first, I64(0))):
                self._resume(cells)
        starts, numbers = [], []
        outer, inner, step = self._summed()
        self._bind(product.m, row)
        for line in range(height):
            inside = b.icmp_signed("<", I64(line), rows)
            if line:
                self.loops.advance(product.m, b.zext(inside, I64))
            starts.append(self._starts())
            if product.rounded is not None:
                numbers.append([self._place(load) for load in product.rounded])
        step_cell = stack_slot(b, I64)
        b.store(I64(apart if starts_apart else 0), step_cell)  # how far the panel has been read
        with _nested(self.loops, self.frame, outer):
            pointers = [self._row(start, where, outer) for start, where in starts]
            read = b.load(step_cell, typ=I64)
            panel = b.gep(packed, [read], source_etype=self.panel_kind)
            extent_ = self.frame.size(inner)
            if part is not None:
                extent_, before = part.count, b.mul(part.first, self.frame.size(step))
                pointers = [b.gep(pointer, [before], source_etype=self.kind) for pointer in pointers]
            if product.from_zeros:
                extent_ = b.select(b.icmp_signed("==", self._number(), I64(0)), I64(0), extent_)
            match tile.dot:
                case None if product.in_place:
                    first = b.gep(packed, [self._moved(product.rhs.index, outer)], source_etype=self.kind)
                    between = product.rhs.index.factor(product.k[-1])
                    masks = self.masks[: tile.vectors]
                    accumulate_columns(
                        self.loops, product.dtype, tile, cells, pointers, step, first, between, inner, masks
                    )
                case None if codes is not None and codes.dot is not None:
                    byte_rows = [ByteRow(row, *own) for row, own in zip(pointers, numbers, strict=True)]
                    accumulate_rounded(self.loops, codes, tile, cells, byte_rows, panel, extent_)
                case None if codes is not None:
                    accumulate_codes(self.loops, codes, tile, cells, pointers, self.frame.size(step), panel, extent_)
                case None:
                    panel_dtype = product.panel_dtype if product.codes is None else product.dtype
                    accumulate_narrow(
                        self.loops, product.dtype, tile, cells, pointers, product.lhs.dtype, step, panel,
                        panel_dtype, extent_, apart,
                    )  # fmt: skip
                case PairDot():
                    accumulate_pairs(self.loops, tile, cells, pointers, step, panel, extent_)
                case ByteDot():
                    accumulate_bytes(self.loops, product.lhs, tile, cells, pointers, step, panel, extent_)
            rows_read = extent_ if product.terms == 1 else up(b, extent_, I64(product.terms))
            b.store(b.add(read, b.mul(rows_read, I64(apart))), step_cell)
        for line in range(height):
            for index in range(tile.vectors):
                b.store(b.load(cells[line][index], typ=self.lanes), self._sum_place(I64(line), index))

    def _resume(self, cells: Cells) -> None:
        """Set accumulators to the sums of a tile so far."""
        for line, row in enumerate(cells):
            for index, cell in enumerate(row):
                self.b.store(self.b.load(self._sum_place(I64(line), index), typ=self.lanes), cell)

    def _summed(self) -> tuple[Sequence[Var], Dim, Dim]:
        """The axes that are summed one after another, and of the innermost one its terms, and how far apart these lie.

        Rows of a panel follow each other through all axes, so that those of the left operand may do so too.
        """
        *outer, inner = self.product.k
        step = self.product.lhs.index.factor(inner)
        if self.product.in_line and not self.product.in_place and self.product.terms == 1:
            return (), extent(self.product.k), step
        return outer, inner.extent, step

    def _starts(self) -> tuple[ir.Value, list[tuple[ir.Value, Inside]]]:
        """Where the current row of the left operand begins, and the indices there that say whether it is padding."""
        lhs, k = self.product.lhs, self.product.k
        start = self._base(lhs.index, k)
        return start, [(self._base(condition.index, k), condition) for condition in lhs.where]

    def _row(self, start: ir.Value, where: Sequence[tuple[ir.Value, Inside]], outer: Sequence[Var]) -> ir.Value:
        """The address of one row, for the current outer part of `k`; that of zeros, if it is in the padding."""
        b, lhs = self.b, self.product.lhs
        place = b.add(start, self._moved(lhs.index, outer))
        pointer = b.gep(self.frame.buffers[lhs.buffer], [place], source_etype=element(lhs.dtype))
        for base, condition in where:
            assert self.product.zeros is not None
            index = b.add(base, self._moved(condition.index, outer))
            inside = b.icmp_unsigned("<", index, self.frame.size(condition.size))
            pointer = b.select(inside, pointer, self.frame.buffers[self.product.zeros])
        return pointer

    def _place(self, load: Load) -> ir.Value:
        """The address of what a load reads for the current row."""
        place = self._base(load.index, ())
        return self.b.gep(self.frame.buffers[load.buffer], [place], source_etype=element(load.dtype))

    def _base(self, index: Index, without: Sequence[Var]) -> ir.Value:
        b = self.b
        total = self.frame.size(index.offset)
        for term, factor in index.terms:
            if isinstance(term, Var) and term not in without:
                total = b.add(total, b.mul(self.loops.variables[term], self.frame.size(factor)))
        return total

    def _moved(self, index: Index, variables: Sequence[Var]) -> ir.Value:
        b = self.b
        total: ir.Value = I64(0)
        for var in variables:
            if index.factor(var) != 0:
                total = b.add(total, b.mul(self.loops.variables[var], self.frame.size(index.factor(var))))
        return total

    def _sum_place(self, line: ir.Value, index: int) -> ir.Value:
        place = self.b.add(self.b.mul(line, I64(self.tile.vectors)), I64(index))
        return self.b.gep(self.sums, [place], source_etype=self.lanes)

    # --- the epilogue

    def _finish(self, row: ir.Value, rows: ir.Value, column: ir.Value, columns: ir.Value) -> None:
        b, tile, loops = self.b, self.tile, self.loops
        whole = b.icmp_signed("==", columns, I64(self.columns))
        vectors = tile.vectors // self.product.groups
        with self._each_row(row, rows) as line, b.if_else(whole) as (full, part):
            with full:
                for index in range(vectors):
                    self._finish_vector(line, index, column, None)
            with part:
                for index in range(vectors):
                    past = b.sub(columns, I64(index * tile.lanes))
                    with b.if_then(b.icmp_signed(">", past, I64(0))):
                        numbers = ir.Constant(vector(I64, tile.lanes), list(range(tile.lanes)))
                        mask = b.icmp_signed("<", numbers, loops.splat(past, tile.lanes))
                        self._finish_vector(line, index, column, mask)

    @contextmanager
    def _each_row(self, row: ir.Value, rows: ir.Value) -> Iterator[ir.Value]:
        """A loop over the lines of a tile, with the variables of its rows bound; its body is emitted meanwhile."""
        b, variables, chain = self.b, self.loops.variables, self.product.m
        if len(chain) < 2:
            with self.loops.loop(I64(0), rows, 1) as line:
                self._bind(chain, b.add(row, line))
                yield line
            return
        self._bind(chain, row)
        cells = {var: stack_slot(b, I64) for var in chain}
        for var, cell in cells.items():
            b.store(variables[var], cell)
        with self.loops.loop(I64(0), rows, 1) as line:
            current = {var: b.load(cell, typ=I64) for var, cell in cells.items()}
            variables.update(current)
            yield line
            variables.update(current)
            self.loops.advance(chain, I64(1))
            for var, cell in cells.items():
                b.store(variables[var], cell)

    def _finish_vector(self, line: ir.Value, index: int, column: ir.Value, mask: ir.Value | None) -> None:
        b, loops, tile = self.b, self.loops, self.tile
        (var,) = self.product.n
        vectors = tile.vectors // self.product.groups
        for group, name in enumerate(self.product.sums):
            loops.locals[name] = b.load(self._sum_place(line, group * vectors + index), typ=self.lanes)
        loops.in_lanes(self.product.body, Lane(var, tile.lanes, mask), b.add(column, I64(index * tile.lanes)))

    def _bind(self, variables: Sequence[Var], flat: ir.Value) -> None:
        self.loops.unflatten(variables, flat)


@contextmanager
def _nested(loops: Loops, frame: Frame, variables: Sequence[Var]) -> Iterator[None]:
    """Nested loops over variables; what is emitted while they are open is the body of the innermost."""
    with ExitStack() as stack:
        for var in variables:
            loops.variables[var] = stack.enter_context(loops.loop(I64(0), frame.size(var.extent), 1))
        yield


EMITTER = NestEmitter(_emit, _share)
