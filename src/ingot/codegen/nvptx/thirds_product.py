"""Products of float32 on Hopper's tensor cores, as exact as those of single elements: three products of TF32.

A number is the sum of two halves, each rounded to the 11 digits of TF32. All products of halves are summed but those of
two lower ones, which are below the last digit. Tensor cores cut off what they sum: so small products come first, and
the sum of each stage, of 32 terms, is their own, and is added to those before by an addition that rounds.

That is not so for all numbers: a lower half of an infinity is none, and one of a tiny number is lost. Warps see the
largest and the smallest number that they multiply, and the sums. Where one of these is not finite, or where there were
tiny numbers and a sum is so small that they may matter, a warp computes its sums again, one by one, as single elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import F32, I32, I64, stack_slot
from ingot.codegen.nvptx import hopper
from ingot.codegen.nvptx.eights import stores_eights
from ingot.codegen.nvptx.gathered_product import Gathered
from ingot.codegen.nvptx.grid import WARP, exchanged
from ingot.codegen.nvptx.hopper import LINE, WARPGROUP
from ingot.codegen.nvptx.pieces import fits, left_of, refuses_operand, right_of
from ingot.codegen.nvptx.tma_operand import Walk
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Variant
from ingot.codegen.nvptx.wgmma_tiles import PANEL, PARAMETERS, PART, WgmmaTile
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Contraction
from ingot.schedule.target import Target

_FOUR = 4
"""Neighbours that are copied at once."""

_TERMS = LINE // 4
"""Terms of a stage."""

_UPPER, _HALF = ~0x1FFF, 0x1000
"""The digits of TF32 among the bits of a float32, and half of the last one: tensor cores do not read those behind."""

_SIGN, _INFINITY = 0x7FFFFFFF, 0x7F800000

_UNDER_WAY = 16
"""Words of the right operand that a thread asks for while it divides as many. Were they asked for four by four, each
four would wait for all that were asked for since, which takes twice the time."""

_TINY = (127 - 60) << 23
"""The bits of 2^-60: products of larger numbers, and of their lower halves, are normal numbers."""

_LOST = 2.0**-102
"""Below so many times the terms of a sum and its largest factor, what is lost of tiny numbers may be seen in it: of
each term at most 2^-126 times that factor, and a float32 has 24 digits."""

_NOTES = 32
"""Bytes of a stage for the largest and smallest numbers that each of four warps has seen."""

_FEW_REGISTERS, _FULL_REGISTERS, _MANY_REGISTERS = 64, 112, 192
"""Registers of the threads that load, and of those that multiply: of one warpgroup, and of two."""

_FILL, _MEMORY = 2.5e-6, 0.8
"""Seconds before the first stage is there, and of the memory's bandwidth what is reached."""


