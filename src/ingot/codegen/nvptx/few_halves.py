"""Products of few rows of halves: a matrix whose columns are contiguous streams through the tensor cores once.

An instruction multiplies 16 columns of the matrix by up to eight rows, which cost no more than one, 16 terms at once.
A thread loads eight neighbours of four terms, and pairs terms with its own registers: of 64 columns, those that it has
are the ones that the instruction wants from it. Warps share the summed axis, and so do blocks where columns are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.share import smaller, up
from ingot.codegen.llvm.types import F32, I32, I64, stack_slot, stored, vector
from ingot.codegen.nvptx.few_rows import FROM_CACHE, LATENCY, START, Busy, Streamed, has_whole_columns, is_aligned
from ingot.codegen.nvptx.few_rows import refuses as refuses_few_rows
from ingot.codegen.nvptx.grid import WARP, SharedArray, barrier, register
from ingot.codegen.nvptx.half_product import is_of_halves
from ingot.codegen.nvptx.step import MOST_PLACES, Plan, Step
from ingot.codegen.nvptx.sums import SPLITS, finish_steps, most_splits
from ingot.codegen.nvptx.variant import Function, Sized, Variant
from ingot.codegen.nvptx.warp_tiles import add_products
from ingot.loops.ir import Contraction
from ingot.schedule.target import Target

COLUMNS = 64
"""Columns of a block."""

TERMS = 16
"""Terms of an instruction."""

AT_ONCE = 2
"""Instructions whose operands a thread loads at once."""

STEP = TERMS * AT_ONCE


_THREADS = {8: (256, 512), 16: (256,)}
"""Threads of a block, by the rows of a function."""

_EIGHT, _FOUR = 8, 4

_MOST_THREADS = 512
"""Threads of a multiprocessor at once: so many registers does each have."""

_SPEED = 0.85
"""Of the memory's bandwidth, what is reached."""


def refuses(product: Contraction, target: Target) -> str | None:
    return refuses_few_rows(product, target) if is_of_halves(product) else "its operands are no halves"


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        f"half_rows{rows}": Function(
            partial(_emit, product=product, rows=rows), threads[-1], _MOST_THREADS // threads[-1], ("splits",)
        )
        for rows, threads in _THREADS.items()
    }


