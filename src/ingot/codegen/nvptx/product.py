"""Contractions on a GPU: tiles of both operands in shared memory, a smaller tile of sums in the registers of a thread.

Every product and sum is one of the element type, multiplied and added in the order of the summed axis. Any product has
this variant but those of halves, which tensor cores multiply.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import Lane, count_of
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import I32, I64, is_float, stack_slot, vector
from ingot.codegen.nvptx.grid import SharedArray, barrier, register
from ingot.codegen.nvptx.half_product import is_of_halves
from ingot.codegen.nvptx.sums import Block
from ingot.codegen.nvptx.tile_plans import BlockTile, tiled_plans
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Variant
from ingot.dataclass import dataclass
from ingot.loops.ir import Contraction, Load, Var
from ingot.schedule.target import Target

SIDE = 16
"""A block has so many rows of so many threads."""

FOUR = 4
"""Neighbours that a thread reads of a tile at once, and copies into it."""


@dataclass(frozen=True, slots=True)
class ProductTile:
    """A thread has `side` by `side` sums, of `depth` products at a time; `speed` is of that of a multiprocessor."""

    side: int
    depth: int
    speed: float

    @property
    def block(self) -> int:
        """The rows, and the columns, of the sums of a block."""
        return SIDE * self.side


LARGE, SMALL = "large", "small"
TILES = {LARGE: ProductTile(8, 8, 0.56), SMALL: ProductTile(4, 16, 0.46)}
"""The tiles by the names of their functions; which one is better depends on the sizes of a run."""

_RESIDENT = 2


def refuses(product: Contraction, _: Target) -> str | None:
    return "tensor cores multiply halves" if is_of_halves(product) else None


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        name: Function(partial(_emit, product=product, tile=tile), SIDE * SIDE, _RESIDENT, ("splits",))
        for name, tile in TILES.items()
    }


def plans(sized: Sized) -> Iterator[Plan]:
    for name, tile in TILES.items():
        rate = sized.gpu.singles * tile.speed
        yield from tiled_plans(
            sized, name, BlockTile(tile.block, tile.block, tile.depth, (SIDE, SIDE), _RESIDENT, rate)
        )


VARIANT = Variant("single elements", refuses, functions, plans)


def _emit(b: Builder, frame: Frame, product: Contraction, tile: ProductTile) -> None:
    """The sums of a block, with their epilogue, or as partial sums."""
    _Product(b, frame, product, tile).emit()


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
