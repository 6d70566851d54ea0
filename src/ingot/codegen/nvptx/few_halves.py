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
from ingot.codegen.nvptx.few_rows import FROM_CACHE, LATENCY, START, Busy, Streamed, is_aligned, right_of
from ingot.codegen.nvptx.few_rows import refuses as refuses_few_rows
from ingot.codegen.nvptx.grid import WARP, SharedArray, barrier, register
from ingot.codegen.nvptx.half_product import is_of_halves
from ingot.codegen.nvptx.sums import SPLITS, finish_steps, most_splits
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Step, Variant
from ingot.dtypes import DType
from ingot.loops.ir import Contraction
from ingot.schedule.target import Target

COLUMNS = 64
"""Columns of a block."""

TERMS = 16
"""Terms of an instruction, and of a step."""

_RESIDENT = {8: 3, 16: 2}
"""The rows that functions are for, and the blocks of a multiprocessor at once."""

_WARPS = 8
_THREADS = WARP * _WARPS
_EIGHT, _FOUR = 8, 4
_MOST_PLACES = 65_535

_SPEED = 0.85
"""Of the memory's bandwidth, what is reached."""

_FOUR_SUMS = ir.Type("{float, float, float, float}")


def refuses(product: Contraction, target: Target) -> str | None:
    return refuses_few_rows(product, target) if is_of_halves(product) else "its operands are no halves"


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        f"half_rows{rows}": Function(partial(_emit, product=product, rows=rows), _THREADS, resident, ("splits",))
        for rows, resident in _RESIDENT.items()
    }


