"""Products of float32 on the units for single elements: matrices and convolutions.

Tiles of both operands are copied into shared memory beside the products of the tiles before, 16 bytes at once, with
zeros where an image is padded. The left tile lies as memory has it, rows of `k`, in lines that are 20 words apart: the
rows that a warp reads at once are in different banks, as are the columns of a line of the right tile. Every product and
sum is one of float32, in the order of the summed axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.lanes import Lane
from ingot.codegen.llvm.types import F32, I32, I64, stack_slot, vector
from ingot.codegen.nvptx.async_copy import commit_copies, wait_for_copies
from ingot.codegen.nvptx.counter import Counter
from ingot.codegen.nvptx.grid import WARP, SharedArray, barrier, exchanged, register
from ingot.codegen.nvptx.memory import contiguous_indices
from ingot.codegen.nvptx.pieces import Tiles, fits, left_of, refuses_operand, right_of
from ingot.codegen.nvptx.step import MOST_PLACES, Plan, Step
from ingot.codegen.nvptx.sums import SPLITS, Block, finish_steps, most_splits
from ingot.codegen.nvptx.variant import Function, Sized, Variant
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Contraction, Var
from ingot.schedule.target import Target

_DEPTH = 16
"""Terms of a tile."""

_LINE = 20
"""Words from one line of the left tile to the next: 16 of terms, and 4 that nobody reads."""

_FOUR = 4
"""Neighbours that a thread copies, reads and stores at once."""

_TERMS = 4
"""Terms of a row that a thread reads at once."""

_ROWS = 8
"""Rows of the sums of a thread."""


@dataclass(frozen=True, slots=True)
class SingleTile:
    """`rows` by `columns` sums of a block; a thread has eight by `wide`. `speed` is of that of a multiprocessor.

    `lanes` are the threads of a warp along rows and along columns.
    """

    rows: int
    columns: int
    wide: int
    lanes: tuple[int, int]
    resident: int
    speed: float

    @property
    def threads(self) -> int:
        return self.rows * self.columns // (_ROWS * self.wide)

    @property
    def warps_down(self) -> int:
        return self.rows // (_ROWS * self.lanes[0])

    @property
    def name(self) -> str:
        return f"singles{self.rows}x{self.columns}x{self.wide}"


_TILES = (
    SingleTile(128, 128, 16, (8, 4), 2, 0.62),
    SingleTile(128, 64, 16, (8, 4), 4, 0.62),
    SingleTile(64, 64, 8, (4, 8), 7, 0.64),
    SingleTile(64, 64, 4, (4, 8), 5, 0.66),
)

_MODES = ((_FOUR, _FOUR), (1, _FOUR), (_FOUR, 1), (1, 1))
"""How many neighbours are copied at once: of the left operand, and of the right one, whose sums are stored alike."""

_MOST_WIDE = 8

_SHORTEST_SPLIT = 6
"""Tiles of the summed axis that are worth a block."""

_FILL, _EDGE = 1.0e-6, 0.25e-6
"""Seconds of a block before its first product, and for what each 64 columns of a row store."""

_ALONE = 0.7
"""Of the speed of a multiprocessor, what blocks reach that are alone there."""

_SINGLY = 0.8
"""The same of tiles that are copied element by element."""


def refuses(product: Contraction, _: Target) -> str | None:
    left, right = left_of(product), right_of(product)
    if any(dtype is not DType.FLOAT32 for dtype in (product.dtype, left.load.dtype, right.load.dtype)):
        return "it is not of float32"
    if left.along not in left.k or right.along not in right.rows:
        return "neighbours are not summed on the left, or not columns on the right"
    return refuses_operand(left) or refuses_operand(right)


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        _name(tile, lanes): Function(
            partial(_emit, product=product, tile=tile, lanes=lanes), tile.threads, _resident(tile, lanes), ("splits",)
        )
        for tile in _TILES
        for lanes in _modes(tile)
    }


def plans(sized: Sized) -> Iterator[Plan]:
    """A plan for each tile, and for each number of blocks that divide the summed axis."""
    if sized.depth == 0 or not fits(sized):
        return
    left = _FOUR if left_of(sized.product).is_whole(sized, _FOUR) else 1
    right = _FOUR if right_of(sized.product).is_whole(sized, _FOUR) and _stores_whole(sized) else 1
    for tile in _TILES:
        if (left, right) in _modes(tile):
            yield from _plans(sized, tile, (left, right))


def _plans(sized: Sized, tile: SingleTile, lanes: tuple[int, int]) -> Iterator[Plan]:
    gpu, places = sized.gpu, min(sized.batch, MOST_PLACES)
    tiles = -(-sized.rows // tile.rows) * -(-sized.columns // tile.columns)
    steps = -(-sized.depth // _DEPTH)
    most = min(steps // _SHORTEST_SPLIT, most_splits(sized), MOST_PLACES)
    wanted = (gpu.multiprocessors * waves // (tiles * places) for waves in range(1, tile.resident + 1))
    speed = tile.speed * (1 if lanes == (_FOUR, _FOUR) else _SINGLY)
    for splits in sorted({1, *(min(count, most) for count in wanted)} - {0}):
        blocks = tiles * sized.batch * splits
        at_once = min(_resident(tile, lanes), -(-blocks // gpu.multiprocessors))
        rate = gpu.singles * speed / at_once * (_ALONE if at_once == 1 else 1)
        work = 2 * tile.rows * tile.columns * _DEPTH * -(-steps // splits)
        waves = -(-blocks // (gpu.multiprocessors * at_once))
        finish, more = finish_steps(sized, splits)
        seconds = gpu.step + waves * (_FILL + _EDGE * tile.columns / 64 + work / rate) + more
        yield Plan(seconds, (Step(_name(tile, lanes), (tiles, splits, places), (tile.threads, 1), (splits,)), *finish))


VARIANT = Variant("singles", refuses, functions, plans)


def _modes(tile: SingleTile) -> tuple[tuple[int, int], ...]:
    """How a tile may be copied: one with many sums leaves too few registers for the places of single elements."""
    return _MODES if tile.wide <= _MOST_WIDE else _MODES[:1]


def _resident(tile: SingleTile, lanes: tuple[int, int]) -> int:
    """Blocks that fit on a multiprocessor: those that copy single elements need more registers."""
    return tile.resident if lanes == (_FOUR, _FOUR) else max(1, tile.resident // 2)


def _name(tile: SingleTile, lanes: tuple[int, int]) -> str:
    return tile.name + {_FOUR: "", 1: "_rows"}[lanes[0]] + {_FOUR: "", 1: "_columns"}[lanes[1]]


def _stores_whole(sized: Sized) -> bool:
    """Whether all that is stored, and read by the epilogue, along rows is aligned by fours."""
    (n,) = sized.product.n
    sizes = [n.extent]
    for index in contiguous_indices(sized.product.body, n):
        sizes += [index.offset, *(factor for term, factor in index.terms if term is not n)]
    return all(sized.size(size) % _FOUR == 0 for size in sizes)


def _emit(b: Builder, frame: Frame, product: Contraction, tile: SingleTile, lanes: tuple[int, int]) -> None:
    _Singles(b, frame, product, tile, lanes).emit()


class _Singles(Block):
    """One block."""

    def __init__(
        self, b: Builder, frame: Frame, product: Contraction, tile: SingleTile, lanes: tuple[int, int]
    ) -> None:
        super().__init__(b, frame, product, tile.rows, _DEPTH, tile.columns)
        self.tile, self.lanes = tile, lanes
        thread = b.trunc(self.thread, I32)
        shapes = (tile.rows, _DEPTH), (tile.columns, _DEPTH)
        self.operands = tuple(
            Tiles(b, frame, operand, thread, shape, tile.threads, count)
            for operand, shape, count in zip((left_of(product), right_of(product)), shapes, lanes, strict=True)
        )
        self.words = tile.rows * _LINE, tile.columns * _DEPTH
        self.arrays = tuple(
            SharedArray(b.module, f"{name}_tiles", F32, 2 * words)
            for name, words in zip(("left", "right"), self.words, strict=True)
        )
        warp, lane = b.udiv(thread, I32(WARP)), b.urem(thread, I32(WARP))
        down, across = b.urem(warp, I32(tile.warps_down)), b.udiv(warp, I32(tile.warps_down))
        self.row = b.add(b.mul(down, I32(_ROWS * tile.lanes[0])), b.udiv(lane, I32(tile.lanes[1])))
        self.column = b.add(
            b.mul(across, I32(tile.wide * tile.lanes[1])), b.mul(b.urem(lane, I32(tile.lanes[1])), I32(_FOUR))
        )

    def emit(self) -> None:
        b, product, tile = self.b, self.product, self.tile
        sums = [[stack_slot(b, F32) for _ in range(tile.wide)] for _ in range(_ROWS)]
        slot = stack_slot(b, I32)
        with self.loop(register(b, "ctaid.z"), self.batch, register(b, "nctaid.z")) as place:
            self.unflatten(product.batch, place)
            outside = {var: b.trunc(self.variables[var], I32) for var in product.batch}
            for cell in (cell for row in sums for cell in row):
                b.store(F32(0.0), cell)
            firsts, counts = (self.top, self.left), (self.rows, self.columns)
            for operand, first, count in zip(self.operands, firsts, counts, strict=True):
                operand.open(outside, b.trunc(first, I32), b.trunc(count, I32), b.trunc(self.begin, I32))
            b.store(I32(0), slot)
            self._copy(I32(0))
            with self.loop(self.begin, self.end_of_split, I64(_DEPTH)):
                now = b.load(slot, I32)
                then = b.xor(now, I32(1))
                wait_for_copies(b, 0)
                barrier(b)  # all have copied this tile, and read the one before
                self._copy(then)
                self._multiply(sums, now)
                b.store(then, slot)
            wait_for_copies(b, 0)
            self._finish(sums, place)
            barrier(b)

    def _copy(self, slot: ir.Value) -> None:
        """Begin to copy the next tiles."""
        b = self.b
        left, right = (b.mul(slot, I32(words)) for words in self.words)

        def at_left(row: ir.Value, place: ir.Value) -> ir.Value:
            return self._address(0, b.add(left, b.add(b.mul(row, I32(_LINE)), place)))

        def at_right(column: ir.Value, place: ir.Value) -> ir.Value:
            return self._address(1, b.add(right, b.add(b.mul(place, I32(self.tile.columns)), column)))

        self.operands[0].copy(at_left)
        self.operands[1].copy(at_right)
        commit_copies(b)

    def _address(self, side: int, word: ir.Value) -> ir.Value:
        return self.b.gep(self.arrays[side], [self.b.zext(word, I64)], source_etype=F32)

    def _multiply(self, sums: Sequence[Sequence[ir.Value]], slot: ir.Value) -> None:
        """Multiply two tiles, and add the products."""
        b, tile = self.b, self.tile
        left = self._address(0, b.add(b.mul(slot, I32(self.words[0])), b.mul(self.row, I32(_LINE))))
        right = self._address(1, b.add(b.mul(slot, I32(self.words[1])), self.column))

        def words(pointer: ir.Value, word: int, count: int) -> list[ir.Value]:
            loaded = b.load(b.gep(pointer, [I64(word)], source_etype=F32), vector(F32, count), 4 * count)
            return [b.extract_element(loaded, I32(number)) for number in range(count)]

        for first in range(0, _DEPTH, _TERMS):
            rows = [words(left, tile.lanes[0] * number * _LINE + first, _TERMS) for number in range(_ROWS)]
            for k in range(_TERMS):
                line = (first + k) * tile.columns
                columns = [
                    value
                    for part in range(tile.wide // _FOUR)
                    for value in words(right, line + part * _FOUR * tile.lanes[1], _FOUR)
                ]
                for number, (row, cells) in enumerate(zip(rows, sums, strict=True)):
                    pairs = list(zip(cells, columns, strict=True))
                    for cell, y in reversed(pairs) if number % 2 else pairs:  # the last `y` is still at hand
                        b.store(scalars.multiply_add(b, row[k], y, b.load(cell, F32)), cell)

    def _finish(self, sums: Sequence[Sequence[ir.Value]], place: ir.Value) -> None:
        """Store the sums of a thread with their epilogue, or as partial sums."""
        b, product, parts = self.b, self.product, self.tile.wide // _FOUR
        if self.lanes[1] == 1:
            self._finish_singly(sums, place)
            return
        for cell in (cell for cells in sums for cell in cells):
            # sums that are stored as neighbours would be in registers of one bank with what they are added to
            b.store(exchanged(b, b.load(cell, F32), I32(0)), cell)
        is_split = b.icmp_signed(">", SPLITS, I64(1))
        rows = b.trunc(self.rows, I32)
        row = b.add(b.trunc(self.top, I32), self.row)
        walk = Counter(b, [b.trunc(self.frame.size(var.extent), I32) for var in product.m])
        walk.start(row)
        for number, cells in enumerate(sums):
            if number:
                row = b.add(row, I32(self.tile.lanes[0]))
                walk.advance(I32(self.tile.lanes[0]))
            with b.if_then(b.icmp_signed("<", row, rows)):
                self._bind(product.m, walk)
                for part in range(parts):
                    column = b.add(self.left, b.zext(b.add(self.column, I32(part * _FOUR * self.tile.lanes[1])), I64))
                    with b.if_then(b.icmp_signed("<", column, self.columns)):
                        four = self._vector(cells[part * _FOUR : (part + 1) * _FOUR])
                        with b.if_else(is_split) as (divided, alone):
                            with divided:
                                b.store(four, self.partial_address(place, b.zext(row, I64), column), 16)
                            with alone:
                                self._end_four(four, column)

    def _bind(self, variables: Sequence[Var], walk: Counter) -> None:
        for var, value in zip(variables, walk.places(), strict=True):
            self.variables[var] = self.b.zext(value, I64)

    def _vector(self, cells: Sequence[ir.Value]) -> ir.Value:
        four: ir.Value = ir.Constant(vector(F32, _FOUR), ir.Undefined)
        for number, cell in enumerate(cells):
            four = self.b.insert_element(four, self.b.load(cell, F32), I32(number))
        return four

    def _end_four(self, four: ir.Value, column: ir.Value) -> None:
        self.variables[self.n] = column
        self._lane = Lane(self.n, _FOUR, None)
        self.end(four)
        self._lane = None

    def _finish_singly(self, sums: Sequence[Sequence[ir.Value]], place: ir.Value) -> None:
        b, parts = self.b, self.tile.wide // _FOUR
        memory = stack_slot(b, ir.ArrayType(F32, _ROWS * self.tile.wide), 16)
        for number, cell in enumerate(cell for row in sums for cell in row):
            b.store(b.load(cell, F32), b.gep(memory, [I64(number)], source_etype=F32))

        def place_of(piece: ir.Value) -> tuple[ir.Value, ir.Value]:
            row, part = b.sdiv(piece, I64(parts)), b.srem(piece, I64(parts))
            down = b.add(b.zext(self.row, I64), b.mul(row, I64(self.tile.lanes[0])))
            across = b.add(b.zext(self.column, I64), b.mul(part, I64(_FOUR * self.tile.lanes[1])))
            return b.add(self.top, down), b.add(self.left, across)

        self.store_sums(memory, _ROWS * parts, _FOUR, place_of, place)
