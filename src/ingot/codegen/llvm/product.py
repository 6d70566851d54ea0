"""Contractions (GEMM) in LLVM: sums of products in a tile of registers, and their epilogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.byte_micro import accumulate_bytes, start_sums
from ingot.codegen.llvm.code_blocks import panel_bytes
from ingot.codegen.llvm.code_dot import ByteRow, accumulate_rounded
from ingot.codegen.llvm.code_micro import accumulate_codes, unpack_codes
from ingot.codegen.llvm.column_micro import accumulate_columns
from ingot.codegen.llvm.emitter import Frame, NestEmitter
from ingot.codegen.llvm.matrix_product import MatrixProduct
from ingot.codegen.llvm.micro import Cells, cells_of
from ingot.codegen.llvm.narrow_micro import accumulate_narrow
from ingot.codegen.llvm.pair_micro import accumulate_pairs
from ingot.codegen.llvm.product_panels import ProductPanels
from ingot.codegen.llvm.product_rows import nested
from ingot.codegen.llvm.share import Share, Sharing, larger, smaller, up
from ingot.codegen.llvm.types import I8, I64, stack_slot, width
from ingot.codegen.llvm.unpacked import (
    MOST_DOT_ROWS,
    MOST_ROWS,
    dot_columns,
    reads_columns,
    reads_dots,
    store_dots,
    store_row,
)
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import (
    GATHERED_ROWS,
    ByteDot,
    CodeBlocks,
    Contraction,
    PairDot,
    Tile,
    Var,
    extent,
)
from ingot.schedule.tile import heights
from ingot.schedule.work import CONTRACTION_GRAIN, LEAST_TILES, MATRIX_SPEED, ROWS_HIDING_A_READ, UNPACKED_TILES

CACHE_LINE = 64
"""Bytes of a line of a cache, at least."""

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


class _Emitter(ProductPanels, MatrixProduct):
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

    def _stack(self, stack: ir.Value, panels: ir.Value, tiles: ir.Value, low: ir.Value, high: ir.Value) -> None:
        """The tiles of one column panel that belong to this piece."""
        b = self.b
        panel, batch = b.srem(stack, panels), b.sdiv(stack, panels)
        self._bind(self.product.batch, batch)
        column = b.mul(panel, I64(self.columns))
        left = b.sub(self.frame.size(self.n), column)
        columns = b.select(b.icmp_signed("<", left, I64(self.columns)), left, I64(self.columns))
        summed = None if self.product.unpacks else self._panel(stack, column)
        begin = b.sub(low, b.mul(stack, tiles))
        begin = b.select(b.icmp_signed(">", begin, I64(0)), begin, I64(0))
        end = b.sub(high, b.mul(stack, tiles))
        end = b.select(b.icmp_signed("<", end, tiles), end, tiles)
        if summed is None:
            self._unpacked_stack(stack, column, columns, begin, end)
            return
        with self.loops.loop(begin, end, 1, watched=True) as index:
            row, rows = self._rows_of(index)
            self.ahead = self._ahead(index, tiles)
            summed(row, rows)
            self.ahead = None
            self._finish(row, rows, column, columns)

    def _ahead(self, index: ir.Value, tiles: ir.Value) -> ir.Value | None:
        """How far ahead of what a tile reads of a panel the next panel has what that tile prefetches.

        Each of the first tiles takes a line of every row, so that the next panel is in a core's cache when it is
        multiplied, by few rows perhaps. Where there are fewer tiles than lines, the panel itself is all that is read.
        """
        b, product, tile = self.b, self.product, self.tile
        if not product.packed or product.unpacks or product.codes is not None or product.number is not None:
            return None
        if tile.of_matrices or self.frame.compact:
            return None
        lines = max(1, tile.columns * width(product.panel_dtype) // CACHE_LINE)
        size = b.mul(self.frame.size(self.depth), I64(tile.columns * width(product.panel_dtype)))
        own = b.mul(smaller(b, index, I64(lines - 1)), I64(CACHE_LINE))
        return b.select(b.icmp_signed(">=", tiles, I64(lines)), b.add(size, own), I64(0))

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
        b, has_one_width = self.b, self.tile.vectors == 1 or self.tile.dot is not None or self.product.groups > 1
        if isinstance(self.n, int) or has_one_width or self.frame.compact:
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
            targets = [self._sum_place(line, I64(index)) for index in range(self.tile.vectors)]
            store_row(self.loops, product, own, first, size(k.extent), targets)
            return
        sums, last, stride = self._sum_place(line, I64(0)), b.sub(left, I64(1)), size(product.rhs.index.factor(n))
        count = dot_columns(self.tile)
        with self.loops.loop(I64(0), smaller(b, left, I64(self.columns)), count) as start:
            places = [b.add(start, I64(number)) for number in range(count)]
            columns = [b.gep(first, [b.mul(smaller(b, at, last), stride)], source_etype=self.kind) for at in places]
            targets = [b.gep(sums, [at], source_etype=self.kind) for at in places]
            store_dots(self.loops, product, own, columns, size(k.extent), targets)

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
        rows_of = heights(tile, self.frame.compact)
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
        with nested(self.loops, self.frame, outer):
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
                        panel_dtype, extent_, apart, self.ahead,
                    )  # fmt: skip
                case PairDot() as dot:
                    accumulate_pairs(self.loops, tile, dot, cells, pointers, step, panel, extent_, ahead=self.ahead)
                case ByteDot():
                    accumulate_bytes(self.loops, product.lhs, tile, cells, pointers, step, panel, extent_, self.ahead)
            rows_read = extent_ if product.terms == 1 else up(b, extent_, I64(product.terms))
            b.store(b.add(read, b.mul(rows_read, I64(apart))), step_cell)
        for line in range(height):
            for index in range(tile.vectors):
                b.store(b.load(cells[line][index], typ=self.lanes), self._sum_place(I64(line), I64(index)))

    def _resume(self, cells: Cells) -> None:
        """Set accumulators to the sums of a tile so far."""
        for line, row in enumerate(cells):
            for index, cell in enumerate(row):
                self.b.store(self.b.load(self._sum_place(I64(line), I64(index)), typ=self.lanes), cell)

    def _summed(self) -> tuple[Sequence[Var], Dim, Dim]:
        """The axes that are summed one after another, and of the innermost one its terms, and how far apart these lie.

        Rows of a panel follow each other through all axes, so that those of the left operand may do so too.
        """
        *outer, inner = self.product.k
        step = self.product.lhs.index.factor(inner)
        if self.product.in_line and not self.product.in_place and self.product.terms == 1:
            return (), extent(self.product.k), step
        return outer, inner.extent, step


EMITTER = NestEmitter(_emit, _share)
