"""Products of 16-bit floats on the tensor cores of Ampere and later, near the speed of `mma.sync`: pipelined.

Tiles of both operands are copied into shared memory some stages ahead of the products, 16 bytes at once. Pieces are
swizzled by the numbers of their lines, so that neither copies nor `ldmatrix`, which turns what lies along rows, meet in
one bank. A warp has 64 or 32 rows by 32 columns of sums in registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import F32, I32, I64, stack_slot
from ingot.codegen.nvptx.async_copy import commit_copies, wait_for_copies
from ingot.codegen.nvptx.eights import LANES, Eights, registers_of, stores_eights
from ingot.codegen.nvptx.grid import WARP, barrier, register
from ingot.codegen.nvptx.half_product import is_of_halves
from ingot.codegen.nvptx.hopper import dynamic_address
from ingot.codegen.nvptx.inline import ptx
from ingot.codegen.nvptx.pieces import Operand, Tiles, fits, left_of, refuses_operand, right_of
from ingot.codegen.nvptx.sums import SPLITS
from ingot.codegen.nvptx.tile_plans import BlockTile, tiled_plans
from ingot.codegen.nvptx.variant import Function, Plan, Sized, Variant
from ingot.codegen.nvptx.warp_tiles import add_products
from ingot.dataclass import dataclass
from ingot.loops.ir import Contraction
from ingot.schedule.target import Target

_DEPTH = 32
"""Terms of a tile."""

_TERMS, _EIGHT = 16, 8
"""The terms of one multiplication of 16 rows by 8 columns, and its columns."""

_COLUMNS = 32
"""Columns of the sums of a warp."""

_BYTES = 2


@dataclass(frozen=True, slots=True)
class PipedTile:
    """`rows` by `columns` sums of a block; a warp has `height` rows. `speed` is of that of tensor cores.

    `fill` are the seconds before its first product and after its last one. Both were measured on an H200.
    """

    rows: int
    columns: int
    height: int
    stages: int
    resident: int
    speed: float
    fill: float

    @property
    def name(self) -> str:
        return f"piped{self.rows}x{self.columns}"

    @property
    def threads(self) -> int:
        return WARP * (self.rows // self.height) * (self.columns // _COLUMNS)

    @property
    def free_registers(self) -> int:
        """Registers of a thread, beside its sums."""
        return registers_of(self.threads, self.resident) - self.height * _COLUMNS // WARP

    @property
    def stage_bytes(self) -> int:
        return (self.rows + self.columns) * _DEPTH * _BYTES

    @property
    def shared_bytes(self) -> int:
        return self.stages * self.stage_bytes


_TILES = (PipedTile(128, 128, 64, 4, 2, 0.36, 2.0e-6), PipedTile(64, 64, 32, 5, 3, 0.3, 1.5e-6))


def refuses(product: Contraction, _: Target) -> str | None:
    if not is_of_halves(product):
        return "its operands are no halves"
    return refuses_operand(left_of(product)) or refuses_operand(right_of(product))


def functions(product: Contraction, _: Target) -> dict[str, Function]:
    return {
        tile.name: Function(
            partial(_emit, product=product, tile=tile), tile.threads, tile.resident, ("splits",), exact=True
        )
        for tile in _TILES
    }


def plans(sized: Sized) -> Iterator[Plan]:
    """Plans for each tile; none where operands are not copied by 16 bytes, or rows are no eights of columns."""
    operands = left_of(sized.product), right_of(sized.product)
    if sized.depth == 0 or not fits(sized) or not stores_eights(sized):
        return
    if not all(operand.is_whole(sized, LANES) for operand in operands):
        return
    for tile in _TILES:
        if tile.shared_bytes <= sized.gpu.shared:
            own = BlockTile(
                tile.rows,
                tile.columns,
                _DEPTH,
                (tile.threads, 1),
                tile.resident,
                sized.gpu.halves * tile.speed,
                tile.shared_bytes,
                tile.fill,
            )
            yield from tiled_plans(sized, tile.name, own)


VARIANT = Variant("piped", refuses, functions, plans)


def _emit(b: Builder, frame: Frame, product: Contraction, tile: PipedTile) -> None:
    """The sums of a block, with their epilogue, or as partial sums."""
    _PipedProduct(b, frame, product, tile).emit()


class _PipedProduct(Eights):
    """One block of a product."""

    def __init__(self, b: Builder, frame: Frame, product: Contraction, tile: PipedTile) -> None:
        super().__init__(b, frame, product)
        self.tile, self.free_registers = tile, tile.free_registers
        self.thread = b.trunc(register(b, "tid.x"), I32)
        self.lane = b.urem(self.thread, I32(WARP))
        warp, down = b.udiv(self.thread, I32(WARP)), tile.rows // tile.height
        self.warp_row = b.mul(b.urem(warp, I32(down)), I32(tile.height))
        self.warp_column = b.mul(b.udiv(warp, I32(down)), I32(_COLUMNS))
        self.base = dynamic_address(b)
        rows, columns, depth = (b.trunc(size, I32) for size in (self.rows, self.columns, self.depth))
        row_tiles = _up(b, rows, I32(tile.rows))
        block = b.trunc(register(b, "ctaid.x"), I32)
        self.top = b.mul(b.urem(block, row_tiles), I32(tile.rows))
        self.left = b.mul(b.udiv(block, row_tiles), I32(tile.columns))
        self.counts = rows, columns
        steps = _up(b, depth, I32(_DEPTH))
        self.split = b.trunc(register(b, "ctaid.y"), I32)
        share = _up(b, steps, b.trunc(SPLITS, I32))
        self.begin = smaller(b, b.mul(self.split, share), steps)
        self.steps = b.sub(smaller(b, b.add(self.begin, share), steps), self.begin)
        self.operands = [
            Tiles(b, frame, operand, self.thread, (side, _DEPTH), tile.threads, LANES)
            for operand, side in ((left_of(product), tile.rows), (right_of(product), tile.columns))
        ]

    def emit(self) -> None:
        b, tile = self.b, self.tile
        groups = tile.height // _TERMS, _COLUMNS // _EIGHT
        sums = [[[stack_slot(b, F32) for _ in range(4)] for _ in range(groups[1])] for _ in range(groups[0])]
        slot, ahead = stack_slot(b, I32), stack_slot(b, I32)
        with self.loop(register(b, "ctaid.z"), self.batch, register(b, "nctaid.z")) as place:
            self.unflatten(self.product.batch, place)
            for cell in (cell for line in sums for group in line for cell in group):
                b.store(F32(0.0), cell)
            self._open()
            for stage in range(tile.stages - 1):
                with b.if_then(b.icmp_signed(">", self.steps, I32(stage))):
                    self._copy(I32(stage * tile.stage_bytes))
                commit_copies(b)
            b.store(I32(0), slot)
            b.store(I32((tile.stages - 1) * tile.stage_bytes), ahead)
            with self.loop(I32(0), self.steps, I32(1)) as step:
                wait_for_copies(b, tile.stages - 2)
                barrier(b)  # all have copied this stage, and multiplied the one before, which is written next
                with b.if_then(b.icmp_signed("<", b.add(step, I32(tile.stages - 1)), self.steps)):
                    self._copy(b.load(ahead, I32))
                commit_copies(b)
                self._multiply(sums, b.load(slot, I32))
                for cell in (slot, ahead):
                    after = b.add(b.load(cell, I32), I32(tile.stage_bytes))
                    is_over = b.icmp_signed("==", after, I32(tile.shared_bytes))
                    b.store(b.select(is_over, I32(0), after), cell)
            wait_for_copies(b, 0)
            barrier(b)
            self._finish_tile(sums, place)

    def _open(self) -> None:
        b = self.b
        batch = {var: b.trunc(self.variables[var], I32) for var in self.product.batch}
        begin = b.mul(self.begin, I32(_DEPTH))
        for tiles, first, count in zip(self.operands, (self.top, self.left), self.counts, strict=True):
            tiles.open(batch, first, count, begin)

    def _copy(self, stage: ir.Value) -> None:
        """Begin to copy the next tiles of both operands to a stage, so many bytes from the first."""
        b, to = self.b, self.b.add(self.base, stage)
        for tiles, start in zip(self.operands, (0, self.tile.rows * _DEPTH * _BYTES), strict=True):
            own = b.add(to, I32(start))
            tiles.copy(partial(self._piece, tiles.operand, tiles.side, own))

    def _piece(self, operand: Operand, side: int, to: ir.Value, row: ir.Value, term: ir.Value) -> ir.Value:
        """Where a piece of eight terms of a row, or of eight rows of a term, lies in a tile."""
        b = self.b
        if operand.along in operand.k:  # two rows are 128 bytes
            piece = b.xor(b.lshr(term, I32(3)), b.and_(b.lshr(row, I32(1)), I32(3)))
            line = b.mul(row, I32(_DEPTH * _BYTES))
        else:
            piece = b.xor(b.lshr(row, I32(3)), b.and_(term, I32(7)))
            line = b.mul(term, I32(side * _BYTES))
        return b.add(to, b.add(line, b.shl(piece, I32(4))))

    # --- products

    def _multiply(self, sums: Sequence[Sequence[Sequence[ir.Value]]], stage: ir.Value) -> None:
        """Multiply the tiles of a stage, and add the products."""
        b = self.b
        left = b.add(self.base, stage)
        right = b.add(left, I32(self.tile.rows * _DEPTH * _BYTES))
        for term in range(0, _DEPTH, _TERMS):
            fours = [
                self._fragments(self.operands[0], left, b.add(self.warp_row, I32(_TERMS * group)), term, by_rows=True)
                for group in range(len(sums))
            ]
            pairs = []
            for group in range(0, _COLUMNS, _TERMS):
                four = self._fragments(
                    self.operands[1], right, b.add(self.warp_column, I32(group)), term, by_rows=False
                )
                pairs += [four[:2], four[2:]]
            for line, four in zip(sums, fours, strict=True):
                for cells, pair in zip(line, pairs, strict=True):
                    add_products(self.b, self.product.lhs.dtype, cells, four, pair)

    def _fragments(self, tiles: Tiles, to: ir.Value, first: ir.Value, term: int, by_rows: bool) -> list[ir.Value]:
        """Four words of a thread, of 16 rows from `first` on and 16 terms: eights of rows vary first `by_rows`."""
        b, lane = self.b, self.lane
        number = b.udiv(lane, I32(_EIGHT))  # of the matrix of eight by eight that this thread points at a line of
        low, high = b.and_(number, I32(1)), b.lshr(number, I32(1))
        rows, terms = (low, high) if by_rows else (high, low)
        line = b.urem(lane, I32(_EIGHT))
        is_turned = tiles.operand.along not in tiles.operand.k
        row = b.add(first, b.mul(rows, I32(_EIGHT)))
        k = b.add(I32(term), b.mul(terms, I32(_EIGHT)))
        row, k = (row, b.add(k, line)) if is_turned else (b.add(row, line), k)
        address = self._piece(tiles.operand, tiles.side, to, row, k)
        how = ".trans" if is_turned else ""
        text = f"ldmatrix.sync.aligned.m8n8.x4{how}.shared.b16 {{$0, $1, $2, $3}}, [$4];"
        return ptx(b, text, [address], [I32] * 4)

    # --- results

    def _finish_tile(self, sums: Sequence[Sequence[Sequence[ir.Value]]], place: ir.Value) -> None:
        """Store the sums of a thread: of every 16 rows it has two, eight apart, in pairs of neighbours."""
        b, tile = self.b, self.tile
        is_split = b.icmp_signed(">", SPLITS, I64(1))
        own = b.urem(self.lane, I32(4))
        row = b.add(self.top, b.add(self.warp_row, b.udiv(self.lane, I32(4))))
        column = b.add(self.left, self.warp_column)
        values = [[[b.load(cell, F32) for cell in group] for group in line] for line in sums]
        places = self.places(row, column, own, range(0, tile.height, _EIGHT), _COLUMNS // _EIGHT)
        lines = [[group[2 * half :][:2] for group in line] for line in values for half in range(2)]
        with b.if_else(is_split) as (divided, alone):
            with divided:
                self.store_partial_sums(lines, own, places, (self.split, place))
            with alone:
                self.end_of_lines(lines, own, self.ask(places))


def _up(b: Builder, value: ir.Value, by: ir.Value) -> ir.Value:
    """A quotient of int32, rounded up."""
    return b.udiv(b.add(value, b.sub(by, I32(1))), by)