def plans(sized: Sized) -> Iterator[Plan]:
    product, gpu, places = sized.product, sized.gpu, min(sized.batch, _MOST_PLACES)
    if sized.rows > max(_RESIDENT) or sized.columns % _EIGHT or sized.depth % TERMS:
        return
    if not is_aligned(sized, right_of(product).index, product.n[0], _EIGHT):
        return
    if not is_aligned(sized, product.lhs.index, product.k[0], _FOUR):
        return
    rows, resident = next((rows, resident) for rows, resident in _RESIDENT.items() if rows >= sized.rows)
    blocks, steps = -(-sized.columns // COLUMNS), -(-sized.depth // (TERMS * _WARPS))
    moved = 2 * sized.batch * sized.columns * sized.depth
    filling = {gpu.multiprocessors * count // (blocks * places) for count in (1, 2, resident)}
    for splits in {1, *(min(steps, most_splits(sized), count) for count in filling)} - {0}:
        finish, more = finish_steps(sized, splits)
        busy = Busy(blocks * sized.batch * splits, gpu.multiprocessors)
        seconds = max(
            -(-steps // splits) * LATENCY * busy.waves(resident),
            moved / gpu.bandwidth / _SPEED,
            moved * busy.share / FROM_CACHE,
        )
        step = Step(f"half_rows{rows}", (blocks, splits, places), (_THREADS, 1), (splits,))
        yield Plan(gpu.step + START + seconds + more, (step, *finish))


VARIANT = Variant("few rows of halves", refuses, functions, plans)


def _emit(b: Builder, frame: Frame, product: Contraction, rows: int) -> None:
    _FewHalves(b, frame, product, rows).emit()


class _FewHalves(Streamed):
    """A block of 64 columns."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction, rows: int) -> None:
        super().__init__(b, frame, product)
        self.most = rows
        self.thread = register(b, "tid.x")
        self.warp, lane = b.sdiv(self.thread, I64(WARP)), b.srem(self.thread, I64(WARP))
        self.group, self.quarter = b.sdiv(lane, I64(4)), b.srem(lane, I64(4))

    def emit(self) -> None:
        b, product = self.b, self.product
        split = register(b, "ctaid.y")
        chunk = b.mul(up(b, b.sdiv(self.depth, I64(TERMS)), SPLITS), I64(TERMS))
        begin = b.mul(split, chunk)
        end = smaller(b, b.add(begin, chunk), self.depth)
        left = b.mul(register(b, "ctaid.x"), I64(COLUMNS))
        own = b.add(left, b.mul(self.group, I64(_EIGHT)))
        column = smaller(b, own, b.sub(self.columns, I64(_EIGHT)))
        sums = [[[stack_slot(b, F32) for _ in range(4)] for _ in range(4)] for _ in range(self.most // _EIGHT)]
        with self.loop(register(b, "ctaid.z"), self.batch, register(b, "nctaid.z")) as place:
            self.unflatten(product.batch, place)
            for cell in (cell for rows in sums for tile in rows for cell in tile):
                b.store(F32(0.0), cell)
            first = b.add(begin, b.mul(self.warp, I64(TERMS)))
            with self.loop(first, end, I64(_WARPS * TERMS)) as at:
                self._multiply(b.add(at, b.mul(self.quarter, I64(_FOUR))), column, sums)
            self._add_warps(sums, place, split, left)

    def _multiply(self, at: ir.Value, column: ir.Value, sums: Sequence[Sequence[Sequence[ir.Value]]]) -> None:
        """The products of four terms, which begin at `at`, added to the sums."""
        b = self.b
        (k,) = self.product.k
        self.variables[self.n] = column
        lines = []
        for number in range(_FOUR):
            self.variables[k] = b.add(at, I64(number))
            lines.append(self.loaded(self.right, Lane(self.n, _EIGHT, None)))
        self.variables[k] = at
        factors = []
        for rows in range(len(sums)):
            row = smaller(b, b.add(self.group, I64(_EIGHT * rows)), b.sub(self.rows, I64(1)))
            self.unflatten(self.product.m, row)
            factors.append(self.loaded(self.product.lhs, Lane(k, _FOUR, None)))
        for pair in range(4):
            words = [
                self._paired(lines[first], lines[first + 1], 2 * pair + half) for first in (0, 2) for half in range(2)
            ]
            for own, tiles in zip(factors, sums, strict=True):
                self._multiplied(tiles[pair], words, [self._neighbours(own, first) for first in (0, 2)])

    def _paired(self, one: ir.Value, other: ir.Value, lane: int) -> ir.Value:
        b = self.b
        kind = stored(self.product.lhs.dtype)
        both: ir.Value = ir.Constant(vector(kind, 2), ir.Undefined)
        for place, values in enumerate((one, other)):
            both = b.insert_element(both, b.extract_element(values, I32(lane)), I32(place))
        return self._word(both)

    def _neighbours(self, values: ir.Value, first: int) -> ir.Value:
        return self._word(self.b.shuffle_vector(values, values, ir.Constant(vector(I32, 2), [first, first + 1])))

    def _word(self, pair: ir.Value) -> ir.Value:
        """A pair as the instruction takes it."""
        return pair if self.product.lhs.dtype is DType.FLOAT16 else self.b.bitcast(pair, I32)

    def _multiplied(self, cells: Sequence[ir.Value], left: Sequence[ir.Value], right: Sequence[ir.Value]) -> None:
        """Add the products of 16 columns and 8 rows to the sums of a thread."""
        b = self.b
        is_half = self.product.lhs.dtype is DType.FLOAT16
        name = "llvm.nvvm.mma.m16n8k16.row.col." + ("f32.f32" if is_half else "bf16")
        arguments = [*left, *right, *(b.load(cell, F32) for cell in cells)]
        kind = ir.FunctionType(_FOUR_SUMS, [argument.type for argument in arguments])
        four = b.call(b.module.declared(name, kind), arguments)
        for number, cell in enumerate(cells):
            b.store(b.extract_value(four, number, F32), cell)

    def _add_warps(
        self, sums: Sequence[Sequence[Sequence[ir.Value]]], place: ir.Value, split: ir.Value, left: ir.Value
    ) -> None:
        """Add the sums of warps in shared memory, and end with each."""
        b = self.b
        array = SharedArray(b.module, "sums", F32, _WARPS * self.most * COLUMNS)
        barrier(b)
        base = b.mul(self.warp, I64(self.most * COLUMNS))
        for rows, tiles in enumerate(sums):
            for pair, cells in enumerate(tiles):
                for number, cell in enumerate(cells):
                    half, odd = divmod(number, 2)
                    row = b.add(b.mul(self.quarter, I64(2)), I64(_EIGHT * rows + odd))
                    column = b.add(b.mul(self.group, I64(_EIGHT)), I64(2 * pair + half))
                    at = b.add(base, b.add(b.mul(row, I64(COLUMNS)), column))
                    b.store(b.load(cell, F32), b.gep(array, [at], source_etype=F32))
        barrier(b)
        with self.loop(self.thread, b.mul(self.rows, I64(COLUMNS)), I64(_THREADS)) as number:
            parts = [
                b.load(b.gep(array, [b.add(number, I64(warp * self.most * COLUMNS))], source_etype=F32), F32)
                for warp in range(_WARPS)
            ]
            total = parts[0]
            for part in parts[1:]:
                total = b.fadd(total, part)
            row, column = b.sdiv(number, I64(COLUMNS)), b.srem(number, I64(COLUMNS))
            self.end_or_part(total, place, split, row, b.add(left, column))
