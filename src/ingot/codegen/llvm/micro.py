"""The GEMM micro-kernel: broadcast elements of rows times a packed panel of columns, accumulated in registers."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.types import I8, I32, I64, PTR, element, is_float, stack_slot, vector, width
from ingot.dtypes import DType
from ingot.loops.ir import Tile

Cells = list[list[ir.Value]]
"""The accumulators of each row, on the stack: LLVM promotes them to registers."""


def cells_of(b: Builder, dtype: DType, tile: Tile, height: int) -> Cells:
    """Accumulators for so many rows, set to zero."""
    kind = vector(element(dtype), tile.lanes)
    cells = [[stack_slot(b, kind) for _ in range(tile.vectors)] for _ in range(height)]
    for row in cells:
        for cell in row:
            b.store(ir.Constant(kind, None), cell)
    return cells


def accumulate(
    loops: Loops,
    dtype: DType,
    tile: Tile,
    cells: Cells,
    rows: Sequence[ir.Value],
    step: ir.Value,
    panel: ir.Value,
    depth: ir.Value,
    apart: int | None = None,
    row_dtype: DType | None = None,
    panel_dtype: DType | None = None,
    ahead: ir.Value | None = None,
) -> None:
    """Add `depth` terms to each accumulator: elements of a row, `step` apart, times those of a column.

    The terms of a panel lie `apart` elements from each other, by default as many as the tile has columns. Elements of
    rows and of panels are of `dtype`, or of narrower types that are widened to it as they are loaded. Of each row of a
    panel, a line is prefetched that lies so many bytes `ahead`.
    """
    b = loops.b
    row_dtype, panel_dtype = row_dtype or dtype, panel_dtype or dtype
    row_kind, kind = element(row_dtype), element(panel_dtype)
    sums_kind = vector(element(dtype), tile.lanes)
    lanes = vector(kind, tile.lanes)
    with loops.loop(I64(0), depth, 1) as k:
        offset = b.mul(k, I64(tile.columns if apart is None else apart))
        fetch_ahead(b, b.gep(panel, [offset], source_etype=kind), ahead)
        columns = []
        for index in range(tile.vectors):
            place = b.gep(panel, [b.add(offset, I64(index * tile.lanes))], source_etype=kind)
            weights = b.load(place, typ=lanes)
            weights.align = width(panel_dtype) * tile.lanes
            columns.append(scalars.cast(b, weights, panel_dtype, dtype))
        moved = b.mul(k, step)
        for row, sums in zip(rows, cells, strict=True):
            one = b.load(b.gep(row, [moved], source_etype=row_kind), typ=row_kind)
            spread = scalars.cast(b, loops.splat(one, tile.lanes), row_dtype, dtype)
            for column, cell in zip(columns, sums, strict=True):
                b.store(_multiply_add(b, dtype, spread, column, b.load(cell, typ=sums_kind)), cell)


def fetch_ahead(b: Builder, row: ir.Value, ahead: ir.Value | None) -> None:
    """Prefetch the line that is so many bytes ahead of a row of a panel, wherever that is."""
    if ahead is not None:
        place = b.gep(row, [ahead], source_etype=I8)
        for_reading, keep, of_memory = I32(0), I32(3), I32(1)
        scalars.intrinsic(b, "prefetch", ir.VoidType(), [place, for_reading, keep, of_memory], PTR)


def _multiply_add(b: Builder, dtype: DType, x: ir.Value, y: ir.Value, total: ir.Value) -> ir.Value:
    if is_float(dtype):
        return scalars.multiply_add(b, x, y, total)
    return b.add(b.mul(x, y), total)
