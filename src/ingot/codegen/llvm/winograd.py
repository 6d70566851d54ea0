"""Convolutions by Winograd's algorithm in LLVM: blocks of tiles transformed, multiplied (GEMM), transformed back."""

from __future__ import annotations

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame, NestEmitter
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.micro import accumulate, cells_of
from ingot.codegen.llvm.product import SUM
from ingot.codegen.llvm.share import Share, Sharing, larger, part_of, smaller, up
from ingot.codegen.llvm.transform import input_transform, output_transform
from ingot.codegen.llvm.types import I1, I16, I32, I64, PTR, element, stack_slot, vector, width
from ingot.loops.ir import Apply, For, Let, Literal, Statement, Update, Var, Winograd, extent, widened
from ingot.schedule.tile import heights
from ingot.schedule.work import BLOCKS_PER_THREAD, CONTRACTION_GRAIN

Origin = tuple[ir.Value, ir.Value]
"""The row and the column that a tile begins at."""

_INPUTS, _SUMS = 0, 1
"""Which of the scratch buffers."""


def _emit(b: Builder, frame: Frame, nest: Winograd) -> None:
    """A convolution, parallel over blocks of tiles and, in each, panels of filters.

    The order in which a tile and a filter are summed does not depend on how they are shared.
    """
    _Emitter(b, frame, nest).emit()


def _share(b: Builder, sharing: Sharing, nest: Winograd) -> Share:
    """How a convolution is divided: by blocks of tiles; where these are few, by panels of filters too."""
    assert nest.tile is not None
    size, threads = sharing.size, sharing.threads
    tiles, (filter_,) = extent(_tiles(nest)), nest.n
    panels = up(b, size(filter_.extent), I64(nest.tile.columns))
    blocks = _blocks(b, size(tiles), size(nest.block))
    work = b.sdiv(size(tiles * (nest.side + 2) ** 2 * nest.k[-1].extent * filter_.extent), I64(CONTRACTION_GRAIN))
    wanted = up(b, b.mul(threads, I64(BLOCKS_PER_THREAD)), larger(b, blocks, I64(1)))
    return Share(work, b.mul(blocks, smaller(b, panels, wanted)))


