"""Products of few rows with weights in codes of few bits, which stay codes up to the registers: see `code_tiles`.

A block has 16 columns, and its warps share the summed axis. Rows lie in shared memory, as tensor cores want them: those
of float32 as three of bfloat16 each, which together are exactly as large, so that products are those of float32. Codes
of a block of a column are multiplied as whole numbers, and their sum by the scale, as float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.share import smaller, up
from ingot.codegen.llvm.types import F16, F32, I8, I16, I32, I64, stack_slot, vector
from ingot.codegen.nvptx.code_pairs import CodePairs
from ingot.codegen.nvptx.few_rows import LATENCY, START, Busy, Streamed
from ingot.codegen.nvptx.grid import WARP, SharedArray, barrier, register
from ingot.codegen.nvptx.sums import SPLITS, finish_steps, most_splits
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Step, Variant
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Contraction, extent
from ingot.schedule.code_tiles import CODE_ROWS, COLUMNS, TERMS, CodeTiles
from ingot.schedule.target import Target

_ROWS = (1, 2, 4, CODE_ROWS)
"""The rows that functions are for."""

_THREADS = (128, 256, 512)
"""Threads of a block."""

_EIGHT, _FOUR = 8, 4

_FEW, _FEW_BYTES, _MANY_BYTES = 2, 16 << 10, 32 << 10
"""Bytes of shared memory for rows: of up to two rows of halves, and of more."""

_LANE_BYTES = 16
"""Codes that a lane reads at once."""

_SPEED = 0.75
"""Of the memory's bandwidth, what is reached."""

_FOUR_SUMS = ir.Type("{float, float, float, float}")


@dataclass(frozen=True, slots=True)
class FewCodes:
    """A function for `rows` of a type."""

    rows: int
    dtype: DType
    tiles: CodeTiles

    @property
    def name(self) -> str:
        return f"code_rows{self.rows}"

    @property
    def parts(self) -> int:
        """The rows of 16 bits that a row becomes."""
        return 3 if self.dtype is DType.FLOAT32 else 1

    @property
    def lines(self) -> int:
        return self.rows * self.parts

    @property
    def resident(self) -> int:
        """Blocks of the most threads on a multiprocessor at once."""
        return 2 if self.rows <= _FEW else 1

    @property
    def groups(self) -> int:
        """Eights of lines, each of which is a multiplication."""
        return -(-self.lines // _EIGHT)

    @property
    def at_once(self) -> int:
        """Steps that a warp loads at once."""
        return 1 if self.tiles.codes.bits == 2 else 2

    @property
    def line(self) -> int:
        """Terms of a line that are in shared memory at once, at most."""
        whole = (_FEW_BYTES if self.lines <= _FEW else _MANY_BYTES) // 2 // self.lines
        return (whole - _PAD) // self.tiles.step * self.tiles.step

    def stride(self, threads: int) -> int:
        """Terms that the warps of a block have at once."""
        return threads // WARP * self.at_once * self.tiles.step


_PAD = 16
"""Terms between lines, for the banks: four lines begin in different ones."""


def refuses(product: Contraction, _: Target) -> str | None:
    if product.codes is None:
        return "weights are no codes"
    return "the left operand is padded" if product.lhs.where or product.batch else None


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        few.name: Function(partial(_emit, product=product, few=few), _THREADS[-1], few.resident, ("splits",))
        for few in (FewCodes(rows, product.lhs.dtype, tiles_of(product)) for rows in _ROWS)
    }


def tiles_of(product: Contraction) -> CodeTiles:
    """Where the codes of a product are."""
    assert product.codes is not None
    return CodeTiles(product.codes, extent(product.n), extent(product.k))


