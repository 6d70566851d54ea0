"""Products of few rows: a matrix whose columns are contiguous streams through registers once, at the memory's speed.

Threads of a block lie in a line along columns, a vector of neighbours each, and in lines that share the summed axis. A
thread has a sum for each of its columns and every row; sums of lines are added by shuffles within a warp, between warps
through shared memory, and where columns are few, of several blocks by `finish`: always in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.share import smaller, up
from ingot.codegen.llvm.types import F32, I32, I64, is_float, stack_slot, vector, width
from ingot.codegen.nvptx.grid import WARP, SharedArray, barrier, exchanged, register
from ingot.codegen.nvptx.step import MOST_PLACES, Plan, Step
from ingot.codegen.nvptx.sums import SPLITS, Sums, finish_steps, most_splits, packed_load, sum_type
from ingot.codegen.nvptx.variant import Function, Sized, Variant
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Contraction, Index, Load, Var
from ingot.schedule.target import Target

_BYTES = 16
"""Of a load."""

_MOST_DEPTH = 8
"""Places of the summed axis that a thread loads at once, at most."""

_ROWS = (1, 2, 4, 8)
"""The rows that functions are for."""

_SINGLE = "_single"

_MOST_SUMS = 32
"""Sums of a thread, at most: there are registers for so many."""

_SHARED = 8192
"""Sums in shared memory at once, at most."""

_BESIDE = (2, 4, 8, 16, 32)
"""Threads along columns."""

START = 1e-6
"""Seconds until the first loads have arrived and after the last ones, about."""

LATENCY = 0.65e-6
"""Seconds from loads to what is loaded."""

FROM_CACHE = 80e9
"""Bytes a second that a multiprocessor loads at most, by measurement on an H200."""

_LINE = {32: 0.5, 64: 0.8}
"""Of the memory's bandwidth, what is reached with lines of so many bytes."""


@dataclass(frozen=True, slots=True)
class FewRows:
    """A function for `rows`: `is_wide` if vectors of both operands are aligned and whole, else elements are loaded."""

    rows: int
    is_wide: bool

    @property
    def name(self) -> str:
        return f"rows{self.rows}{'' if self.is_wide else _SINGLE}"

    @property
    def threads(self) -> int:
        return 512 if self.rows <= 2 else 256

    @property
    def resident(self) -> int:
        """Blocks of a multiprocessor at once, at least."""
        return 1 if self.rows == 2 else 2

    def lanes(self, weight: DType) -> int:
        """Columns of a thread."""
        return _BYTES // width(weight) if self.is_wide else 1

    @property
    def depth(self) -> int:
        """Places of the summed axis that a thread loads at once."""
        return _MOST_DEPTH if self.rows <= 2 else 4


FUNCTIONS = [FewRows(rows, is_wide) for rows in _ROWS for is_wide in (True, False)]


def refuses(product: Contraction, _: Target) -> str | None:
    if sum_type(product.dtype) is not DType.FLOAT32:
        return "sums are no float32"
    if not all(is_float(load.dtype) or load.dtype is DType.BFLOAT16 for load in (product.lhs, product.rhs)):
        return "operands are no floats"
    if len(product.k) != 1 or len(product.n) != 1:
        return "several axes are summed, or have columns"
    if product.lhs.where or right_of(product).where:
        return "an operand is padded"
    if right_of(product).index.factor(product.n[0]) != 1:
        return "columns are not contiguous"
    return None


def right_of(product: Contraction) -> Load:
    """The load of the right operand."""
    return packed_load(product) if product.packed else product.rhs


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        few.name: Function(partial(_emit, product=product, few=few), few.threads, few.resident, ("splits",))
        for few in FUNCTIONS
        if few.lanes(right_of(product).dtype) * few.rows <= _MOST_SUMS
    }


