"""Attention of 16-bit floats on the tensor cores of Ampere and later: products summed as float32 by `mma.sync`.

A warp has 16 rows, or as many times that as it is `stacked`, and all keys of a tile. Weights are rounded to the type of
the values, their sum is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.types import F32, I64
from ingot.codegen.nvptx.attention_block import AttentionBlock
from ingot.codegen.nvptx.grid import WARP
from ingot.codegen.nvptx.shared_tile import SharedTile
from ingot.codegen.nvptx.warp_tiles import (
    LINE,
    DynamicShared,
    at_byte,
    four_matrices,
    multiplied,
    pair_of_halves,
    swizzled,
)
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Attention, Load, before_widening

_ROWS, _TERMS, _COLUMNS = 16, 16, 8
"""The rows, the terms and the columns of one multiplication."""

_PANEL = 64
"""Halves in a line of a tile: those of a wider operand lie in several panels."""


@dataclass(frozen=True, slots=True)
class HalvesTile:
    """`warps` of `stacked` times 16 rows each, and `step` keys at a time."""

    warps: int
    stacked: int
    step: int

    @property
    def height(self) -> int:
        return self.warps * self.stacked * _ROWS

    def shared(self, depth: int, columns: int) -> int:
        """The bytes of shared memory for heads of at most so many elements."""
        keys, values = (-(-count // _PANEL) for count in (depth, columns))
        return LINE * (self.height * keys + self.step * (keys + values))


def halves_of(nest: Attention) -> tuple[Load, Load, Load] | None:
    """What attention reads, where that is loads of one 16-bit type and nothing is rounded otherwise."""
    keys, values = before_widening(nest.keys), before_widening(nest.values)
    if keys is None or values is None or nest.dtype is not DType.FLOAT32:
        return None
    if nest.queries.dtype not in (DType.FLOAT16, DType.BFLOAT16):
        return None
    return (nest.queries, keys, values) if keys.dtype is values.dtype is nest.queries.dtype else None


def emit_halves(b: Builder, frame: Frame, nest: Attention, tile: HalvesTile) -> None:
    """Attention for a tile of rows, with its epilogue, or as a part of the keys."""
    _Halves(b, frame, nest, tile).emit()


class _Halves(AttentionBlock):
    apart = (1, 2)
    together = 2
    neighbours = 2

    def __init__(self, b: Builder, frame: Frame, nest: Attention, tile: HalvesTile) -> None:
        self.tile, self.height, self.step = tile, tile.height, tile.step
        super().__init__(b, frame, nest)
        assert nest.tile is not None
        loads = halves_of(nest)
        assert loads is not None
        self.dtype = loads[0].dtype
        self.deep, self.wide = nest.tile.rows, nest.tile.lanes
        self.threads = tile.warps * WARP
        warp, self.lane = b.sdiv(self.thread, I64(WARP)), b.srem(self.thread, I64(WARP))
        self.warp_row = b.mul(warp, I64(tile.stacked * _ROWS))
        self.line, self.pair = b.sdiv(self.lane, I64(4)), b.mul(b.srem(self.lane, I64(4)), I64(2))
        memory = DynamicShared(b.module)
        panels = -(-self.deep // _PANEL)
        at = 0
        places, heights = [], (self.height, self.step, self.step)
        for height in heights:
            places.append(at_byte(b, memory, I64(at)))
            at += LINE * height * panels
        self.memory = dict(zip(("queries", "keys", "values"), places, strict=True))
        rows = (nest.m, (nest.t,), (nest.t,))
        along, widths = (nest.k, nest.k, nest.n), (self.deep, self.deep, self.wide)
        self.queries, self.keys_tile, self.values_tile = (
            SharedTile(
                self,
                self.threads,
                load,
                axes,
                var,
                (height, elements),
                place,
                partial(self._place, height),
            )
            for load, axes, var, height, elements, place in zip(
                loads, rows, along, heights, widths, places, strict=True
            )
        )
        self.left: list[list[list[ir.Value]]] = []

    def _place(self, height: int, line: ir.Value, piece: ir.Value) -> ir.Value:
        """Where a piece of a line lies in a tile of so many lines, in bytes."""
        b, pieces = self.b, LINE // 16
        panel, within = b.sdiv(piece, I64(pieces)), b.srem(piece, I64(pieces))
        at = b.add(b.mul(panel, I64(height * LINE)), b.mul(line, I64(LINE)))
        return b.add(at, swizzled(b, line, within))

    def row_places(self) -> list[ir.Value]:
        b = self.b
        return [
            b.add(b.add(self.warp_row, self.line), I64(_ROWS * stack + half))
            for stack in range(self.tile.stacked)
            for half in (0, 8)
        ]

    def key_places(self) -> list[ir.Value]:
        return [self.b.add(self.pair, I64(_COLUMNS * j + e)) for j in range(self.step // _COLUMNS) for e in range(2)]

    def column_places(self) -> list[ir.Value]:
        return [self.b.add(self.pair, I64(_COLUMNS * j)) for j in range(self._column_tiles)]

    @property
    def _column_tiles(self) -> int:
        return -(-self.wide // (2 * _COLUMNS)) * 2

    @property
    def _depth_steps(self) -> int:
        return -(-self.deep // _TERMS)

    def copy_queries(self) -> None:
        self.queries.copy(self.first_row)

    def fetch_queries(self) -> None:
        self.left = [
            [self._query(stack, step) for step in range(self._depth_steps)] for stack in range(self.tile.stacked)
        ]

    def _query(self, stack: int, step: int) -> list[ir.Value]:
        """The matrices of 16 rows and 16 terms: upper and lower ones of the first eight terms, then of the others."""
        b, lane = self.b, self.lane
        line = b.add(self.warp_row, b.add(I64(_ROWS * stack), b.srem(lane, I64(16))))
        piece = b.add(I64(2 * step), b.sdiv(lane, I64(16)))
        return four_matrices(b, at_byte(b, self.memory["queries"], self._place(self.height, line, piece)))

    def copy_keys(self, key: ir.Value) -> None:
        self.keys_tile.copy(key)

    def copy_values(self, key: ir.Value) -> None:
        self.values_tile.copy(key)

    def scores(self) -> list[list[ir.Value]]:
        b, lane = self.b, self.lane
        stacked, tiles = self.tile.stacked, self.step // _COLUMNS
        sums: list[list[list[ir.Value]]] = [[[F32(0.0)] * 4 for _ in range(tiles)] for _ in range(stacked)]
        # of 16 keys the first eight and the others, each of the first eight terms and the others
        line = b.add(b.srem(lane, I64(8)), b.mul(b.sdiv(lane, I64(16)), I64(8)))
        for step in range(self._depth_steps):
            piece = b.add(I64(2 * step), b.srem(b.sdiv(lane, I64(8)), I64(2)))
            start = self._place(self.step, line, piece)
            for two in range(tiles // 2):
                at = b.add(start, I64(2 * two * _COLUMNS * LINE))
                words = four_matrices(b, at_byte(b, self.memory["keys"], at))
                for stack in range(stacked):
                    for half in range(2):
                        own = sums[stack]
                        own[2 * two + half] = multiplied(
                            b, self.dtype, self.left[stack][step], words[2 * half : 2 * half + 2], own[2 * two + half]
                        )
        return [[value for four in own for value in four[2 * half : 2 * half + 2]] for own in sums for half in range(2)]

    def weigh(self, weights: Sequence[Sequence[ir.Value]], read: Sequence[Sequence[ir.Value]]) -> None:
        b, lane = self.b, self.lane
        # of 16 keys the first eight and the others, each of the first eight columns and the others
        line = b.srem(lane, I64(16))
        sums: list[list[list[ir.Value]]] = [
            [
                [b.load(cell, F32) for half in range(2) for cell in read[2 * stack + half][2 * j : 2 * j + 2]]
                for j in range(self._column_tiles)
            ]
            for stack in range(self.tile.stacked)
        ]
        for step in range(self.step // _TERMS):
            left = [
                [
                    pair_of_halves(b, self.dtype, *weights[2 * stack + half][4 * step + 2 * part :][:2])
                    for part in range(2)
                    for half in range(2)
                ]
                for stack in range(self.tile.stacked)
            ]
            for two in range(self._column_tiles // 2):
                piece = b.add(I64(2 * two), b.sdiv(lane, I64(16)))
                at = b.add(self._place(self.step, line, piece), I64(step * _TERMS * LINE))
                words = four_matrices(b, at_byte(b, self.memory["values"], at), turned=True)
                for stack, own in enumerate(sums):
                    for half in range(2):
                        own[2 * two + half] = multiplied(
                            b, self.dtype, left[stack], words[2 * half : 2 * half + 2], own[2 * two + half]
                        )
        for stack, own in enumerate(sums):
            for j, four in enumerate(own):
                for half in range(2):
                    for e in range(2):
                        b.store(four[2 * half + e], read[2 * stack + half][2 * j + e])
