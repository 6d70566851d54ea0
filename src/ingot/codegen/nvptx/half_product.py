"""Products of 16-bit floats on the tensor cores of Ampere and later: `mma.sync`, summed as float32.

Eight warps share the sums of a block; each multiplies 16 rows by 8 columns at a time, 16 terms at once. Both operands
lie in shared memory along the summed axis, two terms to a word; lines are 20 words apart, so that the words that a warp
reads at once are in different banks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import F32, I16, I32, I64, stack_slot, stored, vector
from ingot.codegen.nvptx.grid import WARP, SharedArray, barrier, register
from ingot.codegen.nvptx.sums import Block
from ingot.codegen.nvptx.tile_plans import BlockTile, tiled_plans
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Variant
from ingot.codegen.nvptx.warp_tiles import add_products
from ingot.dtypes import DType
from ingot.loops.ir import Contraction, Load, Var
from ingot.schedule.target import Target

_EIGHT = 8
"""Elements that a thread copies at once, 16 bytes; also the columns of one multiplication."""

_DEPTH = 32
"""Terms of a tile."""

_LINE = 20
"""Words from one line of a tile to the next: 16 of terms, and 4 that nobody reads."""

_ROWS, _TERMS = 16, 16
"""The rows and the terms of one multiplication."""

_WARP_ROWS, _WARP_COLUMNS = 2, 4
"""The warps of a block."""

_THREADS = WARP * _WARP_ROWS * _WARP_COLUMNS

_RESIDENT = 2

_SIDES = {128: 0.2, 64: 0.12}
"""Rows and columns of the sums of a block, and what it reaches of the speed of tensor cores."""


def is_of_halves(product: Contraction) -> bool:
    """Whether a product is one that tensor cores have: both operands of the same 16 bits, sums of float32."""
    dtype = product.lhs.dtype
    return dtype in (DType.FLOAT16, DType.BFLOAT16) and product.rhs.dtype is dtype and product.dtype is DType.FLOAT32


def refuses(product: Contraction, _: Target) -> str | None:
    return None if is_of_halves(product) else "its operands are no halves"


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        f"halves{side}": Function(partial(_emit, product=product, side=side), _THREADS, _RESIDENT, ("splits",))
        for side in _SIDES
    }


def plans(sized: Sized) -> Iterator[Plan]:
    for side, speed in _SIDES.items():
        tile = BlockTile(side, side, _DEPTH, (_THREADS, 1), _RESIDENT, sized.gpu.halves * speed)
        yield from tiled_plans(sized, f"halves{side}", tile)


VARIANT = Variant("halves", refuses, functions, plans)


def _emit(b: Builder, frame: Frame, product: Contraction, side: int) -> None:
    """The sums of a block of `side` rows and columns, with their epilogue, or as partial sums."""
    _HalfProduct(b, frame, product, side).emit()


class _HalfProduct(Block):
    """One block of a product."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction, side: int) -> None:
        super().__init__(b, frame, product, side, _DEPTH)
        self.side = side
        warp, lane = b.sdiv(self.thread, I64(WARP)), b.srem(self.thread, I64(WARP))
        self.line, self.pair = b.sdiv(lane, I64(4)), b.srem(lane, I64(4))
        self.tiles = side // _WARP_ROWS // _ROWS, side // _WARP_COLUMNS // _EIGHT
        self.warp_row = b.mul(b.srem(warp, I64(_WARP_ROWS)), I64(side // _WARP_ROWS))
        self.warp_column = b.mul(b.sdiv(warp, I64(_WARP_ROWS)), I64(side // _WARP_COLUMNS))

    def emit(self) -> None:
        b, product = self.b, self.product
        words = self.side * _LINE
        arrays = [SharedArray(b.module, f"{name}{self.side}", I32, 2 * words) for name in ("left", "right")]
        operands = (
            _Operand(self, product.lhs, product.m, self.top, self.rows),
            _Operand(self, self.right, product.n, self.left, self.columns),
        )
        rows, columns = self.tiles
        sums = [[[stack_slot(b, F32) for _ in range(4)] for _ in range(columns)] for _ in range(rows)]
        with self.loop(register(b, "ctaid.z"), self.batch, register(b, "nctaid.z")) as place:
            self.unflatten(product.batch, place)
            for cell in (cell for line in sums for tile in line for cell in tile):
                b.store(F32(0.0), cell)
            for operand in operands:
                operand.open()
            for operand, array in zip(operands, arrays, strict=True):
                operand.store(array, operand.fetch(self.begin), I64(0))
            barrier(b)
            with self.loop(self.begin, self.end_of_split, I64(_DEPTH)) as step:
                odd = b.and_(b.sdiv(b.sub(step, self.begin), I64(_DEPTH)), I64(1))
                now, then = (b.mul(half, I64(words)) for half in (odd, b.xor(odd, I64(1))))
                fetched = [operand.fetch(b.add(step, I64(_DEPTH))) for operand in operands]
                self._multiply(arrays, sums, now)
                for operand, array, pieces in zip(operands, arrays, fetched, strict=True):
                    operand.store(array, pieces, then)
                barrier(b)
            self._finish_tile(sums, place)
            barrier(b)

    def _multiply(
        self, arrays: Sequence[SharedArray], sums: Sequence[Sequence[Sequence[ir.Value]]], start: ir.Value
    ) -> None:
        """Multiply the tiles of both operands, and add the products."""
        b, (rows, columns) = self.b, self.tiles

        def word(array: SharedArray, line: ir.Value, first: int, offset: int) -> ir.Value:
            at = b.add(b.mul(b.add(b.add(line, self.line), I64(first)), I64(_LINE)), b.add(self.pair, start))
            return b.load(b.gep(array, [b.add(at, I64(offset))], source_etype=I32), I32)

        for term in range(0, _DEPTH, _TERMS):
            offset = term // 2
            left = [
                [
                    word(arrays[0], self.warp_row, _ROWS * i + _EIGHT * (part % 2), offset + 4 * (part // 2))
                    for part in range(4)
                ]
                for i in range(rows)
            ]
            right = [
                [word(arrays[1], self.warp_column, _EIGHT * j, offset + 4 * part) for part in range(2)]
                for j in range(columns)
            ]
            for line, four in zip(sums, left, strict=True):
                for cells, two in zip(line, right, strict=True):
                    add_products(self.b, self.product.lhs.dtype, cells, four, two)

    def _finish_tile(self, sums: Sequence[Sequence[Sequence[ir.Value]]], place: ir.Value) -> None:
        """Store the sums of a thread, two neighbours at a time: pieces are tiles of rows, halves of them, columns."""
        b, (rows, columns) = self.b, self.tiles
        count = rows * columns * 4
        memory = stack_slot(b, ir.ArrayType(F32, count), 16)
        number = 0
        for line in sums:
            for half in range(2):
                for cells in line:
                    for cell in cells[2 * half : 2 * half + 2]:
                        b.store(b.load(cell, F32), b.gep(memory, [I64(number)], source_etype=F32))
                        number += 1

        def place_of(piece: ir.Value) -> tuple[ir.Value, ir.Value]:
            halves, column = b.sdiv(piece, I64(columns)), b.srem(piece, I64(columns))
            row = b.add(b.mul(halves, I64(_EIGHT)), b.add(self.warp_row, self.line))
            across = b.add(b.mul(column, I64(_EIGHT)), b.add(self.warp_column, b.mul(self.pair, I64(2))))
            return b.add(self.top, row), b.add(self.left, across)

        self.store_sums(memory, count // 2, 2, place_of, place)


class _Operand:
    """The tiles of an operand; a thread copies pieces of them: eight terms of a line, or two terms of eight lines."""

    def __init__(self, block: _HalfProduct, load: Load, rows: Sequence[Var], first: ir.Value, count: ir.Value) -> None:
        """`rows` are its axes beside the summed ones; those of the block begin at `first`, of `count`."""
        self.block, self.load, self.rows, self.first, self.count = block, load, rows, first, count
        self.k = block.product.k
        self.kind = stored(load.dtype)
        self.eight = vector(self.kind, _EIGHT)
        b = block.b
        self.along_k = load.index.factor(self.k[-1]) == 1
        self.inner = self.k[-1] if self.along_k else (rows[-1] if rows else None)
        self.whole: ir.Value | None = None
        self.pieces: list[tuple[ir.Value, ir.Value]] = []
        self.placed: list[dict[Var, ir.Value]] = []
        if self.along_k:
            for number in range(block.side * _DEPTH // _EIGHT // _THREADS):
                place = b.add(block.thread, I64(number * _THREADS))
                self.pieces.append((b.sdiv(place, I64(4)), b.mul(b.srem(place, I64(4)), I64(_EIGHT))))
        else:
            row = b.mul(b.sdiv(block.thread, I64(_DEPTH // 2)), I64(_EIGHT))
            self.pieces.append((row, b.mul(b.srem(block.thread, I64(_DEPTH // 2)), I64(2))))

    def open(self) -> None:
        """Compute what is the same for all tiles: the rows of the thread, and whether pieces are aligned."""
        block, b, index = self.block, self.block.b, self.load.index
        inner, size = self.inner, self.block.frame.size
        self.whole = None
        self.placed = []
        for row, _ in self.pieces:
            block.unflatten(self.rows, smaller(b, b.add(self.first, row), b.sub(self.count, I64(1))))
            self.placed.append({var: block.variables[var] for var in self.rows})
        if inner is None or index.factor(inner) != 1:
            return
        if any(where.index.factor(inner) != 0 for where in self.load.where):
            return
        bits = b.or_(size(index.offset), size(inner.extent))
        for term, factor in index.terms:
            if term is not inner:
                bits = b.or_(bits, size(factor))
        self.whole = b.icmp_signed("==", b.and_(bits, I64(_EIGHT - 1)), I64(0))

    def fetch(self, step: ir.Value) -> list[ir.Value]:
        """The pieces of this thread in the tile that begins at `step` of the summed axis, as words."""
        b = self.block.b
        fetched = []
        for (row, term), placed in zip(self.pieces, self.placed, strict=True):
            line, at = b.add(self.first, row), b.add(step, term)
            if self.along_k:
                fetched.append(b.bitcast(self._eight(line, at, placed), ir.VectorType(I32, 4)))
                continue
            low, high = (self._bits(self._eight(line, b.add(at, I64(number)), placed)) for number in range(2))
            fetched.append(b.or_(low, b.shl(high, ir.Constant(ir.VectorType(I32, _EIGHT), [16] * _EIGHT))))
        return fetched

    def _bits(self, eight: ir.Value) -> ir.Value:
        b = self.block.b
        return b.zext(b.bitcast(eight, ir.VectorType(I16, _EIGHT)), ir.VectorType(I32, _EIGHT))

    def _eight(self, row: ir.Value, at: ir.Value, placed: dict[Var, ir.Value]) -> ir.Value:
        """Eight elements, along `k` or along rows from one on that is `placed`; zero outside of the operand."""
        b = self.block.b
        if self.whole is None:
            return self._singly(row, at)
        with b.if_else(self.whole) as (then, otherwise):
            with then:
                assert self.inner is not None
                together = self._element(row, at, Lane(self.inner, _EIGHT, None), placed)
                end_together = b.block
            with otherwise:
                singly = self._singly(row, at)
                end_singly = b.block
        phi = b.phi(self.eight)
        phi.add_incoming(together, end_together)
        phi.add_incoming(singly, end_singly)
        return phi

    def _singly(self, row: ir.Value, at: ir.Value) -> ir.Value:
        block, b = self.block, self.block.b
        memory = stack_slot(b, self.eight, 16)
        with block.loop(I64(0), I64(_EIGHT), I64(1)) as number:
            line, term = (row, b.add(at, number)) if self.along_k else (b.add(row, number), at)
            b.store(self._element(line, term, None), b.gep(memory, [number], source_etype=self.kind))
        return b.load(memory, self.eight, 16)

    def _element(
        self, row: ir.Value, at: ir.Value, lane: Lane | None, placed: dict[Var, ir.Value] | None = None
    ) -> ir.Value:
        """An element, or a vector of them; zero outside of the operand."""
        block, b = self.block, self.block.b
        inside = b.and_(b.icmp_signed("<", row, self.count), b.icmp_signed("<", at, block.end_of_split))
        before = b.block
        with b.if_then(inside):
            if placed is None:
                block.unflatten(self.rows, row)
            else:
                block.variables.update(placed)
            block.unflatten(self.k, at)
            block._known, block._lane = {}, lane
            value = block.scalar(self.load)
            block._known, block._lane = {}, None
            end = b.block
        phi = b.phi(value.type)
        phi.add_incoming(value, end)
        phi.add_incoming(scalars.number(self.load.dtype, 0, 1 if lane is None else lane.count), before)
        return phi

    def store(self, array: SharedArray, fetched: Sequence[ir.Value], start: ir.Value) -> None:
        """Put the pieces of this thread into a tile."""
        block, b = self.block, self.block.b
        for (row, term), words in zip(self.pieces, fetched, strict=True):
            at = b.add(b.add(start, b.mul(row, I64(_LINE))), b.sdiv(term, I64(2)))
            if self.along_k:
                b.store(words, b.gep(array, [at], source_etype=I32), 16)
                continue
            with b.if_then(b.icmp_signed("<", row, I64(block.side))):  # a small tile has fewer pieces than threads
                for number in range(_EIGHT):
                    place = b.gep(array, [b.add(at, I64(number * _LINE))], source_etype=I32)
                    b.store(b.extract_element(words, I32(number)), place)