def plans(sized: Sized) -> Iterator[Plan]:
    """A plan for each number of threads, with one block or several along the summed axis."""
    if sized.rows > _ROWS[-1]:
        return
    gpu, tiles = sized.gpu, tiles_of(sized.product)
    few = FewCodes(next(rows for rows in _ROWS if rows >= sized.rows), sized.product.lhs.dtype, tiles)
    blocks, moved = sized.size(tiles.tiles), sized.size(tiles.nbytes)
    for threads in _THREADS:
        stride = few.stride(threads)
        if stride > few.line:
            continue
        steps = -(-sized.depth // stride)
        for splits in {1, *(min(steps, most_splits(sized), gpu.multiprocessors * n // blocks) for n in (1, 2))} - {0}:
            finish, more = finish_steps(sized, splits)
            busy = Busy(blocks * splits, gpu.multiprocessors)
            waves = busy.waves(min(few.resident * 512 // threads, 7))
            seconds = max(-(-steps // splits) * LATENCY * waves, moved / gpu.bandwidth / _SPEED)
            step = Step(few.name, (blocks, splits, 1), (threads, 1), (splits,))
            yield Plan(gpu.step + 2 * START + seconds + more, (step, *finish))


VARIANT = Variant("few rows by codes", refuses, functions, plans, reads_codes=True)


def _emit(b: Builder, frame: Frame, product: Contraction, few: FewCodes) -> None:
    _FewCodes(b, frame, product, few).emit()


class _FewCodes(Streamed):
    """A block of 16 columns."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction, few: FewCodes) -> None:
        super().__init__(b, frame, product)
        assert product.codes is not None
        self.few, self.codes, self.tiles = few, product.codes, few.tiles
        self.dtype = DType.BFLOAT16 if few.dtype is DType.FLOAT32 else few.dtype
        self.pairs = CodePairs(b, product.codes, self.dtype)
        self.thread, self.threads = register(b, "tid.x"), register(b, "ntid.x")
        self.warp, self.lane = b.sdiv(self.thread, I64(WARP)), b.srem(self.thread, I64(WARP))
        self.group, self.quarter = b.sdiv(self.lane, I64(_FOUR)), b.srem(self.lane, I64(_FOUR))
        self.tile = register(b, "ctaid.x")
        self.weights = frame.buffers[product.rhs.buffer]
        size = few.lines * (few.line + _PAD) * 2
        sums = _THREADS[-1] // WARP * few.groups * _EIGHT * COLUMNS * 4
        self.shared = SharedArray(b.module, "rows", I8, max(size, sums))

    def emit(self) -> None:
        b, few, step = self.b, self.few, self.tiles.step
        stride = b.mul(b.sdiv(self.threads, I64(WARP)), I64(few.at_once * step))
        chunk = b.mul(b.sdiv(I64(few.line), stride), stride)
        split, steps = register(b, "ctaid.y"), self.frame.size(self.tiles.steps)
        share = b.mul(up(b, steps, SPLITS), I64(step))
        begin = b.mul(split, share)
        end = smaller(b, b.add(begin, share), self.depth)
        totals = [[stack_slot(b, F32) for _ in range(4)] for _ in range(few.groups)]
        for cell in (cell for four in totals for cell in four):
            b.store(F32(0.0), cell)
        first = b.mul(self.warp, I64(few.at_once * step))
        ahead = self._kept(self._fetched_codes(b.add(begin, first)))
        with self.loop(begin, end, chunk) as start:
            barrier(b)
            stop = smaller(b, b.add(start, chunk), end)
            self._bring_rows(start, stop, stride)
            barrier(b)
            with self.loop(b.add(start, first), stop, stride) as at:
                now = [b.load(cell, value.type) for cell, value in ahead]
                for (cell, _), value in zip(ahead, self._fetched_codes(b.add(at, stride)), strict=True):
                    b.store(value, cell)
                self._multiply(now, b.sub(at, start), totals)
        self._add_warps(totals, split)

    # --- codes

    def _kept(self, values: Sequence[ir.Value]) -> list[tuple[ir.Value, ir.Value]]:
        """Cells that hold values from one iteration to the next."""
        cells = [(stack_slot(self.b, value.type), value) for value in values]
        for cell, value in cells:
            self.b.store(value, cell)
        return cells

    def _fetched_codes(self, at: ir.Value) -> list[ir.Value]:
        """The codes of the steps that begin at a term, and the scales and zeros of their segments.

        Behind the last step it is that one again; what it is multiplied by is zero.
        """
        b, tiles, size = self.b, self.tiles, self.frame.size
        steps, blocks = size(tiles.steps), size(tiles.blocks)
        found: list[ir.Value] = []
        for number in range(self.few.at_once):
            step = smaller(b, b.add(b.sdiv(at, I64(tiles.step)), I64(number)), b.sub(steps, I64(1)))
            place = b.add(b.mul(b.add(b.mul(self.tile, steps), step), I64(WARP)), self.lane)
            found.append(self._read(b.mul(place, I64(_LANE_BYTES)), vector(I32, 4), _LANE_BYTES))
            for segment in range(tiles.step // tiles.segment):
                block: ir.Value = I64(0)
                if self.codes.block:
                    term = b.add(b.mul(step, I64(tiles.step)), I64(segment * tiles.segment))
                    block = smaller(b, b.sdiv(term, I64(self.codes.block)), b.sub(blocks, I64(1)))
                pair = b.add(b.mul(b.add(b.mul(self.tile, blocks), block), I64(_EIGHT)), self.group)
                kind = F16 if self.codes.half_scales else F32
                at_scale = b.add(size(tiles.scales_at), b.mul(pair, I64(2 * tiles.scale_bytes)))
                found.append(self._read(at_scale, vector(kind, 2), 2 * tiles.scale_bytes))
                if self.codes.zeros is not None:
                    found.append(self._read(b.add(size(tiles.zeros_at), b.mul(pair, I64(2))), I16, 2))
        return found

    def _read(self, at: ir.Value, kind: ir.Type, align: int) -> ir.Value:
        return self.b.load(self.b.gep(self.weights, [at], source_etype=I8), kind, align)

    # --- rows

    def _bring_rows(self, start: ir.Value, stop: ir.Value, stride: ir.Value) -> None:
        """Rows from one term to another to shared memory, and zeros behind them up to a whole number of strides."""
        b, few = self.b, self.few
        (k,) = self.product.k
        count = b.mul(up(b, b.sub(stop, start), stride), stride)
        load = self.product.lhs
        aligned = self.is_contiguous_by(_FOUR)
        for row in range(few.rows):
            self.unflatten(self.product.m, smaller(b, I64(row), b.sub(self.rows, I64(1))))
            with self.loop(b.mul(self.thread, I64(_FOUR)), count, b.mul(self.threads, I64(_FOUR))) as place:
                at = b.add(start, place)
                four = [stack_slot(b, self._element()) for _ in range(_FOUR)]
                whole = b.and_(aligned, b.icmp_signed("<=", b.add(at, I64(_FOUR)), stop))
                with b.if_else(whole) as (then, otherwise):
                    with then:
                        self.variables[k] = at
                        values = self.loaded(load, Lane(k, _FOUR, None))
                        for number, cell in enumerate(four):
                            b.store(b.extract_element(values, I32(number)), cell)
                    with otherwise:
                        for number, cell in enumerate(four):
                            own = b.add(at, I64(number))
                            b.store(self._zero(), cell)
                            with b.if_then(b.icmp_signed("<", own, stop)):
                                self.variables[k] = own
                                b.store(self.loaded(load, None), cell)
                for part, words in enumerate(self._parts([b.load(cell, self._element()) for cell in four])):
                    line = I64((row * few.parts + part) * (few.line + _PAD) * 2)
                    b.store(words, self._shared_at(b.add(line, b.mul(place, I64(2)))), _EIGHT)

    def is_contiguous_by(self, lanes: int) -> ir.Value:
        """Whether vectors of the left operand are aligned."""
        b, index = self.b, self.product.lhs.index
        (k,) = self.product.k
        if index.factor(k) != 1:
            return ir.Constant(ir.IntType(1), 0)
        bits = self.frame.size(index.offset)
        for term, factor in index.terms:
            if term is not k:
                bits = b.or_(bits, self.frame.size(factor))
        return b.icmp_signed("==", b.and_(bits, I64(lanes - 1)), I64(0))

    def _element(self) -> ir.Type:
        """The type of an element of a row in registers."""
        return {DType.FLOAT32: F32, DType.FLOAT16: F16, DType.BFLOAT16: I16}[self.few.dtype]

    def _zero(self) -> ir.Value:
        kind = self._element()
        return I16(0) if kind is I16 else ir.Constant(kind, 0.0)

    def _parts(self, four: Sequence[ir.Value]) -> list[ir.Value]:
        """Four elements as two words for each part: what is left after cutting off all but the upper 16 bits, again.

        So three parts of a float32 are together exactly what it is, but infinities and NaN, which are one part alone.
        """
        b = self.b
        if self.few.parts == 1:
            kind = self._element()
            both: ir.Value = ir.Constant(vector(kind, 4), ir.Undefined)
            for number, value in enumerate(four):
                both = b.insert_element(both, value, I32(number))
            return [b.bitcast(both, vector(I32, 2))]
        upper: list[list[ir.Value]] = [[], [], []]
        for value in four:
            bits = b.bitcast(value, I32)
            is_number = b.icmp_unsigned("<", b.and_(bits, I32(0x7FFFFFFF)), I32(0x7F800000))
            is_nan = b.fcmp_unordered("uno", value, value)
            left = value
            for part, own in enumerate(upper):
                cut = b.and_(b.bitcast(left, I32), I32(-(1 << 16)))
                own.append(b.select(is_nan, I32(0x7FC00000), cut) if part == 0 else cut)
                if part < 2:
                    left = b.select(is_number, b.fsub(left, b.bitcast(cut, F32)), F32(0.0))
        parts = []
        for own in upper:
            words: ir.Value = ir.Constant(vector(I32, 2), ir.Undefined)
            for number in range(2):
                word = b.or_(b.lshr(own[2 * number], I32(16)), own[2 * number + 1])
                words = b.insert_element(words, word, I32(number))
            parts.append(words)
        return parts

    def _shared_at(self, at: ir.Value) -> ir.Value:
        return self.b.gep(self.shared, [at], source_etype=I8)

    # --- products

    def _multiply(self, fetched: Sequence[ir.Value], at: ir.Value, totals: Sequence[Sequence[ir.Value]]) -> None:
        """The products of some steps, of rows from a term on of those in shared memory, scaled and added."""
        b, few, tiles = self.b, self.few, self.tiles
        values = iter(fetched)
        each = tiles.segment // TERMS
        for number in range(few.at_once):
            packed = next(values)
            words = [b.extract_element(packed, I32(lane)) for lane in range(4)]
            segments = []
            for _ in range(tiles.step // tiles.segment):
                scale = next(values)
                zero = self.pairs.zeros(next(values) if self.codes.zeros is not None else None)
                segments.append((scale, zero))
            operands = [self.pairs.operands(words, zero) for _, zero in segments]
            for segment, (scale, _) in enumerate(segments):
                own = operands[segment][segment * each : (segment + 1) * each]
                self._segment(own, scale, b.add(at, I64(number * tiles.step + segment * tiles.segment)), totals)

    def _segment(
        self,
        operands: Sequence[Sequence[ir.Value]],
        scale: ir.Value,
        at: ir.Value,
        totals: Sequence[Sequence[ir.Value]],
    ) -> None:
        b = self.b
        factors = [b.extract_element(scale, I32(lane)) for lane in range(2)]
        if self.codes.half_scales:
            factors = [b.fpext(factor, F32) for factor in factors]
        for group, cells in enumerate(totals):
            line = smaller(b, b.add(self.group, I64(group * _EIGHT)), I64(self.few.lines - 1))
            base = b.mul(line, I64((self.few.line + _PAD) * 2))
            sums: list[ir.Value] = [F32(0.0)] * 4
            for number, four in enumerate(operands):
                term = b.add(b.add(at, I64(number * TERMS)), b.mul(self.quarter, I64(_FOUR)))
                pair = b.load(self._shared_at(b.add(base, b.mul(term, I64(2)))), vector(I32, 2), _EIGHT)
                sums = self._multiplied(sums, four, [b.extract_element(pair, I32(lane)) for lane in range(2)])
            for number, (cell, total) in enumerate(zip(cells, sums, strict=True)):
                scaled = b.load(cell, F32)
                b.store(scalars.multiply_add(b, total, factors[number // 2], scaled), cell)

    def _multiplied(
        self, sums: Sequence[ir.Value], left: Sequence[ir.Value], right: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Sums of 16 columns and 8 lines, with the products of 16 terms added."""
        b = self.b
        if self.dtype is DType.FLOAT16:
            name = "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
            words = [*left, *(b.bitcast(word, vector(F16, 2)) for word in right)]
        else:
            name = "llvm.nvvm.mma.m16n8k16.row.col.bf16"
            words = [*(b.bitcast(word, I32) for word in left), *right]
        arguments = [*words, *sums]
        kind = ir.FunctionType(_FOUR_SUMS, [argument.type for argument in arguments])
        four = b.call(b.module.declared(name, kind), arguments)
        return [b.extract_value(four, number, F32) for number in range(4)]

    # --- sums

    def _add_warps(self, totals: Sequence[Sequence[ir.Value]], split: ir.Value) -> None:
        """Add the sums of warps in shared memory, and of the parts of a row the smallest first; end with each."""
        b, few = self.b, self.few
        lines = few.groups * _EIGHT
        barrier(b)
        for group, cells in enumerate(totals):
            for number, cell in enumerate(cells):
                half, odd = divmod(number, 2)
                line = b.add(b.mul(self.quarter, I64(2)), I64(group * _EIGHT + odd))
                place = b.add(b.mul(b.add(b.mul(self.warp, I64(lines)), line), I64(COLUMNS)), self.group)
                at = b.mul(b.add(place, I64(half * _EIGHT)), I64(4))
                b.store(b.load(cell, F32), self._shared_at(at))
        barrier(b)
        warps = b.sdiv(self.threads, I64(WARP))
        with self.loop(self.thread, b.mul(self.rows, I64(COLUMNS)), self.threads) as number:
            row, column = b.sdiv(number, I64(COLUMNS)), b.srem(number, I64(COLUMNS))
            total = stack_slot(b, F32)
            b.store(F32(0.0), total)
            for part in reversed(range(few.parts)):
                line = b.add(b.mul(row, I64(few.parts)), I64(part))
                with b.counted(I64(0), warps, I64(1)) as warp:
                    place = b.add(b.mul(b.add(b.mul(warp, I64(lines)), line), I64(COLUMNS)), column)
                    own = b.load(self._shared_at(b.mul(place, I64(4))), F32)
                    b.store(b.fadd(b.load(total, F32), own), total)
            across = b.add(b.mul(self.tile, I64(COLUMNS)), column)
            self.end_or_part(b.load(total, F32), I64(0), split, row, across)
