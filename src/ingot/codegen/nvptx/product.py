"""Contractions on a GPU: tiles of both operands in shared memory, a smaller tile of sums in the registers of a thread.

Every product and sum is one of the element type, multiplied and added in the order of the summed axis. Where there are
few tiles, blocks divide that axis, store partial sums, and a second function adds these, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import Lane, count_of
from ingot.codegen.llvm.share import smaller, up
from ingot.codegen.llvm.types import I32, I64, element, is_float, stack_slot, vector
from ingot.codegen.nvptx.grid import SharedArray, barrier, register
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import Contraction, Index, Load, Var, extent

SIDE = 16
"""A block has so many rows of so many threads."""

FOUR = 4
"""Neighbours that a thread reads of a tile at once, and copies into it."""

FINISH = "finish"
"""The function that adds partial sums."""

SPLITS = ir.Value(I64, "%splits")
"""The parameter that has the number of blocks that divide the summed axis."""


@dataclass(frozen=True, slots=True)
class ProductTile:
    """A thread has `side` by `side` sums, of `depth` products at a time."""

    side: int
    depth: int

    @property
    def block(self) -> int:
        """The rows, and the columns, of the sums of a block."""
        return SIDE * self.side


LARGE, SMALL = "large", "small"
TILES = {LARGE: ProductTile(8, 8), SMALL: ProductTile(4, 16)}
"""The tiles by the names of their functions; which one is better depends on the sizes of a run."""


def sum_type(dtype: DType) -> DType:
    """The type of sums: halves are summed as float32."""
    return DType.FLOAT32 if dtype in (DType.FLOAT16, DType.BFLOAT16) else dtype


def emit_product(b: Builder, frame: Frame, product: Contraction, tile: ProductTile) -> None:
    """The sums of a block, with their epilogue, or as partial sums."""
    _Product(b, frame, product, tile).emit()


def emit_finish(b: Builder, frame: Frame, product: Contraction) -> None:
    """The sums of partial sums, an element for each thread, with their epilogue."""
    Sums(b, frame, product).finish()


class Sums(ThreadLoops):
    """What both functions know: the axes, and the epilogue of a sum."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction) -> None:
        super().__init__(b, frame)
        self.product = product
        self.sum_dtype = sum_type(product.dtype)
        self.sum_kind = element(self.sum_dtype)
        (self.n,) = product.n
        self.four_bytes = min(16, FOUR * self.sum_dtype.numpy.itemsize)
        size = frame.size
        self.rows, self.columns, self.depth = (size(extent(axes)) for axes in (product.m, product.n, product.k))
        self.batch = size(extent(product.batch))

    def finish(self) -> None:
        b, product = self.b, self.product
        total = self.frame.size(extent((*product.batch, *product.m, *product.n)))
        pointer = self.frame.buffers[product.scratch[0]]
        with self.loop(*self.strided(total)) as number:
            cell = stack_slot(b, self.sum_kind)
            b.store(scalars.number(self.sum_dtype, 0, 1), cell)
            with b.counted(I64(0), SPLITS, I64(1)) as split:
                place = b.gep(pointer, [b.add(b.mul(split, total), number)], source_etype=self.sum_kind)
                b.store(self.added(b.load(cell, self.sum_kind), b.load(place, self.sum_kind)), cell)
            self.unflatten((*product.batch, *product.m, *product.n), number)
            self.end(b.load(cell, self.sum_kind))

    def added(self, one: ir.Value, other: ir.Value) -> ir.Value:
        return (self.b.fadd if is_float(self.sum_dtype) else self.b.add)(one, other)

    def end(self, total: ir.Value) -> None:
        """The epilogue of a sum, or of a vector of them."""
        self._known = {}
        self.locals["sum"] = scalars.cast(self.b, total, self.sum_dtype, self.product.dtype)
        self.statements(self.product.body)
        self._known = {}


