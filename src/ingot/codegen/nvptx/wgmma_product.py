"""Products of 16-bit floats on Hopper: tiles come by the copy engine, warpgroups multiply them where they lie.

The threads of a block have roles. One loads: it waits until a stage of tiles is free, and has the copy engine fill it.
One or two warpgroups multiply, 64 rows each or 128, and give stages back. Blocks stay, and take one tile after another.
Where tiles are few, the blocks of a cluster divide the summed axis of one, and add their sums up through each other's
shared memory, in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import F32, I32, I64, PTR, stack_slot
from ingot.codegen.nvptx import hopper
from ingot.codegen.nvptx.eights import LANES, Asked, Eights, Place, Places
from ingot.codegen.nvptx.grid import WARP, barrier, register
from ingot.codegen.nvptx.hopper import LINE, WARPGROUP, dynamic_address
from ingot.codegen.nvptx.tma_operand import LINE_ELEMENTS, Walk, walks_of
from ingot.codegen.nvptx.wgmma_tiles import BAND, LEFT, PANEL, PARAMETERS, PART, RIGHT, WgmmaTile
from ingot.loops.ir import Contraction

_TERMS = 16
"""Terms of one instruction."""

_UNDEFINED = ir.Constant(F32, ir.Undefined)


def emit_product(b: Builder, frame: Frame, product: Contraction, tile: WgmmaTile, lanes: int) -> None:
    """The sums of the tiles of a block, with their epilogue, of so many neighbours at once."""
    walks = walks_of(product)
    assert not isinstance(walks, str)
    WgmmaProduct(b, frame, product, tile, walks, lanes).emit()


class WgmmaProduct(Eights):
    """A block of a product; places in tiles are int32."""

    def __init__(
        self,
        b: Builder,
        frame: Frame,
        product: Contraction,
        tile: WgmmaTile,
        walks: tuple[Walk, Walk],
        lanes: int = LANES,
    ) -> None:
        super().__init__(b, frame, product)
        self.left, self.right = walks
        self.tile = tile
        self.lanes = lanes
        self.at_once, self.free_registers = tile.at_once, tile.free_registers
        self.row_tiles, self.column_tiles, self.tiles, self.steps = (
            b.trunc(ir.Value(I64, f"%{name}"), I32) for name in PARAMETERS
        )
        self.maps: tuple[ir.Value, ...] = (ir.Value(PTR, f"%{LEFT}"), ir.Value(PTR, f"%{RIGHT}"))
        self.thread32 = b.trunc(register(b, "tid.x"), I32)
        self.base = dynamic_address(b)
        self.staging = b.add(self.base, I32(tile.stages * tile.stage_bytes))
        self.full = b.add(self.staging, I32(tile.staging_bytes))
        self.empty = b.add(self.full, I32(8 * tile.stages))
        self.turns = b.add(self.empty, I32(8 * tile.stages))
        self.rank: ir.Value = I32(0)
        block, blocks = (b.trunc(register(b, name), I32) for name in ("ctaid.x", "nctaid.x"))
        self.first, self.stride = b.udiv(block, I32(tile.split)), b.udiv(blocks, I32(tile.split))
        self.begin: ir.Value = I32(0)
        self.end_of_split: ir.Value = self.steps
        if tile.split > 1:
            self.rank = hopper.cluster_rank(b)
            share = b.udiv(b.add(self.steps, I32(tile.split - 1)), I32(tile.split))
            self.begin = smaller(b, b.mul(self.rank, share), self.steps)
            self.end_of_split = smaller(b, b.add(self.begin, share), self.steps)

    def emit(self) -> None:
        b, tile = self.b, self.tile
        self._open()
        group = b.udiv(self.thread32, I32(WARPGROUP))
        with b.if_else(b.icmp_signed("==", group, I32(tile.warpgroups))) as (loads, multiplies):
            with loads:
                if tile.registers is not None:
                    hopper.set_registers(b, tile.registers[0], more=False)
                with b.if_then(b.icmp_signed("==", self.thread32, I32(WARPGROUP * tile.warpgroups))):
                    self._fill_stages()
            with multiplies:
                if tile.registers is not None:
                    hopper.set_registers(b, tile.registers[1], more=True)
                self._multiply(group)
        if tile.split > 1:
            self._add_up()

    def _open(self) -> None:
        """Initialise the barriers of stages: full ones, and empty ones."""
        b, tile = self.b, self.tile
        with b.if_then(b.icmp_signed("==", self.thread32, I32(0))):
            for tensor_map in self.maps:
                hopper.prefetch_map(b, tensor_map)
            for stage in range(tile.stages):
                hopper.barrier_init(b, b.add(self.full, I32(8 * stage)), self._arrivals())
                hopper.barrier_init(b, b.add(self.empty, I32(8 * stage)), self._returns())
            for group in range(tile.warpgroups if tile.alternates else 0):
                hopper.barrier_init(b, b.add(self.turns, I32(8 * group)), 1)
            hopper.barriers_are_there(b)
        if tile.split > 1:
            hopper.cluster_sync(b)
        else:
            barrier(b)

    def _arrivals(self) -> int:
        """The arrivals that make a stage full."""
        return 1

    def _returns(self) -> int:
        """The arrivals that make a stage empty."""
        return 1 if self.tile.alternates else self.tile.warpgroups

    @contextmanager
    def _placed(self, turn: ir.Value | None = None) -> Iterator[tuple[ir.Value, ir.Value, ir.Value]]:
        """A loop over the tiles of this block: the number of each in it, its first row and column; bound is its batch.

        Of those that warpgroups take by turns, the ones whose `turn` it is.

        Rows of a band come one after another, so that what they read of the right operand stays in the L2 cache.
        """
        b = self.b
        a_place = b.mul(self.row_tiles, self.column_tiles)
        first, stride = self.first, self.stride
        if turn is not None:
            first, stride = b.add(first, b.mul(turn, stride)), b.mul(stride, I32(self.tile.warpgroups))
        with self.loop(first, self.tiles, stride) as number:
            within = b.urem(number, a_place)
            self.unflatten(self.product.batch, b.zext(b.udiv(number, a_place), I64))
            band = b.mul(self.column_tiles, I32(BAND))
            top = b.mul(b.udiv(within, band), I32(BAND))
            inside, height = b.urem(within, band), smaller(b, b.sub(self.row_tiles, top), I32(BAND))
            row = b.mul(b.add(top, b.urem(inside, height)), I32(self.tile.rows))
            own = b.udiv(b.sub(number, self.first), self.stride)
            yield own, row, b.mul(b.udiv(inside, height), I32(self.tile.columns))

    def _advance(self, stage: ir.Value, phase: ir.Value) -> None:
        """Go to the next stage; behind the last one is the first, in the other phase."""
        b = self.b
        after = b.add(b.load(stage, I32), I32(1))
        is_over = b.icmp_signed("==", after, I32(self.tile.stages))
        before = b.load(phase, I32)
        b.store(b.select(is_over, b.xor(before, I32(1)), before), phase)
        b.store(b.select(is_over, I32(0), after), stage)

    # --- the thread that loads

    def _fill_stages(self) -> None:
        b, tile = self.b, self.tile
        stage, phase = self._counter(0), self._counter(1)
        with self._placed() as (_, row, column), self.loop(self.begin, self.end_of_split, I32(1)) as step:
            now = b.load(stage, I32)
            full = b.add(self.full, b.mul(now, I32(8)))
            hopper.barrier_wait(b, b.add(self.empty, b.mul(now, I32(8))), b.load(phase, I32))
            hopper.barrier_expect(b, full, tile.stage_bytes)
            to, k = b.add(self.base, b.mul(now, I32(tile.stage_bytes))), b.mul(step, I32(LINE_ELEMENTS))
            self._copy(self.left, self.maps[0], to, row, k, tile.rows, full)
            self._copy(self.right, self.maps[1], b.add(to, I32(tile.rows * LINE)), column, k, tile.columns, full)
            self._advance(stage, phase)

    def _copy(
        self, walk: Walk, tensor_map: ir.Value, to: ir.Value, row: ir.Value, k: ir.Value, rows: int, full: ir.Value
    ) -> None:
        """Have a tile of an operand copied: at once, or in panels."""
        b = self.b
        batch = [b.trunc(self.variables[var], I32) for var in walk.batch]
        if walk.along_k:
            hopper.copy_tile(b, to, tensor_map, [k, row, *batch], full)
            return
        for panel in range(walk.boxes(rows)):
            at = [b.add(row, I32(panel * LINE_ELEMENTS)), k, *batch]
            hopper.copy_tile(b, b.add(to, I32(panel * PANEL)), tensor_map, at, full)

    def _counter(self, value: int) -> ir.Value:
        cell = stack_slot(self.b, I32)
        self.b.store(I32(value), cell)
        return cell

    # --- the warpgroups that multiply

    def _multiply(self, group: ir.Value) -> None:
        b, tile = self.b, self.tile
        stage, phase, before = self._counter(0), self._counter(0), self._counter(0)
        count = tile.columns // 2
        sums = [[stack_slot(b, F32) for _ in range(count)] for _ in range(tile.parts)]
        cells = [cell for part in sums for cell in part]
        top = I32(0) if tile.alternates else b.mul(group, I32(PART * tile.parts))
        with self._placed(group if tile.alternates else None) as (number, row, column):
            asked = None if tile.split > 1 else self.ask(self._places(b.add(row, top), column, tile.parts))
            if tile.alternates:  # stages of the tiles between two of this warpgroup are those of others
                place = b.mul(number, self.steps)
                b.store(b.urem(place, I32(tile.stages)), stage)
                b.store(b.and_(b.udiv(place, I32(tile.stages)), I32(1)), phase)
                self._wait_for_turn(group, number)
            for cell in cells:  # or LLVM copies what the last tile left
                b.store(_UNDEFINED if tile.split == 1 else F32(0.0), cell)
            with self.loop(self.begin, self.end_of_split, I32(1)) as step:
                now = b.load(stage, I32)
                hopper.barrier_wait(b, b.add(self.full, b.mul(now, I32(8))), b.load(phase, I32))
                values = self._products(sums, group, now, b.zext(b.icmp_signed("!=", step, self.begin), I32))
                for cell, value in zip(cells, hopper.wait_for_products(b, 1, values), strict=True):
                    b.store(value, cell)
                with b.if_then(b.icmp_signed(">", step, self.begin)):
                    self._give_back(before)
                b.store(now, before)
                self._advance(stage, phase)
            if tile.alternates:
                self._end_turn(group)
            values = hopper.wait_for_products(b, 0, [b.load(cell, F32) for cell in cells])
            with b.if_then(b.icmp_signed("<", self.begin, self.end_of_split)):
                self._give_back(before)
            parts = [values[number * count : (number + 1) * count] for number in range(tile.parts)]
            if asked is None:
                self._stage_sums(parts, top)
            else:
                self._finish(parts, asked)

    def _wait_for_turn(self, group: ir.Value, number: ir.Value) -> None:
        """Wait until the other warpgroup has seen all stages of the tile before: a barrier tells only two phases apart.

        The first warpgroup begins, as if the phase before the first one of its barrier had ended.
        """
        b = self.b
        turn = b.and_(b.udiv(number, I32(self.tile.warpgroups)), I32(1))
        parity = b.select(b.icmp_signed("==", group, I32(0)), b.xor(turn, I32(1)), turn)
        hopper.barrier_wait(b, b.add(self.turns, b.mul(group, I32(8))), parity)

    def _end_turn(self, group: ir.Value) -> None:
        b = self.b
        with self._one_of_warpgroup():
            hopper.barrier_arrive(b, b.add(self.turns, b.mul(b.xor(group, I32(1)), I32(8))))

    @contextmanager
    def _one_of_warpgroup(self) -> Iterator[None]:
        """What one thread of each warpgroup does."""
        b = self.b
        with b.if_then(b.icmp_signed("==", b.urem(self.thread32, I32(WARPGROUP)), I32(0))):
            yield

    def _products(
        self, sums: Sequence[Sequence[ir.Value]], group: ir.Value, stage: ir.Value, added: ir.Value
    ) -> list[ir.Value]:
        """The sums after the products of a stage, which are under way: the stage must not be written yet."""
        b, tile = self.b, self.tile
        tiles = b.add(self.base, b.mul(stage, I32(tile.stage_bytes)))
        own = tiles if tile.alternates else b.add(tiles, b.mul(group, I32(tile.parts * PANEL)))
        panels = [None if walk.along_k else PANEL for walk in (self.left, self.right)]
        left = [hopper.descriptor(b, b.add(own, I32(PANEL * number)), panels[0]) for number in range(tile.parts)]
        right = hopper.descriptor(b, b.add(tiles, I32(tile.rows * LINE)), panels[1])
        steps = [2 if walk.along_k else 128 for walk in (self.left, self.right)]
        values: list[list[ir.Value]] = [[b.load(cell, F32) for cell in part] for part in sums]
        hopper.fence_products(b)
        for piece in range(LINE_ELEMENTS // _TERMS):
            for number, own_left in enumerate(left):
                values[number] = hopper.multiply(
                    b,
                    self.product.lhs.dtype,
                    values[number],
                    b.add(own_left, I64(piece * steps[0])),
                    b.add(right, I64(piece * steps[1])),
                    added if piece == 0 else I32(1),
                    (self.left.along_k, self.right.along_k),
                )
        hopper.commit_products(b)
        return [value for part in values for value in part]

    def _give_back(self, stage: ir.Value) -> None:
        b = self.b
        with self._one_of_warpgroup():
            hopper.barrier_arrive(b, b.add(self.empty, b.mul(b.load(stage, I32), I32(8))))

    # --- results

    def _spot(self) -> tuple[ir.Value, ir.Value]:
        """Of the first sum of this thread, the row in its part; and the place of the thread among four of a row."""
        b = self.b
        own = b.urem(self.thread32, I32(WARPGROUP))
        lane = b.urem(own, I32(WARP))
        return b.add(b.mul(b.udiv(own, I32(WARP)), I32(16)), b.udiv(lane, I32(4))), b.urem(lane, I32(4))

    def _places(self, top: ir.Value, column: ir.Value, parts: int) -> Places:
        """Where the eights of this thread are: of each 64 rows it has two, eight apart."""
        row_of_thread, own = self._spot()
        rows = [PART * part + 8 * half for part in range(parts) for half in range(2)]
        return self.places(self.b.add(top, row_of_thread), column, own, rows, self.tile.columns // LANES)

    def _finish(self, parts: Sequence[Sequence[ir.Value]], asked: Asked) -> None:
        """Store the sums of parts of 64 rows: a thread has those of two, in pairs of neighbours."""
        eights = self.tile.columns // LANES
        lines = [[part[4 * eight + 2 * half :][:2] for eight in range(eights)] for part in parts for half in range(2)]
        self.end_of_lines(lines, self._spot()[1], asked)

    # --- blocks that divide the summed axis

    def _stage_sums(self, parts: Sequence[Sequence[ir.Value]], top: ir.Value) -> None:
        """Put the sums of this block where others of the cluster can read them."""
        b = self.b
        row_of_thread, place = self._spot()
        for number, part in enumerate(parts):
            for half in range(2):
                row = b.add(b.add(top, row_of_thread), I32(PART * number + 8 * half))
                for eight in range(self.tile.columns // 8):
                    column = b.add(I32(8 * eight), b.mul(place, I32(2)))
                    hopper.store_pair(b, self._staged(row, column), part[4 * eight + 2 * half :][:2])

    def _staged(self, row: ir.Value, column: ir.Value) -> ir.Value:
        """Where a sum is staged: rows are rotated, so that those which a warp writes at once begin in other banks."""
        b, columns = self.b, self.tile.columns
        rotated = b.and_(b.add(column, b.mul(b.and_(row, I32(3)), I32(8))), I32(columns - 1))
        return b.add(self.staging, b.mul(b.add(b.mul(row, I32(columns)), rotated), I32(4)))

    def _add_up(self) -> None:
        """Each block of the cluster adds up a share of the rows over all blocks, and stores it."""
        b, tile = self.b, self.tile
        hopper.cluster_sync(b)
        rows, eights = tile.rows // tile.split, tile.columns // LANES
        with (
            self._placed() as (_, top, left),
            self.loop(self.thread32, I32(rows * eights), I32(tile.threads)) as number,
        ):
            row = b.add(b.udiv(number, I32(eights)), b.mul(self.rank, I32(rows)))
            column = b.mul(b.urem(number, I32(eights)), I32(LANES))
            totals: list[ir.Value] = []
            for rank in range(tile.split):
                address = self._staged(row, column)
                eight = [*hopper.load_four(b, address, rank), *hopper.load_four(b, b.add(address, I32(16)), rank)]
                totals = [b.fadd(x, y) for x, y in zip(totals, eight, strict=True)] if totals else eight
            first = b.add(left, column)
            for at in range(0, LANES, self.lanes):
                place = Place(b.add(top, row), b.add(first, I32(at)))
                self.end_of_eights([totals[at : at + self.lanes]], [place], [self.known_of(place)])
        hopper.cluster_sync(b)