@dataclass(frozen=True, slots=True)
class ThirdsTile(WgmmaTile):
    """A tile whose right operand is there in two halves."""

    @property
    def name(self) -> str:
        return f"thirds{self.rows}x{self.columns}{f'by{self.split}' if self.split > 1 else ''}"

    @property
    def registers(self) -> tuple[int, int] | None:
        if self.split > 1:
            return None
        return _FEW_REGISTERS, _MANY_REGISTERS if self.warpgroups == 2 else _FULL_REGISTERS

    @property
    def threads(self) -> int:
        return WARPGROUP * (self.warpgroups + 2)

    @property
    def terms(self) -> int:
        return _TERMS

    @property
    def stage_bytes(self) -> int:
        return (self.rows + 2 * self.columns) * LINE

    @property
    def shared_bytes(self) -> int:
        return self.stages * (self.stage_bytes + 16 + _NOTES) + self.staging_bytes

    def seconds(self, sized: Sized, tiles: int) -> float:
        gpu, blocks = sized.gpu, tiles * self.split
        waves = -(-blocks // (gpu.multiprocessors * self.resident))
        stage = self.alone if blocks <= gpu.multiprocessors or self.resident == 1 else self.beside
        stages = -(-sized.depth // (_TERMS * self.split))
        busy = waves * (stages * stage + self.end) * 1e-6
        elements = sized.batch * (sized.rows * sized.depth + (sized.depth + sized.rows) * sized.columns)
        return _FILL + max(busy, 4 * elements / (_MEMORY * gpu.bandwidth))


TILES = {
    tile.name: tile
    for tile in (
        ThirdsTile(128, 128, 2, 4, 1.45, 2.0),
        ThirdsTile(128, 64, 2, 5, 1.02, 1.2),
        ThirdsTile(64, 64, 1, 4, 0.79, 1.0, resident=2, beside=1.23),
        ThirdsTile(64, 64, 1, 4, 0.79, 2.0, resident=1, split=2),
        ThirdsTile(64, 64, 1, 4, 0.79, 4.0, resident=1, split=4),
        ThirdsTile(64, 64, 1, 4, 0.79, 8.0, resident=1, split=8),
    )
}


def refuses(product: Contraction, target: Target) -> str | None:
    if target.cpu != hopper.PROCESSOR:
        return f"{hopper.PROCESSOR} alone has its instructions"
    left, right = left_of(product), right_of(product)
    if any(dtype is not DType.FLOAT32 for dtype in (product.dtype, left.load.dtype, right.load.dtype)):
        return "it is not of float32"
    if left.along not in left.k or len(right.k) != 1 or len(right.rows) != 1 or right.load.where:
        return "neighbours are not summed on the left, or the right operand is no matrix"
    return refuses_operand(left)


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        name: Function(
            partial(_emit, product=product, tile=tile),
            tile.threads,
            tile.resident,
            PARAMETERS,
            exact=True,
            cluster=tile.split,
        )
        for name, tile in TILES.items()
    }


def plans(sized: Sized) -> Iterator[Plan]:
    """A plan for each tile; none where channels are no fours, or columns no eights."""
    if sized.depth == 0 or not fits(sized) or not stores_eights(sized):
        return
    if not left_of(sized.product).is_whole(sized, _FOUR):
        return
    for name, tile in TILES.items():
        plan = tile.plan(sized, name, tile.threads)
        if plan is not None:
            yield plan


VARIANT = Variant("thirds", refuses, functions, plans)


def _emit(b: Builder, frame: Frame, product: Contraction, tile: ThirdsTile) -> None:
    _Thirds(b, frame, product, tile).emit()


class _Thirds(Gathered):
    """A block: a warpgroup gathers the left operand, one divides the right one, and others multiply."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction, tile: ThirdsTile) -> None:
        right = right_of(product)
        super().__init__(b, frame, product, tile, Walk(right.load, (right.k[0],), along_k=True), _FOUR)
        self.operand, self.maps = right, ()
        self.free_registers = tile.free_registers
        self.notes = b.add(self.empty, I32(8 * tile.stages))

    def emit(self) -> None:
        b, tile = self.b, self.tile
        self._open()
        group = b.udiv(self.thread32, I32(WARPGROUP))
        with b.if_else(b.icmp_signed("<", group, I32(tile.warpgroups))) as (multiplies, loads):
            with multiplies:
                if tile.registers is not None:
                    hopper.set_registers(b, tile.registers[1], more=True)
                self._multiply(group)
            with loads:
                if tile.registers is not None:
                    hopper.set_registers(b, tile.registers[0], more=False)
                with b.if_else(b.icmp_signed("==", group, I32(tile.warpgroups))) as (gathers, divides):
                    with gathers:
                        self._fill_stages()
                    with divides:
                        self._divide_right()
        if tile.split > 1:
            self._add_up()

    def _arrivals(self) -> int:
        """All threads that gather, and all that divide."""
        return 2 * WARPGROUP

    def _returns(self) -> int:
        """All warps that multiply, as each reads its rows by itself."""
        return self.tile.warpgroups * WARPGROUP // WARP

    def _gatherers(self) -> int:
        return 1

    def _bring_right(self, full: ir.Value, to: ir.Value, column: ir.Value, step: ir.Value) -> None:
        """Another warpgroup does."""

    # --- the warpgroup that divides the right operand

    def _divide_right(self) -> None:
        """Copy tiles of the right operand in two halves, each line along `k`: a thread has a part of a line."""
        b, tile = self.b, self.tile
        own = b.urem(self.thread32, I32(WARPGROUP))
        line, part = b.urem(own, I32(tile.columns)), b.udiv(own, I32(tile.columns))
        count = _TERMS * tile.columns // WARPGROUP
        first = b.mul(part, I32(count))
        index = self.operand.load.index
        pointer = self.frame.buffers[self.operand.load.buffer]
        (k_var,), (row_var,) = self.operand.k, self.operand.rows
        apart, depth = self.frame.size(index.factor(k_var)), b.trunc(self.depth, I32)
        stage, phase = self._counter(0), self._counter(1)
        words = [stack_slot(b, I32) for _ in range(_UNDER_WAY)]
        with self._placed() as (_, _row, column):
            last = b.sub(b.trunc(self.columns, I32), I32(1))
            self.variables[row_var] = b.zext(smaller(b, b.add(column, line), last), I64)
            self.variables[k_var] = I64(0)
            start = self.index(index)

            def fetch(step: ir.Value, place: int) -> None:
                """Ask for the words of a stage from a place on, or of the one after it; fours are inside together."""
                if place == count:
                    step, place = b.add(step, I32(1)), 0
                for four in range(0, _UNDER_WAY, _FOUR):
                    k = b.add(b.mul(step, I32(_TERMS)), b.add(first, I32(place + four)))
                    inside = b.icmp_signed("<", k, depth)
                    at = b.add(start, b.mul(b.zext(b.select(inside, k, I32(0)), I64), apart))
                    for word in words[four : four + _FOUR]:
                        value = b.load(b.gep(pointer, [at], source_etype=I32), I32, 4)
                        b.store(b.select(inside, value, I32(0)), word)
                        at = b.add(at, apart)

            fetch(self.begin, 0)
            with self.loop(self.begin, self.end_of_split, I32(1)) as step:
                now = b.load(stage, I32)
                hopper.barrier_wait(b, b.add(self.empty, b.mul(now, I32(8))), b.load(phase, I32))
                to = b.add(self.base, b.add(b.mul(now, I32(tile.stage_bytes)), I32(tile.rows * LINE)))
                seen: tuple[ir.Value, ir.Value] | None = None
                for place in range(0, count, _UNDER_WAY):
                    values = [b.load(word, I32) for word in words]
                    fetch(step, place + _UNDER_WAY)
                    for within in range(0, _UNDER_WAY, _FOUR):
                        address = self._swizzled(to, line, b.add(first, I32(place + within)))
                        pairs = [_halves(b, word) for word in values[within : within + _FOUR]]
                        hopper.store_four(b, address, [upper for upper, _ in pairs])
                        hopper.store_four(b, b.add(address, I32(tile.columns * LINE)), [lower for _, lower in pairs])
                    most = _most(b, values)
                    seen = most if seen is None else (_larger(b, seen[0], most[0]), _lesser(b, seen[1], most[1]))
                assert seen is not None
                self._note(now, own, seen)
                hopper.barrier_arrive(b, b.add(self.full, b.mul(now, I32(8))))
                self._advance(stage, phase)

    def _note(self, stage: ir.Value, own: ir.Value, seen: tuple[ir.Value, ir.Value]) -> None:
        """Tell those who multiply which numbers a warp has seen in a stage."""
        b = self.b
        largest, least = _of_warp(b, seen)
        at = b.add(self.notes, b.mul(stage, I32(_NOTES)))
        with b.if_then(b.icmp_signed("==", b.urem(own, I32(WARP)), I32(0))):
            place = b.add(at, b.mul(b.udiv(own, I32(WARP)), I32(8)))
            hopper.store_pair(b, place, [b.bitcast(largest, F32), b.bitcast(least, F32)])

    # --- the warpgroups that multiply

    def _multiply(self, group: ir.Value) -> None:
        b, tile = self.b, self.tile
        stage, phase = self._counter(0), self._counter(0)
        count = tile.columns // 2
        cells = [stack_slot(b, F32) for _ in range(count)]
        largest, least = stack_slot(b, I32), stack_slot(b, I32)
        top = b.mul(group, I32(PART))
        with self._placed() as (_, row, column):
            for cell in cells:
                b.store(F32(0.0), cell)
            b.store(I32(0), largest)
            b.store(I32(-1), least)
            with self.loop(self.begin, self.end_of_split, I32(1)):
                now = b.load(stage, I32)
                hopper.barrier_wait(b, b.add(self.full, b.mul(now, I32(8))), b.load(phase, I32))
                values = self._sums_of_stage(group, now, largest, least)
                with b.if_then(b.icmp_signed("==", b.urem(self.thread32, I32(WARP)), I32(0))):
                    hopper.barrier_arrive(b, b.add(self.empty, b.mul(now, I32(8))))
                for cell, value in zip(cells, values, strict=True):
                    b.store(b.fadd(b.load(cell, F32), value), cell)
                self._advance(stage, phase)
            sums = [b.load(cell, F32) for cell in cells]
            seen = _of_warp(b, (b.load(largest, I32), b.load(least, I32)))
            with b.if_else(self._is_off(sums, seen), likely=False) as (off, right):
                with off:
                    self._again(top, row, column)
                with right:
                    if tile.split > 1:
                        self._stage_sums([sums], top)
                    else:
                        self._finish([sums], self.ask(self._places(b.add(row, top), column, 1)))

    def _sums_of_stage(self, group: ir.Value, stage: ir.Value, largest: ir.Value, least: ir.Value) -> list[ir.Value]:
        """The sums of the products of a stage."""
        b, tile = self.b, self.tile
        tiles = b.add(self.base, b.mul(stage, I32(tile.stage_bytes)))
        own = b.urem(self.thread32, I32(WARPGROUP))
        warp, lane = b.udiv(own, I32(WARP)), b.urem(own, I32(WARP))
        line = b.add(b.mul(warp, I32(16)), b.urem(lane, I32(16)))
        left = b.add(tiles, b.mul(group, I32(PANEL)))
        right = hopper.descriptor(b, b.add(tiles, I32(tile.rows * LINE)))
        hopper.fence_copies(b)
        halves: list[tuple[list[ir.Value], list[ir.Value]]] = []
        for piece in range(4):
            place = b.add(b.mul(b.udiv(lane, I32(16)), I32(_FOUR)), I32(2 * _FOUR * piece))
            words = hopper.load_matrices(b, self._swizzled(left, line, place))
            self._see(words, largest, least)
            pairs = [_halves(b, word) for word in words]
            halves.append(([upper for upper, _ in pairs], [lower for _, lower in pairs]))
        notes = b.add(self.notes, b.mul(stage, I32(_NOTES)))
        noted = [word for place in (0, 16) for word in hopper.load_words(b, b.add(notes, I32(place)))]
        for word in noted[::2]:
            b.store(_larger(b, b.load(largest, I32), word), largest)
        for word in noted[1::2]:
            b.store(_lesser(b, b.load(least, I32), word), least)
        values: list[ir.Value] = [ir.Constant(F32, ir.Undefined)] * (tile.columns // 2)
        hopper.fence_products(b)
        apart = tile.columns * LINE >> 4
        small = [
            (half, 2 * piece + other)
            for piece, (upper, lower) in enumerate(halves)
            for half, other in ((lower, 0), (upper, apart))
        ]
        large = [(upper, 2 * piece) for piece, (upper, _) in enumerate(halves)]
        for number, (half, at) in enumerate((*small, *large)):  # what is cut off is of the sum so far
            values = hopper.multiply_wide(b, values, half, b.add(right, I64(at)), I32(int(number > 0)))
        hopper.commit_products(b)
        return hopper.wait_for_products(b, 0, values)

    def _see(self, words: Sequence[ir.Value], largest: ir.Value, least: ir.Value) -> None:
        b = self.b
        most, fewest = _most(b, words)
        b.store(_larger(b, b.load(largest, I32), most), largest)
        b.store(_lesser(b, b.load(least, I32), fewest), least)

    # --- sums that three products do not get right

    def _is_off(self, sums: Sequence[ir.Value], seen: tuple[ir.Value, ir.Value]) -> ir.Value:
        """Whether sums of this warp may differ from those of single elements by more than rounding."""
        b = self.b
        largest, least = seen
        bits = [b.and_(b.bitcast(value, I32), I32(_SIGN)) for value in sums]
        highest, lowest = bits[0], bits[0]
        for value in bits[1:]:
            highest, lowest = _larger(b, highest, value), _lesser(b, lowest, value)
        factor = b.fadd(b.bitcast(largest, F32), F32(1.0))
        lost = b.fmul(b.fmul(b.sitofp(self.depth, F32), F32(_LOST)), factor)
        is_seen = b.icmp_unsigned("<=", lowest, b.and_(b.bitcast(lost, I32), I32(_SIGN)))
        is_tiny = b.icmp_unsigned("<", least, I32(_TINY - 1))
        off = b.or_(b.icmp_unsigned(">=", _larger(b, highest, largest), I32(_INFINITY)), b.and_(is_tiny, is_seen))
        any_off, _ = _of_warp(b, (b.zext(off, I32), I32(0)))
        return b.icmp_signed("!=", any_off, I32(0))

    def _again(self, top: ir.Value, row: ir.Value, column: ir.Value) -> None:
        """Compute the sums of this warp one by one, and store them."""
        b, tile, product = self.b, self.tile, self.product
        own = b.urem(self.thread32, I32(WARPGROUP))
        warp, lane = b.udiv(own, I32(WARP)), b.urem(own, I32(WARP))
        above = b.add(top, b.mul(warp, I32(16)))
        total = stack_slot(b, F32)
        per_row = tile.columns // WARP
        with self.loop(I32(0), I32(16 * per_row), I32(1)) as number:
            inner_row = b.add(above, b.udiv(number, I32(per_row)))
            inner_column = b.add(b.mul(b.urem(number, I32(per_row)), I32(WARP)), lane)
            at_row, at_column = (
                b.zext(b.add(first, inner), I64) for first, inner in ((row, inner_row), (column, inner_column))
            )
            inside = b.and_(b.icmp_signed("<", at_row, self.rows), b.icmp_signed("<", at_column, self.columns))
            with b.if_then(inside):
                self.unflatten(product.m, at_row)
                self.variables[self.n] = at_column
                b.store(F32(0.0), total)
                terms = [b.zext(b.mul(end, I32(_TERMS)), I64) for end in (self.begin, self.end_of_split)]
                with self.loop(terms[0], smaller(b, terms[1], self.depth), I64(1)) as k:
                    self.unflatten(product.k, k)
                    self.variables[self.operand.k[0]] = k
                    self._known = {}
                    x, y = self.scalar(product.lhs), self.scalar(self.operand.load)
                    b.store(scalars.multiply_add(b, x, y, b.load(total, F32)), total)
                    self._known = {}
                if tile.split > 1:
                    hopper.store_single(b, self._staged(inner_row, inner_column), b.load(total, F32))
                else:
                    self.end(b.load(total, F32))


def _halves(b: Builder, word: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The bits of the upper and of the lower half of a float32, both rounded to TF32."""
    upper = b.and_(b.add(word, I32(_HALF)), I32(_UPPER))
    return upper, b.add(b.bitcast(b.fsub(b.bitcast(word, F32), b.bitcast(upper, F32)), I32), I32(_HALF))


def _most(b: Builder, words: Sequence[ir.Value]) -> tuple[ir.Value, ir.Value]:
    """The largest magnitude of numbers, and the least that is not zero, less one, both by their bits."""
    sizes = [b.and_(word, I32(_SIGN)) for word in words]
    largest, least = sizes[0], b.sub(sizes[0], I32(1))
    for size in sizes[1:]:
        largest, least = _larger(b, largest, size), _lesser(b, least, b.sub(size, I32(1)))
    return largest, least


def _larger(b: Builder, one: ir.Value, other: ir.Value) -> ir.Value:
    return b.select(b.icmp_unsigned(">", one, other), one, other)


def _lesser(b: Builder, one: ir.Value, other: ir.Value) -> ir.Value:
    return b.select(b.icmp_unsigned("<", one, other), one, other)


def _of_warp(b: Builder, seen: tuple[ir.Value, ir.Value]) -> tuple[ir.Value, ir.Value]:
    """The larger, and the lesser, of all threads of a warp."""
    largest, least = seen
    distance = WARP // 2
    while distance:
        largest = _larger(b, largest, exchanged(b, largest, I32(distance)))
        least = _lesser(b, least, exchanged(b, least, I32(distance)))
        distance //= 2
    return largest, least
