"""Convolutions of 16-bit floats on Hopper: a warpgroup gathers pieces of channels, others multiply them where they lie.

A piece is 16 bytes of channels, or 8 where these are four, of one place of an image under one tap of a filter. What is
padded becomes zeros on its way into a tile, which is swizzled as the copy engine would. That engine brings filters.
Threads that gather wait for none of their pieces: a stage is full once all of them have arrived.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.types import I32, I64
from ingot.codegen.nvptx import hopper
from ingot.codegen.nvptx.eights import LANES, registers_of, stores_eights
from ingot.codegen.nvptx.half_product import is_of_halves
from ingot.codegen.nvptx.hopper import LINE, WARPGROUP
from ingot.codegen.nvptx.pieces import Tiles, fits, left_of, refuses_operand, right_of
from ingot.codegen.nvptx.tma_operand import LINE_ELEMENTS, Walk, map_of, walk_of, walks_of
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Variant
from ingot.codegen.nvptx.wgmma_product import WgmmaProduct
from ingot.codegen.nvptx.wgmma_tiles import PARAMETERS, RIGHT, TILES, WgmmaTile
from ingot.loops.ir import Contraction, Var
from ingot.schedule.target import Target

_MOST_ROWS = 128
"""Rows of a tile whose places a thread holds in registers."""

_PIECES = (LANES, LANES // 2)
"""Channels that are copied at once."""

_BESIDE_SUMS = 26
"""Registers of a thread that multiplies beside its sums."""

_ALL_REGISTERS = 1 << 16

_SLOWER = 1.05
"""The time of a tile that threads gather, in that of one which the copy engine brings."""


def refuses(product: Contraction, target: Target) -> str | None:
    if target.cpu != hopper.PROCESSOR:
        return f"{hopper.PROCESSOR} alone has its instructions"
    if not is_of_halves(product):
        return "its operands are no halves"
    if not isinstance(walks_of(product), str):
        return "the copy engine walks both operands"
    left = left_of(product)
    if left.along not in left.k:
        return "channels are no neighbours"
    right = _right(product)
    return right if isinstance(right, str) else refuses_operand(left)


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        _name(tile, lanes): Function(
            partial(_emit, product=product, tile=tile, lanes=lanes),
            _threads(tile),
            tile.resident,
            PARAMETERS,
            (RIGHT,),
            exact=True,
            cluster=tile.split,
        )
        for lanes in _PIECES
        for tile in _tiles(lanes)
    }


def plans(sized: Sized) -> Iterator[Plan]:
    """A plan for each tile; none where channels are no fours, or filters no eights."""
    right = _right(sized.product)
    assert not isinstance(right, str)
    if sized.depth == 0 or not fits(sized) or not stores_eights(sized):
        return
    left = left_of(sized.product)
    lanes = next((lanes for lanes in _PIECES if left.is_whole(sized, lanes)), None)
    for tile in () if lanes is None else _tiles(lanes):
        assert lanes is not None
        tensor_map = map_of(right, sized, tile.columns)
        if tensor_map is None:
            return
        plan = tile.plan(sized, _name(tile, lanes), _threads(tile), (tensor_map,))
        if plan is not None:
            yield Plan(plan.seconds * _SLOWER, plan.steps)


VARIANT = Variant("gathered", refuses, functions, plans)


def _tiles(lanes: int) -> Iterator[WgmmaTile]:
    """The tiles for pieces of so many neighbours: twice as many of half the bytes leave registers for fewer rows."""
    most = _MOST_ROWS * lanes // LANES
    return (tile for tile in TILES.values() if tile.rows <= most and not tile.alternates)


def _name(tile: WgmmaTile, lanes: int) -> str:
    return tile.name.replace("wgmma", "gathered" if lanes == LANES else "filled")


def _threads(tile: WgmmaTile) -> int:
    return WARPGROUP * (tile.warpgroups + _gatherers(tile))


def _gatherers(tile: WgmmaTile) -> int:
    """Warpgroups that gather: two, unless these leave too few registers for the sums."""
    registers = _ALL_REGISTERS // (WARPGROUP * (tile.warpgroups + 2) * tile.resident)
    return 2 if tile.sums + _BESIDE_SUMS <= registers else 1


def _registers(tile: WgmmaTile) -> tuple[int, int] | None:
    """Registers of the threads that gather, and of those that multiply; None for as they are."""
    if tile.split > 1 or tile.warpgroups == 1:
        return None
    return (64, 192) if _gatherers(tile) == 2 else (72, 216)


def _right(product: Contraction) -> Walk | str:
    """How the copy engine walks the right operand, or why it does not."""
    right = right_of(product)
    if len(right.k) != 1 or len(right.rows) != 1:
        return "filters that are no matrix"
    return walk_of(right.load, right.rows[0], right.k[0], product.batch)


def _emit(b: Builder, frame: Frame, product: Contraction, tile: WgmmaTile, lanes: int) -> None:
    right = _right(product)
    assert not isinstance(right, str)
    Gathered(b, frame, product, tile, right, lanes).emit()


class Gathered(WgmmaProduct):
    """A block of a product whose left operand is gathered."""

    def __init__(
        self, b: Builder, frame: Frame, product: Contraction, tile: WgmmaTile, right: Walk, lanes: int
    ) -> None:
        operand = left_of(product)
        super().__init__(b, frame, product, tile, (Walk(operand.load, (operand.k[-1],), along_k=True), right))
        self.own = b.sub(self.thread32, I32(WARPGROUP * tile.warpgroups))
        self.bytes = operand.load.dtype.numpy.itemsize
        self.line = LINE // self.bytes
        self.pieces = Tiles(b, frame, operand, self.own, (tile.rows, self.line), WARPGROUP * self._gatherers(), lanes)
        self.maps = (self.maps[1],)
        registers = _registers(tile)
        own = registers_of(_threads(tile), tile.resident) if registers is None else registers[1]
        self.free_registers = own - tile.sums

    def emit(self) -> None:
        b, tile, registers = self.b, self.tile, _registers(self.tile)
        self._open()
        group = b.udiv(self.thread32, I32(WARPGROUP))
        with b.if_else(b.icmp_signed(">=", group, I32(tile.warpgroups))) as (gathers, multiplies):
            with gathers:
                if registers is not None:
                    hopper.set_registers(b, registers[0], more=False)
                self._fill_stages()
            with multiplies:
                if registers is not None:
                    hopper.set_registers(b, registers[1], more=True)
                self._multiply(group)
        if tile.split > 1:
            self._add_up()

    def unflatten(self, chain: Sequence[Var], flat: ir.Value) -> None:
        """As it is done elsewhere, of places that are int32."""
        b = self.b
        place = b.trunc(flat, I32)
        for var in reversed(chain[1:]):
            size = b.trunc(self.frame.size(var.extent), I32)
            self.variables[var] = b.zext(b.urem(place, size), I64)
            place = b.udiv(place, size)
        if chain:
            self.variables[chain[0]] = b.zext(place, I64)

    def _arrivals(self) -> int:
        """All threads that gather, and the one that has the copy engine bring filters."""
        return WARPGROUP * self._gatherers() + 1

    def _fill_stages(self) -> None:
        b, tile = self.b, self.tile
        stage, phase = self._counter(0), self._counter(1)
        with self._placed() as (_, row, column):
            outside = {var: b.trunc(self.variables[var], I32) for var in self.product.batch}
            count = b.trunc(self.rows, I32)
            self.pieces.open(outside, row, count, b.mul(self.begin, I32(self.line)))
            with self.loop(self.begin, self.end_of_split, I32(1)) as step:
                now = b.load(stage, I32)
                full = b.add(self.full, b.mul(now, I32(8)))
                hopper.barrier_wait(b, b.add(self.empty, b.mul(now, I32(8))), b.load(phase, I32))
                to = b.add(self.base, b.mul(now, I32(tile.stage_bytes)))
                self._bring_right(full, b.add(to, I32(tile.rows * LINE)), column, step)
                self.pieces.copy(partial(self._swizzled, to))
                hopper.barrier_arrive_after_copies(b, full)
                self._advance(stage, phase)

    def _gatherers(self) -> int:
        """The warpgroups that gather."""
        return _gatherers(self.tile)

    def _bring_right(self, full: ir.Value, to: ir.Value, column: ir.Value, step: ir.Value) -> None:
        """Have the copy engine bring a tile of the right operand."""
        b = self.b
        with b.if_then(b.icmp_signed("==", self.own, I32(0))):
            hopper.barrier_expect(b, full, self.tile.columns * LINE)
            k = b.mul(step, I32(LINE_ELEMENTS))
            self._copy(self.right, self.maps[-1], to, column, k, self.tile.columns, full)

    def _swizzled(self, tile: ir.Value, row: ir.Value, place: ir.Value) -> ir.Value:
        """The address of a piece in a tile."""
        b = self.b
        byte = b.xor(b.mul(place, I32(self.bytes)), b.shl(b.and_(row, I32(7)), I32(4)))
        return b.add(tile, b.add(b.mul(row, I32(LINE)), byte))

    def _products(
        self, sums: Sequence[Sequence[ir.Value]], group: ir.Value, stage: ir.Value, added: ir.Value
    ) -> list[ir.Value]:
        """As it is done elsewhere, once products see what other threads had copied."""
        hopper.fence_copies(self.b)
        return super()._products(sums, group, stage, added)
