"""Products of few rows with weights in codes of few bits, which stay codes up to the registers: see `code_tiles`.

A block has 16 columns, and its warps share the summed axis. Rows of halves are read where they lie. Those of float32
are first made three lines of bfloat16 each, which together are exactly as large, so that products are those of float32;
and rows that do not fill their last step are copied with zeros behind. Codes of a block of a column are multiplied as
whole numbers, and their sum by the scale, as float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.share import smaller, up
from ingot.codegen.llvm.types import F16, F32, I8, I16, I32, I64, stack_slot, vector
from ingot.codegen.nvptx.code_lines import LINES, line_step, lines_function
from ingot.codegen.nvptx.code_pairs import CodePairs
from ingot.codegen.nvptx.few_rows import LATENCY, START, Busy, Streamed, is_aligned
from ingot.codegen.nvptx.grid import WARP, SharedArray, barrier, register
from ingot.codegen.nvptx.sums import SPLITS, finish_steps, most_splits
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Step, Variant
from ingot.codegen.nvptx.warp_tiles import multiplied
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Contraction, extent
from ingot.schedule.code_tiles import CODE_ROWS, COLUMNS, TERMS, CodeTiles, line_parts
from ingot.schedule.target import Target

_THREADS = (128, 256, 512)
"""Threads of a block."""

_EIGHT, _FOUR = 8, 4

_STEP_BYTES = 512

_SPEED = 0.75
"""Of the memory's bandwidth, what is reached."""


@dataclass(frozen=True, slots=True)
class FewCodes:
    """A function for `groups` of eight lines, which are those of all rows: each group is a multiplication."""

    groups: int
    tiles: CodeTiles

    @property
    def name(self) -> str:
        return f"code_lines{_EIGHT * self.groups}"

    @property
    def at_once(self) -> int:
        """Steps that a warp loads at once."""
        return 1 if self.tiles.codes.bits == 2 else 2

    @property
    def resident(self) -> int:
        """Blocks of the most threads on a multiprocessor at once."""
        return 2 if self.groups == 1 else 1


def refuses(product: Contraction, _: Target) -> str | None:
    if product.codes is None:
        return "weights are no codes"
    return "the left operand is padded" if product.lhs.where or product.batch else None


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    tiles = tiles_of(product)
    own = {
        few.name: Function(partial(_emit, product=product, few=few), _THREADS[-1], few.resident, ("splits",))
        for few in (FewCodes(groups + 1, tiles) for groups in range(_groups(product, CODE_ROWS)))
    }
    assert product.codes is not None
    return {LINES: lines_function(product, tiles), **own} if product.codes.has_lines else own