def plans(sized: Sized) -> Iterator[Plan]:
    """A plan for each number of threads along columns, with one block or several along the summed axis."""
    if sized.rows > _ROWS[-1]:
        return
    rows, gpu, places = next(rows for rows in _ROWS if rows >= sized.rows), sized.gpu, min(sized.batch, MOST_PLACES)
    few, right = FewRows(rows, _is_wide(sized)), right_of(sized.product).dtype
    lanes = few.lanes(right)
    if lanes * rows > _MOST_SUMS:
        return
    moved = sized.batch * sized.columns * sized.depth * width(right)
    for beside in _BESIDE:
        blocks, lines = -(-sized.columns // (beside * lanes)), few.threads // beside
        steps = -(-sized.depth // (lines * few.depth))
        for splits in {1, min(steps, most_splits(sized), max(1, gpu.multiprocessors // (blocks * places)))} - {0}:
            finish, more = finish_steps(sized, splits)
            busy = Busy(blocks * sized.batch * splits, gpu.multiprocessors)
            seconds = max(
                -(-steps // splits) * LATENCY * busy.waves(few.resident),
                moved / gpu.bandwidth / _LINE.get(beside * lanes * width(right), 1.0),
                moved * busy.share / FROM_CACHE,
            )
            step = Step(few.name, (blocks, splits, places), (beside, lines), (splits,))
            yield Plan(gpu.step + START + seconds + more, (step, *finish))


@dataclass(frozen=True, slots=True)
class Busy:
    """So many blocks on so many multiprocessors."""

    blocks: int
    multiprocessors: int

    @property
    def share(self) -> float:
        """The part of the blocks that the busiest multiprocessor has."""
        return -(-self.blocks // self.multiprocessors) / self.blocks

    def waves(self, resident: int) -> int:
        """How often so many blocks are at once on the busiest multiprocessor."""
        return -(-self.blocks // (self.multiprocessors * resident))


def is_single(plan: Plan) -> bool:
    """Whether a plan loads single elements."""
    return plan.steps[0].function.endswith(_SINGLE)


def _is_wide(sized: Sized) -> bool:
    """Whether all vectors of both operands are whole, and aligned."""
    left, right = sized.product.lhs, right_of(sized.product)
    if sized.depth % _MOST_DEPTH or not has_whole_columns(sized, _BYTES // width(right.dtype)):
        return False
    return is_aligned(sized, left.index, sized.product.k[0], min(_MOST_DEPTH, _BYTES // width(left.dtype)))


def has_whole_columns(sized: Sized, lanes: int) -> bool:
    """Whether vectors of columns are aligned, and the last one may be read whole: there is room behind constants."""
    product = sized.product
    if sized.columns % lanes and not product.packed:
        return False
    return is_aligned(sized, right_of(product).index, product.n[0], lanes)


def is_aligned(sized: Sized, index: Index, along: Var, lanes: int) -> bool:
    """Whether every vector along a variable, of `lanes` neighbours from a multiple of `lanes` on, is aligned."""
    factors = [sized.size(factor) for term, factor in index.terms if term is not along]
    return index.factor(along) == 1 and not any(part % lanes for part in (*factors, sized.size(index.offset)))


VARIANT = Variant("few rows", refuses, functions, plans, is_streaming=True)


def _emit(b: Builder, frame: Frame, product: Contraction, few: FewRows) -> None:
    _FewRows(b, frame, product, few).emit()


class Streamed(Sums):
    """What products of few rows share: operands as they lie, and the end of a sum."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction) -> None:
        super().__init__(b, frame, product)
        self.right = right_of(product)

    def loaded(self, load: Load, lane: Lane | None) -> ir.Value:
        """An element of an operand, or a vector of them, where the variables say."""
        self._known, self._lane = {}, lane
        value = self.scalar(load)
        self._known, self._lane = {}, None
        return value

    def end_or_part(self, total: ir.Value, place: ir.Value, split: ir.Value, row: ir.Value, column: ir.Value) -> None:
        """The epilogue of a sum, or a part of it in memory, where blocks share the summed axis."""
        b = self.b
        inside = b.and_(b.icmp_signed("<", row, self.rows), b.icmp_signed("<", column, self.columns))
        with b.if_then(inside), b.if_else(b.icmp_signed(">", SPLITS, I64(1))) as (divided, alone):
            with divided:
                at = b.add(b.mul(split, self.batch), place)
                for count, value in ((self.rows, row), (self.columns, column)):
                    at = b.add(b.mul(at, count), value)
                b.store(total, b.gep(self.frame.buffers[self.product.scratch[0]], [at], source_etype=F32))
            with alone:
                self.unflatten(self.product.m, row)
                self.variables[self.n] = column
                self.end(total)


class _FewRows(Streamed):
    """A block of a product of few rows."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction, few: FewRows) -> None:
        super().__init__(b, frame, product)
        self.few = few
        self.lanes = few.lanes(self.right.dtype)
        self.kind = vector(F32, self.lanes)
        self.beside, self.line = register(b, "ntid.x"), register(b, "tid.y")
        self.lines = register(b, "ntid.y")
        self.block_columns = b.mul(self.beside, I64(self.lanes))
        """Columns of a block."""

    def emit(self) -> None:
        b, few, product = self.b, self.few, self.product
        step = I64(few.depth)
        split = register(b, "ctaid.y")
        chunk = b.mul(up(b, up(b, self.depth, step), SPLITS), step)
        begin = b.mul(split, chunk)
        end = smaller(b, b.add(begin, chunk), self.depth)
        left = b.mul(register(b, "ctaid.x"), self.block_columns)
        own = b.add(left, b.mul(register(b, "tid.x"), I64(self.lanes)))
        column = own if few.is_wide else smaller(b, own, b.sub(self.columns, I64(1)))
        sums = [stack_slot(b, self.kind) for _ in range(few.rows)]
        with self.loop(register(b, "ctaid.z"), self.batch, register(b, "nctaid.z")) as place:
            self.unflatten(product.batch, place)
            for cell in sums:
                b.store(scalars.number(DType.FLOAT32, 0, self.lanes), cell)
            with b.if_then(b.icmp_signed("<", own, self.columns)):
                first = b.add(begin, b.mul(self.line, step))
                with self.loop(first, end, b.mul(self.lines, step)) as at:
                    self._multiply(at, column, sums)
            self._within_warps(sums)
            self._between_warps(sums, place, split, left)

    # --- products

    def _multiply(self, at: ir.Value, column: ir.Value, sums: list[ir.Value]) -> None:
        """The products of some places of the summed axis, which begin at `at`, added to the sums."""
        b, few = self.b, self.few
        (k,), depth = self.product.k, few.depth
        weights = []
        for number in range(depth):
            own = b.add(at, I64(number))
            self.variables[k], self.variables[self.n] = self._clamped(own), column
            lane = Lane(self.n, self.lanes, None) if self.lanes > 1 else None
            weight = self._as_float(self.right, lane)
            if not few.is_wide:  # the last one may be infinite, and is read in the place of those behind it
                nothing = scalars.number(DType.FLOAT32, 0, self.lanes)
                weight = b.select(b.icmp_signed("<", own, self.depth), weight, nothing)
            weights.append(weight)
        for row, cell in enumerate(sums):
            self.unflatten(self.product.m, smaller(b, I64(row), b.sub(self.rows, I64(1))))
            total: ir.Value = b.load(cell, self.kind)
            for factor, weight in zip(self._factors(at), weights, strict=True):
                total = scalars.multiply_add(b, self.splat(factor, self.lanes), weight, total)
            b.store(total, cell)

    def _clamped(self, at: ir.Value) -> ir.Value:
        """A place of the summed axis: the last one in the place of those behind it."""
        return at if self.few.is_wide else smaller(self.b, at, self.b.sub(self.depth, I64(1)))

    def _factors(self, at: ir.Value) -> list[ir.Value]:
        """The elements of a row of the left operand; zeros behind the last one."""
        b, few, load = self.b, self.few, self.product.lhs
        (k,) = self.product.k
        factors: list[ir.Value] = []
        if few.is_wide:
            lanes = min(few.depth, _BYTES // width(load.dtype))
            for first in range(0, few.depth, lanes):
                self.variables[k] = b.add(at, I64(first))
                loaded = self._as_float(load, Lane(k, lanes, None))
                factors += [b.extract_element(loaded, I32(lane)) for lane in range(lanes)]
            return factors
        for number in range(few.depth):
            own = b.add(at, I64(number))
            self.variables[k] = self._clamped(own)
            loaded = self._as_float(load, None)
            factors.append(b.select(b.icmp_signed("<", own, self.depth), loaded, F32(0.0)))
        return factors

    def _as_float(self, load: Load, lane: Lane | None) -> ir.Value:
        return scalars.cast(self.b, self.loaded(load, lane), load.dtype, DType.FLOAT32)

    # --- sums

    def _within_warps(self, sums: list[ir.Value]) -> None:
        """Add the sums of the lines of a warp."""
        b = self.b
        distance = WARP // 2
        while distance:
            with b.if_then(b.icmp_signed(">=", I64(distance), self.beside)):
                for cell in sums:
                    before: ir.Value = b.load(cell, self.kind)
                    lanes = (
                        [before]
                        if self.lanes == 1
                        else [b.extract_element(before, I32(at)) for at in range(self.lanes)]
                    )
                    after = before
                    for at, lane in enumerate(lanes):
                        both = b.fadd(lane, exchanged(b, lane, I32(distance)))
                        after = both if self.lanes == 1 else b.insert_element(after, both, I32(at))
                    b.store(after, cell)
            distance //= 2

    def _between_warps(self, sums: list[ir.Value], place: ir.Value, split: ir.Value, left: ir.Value) -> None:
        """Add the sums of warps, or of lines that are as long as a warp, and end with each."""
        b, lanes = self.b, self.lanes
        few = self.few
        at_once = min(len(sums), _SHARED // (few.threads * lanes))
        array = SharedArray(b.module, "sums", F32, at_once * few.threads * lanes)
        thread = self.thread_of_block()
        lines = smaller(b, self.lines, I64(few.threads // WARP))
        is_first = b.icmp_signed("<", b.and_(thread, I64(WARP - 1)), self.beside)
        line = b.sdiv(thread, b.select(b.icmp_signed("<", self.beside, I64(WARP)), I64(WARP), self.beside))
        for first in range(0, len(sums), at_once):
            cells = sums[first : first + at_once]
            barrier(b)
            with b.if_then(is_first):
                for place_of, cell in enumerate(cells):
                    at = b.mul(b.add(b.mul(I64(place_of), lines), line), self.block_columns)
                    at = b.add(at, b.mul(register(b, "tid.x"), I64(lanes)))
                    b.store(b.load(cell, self.kind), b.gep(array, [at], source_etype=F32), 4 * lanes)
            barrier(b)
            with self.loop(thread, b.mul(I64(len(cells)), self.block_columns), I64(few.threads)) as number:
                row, other = b.sdiv(number, self.block_columns), b.srem(number, self.block_columns)
                total = self._total(array, b.add(b.mul(b.mul(row, lines), self.block_columns), other), lines)
                self.end_or_part(total, place, split, b.add(row, I64(first)), b.add(left, other))

    def _total(self, array: SharedArray, first: ir.Value, lines: ir.Value) -> ir.Value:
        b = self.b
        cell = stack_slot(b, F32)
        b.store(F32(0.0), cell)
        with b.counted(I64(0), lines, I64(1)) as line:
            at = b.add(first, b.mul(line, self.block_columns))
            b.store(b.fadd(b.load(cell, F32), b.load(b.gep(array, [at], source_etype=F32), F32)), cell)
        return b.load(cell, F32)
