"""Weights in codes of few bits unpacked for many rows: a function stores them as the rows are, others multiply these.

A column lies contiguous along the summed axis. Where rows are halves, so are the weights, rounded once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.types import F16, F32, I8, I16, I32, I64, element, vector, width
from ingot.codegen.nvptx.code_pairs import CodePairs
from ingot.codegen.nvptx.grid import WARP, register
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.codegen.nvptx.variant import Function, Sized, Step
from ingot.dtypes import DType
from ingot.loops.ir import Buffer, Contraction, Index, Load, extent
from ingot.schedule.code_tiles import COLUMNS, TERMS, CodeTiles

UNPACK = "unpack"
"""The function that stores weights unpacked."""

_THREADS = 256
_MOST_BLOCKS = 16
"""Blocks for each multiprocessor, at most."""

_FOUR, _EIGHT = 4, 8


def unpacked(product: Contraction) -> Contraction | None:
    """A product that reads weights unpacked, from its second scratch buffer; None where it has none."""
    buffer = unpacked_buffer(product)
    if buffer is None:
        return None
    (k,), (n,) = product.k, product.n
    index = Index(((n, k.extent), (k, 1)))
    return replace(
        product, codes=None, packed=False, rhs=Load(buffer.dtype, buffer, index), scratch=product.scratch[:1]
    )


def unpacked_buffer(product: Contraction) -> Buffer | None:
    """Where weights are unpacked to; None where there are never many rows."""
    if product.codes is None:
        return None
    _, *others = product.scratch[product.codes.has_lines :]
    return others[0] if others else None


def unpack_function(product: Contraction) -> Function:
    return Function(partial(_emit, product=product), _THREADS)


def unpack_step(sized: Sized) -> tuple[Step, float]:
    """The launch that unpacks weights, and the seconds that it takes, about."""
    product, gpu = sized.product, sized.gpu
    assert product.codes is not None
    tiles = CodeTiles(product.codes, extent(product.n), extent(product.k))
    warps = sized.size(tiles.tiles) * sized.size(tiles.steps)
    blocks = min(-(-warps * WARP // _THREADS), gpu.multiprocessors * _MOST_BLOCKS)
    moved = sized.size(tiles.nbytes) + sized.columns * sized.depth * width(product.lhs.dtype)
    return Step(UNPACK, (blocks, 1, 1), (_THREADS, 1)), gpu.step + moved / gpu.bandwidth


def _emit(b: Builder, frame: Frame, product: Contraction) -> None:
    _Unpacked(b, frame, product).emit()


class _Unpacked(ThreadLoops):
    """The steps of a warp, one after another."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction) -> None:
        super().__init__(b, frame)
        assert product.codes is not None
        out = unpacked_buffer(product)
        assert out is not None
        self.codes, self.out = product.codes, out
        self.tiles = CodeTiles(product.codes, extent(product.n), extent(product.k))
        self.columns, self.depth = (frame.size(extent(axes)) for axes in (product.n, product.k))
        self.weights: ir.Value = frame.buffers[product.rhs.buffer]
        self.dtype = DType.FLOAT16 if self.out.dtype is DType.FLOAT16 else DType.BFLOAT16
        self.pairs = CodePairs(b, product.codes, self.dtype)

    def emit(self) -> None:
        b, tiles, size = self.b, self.tiles, self.frame.size
        thread = self.thread_of_grid()
        lane, warp = b.srem(thread, I64(WARP)), b.sdiv(thread, I64(WARP))
        warps = b.sdiv(b.mul(self.threads_of_block(), register(b, "nctaid.x")), I64(WARP))
        steps, places = size(tiles.steps), size(tiles.places)
        group, quarter = b.sdiv(lane, I64(_FOUR)), b.srem(lane, I64(_FOUR))
        with self.loop(warp, b.mul(size(tiles.tiles), steps), warps) as number:
            tile, step = b.sdiv(number, steps), b.srem(number, steps)
            packed = self._read(b.mul(b.add(b.mul(number, I64(WARP)), lane), I64(16)), vector(I32, 4), 16)
            words = [b.extract_element(packed, I32(at)) for at in range(4)]
            first = b.mul(step, I64(tiles.step))
            place = b.sdiv(step, I64(tiles.place_steps)) if tiles.place_steps else I64(0)
            lane_of = b.add(b.mul(b.add(b.mul(tile, places), place), I64(_EIGHT)), group)
            each = tiles.segment // TERMS
            for segment in range(tiles.segments):
                pair = b.add(b.mul(lane_of, I64(tiles.segments)), I64(segment))
                factors, zeros = self._scales(pair), self._points(pair)
                operands = self.pairs.operands(words, zeros)
                for multiplication in range(segment * each, (segment + 1) * each):
                    four = operands[multiplication]
                    at = b.add(first, self._term(multiplication, quarter))
                    for half in range(2):
                        column = b.add(b.mul(tile, I64(COLUMNS)), b.add(group, I64(half * _EIGHT)))
                        self._store_four(four[half], four[half + 2], factors[half], column, at)

    def _term(self, number: int, quarter: ir.Value) -> ir.Value:
        """The first term of a lane in a multiplication of a step."""
        b = self.b
        if not self.tiles.is_paired:
            return b.add(b.mul(quarter, I64(_FOUR)), I64(number * TERMS))
        start = number // 2 * 2 * TERMS + number % 2 * _FOUR
        return b.add(b.mul(quarter, I64(_EIGHT)), I64(start))

    def _read(self, at: ir.Value, kind: ir.Type, align: int) -> ir.Value:
        return self.b.load(self.b.gep(self.weights, [at], source_etype=I8), kind, align)

    def _scales(self, pair: ir.Value) -> list[ir.Value]:
        b, tiles = self.b, self.tiles
        kind = F16 if self.codes.half_scales else F32
        at = b.add(self.frame.size(tiles.scales_at), b.mul(pair, I64(2 * tiles.scale_bytes)))
        both = self._read(at, vector(kind, 2), 2 * tiles.scale_bytes)
        factors = [b.extract_element(both, I32(half)) for half in range(2)]
        return [b.fpext(factor, F32) for factor in factors] if self.codes.half_scales else factors

    def _points(self, pair: ir.Value) -> list[ir.Value]:
        b = self.b
        if self.codes.zeros is None:
            return self.pairs.zeros(None)
        return self.pairs.zeros(self._read(b.add(self.frame.size(self.tiles.zeros_at), b.mul(pair, I64(2))), I16, 2))

    def _store_four(self, low: ir.Value, high: ir.Value, factor: ir.Value, column: ir.Value, at: ir.Value) -> None:
        """Store four terms of a column, those that it has."""
        b, dtype = self.b, self.out.dtype
        kind = element(dtype)
        four: ir.Value = ir.Constant(vector(kind, _FOUR), ir.Undefined)
        for place, number in enumerate([*self._floats(low), *self._floats(high)]):
            value = scalars.cast(b, b.fmul(number, factor), DType.FLOAT32, dtype)
            four = b.insert_element(four, value, I32(place))
        base = b.add(b.mul(column, self.depth), at)
        pointer = self.frame.buffers[self.out]
        whole = b.icmp_signed("==", b.and_(self.depth, I64(_FOUR - 1)), I64(0))
        whole = b.and_(whole, b.icmp_signed("<", at, self.depth))
        with b.if_then(b.icmp_signed("<", column, self.columns)), b.if_else(whole) as (then, otherwise):
            with then:
                b.store(four, b.gep(pointer, [base], source_etype=kind), _FOUR * width(dtype))
            with otherwise:
                for place in range(_FOUR):
                    with b.if_then(b.icmp_signed("<", b.add(at, I64(place)), self.depth)):
                        address = b.gep(pointer, [b.add(base, I64(place))], source_etype=kind)
                        b.store(b.extract_element(four, I32(place)), address, width(dtype))

    def _floats(self, pair: ir.Value) -> list[ir.Value]:
        b = self.b
        if self.dtype is DType.FLOAT16:
            wide = b.fpext(pair, vector(F32, 2))
            return [b.extract_element(wide, I32(at)) for at in range(2)]
        word = b.bitcast(pair, I32)
        return [b.bitcast(bits, F32) for bits in (b.shl(word, I32(16)), b.and_(word, I32(-(1 << 16))))]
