"""The GEMM micro-kernel for columns that are read where they lie: those of an image, which windows slide over."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.micro import Cells
from ingot.codegen.llvm.picked import picked_of
from ingot.codegen.llvm.share import larger, smaller
from ingot.codegen.llvm.types import I1, I32, I64, PTR, element, vector, width
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import Tile


def column_masks(loops: Loops, tile: Tile, left: ir.Value, apart: int) -> list[list[ir.Value]]:
    """For each vector of a tile, as many contiguous vectors as columns are `apart`: the lanes that may be read of each.

    So many columns are left, and nothing behind the last one is read.
    """
    b, lanes = loops.b, tile.lanes
    end = b.add(b.mul(b.sub(left, I64(1)), I64(apart)), I64(1))
    masks = []
    for number in range(tile.vectors * apart):
        count = larger(b, I64(0), smaller(b, b.sub(end, I64(number * lanes)), I64(lanes)))
        bits = b.sub(b.shl(I64(1), count), I64(1))  # a vector of numbers to compare would take registers from the sums
        masks.append(b.bitcast(b.trunc(bits, ir.IntType(lanes)), ir.VectorType(I1, lanes)))
    return [masks[index * apart : (index + 1) * apart] for index in range(tile.vectors)]


def columns_at(
    loops: Loops, dtype: DType, tile: Tile, first: ir.Value, masks: Sequence[Sequence[ir.Value]]
) -> list[ir.Value]:
    """The columns of a tile from an address on, each as far behind the one before as a vector has masks."""
    b, kind, lanes = loops.b, element(dtype), tile.lanes
    whole = vector(kind, lanes)
    zeros = ir.Constant(whole, None)
    pieces: list[ir.Value] = []
    for number, mask in enumerate(mask for own in masks for mask in own):
        place = b.gep(first, [I64(number * lanes)], source_etype=kind)
        arguments = [place, I32(width(dtype)), mask, zeros]
        pieces.append(scalars.intrinsic(b, "masked.load", whole, arguments, whole, PTR))
    apart = len(masks[0])
    if apart == 1:
        return pieces
    starts, places = [number * lanes for number in range(apart)], [lane * apart for lane in range(lanes)]
    columns = []
    for index in range(tile.vectors):
        own = dict(zip(starts, pieces[index * apart :], strict=False))
        columns.append(picked_of(b, own.__getitem__, starts, places))
    return columns


def accumulate_columns(
    loops: Loops,
    dtype: DType,
    tile: Tile,
    cells: Cells,
    rows: Sequence[ir.Value],
    step: Dim,
    first: ir.Value,
    apart: Dim,
    depth: Dim,
    masks: Sequence[Sequence[ir.Value]],
) -> None:
    """Add `depth` terms to each accumulator: elements of rows, `step` apart, times those of columns, `apart`.

    The first columns are at `first`. Loops of a known depth are unrolled.
    """
    b, kind, size = loops.b, element(dtype), loops.frame.size
    whole = vector(kind, tile.lanes)

    def add(term: ir.Value) -> None:
        moved = b.mul(term, size(step))
        columns = columns_at(loops, dtype, tile, b.gep(first, [b.mul(term, size(apart))], source_etype=kind), masks)
        for row, sums in zip(rows, cells, strict=True):
            one = loops.splat(b.load(b.gep(row, [moved], source_etype=kind), typ=kind), tile.lanes)
            for column, cell in zip(columns, sums, strict=True):
                b.store(scalars.multiply_add(b, one, column, b.load(cell, typ=whole)), cell)

    if isinstance(depth, int) and not loops.frame.compact:
        for number in range(depth):
            add(I64(number))
        return
    with loops.loop(I64(0), size(depth), 1) as term:
        add(term)