class _Emitter:
    def __init__(self, b: Builder, frame: Frame, nest: Winograd) -> None:
        self.b = b
        self.frame = frame
        self.nest = nest
        self.loops = Loops(b, frame)
        assert nest.tile is not None
        self.tile = nest.tile
        self.side, self.span = nest.side, nest.side + 2
        self.kind = element(nest.dtype)
        self.read_kind = element(nest.lhs.dtype)
        self.lanes = vector(self.kind, self.tile.lanes)
        self.align = width(nest.dtype) * self.tile.lanes
        *self.images, self.row, self.column = nest.m
        self.channel, (self.filter,) = nest.k[-1], nest.n
        *_, self.down, self.across = self.numbered = _tiles(nest)
        self.tiles = extent(self.numbered)
        self.places = stack_slot(b, ir.ArrayType(PTR, self.span**2))
        self.sums = stack_slot(b, ir.ArrayType(self.lanes, self.side**2), self.align)
        self.scratch = [self._own(which) for which in (_INPUTS, _SUMS)]

    def emit(self) -> None:
        b, size = self.b, self.frame.size
        panels = up(b, size(self.filter.extent), I64(self.tile.columns))
        blocks = _blocks(b, size(self.tiles), size(self.nest.block))
        times = up(b, self.frame.pieces, larger(b, blocks, I64(1)))
        low, high = part_of(b, b.mul(blocks, times), self.frame.piece, self.frame.pieces)
        with b.if_then(b.icmp_signed("<", low, high)):
            last = b.add(b.sdiv(b.sub(high, I64(1)), times), I64(1))
            with self.loops.loop(b.sdiv(low, times), last, 1, watched=True) as block:
                before = b.mul(block, times)
                begin = larger(b, b.sub(low, before), I64(0))
                end = smaller(b, b.sub(high, before), times)
                panel_range = [b.sdiv(b.mul(panels, at), times) for at in (begin, end)]
                self._block(block, blocks, panels, *panel_range)

    def _block(self, block: ir.Value, blocks: ir.Value, panels: ir.Value, begin: ir.Value, end: ir.Value) -> None:
        """The tiles of one block, for the panels of filters from `begin` to `end`; blocks are as even as can be."""
        b, size, loop = self.b, self.frame.size, self.loops.loop
        first, next_ = part_of(b, size(self.tiles), block, blocks)
        count = b.sub(next_, first)
        with loop(I64(0), count, 1) as tile:
            self._transform_inputs(tile, self._bind(b.add(first, tile)))
        with loop(I64(0), I64(self.span**2), 1, watched=True) as point, loop(begin, end, 1) as panel:
            self._multiply(point, panel, panels, count)
        with loop(I64(0), count, 1) as tile:
            self._transform_sums(tile, self._bind(b.add(first, tile)), begin, end)

    # --- inputs

    def _transform_inputs(self, tile: ir.Value, origin: Origin) -> None:
        """Store the values of one tile at all points, for all channels."""
        b, span = self.b, self.span
        self._locate(origin)
        channels = self.frame.size(self.channel.extent)
        with self.loops.loop(I64(0), channels, self.tile.lanes) as first:
            mask = self.loops.lanes_below(b.sub(channels, first), self.tile.lanes)
            inputs = []
            for number in range(span**2):
                start = b.load(b.gep(self.places, [I64(number)], source_etype=PTR), typ=PTR)
                inputs.append(self._loaded(b.gep(start, [first], source_etype=self.read_kind), mask))
                if number % span >= 2:
                    self._fetch_ahead(start, first)
            values = input_transform(b, self.side, [inputs[i * span : (i + 1) * span] for i in range(span)])
            place = self._place(_INPUTS, tile, first)
            for number, value in enumerate(element for line in values for element in line):
                b.store(value, self._at(_INPUTS, I64(number), place)).align = self.align

    def _locate(self, origin: Origin) -> None:
        """Compute where each element of a tile is read: in the padding, that is a buffer of zeros."""
        b, loops, lhs, variables = self.b, self.loops, self.nest.lhs, self.loops.variables
        variables.update({var: I64(0) for var in self.nest.k})
        with loops.loop(I64(0), I64(self.span), 1) as i:
            for j in range(self.span):
                variables[self.row], variables[self.column] = b.add(origin[0], i), b.add(origin[1], I64(j))
                place = b.gep(self.frame.buffers[lhs.buffer], [loops.index(lhs.index)], source_etype=self.read_kind)
                bounds = [(loops.index(condition.index), condition.size) for condition in lhs.where]
                bounds += [(variables[var], var.extent + 2) for var in (self.row, self.column)]  # no window sees more
                for index, size in bounds:
                    inside = b.icmp_unsigned("<", index, self.frame.size(size))
                    place = b.select(inside, place, self.frame.buffers[self.nest.zeros])
                number = b.add(b.mul(i, I64(self.span)), I64(j))
                b.store(place, b.gep(self.places, [number], source_etype=PTR))

    def _loaded(self, place: ir.Value, mask: ir.Value) -> ir.Value:
        """A vector of elements of the left operand, zeros where the mask is not set."""
        b, dtype = self.b, self.nest.lhs.dtype
        bits = self.lanes if dtype is self.nest.dtype else vector(I16, self.tile.lanes)
        arguments = [place, I32(width(dtype)), mask, ir.Constant(bits, None)]
        loaded = scalars.intrinsic(b, "masked.load", bits, arguments, bits, PTR)
        kind = vector(self.read_kind, self.tile.lanes)
        return scalars.cast(b, loaded if kind == bits else b.bitcast(loaded, kind), dtype, self.nest.dtype)

    def _fetch_ahead(self, start: ir.Value, first: ir.Value) -> None:
        """Prefetch the next tile along a row: wherever that is, a prefetch does no harm."""
        b = self.b
        step = self.frame.size(self.nest.lhs.index.factor(self.column))
        place = b.gep(start, [b.add(first, b.mul(I64(self.side), step))], source_etype=self.read_kind)
        for_reading, keep, of_memory = I32(0), I32(3), I32(1)
        scalars.intrinsic(b, "prefetch", ir.VoidType(), [place, for_reading, keep, of_memory], PTR)

    # --- products

    def _multiply(self, point: ir.Value, panel: ir.Value, panels: ir.Value, count: ir.Value) -> None:
        """The products of all tiles of a block with one panel of the weights at one point."""
        b, tile, dtype = self.b, self.tile, self.nest.dtype
        depth = self.frame.size(self.channel.extent)
        start = b.mul(b.add(b.mul(point, panels), panel), b.mul(depth, I64(tile.columns)))
        weights = b.gep(self.frame.buffers[self.nest.rhs.buffer], [start], source_etype=self.kind)
        column = b.mul(panel, I64(tile.columns))
        done: ir.Value = I64(0)
        for height in heights(tile, self.frame.compact):
            stop = b.add(done, b.mul(b.sdiv(b.sub(count, done), I64(height)), I64(height)))
            with self.loops.loop(done, stop, height) as first:
                lines = [b.add(first, I64(line)) for line in range(height)]
                rows = [self._at(_INPUTS, point, self._place(_INPUTS, line, I64(0))) for line in lines]
                cells = cells_of(b, dtype, tile, height)
                accumulate(self.loops, dtype, tile, cells, rows, I64(1), weights, depth)
                for line, row in zip(lines, cells, strict=True):
                    for index, cell in enumerate(row):
                        place = self._place(_SUMS, line, b.add(column, I64(index * tile.lanes)))
                        b.store(b.load(cell, typ=self.lanes), self._at(_SUMS, point, place)).align = self.align
            done = stop

    # --- sums

    def _transform_sums(self, tile: ir.Value, origin: Origin, begin: ir.Value, end: ir.Value) -> None:
        """Transform the products of one tile to sums, and run the epilogue on them."""
        b, columns, lanes = self.b, I64(self.tile.columns), self.tile.lanes
        high = smaller(self.b, b.mul(end, columns), self.frame.size(self.filter.extent))
        with self.loops.loop(b.mul(begin, columns), high, lanes) as first:
            sums = self._transform_sum(tile, first)
            left = b.sub(high, first)
            mask = self.loops.lanes_below(left, self.tile.lanes)
            with b.if_else(self._infinite(sums, mask), likely=False) as (directly, otherwise):
                with directly:
                    self._finish(origin, first, mask, self._direct())
                with otherwise:
                    self._finish_sums(origin, first, mask, left)

    def _finish_sums(self, origin: Origin, first: ir.Value, mask: ir.Value, left: ir.Value) -> None:
        """The epilogue for the sums of a vector of filters: without a mask where it has all lanes."""
        b = self.b
        if self.frame.compact:
            self._finish(origin, first, mask, ())
            return
        with b.if_else(b.icmp_signed(">=", left, I64(self.tile.lanes))) as (whole, part):
            with whole:
                self._finish(origin, first, None, ())
            with part:
                self._finish(origin, first, mask, ())

    def _transform_sum(self, tile: ir.Value, first: ir.Value) -> list[ir.Value]:
        """The sums of a tile for a vector of filters, which are stored too."""
        b, span = self.b, self.span
        place = self._place(_SUMS, tile, first)
        sums: list[ir.Value] = [
            b.load(self._at(_SUMS, I64(number), place), typ=self.lanes, align=self.align) for number in range(span**2)
        ]
        lines = output_transform(b, self.side, [sums[i * span : (i + 1) * span] for i in range(span)])
        sums = [total for line in lines for total in line]
        for number, value in enumerate(sums):
            b.store(value, b.gep(self.sums, [I64(number)], source_etype=self.lanes))
        return sums

    def _infinite(self, sums: list[ir.Value], mask: ir.Value) -> ir.Value:
        """Whether a sum is infinite or NaN: perhaps only because transforms mix what windows do not."""
        b = self.b
        zero = ir.Constant(self.lanes, None)
        parts: list[ir.Value] = [zero, zero]
        for number, value in enumerate(sums):
            parts[number % 2] = scalars.multiply_add(b, value, zero, parts[number % 2])
        wrong = b.and_(b.fcmp_unordered("uno", *parts), mask)
        return scalars.intrinsic(b, "vector.reduce.or", I1, [wrong], wrong.type) if self.tile.lanes > 1 else wrong

    def _direct(self) -> tuple[Statement, ...]:
        """The statements that compute a sum directly."""
        nest = self.nest
        factors = tuple(widened(operand, nest.dtype) for operand in (nest.lhs, nest.plain))
        loops: Statement = Update(SUM, "add", Apply(nest.dtype, "multiply", factors))
        for var in reversed(nest.k):
            loops = For(var, (loops,))
        return (Let(SUM, Literal(nest.dtype, 0.0)), loops)

    def _finish(self, origin: Origin, first: ir.Value, mask: ir.Value | None, before: tuple[Statement, ...]) -> None:
        """The epilogue, for the sums of a tile that are in range: those stored, or what statements `before` compute."""
        b, loops = self.b, self.loops
        lane = Lane(self.filter, self.tile.lanes, mask)
        rows, columns = (
            smaller(self.b, b.sub(self.frame.size(var.extent), start), I64(self.side))
            for var, start in zip((self.row, self.column), origin, strict=True)
        )
        with loops.loop(I64(0), rows, 1) as i, loops.loop(I64(0), columns, 1) as j:
            loops.variables[self.row], loops.variables[self.column] = b.add(origin[0], i), b.add(origin[1], j)
            place = b.gep(self.sums, [b.add(b.mul(i, I64(self.side)), j)], source_etype=self.lanes)
            loops.locals = {} if before else {SUM: b.load(place, typ=self.lanes)}
            loops.in_lanes((*before, *self.nest.body), lane, first)

    # --- places

    def _bind(self, number: ir.Value) -> Origin:
        """Give the variables before rows and columns the values of a tile; where it begins."""
        b, variables = self.b, self.loops.variables
        self.loops.unflatten(self.numbered, number)
        return b.mul(variables[self.down], I64(self.side)), b.mul(variables[self.across], I64(self.side))

    def _own(self, which: int) -> ir.Value:
        """The part of a scratch buffer that belongs to this thread."""
        whole = self.frame.size(self.nest.lines[which] * self.nest.block * self.span**2)
        place = self.b.mul(self.frame.thread, whole)
        return self.b.gep(self.frame.buffers[self.nest.scratch[which]], [place], source_etype=self.kind)

    def _place(self, which: int, tile: ir.Value, column: ir.Value) -> ir.Value:
        return self.b.add(self.b.mul(tile, self.frame.size(self.nest.lines[which])), column)

    def _at(self, which: int, point: ir.Value, place: ir.Value) -> ir.Value:
        """The address of an element at a point, by its place among those of all tiles of a block at that point."""
        b = self.b
        apart = self.frame.size(self.nest.lines[which] * self.nest.block)
        return b.gep(self.scratch[which], [b.add(b.mul(point, apart), place)], source_etype=self.kind)


def _blocks(b: Builder, tiles: ir.Value, most: ir.Value) -> ir.Value:
    """How many blocks there are, of at most so many tiles: an even number, but for one."""
    blocks = up(b, tiles, most)
    odd = b.and_(b.and_(blocks, I64(1)), b.zext(b.icmp_signed(">", blocks, I64(1)), I64))
    return b.add(blocks, odd)


def _tiles(nest: Winograd) -> tuple[Var, ...]:
    """The variables that number tiles: those before rows and columns, and these in steps of a side."""
    *images, row, column = nest.m
    return (*images, *(Var(var.name, (var.extent + (nest.side - 1)) // nest.side) for var in (row, column)))


EMITTER = NestEmitter(_emit, _share)