def _groups(product: Contraction, rows: int) -> int:
    return -(-rows * line_parts(product.lhs.dtype) // _EIGHT)


def tiles_of(product: Contraction) -> CodeTiles:
    """Where the codes of a product are."""
    assert product.codes is not None
    return CodeTiles(product.codes, extent(product.n), extent(product.k))


def plans(sized: Sized) -> Iterator[Plan]:
    """A plan for each number of threads, with one block or several along the summed axis."""
    if sized.rows > CODE_ROWS:
        return
    product, gpu, tiles = sized.product, sized.gpu, tiles_of(sized.product)
    few = FewCodes(_groups(product, sized.rows), tiles)
    assert product.codes is not None
    before: tuple[Step, ...] = ()
    first = 0.0
    if product.codes.has_lines:
        step, first = line_step(sized)
        before = (step,)
    elif not is_aligned(sized, product.lhs.index, product.k[0], _EIGHT):
        return
    blocks, moved, steps = (sized.size(size) for size in (tiles.tiles, tiles.nbytes, tiles.steps))
    for threads in _THREADS:
        turns = -(-steps // (threads // WARP * few.at_once))
        for splits in {1, *(min(turns, most_splits(sized), gpu.multiprocessors * n // blocks) for n in (1, 2))} - {0}:
            finish, more = finish_steps(sized, splits)
            busy = Busy(blocks * splits, gpu.multiprocessors)
            waves = busy.waves(few.resident * _THREADS[-1] // threads)
            seconds = max(-(-turns // splits) * LATENCY * waves, moved / gpu.bandwidth / _SPEED)
            step = Step(few.name, (blocks, splits, 1), (threads, 1), (splits,))
            yield Plan(first + gpu.step + START + seconds + more, (*before, step, *finish))


VARIANT = Variant("few rows by codes", refuses, functions, plans, reads_codes=True)


def _emit(b: Builder, frame: Frame, product: Contraction, few: FewCodes) -> None:
    _FewCodes(b, frame, product, few).emit()


class _FewCodes(Streamed):
    """A block of 16 columns."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction, few: FewCodes) -> None:
        super().__init__(b, frame, product)
        assert product.codes is not None
        self.few, self.codes, self.tiles = few, product.codes, few.tiles
        self.dtype = DType.FLOAT16 if product.lhs.dtype is DType.FLOAT16 else DType.BFLOAT16
        self.pairs = CodePairs(b, product.codes, self.dtype)
        self.thread, self.threads = register(b, "tid.x"), register(b, "ntid.x")
        self.warp, self.lane = b.sdiv(self.thread, I64(WARP)), b.srem(self.thread, I64(WARP))
        self.group, self.quarter = b.sdiv(self.lane, I64(_FOUR)), b.srem(self.lane, I64(_FOUR))
        self.tile = register(b, "ctaid.x")
        self.weights = frame.buffers[product.rhs.buffer]
        steps, places = frame.size(self.tiles.steps), frame.size(self.tiles.places)
        self.last = b.trunc(b.sub(steps, I64(1)), I32)
        own = b.add(b.mul(self.tile, b.mul(steps, I64(WARP))), self.lane)
        self.own_codes = self._weights_at(b.mul(own, I64(_STEP_BYTES // WARP)))
        each = b.add(b.mul(self.tile, b.mul(places, I64(_EIGHT))), self.group)
        self.numbers = 2 * self.tiles.segments
        """Scales of a lane for a step."""
        scales = b.mul(each, I64(self.numbers * self.tiles.scale_bytes))
        self.own_scales = self._weights_at(b.add(frame.size(self.tiles.scales_at), scales))
        zeros = b.mul(each, I64(self.numbers))
        self.own_zeros = self._weights_at(b.add(frame.size(self.tiles.zeros_at), zeros))

    def _weights_at(self, at: ir.Value) -> ir.Value:
        return self.b.gep(self.weights, [at], source_etype=I8)

    def emit(self) -> None:
        b, few = self.b, self.few
        split, at_once = register(b, "ctaid.y"), I32(few.at_once)
        share = up(b, b.add(b.zext(self.last, I64), I64(1)), SPLITS)
        begin = b.mul(split, share)
        end = b.trunc(smaller(b, b.add(begin, share), b.add(b.zext(self.last, I64), I64(1))), I32)
        stride = b.mul(b.trunc(b.sdiv(self.threads, I64(WARP)), I32), at_once)
        first = b.add(b.trunc(begin, I32), b.mul(b.trunc(self.warp, I32), at_once))
        totals = [[stack_slot(b, F32) for _ in range(4)] for _ in range(few.groups)]
        for cell in (cell for four in totals for cell in four):
            b.store(F32(0.0), cell)
        lines = [self._line(group) for group in range(few.groups)]
        ahead = self._cells_of(self._fetched_codes(first))
        with self.loop(first, end, stride) as step:
            rows = [[self._terms(line, b.add(step, I32(number))) for line in lines] for number in range(few.at_once)]
            now = [b.load(cell, value.type) for cell, value in ahead]
            for (cell, _), value in zip(ahead, self._fetched_codes(b.add(step, stride)), strict=True):
                b.store(value, cell)
            values = iter(now)
            for number in range(few.at_once):
                own = [next(values) for _ in range(len(now) // few.at_once)]
                if number == 0:
                    self._multiply(own, rows[number], totals)
                else:  # a warp may have one step less
                    with b.if_then(b.icmp_signed("<", b.add(step, I32(number)), end)):
                        self._multiply(own, rows[number], totals)
        self._add_warps(totals, split)

    # --- operands

    def _cells_of(self, values: Sequence[ir.Value]) -> list[tuple[ir.Value, ir.Value]]:
        """Cells that hold values from one iteration to the next."""
        cells = [(stack_slot(self.b, value.type), value) for value in values]
        for cell, value in cells:
            self.b.store(value, cell)
        return cells

    def _clamped(self, step: ir.Value) -> ir.Value:
        """A step, or the last one in the place of those behind it."""
        return smaller(self.b, step, self.last)

    def _fetched_codes(self, first: ir.Value) -> list[ir.Value]:
        """The codes of some steps, and the scales and zeros of their segments."""
        b, tiles = self.b, self.tiles
        kind = F16 if self.codes.half_scales else F32
        fetched: list[ir.Value] = []
        for number in range(self.few.at_once):
            step = self._clamped(b.add(first, I32(number)))
            fetched.append(self._read(self.own_codes, step, _STEP_BYTES, vector(I32, 4), 16))
            place = b.udiv(step, I32(tiles.place_steps)) if tiles.place_steps else I32(0)
            size = self.numbers * tiles.scale_bytes
            for at in range(0, self.numbers, 4):  # of 16 bytes at most
                count = min(4, self.numbers - at)
                pointer = b.gep(self.own_scales, [I64(at * tiles.scale_bytes)], source_etype=I8)
                loaded = self._read(pointer, place, _EIGHT * size, vector(kind, count), count * tiles.scale_bytes)
                fetched += [b.extract_element(loaded, I32(lane)) for lane in range(count)]
            if self.codes.zeros is not None:
                for at in range(0, self.numbers, 2):
                    pointer = b.gep(self.own_zeros, [I64(at)], source_etype=I8)
                    fetched.append(self._read(pointer, place, _EIGHT * self.numbers, I16, 2))
        return fetched

    def _read(self, pointer: ir.Value, number: ir.Value, size: int, kind: ir.Type, align: int) -> ir.Value:
        b = self.b
        at = b.mul(b.zext(number, I64), I64(size))
        return b.load(b.gep(pointer, [at], source_etype=I8), kind, align)

    def _line(self, group: int) -> ir.Value:
        """Where the line of a thread begins, with its own first term."""
        b = self.b
        lines = b.mul(self.rows, I64(line_parts(self.product.lhs.dtype)))
        line = smaller(b, b.add(self.group, I64(group * _EIGHT)), b.sub(lines, I64(1)))
        own = b.mul(self.quarter, I64(_EIGHT if self.tiles.is_paired else _FOUR))
        if self.codes.has_lines:
            pitch = b.mul(self.frame.size(self.tiles.steps), I64(self.tiles.step))
            at = b.add(b.mul(line, pitch), own)
            return b.gep(self.frame.buffers[self.product.scratch[1]], [at], source_etype=I16)
        self.unflatten(self.product.m, line)
        self.variables[self.product.k[0]] = own
        base = self._base(self.product.lhs.index)
        return b.gep(self.frame.buffers[self.product.lhs.buffer], [base], source_etype=I16)

    def _terms(self, line: ir.Value, step: ir.Value) -> list[list[ir.Value]]:
        """The terms of a line in a step: two words for each multiplication."""
        b, tiles = self.b, self.tiles
        at = b.mul(b.zext(self._clamped(step), I64), I64(tiles.step))
        words: list[ir.Value] = []
        each = 2 * TERMS if tiles.is_paired else TERMS
        for first in range(0, tiles.step, each):
            pointer = b.gep(line, [b.add(at, I64(first))], source_etype=I16)
            loaded = b.load(pointer, vector(I32, each // _EIGHT), each // 2)
            words += [b.extract_element(loaded, I32(lane)) for lane in range(each // _EIGHT)]
        return [words[at : at + 2] for at in range(0, len(words), 2)]

    # --- products

    def _multiply(
        self,
        fetched: Sequence[ir.Value],
        rows: Sequence[Sequence[Sequence[ir.Value]]],
        totals: Sequence[Sequence[ir.Value]],
    ) -> None:
        """The products of a step, scaled and added."""
        b, tiles = self.b, self.tiles
        packed, scales = fetched[0], fetched[1 : 1 + self.numbers]
        zeros = fetched[1 + self.numbers :]
        words = [b.extract_element(packed, I32(lane)) for lane in range(4)]
        each = tiles.segment // TERMS
        for segment in range(tiles.segments):
            zero = self.pairs.zeros(zeros[segment] if zeros else None)
            operands = self.pairs.operands(words, zero)[segment * each : (segment + 1) * each]
            factors = list(scales[2 * segment : 2 * segment + 2])
            if self.codes.half_scales:
                factors = [b.fpext(factor, F32) for factor in factors]
            for cells, line in zip(totals, rows, strict=True):
                sums: list[ir.Value] = [F32(0.0)] * 4
                for number, four in enumerate(operands):
                    words_of_four = [b.bitcast(pair, I32) for pair in four]
                    sums = multiplied(b, self.dtype, words_of_four, line[segment * each + number], sums)
                for number, (cell, total) in enumerate(zip(cells, sums, strict=True)):
                    b.store(scalars.multiply_add(b, total, factors[number // 2], b.load(cell, F32)), cell)

    # --- sums

    def _add_warps(self, totals: Sequence[Sequence[ir.Value]], split: ir.Value) -> None:
        """Add the sums of warps in shared memory, and of the parts of a row the smallest first; end with each."""
        b, parts = self.b, line_parts(self.product.lhs.dtype)
        lines, most = len(totals) * _EIGHT, _THREADS[-1] // WARP
        array = SharedArray(b.module, "sums", F32, most * lines * COLUMNS)
        for group, cells in enumerate(totals):
            for own_sum, cell in enumerate(cells):
                half, odd = divmod(own_sum, 2)
                line = b.add(b.mul(self.quarter, I64(2)), I64(group * _EIGHT + odd))
                place = b.add(b.mul(b.add(b.mul(self.warp, I64(lines)), line), I64(COLUMNS)), self.group)
                at = b.add(place, I64(half * _EIGHT))
                b.store(b.load(cell, F32), b.gep(array, [at], source_etype=F32))
        barrier(b)
        warps = b.sdiv(self.threads, I64(WARP))
        with self.loop(self.thread, b.mul(self.rows, I64(COLUMNS)), self.threads) as number:
            row, column = b.sdiv(number, I64(COLUMNS)), b.srem(number, I64(COLUMNS))
            total: ir.Value = F32(0.0)
            for part in reversed(range(parts)):
                line = b.add(b.mul(row, I64(parts)), I64(part))
                for warp in range(most):
                    at = b.add(b.mul(b.add(I64(warp * lines), line), I64(COLUMNS)), column)
                    own: ir.Value = b.load(b.gep(array, [at], source_etype=F32), F32)
                    if warp >= _THREADS[0] // WARP:
                        own = b.select(b.icmp_signed("<", I64(warp), warps), own, F32(0.0))
                    total = b.fadd(total, own)
            self.end_or_part(total, I64(0), split, row, b.add(b.mul(self.tile, I64(COLUMNS)), column))
