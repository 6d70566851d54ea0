"""Convolutions of 16-bit floats on Hopper: a warpgroup gathers pieces of channels, others multiply them where they lie.

A piece is 16 bytes of channels, or 8 where these are four, of one place of an image under one tap of a filter. What is
padded becomes zeros on its way into a tile, which is swizzled as the copy engine would. That engine brings filters. A
stage is handed on once all threads that gather have their pieces there, which is while they ask for those of the next
stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.types import I32, I64
from ingot.codegen.nvptx import hopper
from ingot.codegen.nvptx.async_copy import commit_copies, wait_for_copies
from ingot.codegen.nvptx.eights import LANES, stores_eights
from ingot.codegen.nvptx.half_product import is_of_halves
from ingot.codegen.nvptx.hopper import LINE, WARPGROUP
from ingot.codegen.nvptx.pieces import Tiles, fits, left_of, refuses_operand, right_of
from ingot.codegen.nvptx.tma_operand import LINE_ELEMENTS, Walk, map_of, walk_of
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Step, Variant
from ingot.codegen.nvptx.wgmma_product import WgmmaProduct
from ingot.codegen.nvptx.wgmma_tiles import PARAMETERS, RIGHT, TILES, WgmmaTile
from ingot.loops.ir import Contraction, Var
from ingot.schedule.target import Target

_PROCESSOR = "sm_90a"

_MOST_ROWS = 128
"""Rows of a tile whose places a thread holds in registers."""

_PIECES = (LANES, LANES // 2)
"""Channels that are copied at once."""

_REGISTERS, _MULTIPLYING = 72, 216
"""Registers of the threads that gather, and of those that multiply, where there are two warpgroups of these."""

_UNDER_WAY = 3
"""Stages that a thread has asked for, at most, before it waits for the first of them."""

_SLOWER = 1.1
"""The time of a tile that threads gather, in that of one which the copy engine brings."""

_MOST_TILES = 1 << 30


def refuses(product: Contraction, target: Target) -> str | None:
    if target.cpu != _PROCESSOR:
        return f"{_PROCESSOR} alone has its instructions"
    if not is_of_halves(product):
        return "its operands are no halves"
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
        row_tiles, column_tiles = -(-sized.rows // tile.rows), -(-sized.columns // tile.columns)
        tiles = row_tiles * column_tiles * sized.batch
        if tiles > _MOST_TILES or tile.shared_bytes > sized.gpu.shared:
            continue
        blocks = tiles * tile.split if tile.split > 1 else min(tiles, sized.gpu.multiprocessors * tile.resident)
        scalars = row_tiles, column_tiles, tiles, -(-sized.depth // LINE_ELEMENTS)
        step = Step(_name(tile, lanes), (blocks, 1, 1), (_threads(tile), 1), scalars, (tensor_map,), tile.shared_bytes)
        yield Plan(tile.seconds(sized.gpu, tiles, sized.depth) * _SLOWER, (step,))


VARIANT = Variant("gathered", refuses, functions, plans)


def _tiles(lanes: int) -> Iterator[WgmmaTile]:
    """The tiles for pieces of so many neighbours: twice as many of half the bytes leave registers for fewer rows."""
    return (tile for tile in TILES.values() if tile.rows * LANES <= _MOST_ROWS * lanes)


def _name(tile: WgmmaTile, lanes: int) -> str:
    return tile.name.replace("wgmma", "gathered" if lanes == LANES else "filled")


def _threads(tile: WgmmaTile) -> int:
    return WARPGROUP * (tile.warpgroups + 1)


def _right(product: Contraction) -> Walk | str:
    """How the copy engine walks the right operand, or why it does not."""
    right = right_of(product)
    if len(right.k) != 1 or len(right.rows) != 1:
        return "filters that are no matrix"
    return walk_of(right.load, right.rows[0], right.k[0], product.batch)


def _emit(b: Builder, frame: Frame, product: Contraction, tile: WgmmaTile, lanes: int) -> None:
    right = _right(product)
    assert not isinstance(right, str)
    _Gathered(b, frame, product, tile, right, lanes).emit()


class _Gathered(WgmmaProduct):
    """A block of a product whose left operand is gathered."""

    def __init__(
        self, b: Builder, frame: Frame, product: Contraction, tile: WgmmaTile, right: Walk, lanes: int
    ) -> None:
        operand = left_of(product)
        super().__init__(b, frame, product, tile, (Walk(operand.load, (operand.k[-1],), along_k=True), right))
        self.own = b.sub(self.thread32, I32(WARPGROUP * tile.warpgroups))
        self.pieces = Tiles(b, frame, operand, self.own, (tile.rows, LINE_ELEMENTS), WARPGROUP, lanes)
        self.maps = (self.maps[1],)
        self.under_way = min(_UNDER_WAY, tile.stages - 2)

    def emit(self) -> None:
        b, tile = self.b, self.tile
        self._open()
        group = b.udiv(self.thread32, I32(WARPGROUP))
        with b.if_else(b.icmp_signed("==", group, I32(tile.warpgroups))) as (gathers, multiplies):
            with gathers:
                if tile.moves_registers:
                    hopper.set_registers(b, _REGISTERS, more=False)
                self._fill_stages()
            with multiplies:
                if tile.moves_registers:
                    hopper.set_registers(b, _MULTIPLYING, more=True)
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
        return WARPGROUP + 1

    def _fill_stages(self) -> None:
        b, tile = self.b, self.tile
        stage, phase = self._counter(0), self._counter(1)
        ready, begun = self._counter(0), self._counter(0)
        with self._placed() as (row, column):
            outside = {var: b.trunc(self.variables[var], I32) for var in self.product.batch}
            count = b.trunc(self.rows, I32)
            self.pieces.open(outside, row, count, b.mul(self.begin, I32(LINE_ELEMENTS)))
            with self.loop(self.begin, self.end_of_split, I32(1)) as step:
                now = b.load(stage, I32)
                full = b.add(self.full, b.mul(now, I32(8)))
                hopper.barrier_wait(b, b.add(self.empty, b.mul(now, I32(8))), b.load(phase, I32))
                to = b.add(self.base, b.mul(now, I32(tile.stage_bytes)))
                with b.if_then(b.icmp_signed("==", self.own, I32(0))):
                    hopper.barrier_expect(b, full, tile.columns * LINE)
                    k = b.mul(step, I32(LINE_ELEMENTS))
                    filters = b.add(to, I32(tile.rows * LINE))
                    self._copy(self.right, self.maps[-1], filters, column, k, tile.columns, full)
                self.pieces.copy(partial(self._swizzled, to))
                commit_copies(b)
                with b.if_then(b.icmp_signed(">=", b.load(begun, I32), I32(self.under_way))):
                    wait_for_copies(b, self.under_way)
                    self._hand_on(ready)
                b.store(b.add(b.load(begun, I32), I32(1)), begun)
                self._advance(stage, phase)
        wait_for_copies(b, 0)
        rest = b.load(begun, I32)
        for number in range(self.under_way):
            with b.if_then(b.icmp_signed(">", rest, I32(number))):
                self._hand_on(ready)

    def _swizzled(self, tile: ir.Value, row: ir.Value, place: ir.Value) -> ir.Value:
        """The address of a piece in a tile."""
        b = self.b
        piece = b.xor(b.lshr(place, I32(3)), b.and_(row, I32(7)))
        within = b.or_(b.shl(piece, I32(4)), b.shl(b.and_(place, I32(7)), I32(1)))
        return b.add(tile, b.add(b.mul(row, I32(LINE)), within))

    def _hand_on(self, ready: ir.Value) -> None:
        """Tell those who multiply that this thread's pieces of a stage are there."""
        b = self.b
        now = b.load(ready, I32)
        hopper.fence_copies(b)
        hopper.barrier_arrive(b, b.add(self.full, b.mul(now, I32(8))))
        after = b.add(now, I32(1))
        b.store(b.select(b.icmp_signed("==", after, I32(self.tile.stages)), I32(0), after), ready)
