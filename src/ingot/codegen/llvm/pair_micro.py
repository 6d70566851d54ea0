"""The GEMM micro-kernel of bfloat16: pairs of a row times pairs of columns, added to float32s."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.micro import Cells, fetch_ahead
from ingot.codegen.llvm.types import BF16, F32, I16, I32, I64, vector
from ingot.dims import Dim
from ingot.loops.ir import PairDot, Tile


def accumulate_pairs(
    loops: Loops,
    tile: Tile,
    dot: PairDot,
    cells: Cells,
    rows: Sequence[ir.Value],
    step: Dim,
    panel: ir.Value,
    depth: ir.Value,
    apart: int | None = None,
    ahead: ir.Value | None = None,
) -> None:
    """Add `depth` terms to each accumulator: elements of a row, `step` apart, times those of a column.

    Rows of the panel are `apart` pairs apart, where that is more than the columns of the tile. Of each, a line is
    prefetched that lies so many bytes `ahead`.
    """
    b, between = loops.b, tile.columns if apart is None else apart
    pairs = b.lshr(depth, I64(1))

    def add(k: ir.Value, terms: Sequence[ir.Value]) -> None:
        row = b.gep(panel, [b.mul(k, I64(between))], source_etype=I32)
        fetch_ahead(b, row, ahead)
        _add(loops, tile, cells, row, terms)

    with loops.loop(I64(0), pairs, 1) as k:
        add(k, [_pair(loops, row, k, step) for row in rows])
    if dot.rest:
        with b.if_then(b.icmp_signed("==", b.and_(depth, I64(1)), I64(1))):
            last = b.mul(pairs, I64(2))
            add(pairs, [b.zext(_element(loops, row, last, step), I32) for row in rows])


def _add(loops: Loops, tile: Tile, cells: Cells, row: ir.Value, pairs: Sequence[ir.Value]) -> None:
    """Add the products of one pair of each row and of each column, which are those of a row of the panel."""
    b, sums = loops.b, vector(F32, tile.lanes)
    narrow = vector(BF16, 2 * tile.lanes)
    columns = []
    for index in range(tile.vectors):
        place = b.gep(row, [I64(index * tile.lanes)], source_etype=I32)
        columns.append(b.bitcast(b.load(place, typ=vector(I32, tile.lanes), align=4 * tile.lanes), narrow))
    multiply_add = _instruction(loops, tile.lanes)
    for pair, own in zip(pairs, cells, strict=True):
        spread = b.bitcast(loops.splat(pair, tile.lanes), narrow)
        for column, cell in zip(columns, own, strict=True):
            b.store(multiply_add(b.load(cell, typ=sums), spread, column), cell)


def _pair(loops: Loops, row: ir.Value, k: ir.Value, step: Dim) -> ir.Value:
    """Pair `k` of a row, the first element in the lower bits."""
    b = loops.b
    first = b.mul(k, I64(2))
    if step == 1:
        return b.load(b.gep(row, [first], source_etype=I16), typ=I32, align=2)
    low, high = (b.zext(_element(loops, row, b.add(first, I64(term)), step), I32) for term in range(2))
    return b.or_(low, b.shl(high, I32(16)))


def _element(loops: Loops, row: ir.Value, place: ir.Value, step: Dim) -> ir.Value:
    b = loops.b
    return b.load(b.gep(row, [b.mul(place, loops.frame.size(step))], source_etype=I16), typ=I16)


def _instruction(loops: Loops, lanes: int) -> Callable[[ir.Value, ir.Value, ir.Value], ir.Value]:
    """The function of sums, pairs of a row and pairs of columns that adds their products to the sums."""
    b, machine = loops.b, loops.frame.target.machine
    name = f"x86.avx512bf16.dpbf16ps.{32 * lanes}" if machine == "x86_64" else "aarch64.neon.bfdot.v4f32.v8bf16"
    sums, pairs = vector(F32, lanes), vector(BF16, 2 * lanes)
    function = b.module.declared(f"llvm.{name}", ir.FunctionType(sums, [sums, pairs, pairs]))
    return lambda total, row, column: b.call(function, [total, row, column])
