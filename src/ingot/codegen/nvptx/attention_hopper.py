"""Attention of 16-bit floats on Hopper: tiles come by the copy engine, warpgroups multiply them where they lie.

A warpgroup has 64 rows, and all keys of a tile. Scores of the next tile, and values of this one, are multiplied while
weights are computed: what is left of a score's registers, rounded, is the left operand of the product with values.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.types import F32, I32, I64, PTR, stack_slot
from ingot.codegen.nvptx import hopper
from ingot.codegen.nvptx.async_copy import commit_copies, wait_for_copies
from ingot.codegen.nvptx.attention_halves import halves_of
from ingot.codegen.nvptx.attention_rows import LOW
from ingot.codegen.nvptx.attention_scores import AttentionScores, Beside
from ingot.codegen.nvptx.grid import WARP, barrier, register
from ingot.codegen.nvptx.hopper import LINE, WARPGROUP, dynamic_address
from ingot.codegen.nvptx.shared_tile import SharedTile
from ingot.codegen.nvptx.step import TensorMap
from ingot.codegen.nvptx.tma_operand import LINE_ELEMENTS, Sizes, Walk, map_of, walk_of
from ingot.codegen.nvptx.warp_tiles import (
    DynamicShared,
    at_byte,
    pair_of_halves,
    swizzled,
)
from ingot.dataclass import dataclass
from ingot.loops.ir import Attention, Var

KEYS, VALUES = "keys_map", "values_map"
"""The parameters that are tensor maps."""

_ROWS, _TERMS, _COLUMNS = 64, 16, 8
"""The rows of a warpgroup, the terms of one instruction, and the columns that four threads have two each of."""

_REGISTERS = {2: (40, 232), 3: (32, 160)}
"""Registers of the threads that load, and of those that multiply, by the warpgroups of these."""

_UNDEFINED = ir.Constant(F32, ir.Undefined)


@dataclass(frozen=True, slots=True)
class HopperTile:
    """`warpgroups` that multiply, `step` keys at a time, in so many `stages` of shared memory."""

    warpgroups: int
    step: int
    stages: int
    resident: int

    @property
    def height(self) -> int:
        return _ROWS * self.warpgroups

    @property
    def threads(self) -> int:
        return WARPGROUP * self.warpgroups + (WARPGROUP if self.moves_registers else WARP)

    @property
    def moves_registers(self) -> bool:
        return self.warpgroups > 1

    def fitting(self, widest: int) -> int:
        """The blocks that a multiprocessor has registers for, where heads have at most so many elements."""
        return self.resident if widest <= LINE_ELEMENTS else 1

    def shared(self, depth: int, columns: int) -> int:
        """The bytes of shared memory for heads of at most so many elements."""
        keys, values = (-(-count // LINE_ELEMENTS) for count in (depth, columns))
        return LINE * (self.height * keys + self.stages * self.step * (keys + values)) + 4 * 8 * self.stages


def walks_of(nest: Attention) -> tuple[Walk, Walk] | str:
    """How keys and values are walked, or why they are not."""
    loads = halves_of(nest)
    if loads is None:
        return "its operands are no halves"
    keys, values = walk_of(loads[1], nest.t, nest.k, nest.batch), walk_of(loads[2], nest.t, nest.n, nest.batch)
    if isinstance(keys, str):
        return keys
    if isinstance(values, str):
        return values
    return (keys, values) if keys.along_k and values.along_k else "elements of a head that are apart"


def maps_of(nest: Attention, sized: Sizes, tile: HopperTile) -> tuple[TensorMap, TensorMap] | None:
    """The tensor maps of keys and values; None where sizes or strides do not suit the copy engine."""
    walks = walks_of(nest)
    assert not isinstance(walks, str)
    keys, values = (map_of(walk, sized, tile.step) for walk in walks)
    return None if keys is None or values is None else (keys, values)


def emit_hopper(b: Builder, frame: Frame, nest: Attention, tile: HopperTile) -> None:
    """Attention for a tile of rows, with its epilogue, or as a part of the keys."""
    _Hopper(b, frame, nest, tile).emit()


class _Ring:
    """The stages of keys, or of values: where they lie, and barriers that say whether they are full, and empty."""

    def __init__(self, b: Builder, tiles: ir.Value, size: int, barriers: ir.Value, stages: int) -> None:
        self.b, self.tiles, self.size, self.stages = b, tiles, size, stages
        self.full, self.empty = barriers, b.add(barriers, I32(8 * stages))

    def begin(self, parity: int) -> _Turn:
        """A walk over the stages."""
        stage, phase = (stack_slot(self.b, I32) for _ in range(2))
        self.b.store(I32(0), stage)
        self.b.store(I32(parity), phase)
        return _Turn(self, stage, phase)


class _Turn:
    """Where a thread is in a ring of stages."""

    def __init__(self, ring: _Ring, stage: ir.Value, phase: ir.Value) -> None:
        self.ring, self._stage, self._phase = ring, stage, phase

    @property
    def tile(self) -> ir.Value:
        """The address of the stage."""
        b = self.ring.b
        return b.add(self.ring.tiles, b.mul(b.load(self._stage, I32), I32(self.ring.size)))

    def barrier(self, first: ir.Value) -> ir.Value:
        b = self.ring.b
        return b.add(first, b.mul(b.load(self._stage, I32), I32(8)))

    def wait(self, first: ir.Value) -> None:
        hopper.barrier_wait(self.ring.b, self.barrier(first), self.ring.b.load(self._phase, I32))

    def advance(self) -> None:
        b = self.ring.b
        after = b.add(b.load(self._stage, I32), I32(1))
        over = b.icmp_signed("==", after, I32(self.ring.stages))
        phase = b.load(self._phase, I32)
        b.store(b.select(over, b.xor(phase, I32(1)), phase), self._phase)
        b.store(b.select(over, I32(0), after), self._stage)


class _Hopper(AttentionScores):
    apart = (1, 2)
    together = 2
    neighbours = 2

    def __init__(self, b: Builder, frame: Frame, nest: Attention, tile: HopperTile) -> None:
        self.tile, self.height, self.step = tile, tile.height, tile.step
        self.most_early = 0 if tile.warpgroups > 2 else self.most_early  # three have no registers left
        super().__init__(b, frame, nest)
        assert nest.tile is not None
        loads, walks = halves_of(nest), walks_of(nest)
        assert loads is not None
        assert not isinstance(walks, str)
        self.dtype = loads[0].dtype
        self.walks = walks
        self.deep, self.wide = nest.tile.rows, nest.tile.lanes
        self.key_panels, self.value_panels = (-(-width // LINE_ELEMENTS) for width in (self.deep, self.wide))
        self.group = b.sdiv(self.thread, I64(WARPGROUP))
        of_group = b.srem(self.thread, I64(WARPGROUP))
        self.is_first = b.icmp_signed("==", of_group, I64(0))
        lane = b.srem(of_group, I64(WARP))
        self.row = b.add(
            b.mul(self.group, I64(_ROWS)), b.add(b.mul(b.sdiv(of_group, I64(WARP)), I64(16)), b.sdiv(lane, I64(4)))
        )
        self.pair = b.mul(b.srem(lane, I64(4)), I64(2))
        self.base = dynamic_address(b)
        keys, values = LINE * tile.step * self.key_panels, LINE * tile.step * self.value_panels
        at_keys = b.add(self.base, I32(LINE * tile.height * self.key_panels))
        at_values = b.add(at_keys, I32(tile.stages * keys))
        barriers = b.add(at_values, I32(tile.stages * values))
        self.keys_ring = _Ring(b, at_keys, keys, barriers, tile.stages)
        self.values_ring = _Ring(b, at_values, values, b.add(barriers, I32(16 * tile.stages)), tile.stages)
        memory = DynamicShared(b.module)
        self.queries = SharedTile(
            self,
            WARPGROUP * tile.warpgroups,
            loads[0],
            nest.m,
            nest.k,
            (tile.height, LINE_ELEMENTS * self.key_panels),
            at_byte(b, memory, I64(0)),
            self._query_place,
        )

    def _query_place(self, line: ir.Value, piece: ir.Value) -> ir.Value:
        b, pieces = self.b, LINE // 16
        panel, within = b.sdiv(piece, I64(pieces)), b.srem(piece, I64(pieces))
        at = b.add(b.mul(panel, I64(self.height * LINE)), b.mul(line, I64(LINE)))
        return b.add(at, swizzled(b, line, within))

    # --- what a thread has

    def row_places(self) -> list[ir.Value]:
        return [self.row, self.b.add(self.row, I64(8))]

    def key_places(self) -> list[ir.Value]:
        return [self.b.add(self.pair, I64(_COLUMNS * j + e)) for j in range(self.step // _COLUMNS) for e in range(2)]

    def column_places(self) -> list[ir.Value]:
        return [self.b.add(self.pair, I64(_COLUMNS * j)) for j in range(self.wide // _COLUMNS)]

    # --- the block

    def emit(self) -> None:
        b, nest, tile = self.b, self.nest, self.tile
        place = register(b, "ctaid.y")
        self.unflatten(nest.batch, place)
        begin, end = self.tiles_seen(register(b, "ctaid.z"))
        with b.if_then(b.icmp_signed("==", self.thread, I64(0))):
            for ring in (self.keys_ring, self.values_ring):
                for stage in range(tile.stages):
                    hopper.barrier_init(b, b.add(ring.full, I32(8 * stage)), 1)
                    hopper.barrier_init(b, b.add(ring.empty, I32(8 * stage)), tile.warpgroups)
            hopper.barriers_are_there(b)
        barrier(b)
        with b.if_else(b.icmp_signed("==", self.group, I64(tile.warpgroups))) as (loads, multiplies):
            with loads:
                if tile.moves_registers:
                    hopper.set_registers(b, _REGISTERS[tile.warpgroups][0], more=False)
                with b.if_then(b.and_(self.is_first, b.icmp_signed("<", begin, end))):
                    self._bring(begin, end)
            with multiplies:
                if tile.moves_registers:
                    hopper.set_registers(b, _REGISTERS[tile.warpgroups][1], more=True)
                self._attend(begin, end, place)

    def _bring(self, begin: ir.Value, end: ir.Value) -> None:
        """Have keys copied one tile ahead of values."""
        b = self.b
        turns = self.keys_ring.begin(1), self.values_ring.begin(1)
        self._copy_tile(0, turns[0], begin)
        with self.loop(begin, end, I64(1)) as tile:
            after = b.add(tile, I64(1))
            with b.if_then(b.icmp_signed("<", after, end)):
                self._copy_tile(0, turns[0], after)
            self._copy_tile(1, turns[1], tile)

    def _copy_tile(self, which: int, turn: _Turn, tile: ir.Value) -> None:
        b, walk, ring = self.b, self.walks[which], turn.ring
        turn.wait(ring.empty)
        full, to = turn.barrier(ring.full), turn.tile
        hopper.barrier_expect(b, full, ring.size)
        key = b.trunc(b.mul(tile, I64(self.step)), I32)
        batch = [b.trunc(self.variables[var], I32) for var in walk.batch]
        tensor_map = ir.Value(PTR, f"%{(KEYS, VALUES)[which]}")
        for panel in range((self.key_panels, self.value_panels)[which]):
            at = [I32(panel * LINE_ELEMENTS), key, *batch]
            hopper.copy_tile(b, b.add(to, I32(panel * self.step * LINE)), tensor_map, at, full)
        turn.advance()

    def _attend(self, begin: ir.Value, end: ir.Value, place: ir.Value) -> None:
        b = self.b
        rows = range(2)
        read = [[stack_slot(b, F32) for _ in range(self.wide // 4)] for _ in rows]
        greatest, total = ([stack_slot(b, F32) for _ in rows] for _ in range(2))
        for cell in (*(cell for line in read for cell in line), *total):
            b.store(F32(0.0), cell)
        for cell in greatest:
            b.store(F32(LOW), cell)
        placed = self.placed_rows()
        self.queries.copy(self.first_row)
        commit_copies(b)
        wait_for_copies(b, 0)
        hopper.fence_copies(b)
        hopper.meet(b, WARPGROUP * self.tile.warpgroups)
        with b.if_then(b.icmp_signed("<", begin, end)):
            self._walk(begin, end, placed, read, greatest, total)
        self.finish_rows(placed, read, greatest, total, place)

    def _walk(
        self,
        begin: ir.Value,
        end: ir.Value,
        placed: Sequence[dict[Var, ir.Value]],
        read: Sequence[Sequence[ir.Value]],
        greatest: Sequence[ir.Value],
        total: Sequence[ir.Value],
    ) -> None:
        b = self.b
        keys, values = self.keys_ring.begin(0), self.values_ring.begin(0)
        words = [stack_slot(b, I32) for _ in range(self.step // 4)]

        def softmax(
            sums: Sequence[ir.Value], tile: ir.Value, beside: Beside
        ) -> tuple[list[list[ir.Value]], list[ir.Value]]:
            lines = [[value for j in range(0, len(sums), 4) for value in sums[j + 2 * half :][:2]] for half in range(2)]
            scores = self.scored(lines, b.mul(tile, I64(self.step)), placed, beside)
            both = [self.weights(own, *cells) for own, *cells in zip(scores, greatest, total, strict=True)]
            return [weights for weights, _ in both], [shrink for _, shrink in both]

        def pack(weights: Sequence[Sequence[ir.Value]]) -> None:
            for number, word in enumerate(words):
                line, at = weights[number % 2], number // 2 * 2
                b.store(pair_of_halves(b, self.dtype, line[at], line[at + 1]), word)

        beside = self.beside(b.mul(begin, I64(self.step)), placed)
        keys.wait(keys.ring.full)
        hopper.fence_products(b)
        sums = hopper.wait_for_products(b, 0, self._scores(keys.tile))
        self._release(keys)
        weights, _ = softmax(sums, begin, beside)
        pack(weights)
        keys.advance()
        with self.loop(b.add(begin, I64(1)), end, I64(1)) as tile:
            beside = self.beside(b.mul(tile, I64(self.step)), placed)
            keys.wait(keys.ring.full)
            hopper.fence_products(b)
            sums = self._scores(keys.tile)
            values.wait(values.ring.full)
            now = [b.load(word, I32) for word in words]
            sums_of_values = self._weigh(self._fragment(read), now, values.tile)
            sums = hopper.wait_for_products(b, 1, sums)
            self._release(keys)
            weights, shrinks = softmax(sums, tile, beside)
            hopper.stay_before(b, b.fadd(*(b.load(cell, F32) for cell in total)))
            sums_of_values = hopper.wait_for_products(b, 0, sums_of_values, now)
            self._release(values)
            self._keep(sums_of_values, read, shrinks)
            pack(weights)
            keys.advance()
            values.advance()
        values.wait(values.ring.full)
        hopper.fence_products(b)
        now = [b.load(word, I32) for word in words]
        sums_of_values = self._weigh(self._fragment(read), now, values.tile)
        self._keep(hopper.wait_for_products(b, 0, sums_of_values, now), read, None)

    def _release(self, turn: _Turn) -> None:
        """Say that the warpgroup has read a stage."""
        with self.b.if_then(self.is_first):
            hopper.barrier_arrive(self.b, turn.barrier(turn.ring.empty))

    def _fragment(self, read: Sequence[Sequence[ir.Value]]) -> list[ir.Value]:
        """What was read so far in the order of the registers of a product: pairs of columns, of both rows."""
        pairs = range(0, self.wide // 4, 2)
        return [self.b.load(cell, F32) for at in pairs for line in read for cell in line[at : at + 2]]

    def _keep(
        self, sums: Sequence[ir.Value], read: Sequence[Sequence[ir.Value]], shrinks: Sequence[ir.Value] | None
    ) -> None:
        b = self.b
        for number, value in enumerate(sums):
            half, at = number % 4 // 2, number // 4 * 2 + number % 2
            b.store(value if shrinks is None else b.fmul(value, shrinks[half]), read[half][at])

    def _scores(self, keys: ir.Value) -> list[ir.Value]:
        """Queries times keys, under way."""
        b, of_group = self.b, self.b.trunc(self.b.mul(self.group, I64(_ROWS * LINE)), I32)
        sums: list[ir.Value] = [_UNDEFINED] * (self.step // 2)
        for term in range(self.deep // _TERMS):
            panel, within = divmod(term, LINE_ELEMENTS // _TERMS)
            query = hopper.descriptor(b, b.add(self.base, b.add(of_group, I32(panel * self.height * LINE))))
            key = hopper.descriptor(b, b.add(keys, I32(panel * self.step * LINE)))
            left, right = (b.add(tile, I64(2 * within)) for tile in (query, key))
            sums = hopper.multiply(b, self.dtype, sums, left, right, I32(int(term > 0)), (True, True))
        hopper.commit_products(b)
        return sums

    def _weigh(self, sums: list[ir.Value], words: Sequence[ir.Value], values: ir.Value) -> list[ir.Value]:
        """The sums plus weights times values, under way."""
        b = self.b
        tile = hopper.descriptor(b, values, self.step * LINE)
        for term in range(self.step // _TERMS):
            right = b.add(tile, I64(128 * term))
            sums = hopper.multiply_registers(b, self.dtype, sums, words[4 * term : 4 * term + 4], right)
        hopper.commit_products(b)
        return sums