def plans(sized: Sized) -> Iterator[Plan]:
    product, gpu, places = sized.product, sized.gpu, min(sized.batch, MOST_PLACES)
    if sized.rows > max(_THREADS) or sized.depth % STEP or not has_whole_columns(sized, _EIGHT):
        return
    if not is_aligned(sized, product.lhs.index, product.k[0], _FOUR):
        return
    rows = next(rows for rows in _THREADS if rows >= sized.rows)
    blocks = -(-sized.columns // COLUMNS)
    moved = 2 * sized.batch * sized.columns * sized.depth
    for threads in _THREADS[rows]:
        steps = -(-sized.depth // (STEP * threads // WARP))
        filling = {gpu.multiprocessors * count // (blocks * places) for count in (1, 2)}
        for splits in {1, *(min(steps, most_splits(sized), count) for count in filling)} - {0}:
            finish, more = finish_steps(sized, splits)
            busy = Busy(blocks * sized.batch * splits, gpu.multiprocessors)
            seconds = max(
                -(-steps // splits) * LATENCY * busy.waves(_MOST_THREADS // threads),
                moved / gpu.bandwidth / _SPEED,
                moved * busy.share / FROM_CACHE,
            )
            step = Step(f"half_rows{rows}", (blocks, splits, places), (threads, 1), (splits,))
            yield Plan(gpu.step + START + seconds + more, (step, *finish))


VARIANT = Variant("few rows of halves", refuses, functions, plans, is_streaming=True)


def _emit(b: Builder, frame: Frame, product: Contraction, rows: int) -> None:
    _FewHalves(b, frame, product, rows).emit()


class _FewHalves(Streamed):
    """A block of 64 columns."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction, rows: int) -> None:
        super().__init__(b, frame, product)
        self.most = rows
        self.thread, self.threads = register(b, "tid.x"), register(b, "ntid.x")
        self.warp, lane = b.sdiv(self.thread, I64(WARP)), b.srem(self.thread, I64(WARP))
        self.group, self.quarter = b.sdiv(lane, I64(4)), b.srem(lane, I64(4))

    def emit(self) -> None:
        b, product = self.b, self.product
        split = register(b, "ctaid.y")
        chunk = b.mul(up(b, b.sdiv(self.depth, I64(STEP)), SPLITS), I64(STEP))
        begin = b.mul(split, chunk)
        end = smaller(b, b.add(begin, chunk), self.depth)
        left = b.mul(register(b, "ctaid.x"), I64(COLUMNS))
        own = b.add(left, b.mul(self.group, I64(_EIGHT)))
        column = b.select(b.icmp_signed("<", own, self.columns), own, I64(0))
        sums = [[[stack_slot(b, F32) for _ in range(4)] for _ in range(4)] for _ in range(self.most // _EIGHT)]
        with self.loop(register(b, "ctaid.z"), self.batch, register(b, "nctaid.z")) as place:
            self.unflatten(product.batch, place)
            for cell in (cell for rows in sums for tile in rows for cell in tile):
                b.store(F32(0.0), cell)
            first = b.add(begin, b.mul(self.warp, I64(STEP)))
            with self.loop(first, end, b.mul(b.sdiv(self.threads, I64(WARP)), I64(STEP))) as at:
                self._multiply(b.add(at, b.mul(self.quarter, I64(_FOUR))), column, sums)
            self._add_warps(sums, place, split, left)

    def _multiply(self, at: ir.Value, column: ir.Value, sums: Sequence[Sequence[Sequence[ir.Value]]]) -> None:
        """The products of terms that begin at `at`, four for each instruction, added to the sums."""
        b, product = self.b, self.product
        (k,) = product.k
        self.variables[self.n] = column
        starts = [b.add(at, I64(number * TERMS)) for number in range(AT_ONCE)]
        lines = [[self._line(b.add(start, I64(number))) for number in range(_FOUR)] for start in starts]
        factors: list[list[ir.Value]] = [[] for _ in starts]
        for rows in range(len(sums)):
            row = smaller(b, b.add(self.group, I64(_EIGHT * rows)), b.sub(self.rows, I64(1)))
            self.unflatten(product.m, row)
            for start, own in zip(starts, factors, strict=True):
                self.variables[k] = start
                own.append(self.loaded(product.lhs, Lane(k, _FOUR, None)))
        for four, rows_of in zip(lines, factors, strict=True):
            for pair in range(4):
                words = [self._paired(four[at], four[at + 1], 2 * pair + half) for at in (0, 2) for half in range(2)]
                for own_row, tiles in zip(rows_of, sums, strict=True):
                    add_products(
                        b, product.lhs.dtype, tiles[pair], words, [self._neighbours(own_row, at) for at in (0, 2)]
                    )

    def _line(self, at: ir.Value) -> ir.Value:
        """Eight columns of a term."""
        self.variables[self.product.k[0]] = at
        return self.loaded(self.right, Lane(self.n, _EIGHT, None))

    def _paired(self, one: ir.Value, other: ir.Value, lane: int) -> ir.Value:
        b = self.b
        kind = stored(self.product.lhs.dtype)
        both: ir.Value = ir.Constant(vector(kind, 2), ir.Undefined)
        for place, values in enumerate((one, other)):
            both = b.insert_element(both, b.extract_element(values, I32(lane)), I32(place))
        return b.bitcast(both, I32)

    def _neighbours(self, values: ir.Value, first: int) -> ir.Value:
        pair = self.b.shuffle_vector(values, values, ir.Constant(vector(I32, 2), [first, first + 1]))
        return self.b.bitcast(pair, I32)

    def _add_warps(
        self, sums: Sequence[Sequence[Sequence[ir.Value]]], place: ir.Value, split: ir.Value, left: ir.Value
    ) -> None:
        """Add the sums of warps in shared memory, and end with each."""
        b = self.b
        array = SharedArray(b.module, "sums", F32, _THREADS[self.most][-1] // WARP * self.most * COLUMNS)
        barrier(b)
        base = b.mul(self.warp, I64(self.most * COLUMNS))
        for rows, tiles in enumerate(sums):
            for pair, cells in enumerate(tiles):
                for own_sum, cell in enumerate(cells):
                    half, odd = divmod(own_sum, 2)
                    row = b.add(b.mul(self.quarter, I64(2)), I64(_EIGHT * rows + odd))
                    column = b.add(b.mul(self.group, I64(_EIGHT)), I64(2 * pair + half))
                    at = b.add(base, b.add(b.mul(row, I64(COLUMNS)), column))
                    b.store(b.load(cell, F32), b.gep(array, [at], source_etype=F32))
        barrier(b)
        warps = b.sdiv(self.threads, I64(WARP))
        with self.loop(self.thread, b.mul(self.rows, I64(COLUMNS)), self.threads) as number:
            cell = stack_slot(b, F32)
            b.store(F32(0.0), cell)
            with b.counted(I64(0), warps, I64(1)) as warp:
                at = b.add(number, b.mul(warp, I64(self.most * COLUMNS)))
                b.store(b.fadd(b.load(cell, F32), b.load(b.gep(array, [at], source_etype=F32), F32)), cell)
            row, column = b.sdiv(number, I64(COLUMNS)), b.srem(number, I64(COLUMNS))
            self.end_or_part(b.load(cell, F32), place, split, row, b.add(left, column))