class Block(Sums):
    """The sums of one block: `side` rows and columns, and a part of the summed axis in steps of `depth`."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction, side: int, depth: int) -> None:
        super().__init__(b, frame, product)
        self.thread = self.thread_of_block()
        row_tiles = up(b, self.rows, I64(side))
        block = register(b, "ctaid.x")
        self.top = b.mul(b.srem(block, row_tiles), I64(side))
        self.left = b.mul(b.sdiv(block, row_tiles), I64(side))
        self.split = register(b, "ctaid.y")
        chunk = b.mul(up(b, up(b, self.depth, I64(depth)), SPLITS), I64(depth))
        self.begin = b.mul(self.split, chunk)
        self.end_of_split = smaller(b, b.add(self.begin, chunk), self.depth)

    @property
    def right(self) -> Load:
        """The load of the right operand."""
        return _as_load(self.product) if self.product.packed else self.product.rhs

    def store_sums(
        self,
        memory: ir.Value,
        pieces: int,
        lanes: int,
        place_of: Callable[[ir.Value], tuple[ir.Value, ir.Value]],
        place: ir.Value,
    ) -> None:
        """Store the sums of a thread, which lie in memory in pieces of `lanes` neighbours, at a place of the batch.

        `place_of` is the row and the first column of a piece.
        """
        b, product = self.b, self.product
        aligned = self.is_aligned(product.body, self.n, lanes)
        is_split = b.icmp_signed(">", SPLITS, I64(1))
        align = min(16, lanes * self.sum_dtype.numpy.itemsize)
        with self.loop(I64(0), I64(pieces), I64(1)) as piece:
            row, column = place_of(piece)
            inside = b.and_(b.icmp_signed("<", row, self.rows), b.icmp_signed("<", column, self.columns))
            with b.if_then(inside):
                self.unflatten(product.m, row)
                address = b.gep(memory, [b.mul(piece, I64(lanes))], source_etype=self.sum_kind)
                end = b.add(column, I64(lanes))
                whole = b.and_(b.and_(aligned, b.not_(is_split)), b.icmp_signed("<=", end, self.columns))
                with b.if_else(whole) as (then, otherwise):
                    with then:
                        self.variables[self.n] = column
                        self._lane = Lane(self.n, lanes, None)
                        self.end(b.load(address, vector(self.sum_kind, lanes), align))
                        self._lane = None
                    with otherwise, self.loop(column, smaller(b, end, self.columns), I64(1)) as at:
                        lane = b.gep(address, [b.sub(at, column)], source_etype=self.sum_kind)
                        total = b.load(lane, self.sum_kind)
                        with b.if_else(is_split) as (divided, alone):
                            with divided:
                                self._store_partial(total, place, row, at)
                            with alone:
                                self.variables[self.n] = at
                                self.end(total)

    def _store_partial(self, total: ir.Value, place: ir.Value, row: ir.Value, column: ir.Value) -> None:
        b = self.b
        at = b.add(b.mul(self.split, self.batch), place)
        for count, value in ((self.rows, row), (self.columns, column)):
            at = b.add(b.mul(at, count), value)
        b.store(total, b.gep(self.frame.buffers[self.product.scratch[0]], [at], source_etype=self.sum_kind))


class _Product(Block):
    """One block of a product on the units for single elements."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction, tile: ProductTile) -> None:
        super().__init__(b, frame, product, tile.block, tile.depth)
        self.tile = tile
        self.column_of_threads, self.row_of_threads = b.srem(self.thread, I64(SIDE)), b.sdiv(self.thread, I64(SIDE))

    def emit(self) -> None:
        b, product, tile = self.b, self.product, self.tile
        line = tile.block + FOUR  # so that columns of a tile begin in other banks
        count = 2 * tile.depth * line
        arrays = [SharedArray(b.module, f"{side}{tile.block}", self.sum_kind, count) for side in ("left", "right")]
        operands = (
            _Operand(self, product.lhs, product.m, self.top, self.rows),
            _Operand(self, self.right, product.n, self.left, self.columns),
        )
        sums = [[stack_slot(b, self.sum_kind) for _ in range(tile.side)] for _ in range(tile.side)]
        with self.loop(register(b, "ctaid.z"), self.batch, register(b, "nctaid.z")) as place:
            self.unflatten(product.batch, place)
            for cell in (cell for row in sums for cell in row):
                b.store(scalars.number(self.sum_dtype, 0, 1), cell)
            for operand in operands:
                operand.open()
            self._stored_tiles(operands, arrays, [operand.fetch(self.begin) for operand in operands], I64(0), line)
            barrier(b)
            with self.loop(self.begin, self.end_of_split, I64(tile.depth)) as step:
                odd = b.and_(b.sdiv(b.sub(step, self.begin), I64(tile.depth)), I64(1))
                now, then = (b.mul(half, I64(tile.depth * line)) for half in (odd, b.xor(odd, I64(1))))
                fetched = [operand.fetch(b.add(step, I64(tile.depth))) for operand in operands]
                self._multiply(arrays, sums, now, line)
                self._stored_tiles(operands, arrays, fetched, then, line)
                barrier(b)
            self._finish_tile(sums, place)
            barrier(b)

    def _stored_tiles(
        self,
        operands: Sequence[_Operand],
        arrays: Sequence[SharedArray],
        fetched: Sequence[ir.Value],
        start: ir.Value,
        line: int,
    ) -> None:
        for operand, array, four in zip(operands, arrays, fetched, strict=True):
            operand.store(array, four, start, line)

    def _multiply(
        self, arrays: Sequence[SharedArray], sums: Sequence[Sequence[ir.Value]], start: ir.Value, line: int
    ) -> None:
        """Multiply the tiles of both operands, and add the products."""
        b, tile = self.b, self.tile
        four = vector(self.sum_kind, FOUR)
        places: tuple[ir.Value, ir.Value] = (self.row_of_threads, self.column_of_threads)
        for k in range(tile.depth):
            both = []
            for array, place in zip(arrays, places, strict=True):
                elements = []
                for part in range(tile.side // FOUR):
                    at = b.add(b.add(start, b.mul(place, I64(FOUR))), I64(k * line + part * SIDE * FOUR))
                    loaded = b.load(b.gep(array, [at], source_etype=self.sum_kind), four, self.four_bytes)
                    elements += [b.extract_element(loaded, I32(lane)) for lane in range(FOUR)]
                both.append(elements)
            for row, x in zip(sums, both[0], strict=True):
                for cell, y in zip(row, both[1], strict=True):
                    before = b.load(cell, self.sum_kind)
                    if is_float(self.sum_dtype):
                        b.store(scalars.multiply_add(b, x, y, before), cell)
                    else:
                        b.store(b.add(b.mul(x, y), before), cell)

    def _finish_tile(self, sums: Sequence[Sequence[ir.Value]], place: ir.Value) -> None:
        """Store the sums of a thread, four neighbours at a time."""
        b, tile, parts = self.b, self.tile, self.tile.side // FOUR
        memory = stack_slot(b, ir.ArrayType(self.sum_kind, tile.side * tile.side), 16)
        for number, cell in enumerate(cell for row in sums for cell in row):
            b.store(b.load(cell, self.sum_kind), b.gep(memory, [I64(number)], source_etype=self.sum_kind))

        def place_of(piece: ir.Value) -> tuple[ir.Value, ir.Value]:
            i, part = b.sdiv(piece, I64(parts)), b.srem(piece, I64(parts))
            across = b.add(b.mul(self.column_of_threads, I64(FOUR)), b.mul(part, I64(SIDE * FOUR)))
            return b.add(self.top, self._place(self.row_of_threads, i)), b.add(self.left, across)

        self.store_sums(memory, tile.side * parts, FOUR, place_of, place)

    def _place(self, thread: ir.Value, i: ir.Value) -> ir.Value:
        """Row or column `i` of a thread: fours of neighbours, a tile of fours apart."""
        b = self.b
        apart = b.mul(b.sdiv(i, I64(FOUR)), I64(SIDE * FOUR))
        return b.add(b.mul(thread, I64(FOUR)), b.add(b.srem(i, I64(FOUR)), apart))


class _Operand:
    """The tiles of an operand: each thread copies four elements, along `k` if that is contiguous, else along rows."""

    def __init__(self, block: _Product, load: Load, rows: Sequence[Var], first: ir.Value, count: ir.Value) -> None:
        """`rows` are its axes beside the summed ones; those of the block begin at `first`, of `count`."""
        self.block, self.load, self.rows, self.count = block, load, rows, count
        self.k = block.product.k
        b, tile = block.b, block.tile
        self.along_k = load.index.factor(self.k[-1]) == 1
        threads = tile.depth // FOUR if self.along_k else tile.block // FOUR
        inner = b.mul(b.srem(block.thread, I64(threads)), I64(FOUR))
        outer = b.sdiv(block.thread, I64(threads))
        self.row, self.depth = (outer, inner) if self.along_k else (inner, outer)
        self.first = b.add(first, self.row)
        self.inner = self.k[-1] if self.along_k else (rows[-1] if rows else None)
        self.placed: list[dict[Var, ir.Value]] = []
        self.whole: ir.Value | None = None

    def open(self) -> None:
        """Compute what is the same for all tiles: the rows of the thread, and whether fours are aligned."""
        block, b = self.block, self.block.b
        self.placed = []
        for number in range(1 if self.along_k else FOUR):
            row = b.add(self.first, I64(number))
            block.unflatten(self.rows, smaller(b, row, b.sub(self.count, I64(1))))
            self.placed.append({var: block.variables[var] for var in self.rows})
        index = self.load.index
        is_contiguous = self.inner is not None and index.factor(self.inner) == 1
        if not is_contiguous or any(where.index.factor(self.inner) != 0 for where in self.load.where):  # type: ignore[arg-type]
            self.whole = None
            return
        assert self.inner is not None
        size = block.frame.size
        bits = b.or_(size(index.offset), size(self.inner.extent))
        for term, factor in index.terms:
            if term is not self.inner:
                bits = b.or_(bits, size(factor))
        self.whole = b.icmp_signed("==", b.and_(bits, I64(FOUR - 1)), I64(0))

    def fetch(self, step: ir.Value) -> ir.Value:
        """The four elements of this thread in the tile that begins at `step` of the summed axis, as they are summed."""
        block, b = self.block, self.block.b
        at = b.add(step, self.depth)
        if self.whole is None:
            return self._singly(at)
        four = vector(block.sum_kind, FOUR)
        with b.if_else(self.whole) as (then, otherwise):
            with then:
                together = self._together(at)
                end_together = b.block
            with otherwise:
                singly = self._singly(at)
                end_singly = b.block
        phi = b.phi(four)
        phi.add_incoming(together, end_together)
        phi.add_incoming(singly, end_singly)
        return phi

    def _together(self, at: ir.Value) -> ir.Value:
        assert self.inner is not None
        return self._element(self.first, at, self.placed[0], Lane(self.inner, FOUR, None))

    def _singly(self, at: ir.Value) -> ir.Value:
        block, b = self.block, self.block.b
        result: ir.Value = ir.Constant(vector(block.sum_kind, FOUR), ir.Undefined)
        for number in range(FOUR):
            if self.along_k:
                value = self._element(self.first, b.add(at, I64(number)), self.placed[0], None)
            else:
                value = self._element(b.add(self.first, I64(number)), at, self.placed[number], None)
            result = b.insert_element(result, value, I32(number))
        return result

    def _element(self, row: ir.Value, at: ir.Value, placed: dict[Var, ir.Value], lane: Lane | None) -> ir.Value:
        """An element, or a vector of them; zero outside of the operand."""
        block, b = self.block, self.block.b
        inside = b.and_(b.icmp_signed("<", row, self.count), b.icmp_signed("<", at, block.end_of_split))
        dtype = block.sum_dtype
        count = 1 if lane is None else lane.count
        before = b.block
        with b.if_then(inside):
            block.variables.update(placed)
            block.unflatten(self.k, at)
            block._known, block._lane = {}, lane
            loaded = block.scalar(self.load)
            block._known, block._lane = {}, None
            value = scalars.cast(b, loaded, self.load.dtype, dtype)
            assert count_of(value) == count
            end = b.block
        phi = b.phi(value.type)
        phi.add_incoming(value, end)
        phi.add_incoming(scalars.number(dtype, 0, count), before)
        return phi

    def store(self, array: SharedArray, four: ir.Value, start: ir.Value, line: int) -> None:
        """Put the elements of this thread into a tile, whose rows are places of the summed axis."""
        block, b = self.block, self.block.b
        kind = block.sum_kind
        at = b.add(b.add(start, b.mul(self.depth, I64(line))), self.row)
        if not self.along_k:
            b.store(four, b.gep(array, [at], source_etype=kind), block.four_bytes)
            return
        for number in range(FOUR):
            place = b.gep(array, [b.add(at, I64(number * line))], source_etype=kind)
            b.store(b.extract_element(four, I32(number)), place)


def _as_load(product: Contraction) -> Load:
    """The load of a constant right operand, which lies as [batch, k, n]."""
    terms: list[tuple[Var, Dim]] = []
    step: Dim = 1
    for var in reversed((*product.batch, *product.k, *product.n)):
        terms.append((var, step))
        step = step * var.extent
    return Load(product.rhs.dtype, product.rhs.buffer, Index(tuple(reversed(terms))))
