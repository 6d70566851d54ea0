"""Attention of float32: every product and sum is one of float32, and so is every weight.

Sixteen threads share some rows: each has every sixteenth key of a tile, and four columns of every 64. Weights go
through shared memory, which the threads of a row alone read.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.types import F32, I32, I64, stack_slot, vector
from ingot.codegen.nvptx.attention_block import AttentionBlock
from ingot.codegen.nvptx.shared_tile import SharedTile
from ingot.codegen.nvptx.warp_tiles import COPIED, DynamicShared, at_byte, warp_barrier
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Attention, Scalar, Var, widened

_SHARING = 16
"""Threads that share a row."""

_FOUR = 4
_PANEL = _SHARING * _FOUR
"""Columns that the threads of a row have at once, four neighbours each."""

_BYTES = 4


@dataclass(frozen=True, slots=True)
class FloatsTile:
    """`height` rows, `step` keys at a time, and so many threads."""

    height: int
    step: int
    threads: int

    @property
    def own_rows(self) -> int:
        """The rows of a thread."""
        return self.height * _SHARING // self.threads

    def pitches(self, depth: int, columns: int) -> tuple[int, int, int]:
        """The elements of a line of queries and keys, of values, and of weights.

        Neighbouring lines of those whose lines are read at once begin in other banks.
        """
        return -(-depth // _FOUR) * _FOUR + _FOUR, -(-columns // _PANEL) * _PANEL, self.step + _FOUR

    def shared(self, depth: int, columns: int) -> int:
        """The bytes of shared memory for heads of at most so many elements."""
        key, value, weight = self.pitches(depth, columns)
        return _BYTES * (self.height * (key + weight) + self.step * (key + value))


def emit_floats(b: Builder, frame: Frame, nest: Attention, tile: FloatsTile) -> None:
    """Attention for a tile of rows, with its epilogue, or as a part of the keys."""
    _Floats(b, frame, nest, tile).emit()


class _Floats(AttentionBlock):
    apart = (1, 2, 4, 8)
    together = _FOUR
    neighbours = 1

    def __init__(self, b: Builder, frame: Frame, nest: Attention, tile: FloatsTile) -> None:
        self.tile, self.height, self.step = tile, tile.height, tile.step
        super().__init__(b, frame, nest)
        assert nest.tile is not None
        self.deep, self.wide = nest.tile.rows, nest.tile.lanes
        self.own_rows, self.own_keys = tile.own_rows, tile.step // _SHARING
        self.row, self.sharer = b.sdiv(self.thread, I64(_SHARING)), b.srem(self.thread, I64(_SHARING))
        self.four = vector(F32, _FOUR)
        key, value, weight = self.pitches = tile.pitches(self.deep, self.wide)
        memory, at = DynamicShared(b.module), 0
        places = []
        for lines, pitch in ((tile.height, key), (tile.step, key), (tile.step, value), (tile.height, weight)):
            places.append(at_byte(b, memory, I64(at)))
            at += _BYTES * lines * pitch
        self.queries, self.keys_at, self.values_at, self.weights_at = places

        def shared(
            memory: ir.Value, operand: Scalar, rows: Sequence[Var], along: Var, shape: tuple[int, int], pitch: int
        ) -> SharedTile:
            def place(line: ir.Value, piece: ir.Value) -> ir.Value:
                return b.add(b.mul(line, I64(_BYTES * pitch)), b.mul(piece, I64(COPIED)))

            wide = widened(operand, DType.FLOAT32)
            return SharedTile(self, tile.threads, wide, rows, along, shape, memory, place)

        self.tiles = (
            shared(self.queries, nest.queries, nest.m, nest.k, (tile.height, self.deep), key),
            shared(self.keys_at, nest.keys, (nest.t,), nest.k, (tile.step, self.deep), key),
            shared(self.values_at, nest.values, (nest.t,), nest.n, (tile.step, self.wide), value),
        )

    def row_places(self) -> list[ir.Value]:
        apart = self.tile.threads // _SHARING
        return [self.b.add(self.row, I64(apart * number)) for number in range(self.own_rows)]

    def key_places(self) -> list[ir.Value]:
        return [self.b.add(self.sharer, I64(_SHARING * number)) for number in range(self.own_keys)]

    def column_places(self) -> list[ir.Value]:
        panels = range(self.pitches[1] // _PANEL)
        return [self.b.add(self.b.mul(self.sharer, I64(_FOUR)), I64(_PANEL * panel)) for panel in panels]

    def copy_queries(self) -> None:
        self.tiles[0].copy(self.first_row)

    def copy_keys(self, key: ir.Value) -> None:
        self.tiles[1].copy(key)

    def copy_values(self, key: ir.Value) -> None:
        self.tiles[2].copy(key)

    def _fours(self, memory: ir.Value, places: Sequence[ir.Value], pitch: int, at: ir.Value) -> list[list[ir.Value]]:
        """Four neighbours of each of some lines, from `at` on."""
        b = self.b
        lines = []
        for place in places:
            address = b.gep(memory, [b.add(b.mul(place, I64(pitch)), at)], source_etype=F32)
            four = b.load(address, self.four, 16)
            lines.append([b.extract_element(four, I32(number)) for number in range(_FOUR)])
        return lines

    def _added(self, cell: ir.Value, x: ir.Value, y: ir.Value) -> None:
        b = self.b
        b.store(scalars.multiply_add(b, x, y, b.load(cell, F32)), cell)

    def scores(self) -> list[list[ir.Value]]:
        b, pitch = self.b, self.pitches[0]
        rows, keys = self.row_places(), self.key_places()
        cells = [[stack_slot(b, F32) for _ in keys] for _ in rows]
        for cell in (cell for line in cells for cell in line):
            b.store(F32(0.0), cell)
        with self.loop(I64(0), I64(-(-self.deep // _FOUR) * _FOUR), I64(_FOUR)) as term:
            left = self._fours(self.queries, rows, pitch, term)
            right = self._fours(self.keys_at, keys, pitch, term)
            for number in range(_FOUR):
                for line, own in zip(left, cells, strict=True):
                    for other, cell in zip(right, own, strict=True):
                        self._added(cell, line[number], other[number])
        return [[b.load(cell, F32) for cell in line] for line in cells]

    def weigh(self, weights: Sequence[Sequence[ir.Value]], read: Sequence[Sequence[ir.Value]]) -> None:
        b = self.b
        _, pitch, line_of_weights = self.pitches
        rows, keys, columns = self.row_places(), self.key_places(), self.column_places()
        for row, line in zip(rows, weights, strict=True):
            for key, value in zip(keys, line, strict=True):
                at = b.add(b.mul(row, I64(line_of_weights)), key)
                b.store(value, b.gep(self.weights_at, [at], source_etype=F32), 4)
        warp_barrier(b)
        with self.loop(I64(0), I64(self.step), I64(_FOUR)) as key:
            left = self._fours(self.weights_at, rows, line_of_weights, key)
            for number in range(_FOUR):
                at = b.mul(b.add(key, I64(number)), I64(pitch))
                right = [
                    value
                    for column in columns
                    for value in self._fours(self.values_at, [I64(0)], pitch, b.add(at, column))[0]
                ]
                for line, cells in zip(left, read, strict=True):
                    for value, cell in zip(right, cells, strict=True):
                        self._added(cell, line[number], value)
        warp_barrier(b)
