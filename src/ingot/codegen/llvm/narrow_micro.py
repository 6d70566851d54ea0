"""The GEMM micro-kernel for rows of 16-bit floats: they are widened a chunk at a time, and read from there."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.micro import Cells, accumulate
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import I64, element, stack_slot, vector, width
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import Tile

_CHUNK = 128
"""Elements of a row that are widened at a time: those of a tile are a small part of the L1 cache."""


def accumulate_narrow(
    loops: Loops,
    dtype: DType,
    tile: Tile,
    cells: Cells,
    rows: Sequence[ir.Value],
    row_dtype: DType,
    step: Dim,
    panel: ir.Value,
    panel_dtype: DType,
    depth: ir.Value,
    apart: int | None = None,
    ahead: ir.Value | None = None,
) -> None:
    """As `accumulate` does, for elements of rows, `step` apart, that are of `dtype` or of a narrower type.

    A vector widens as fast as one element does, so that contiguous rows are widened in vectors first.
    """
    b, size = loops.b, loops.frame.size
    if row_dtype is dtype or step != 1:
        accumulate(loops, dtype, tile, cells, rows, size(step), panel, depth, apart, row_dtype, panel_dtype, ahead)
        return
    kind, panel_kind = element(dtype), element(panel_dtype)
    chunk = stack_slot(b, ir.ArrayType(kind, _CHUNK * len(rows)), width(dtype) * tile.lanes)
    wide = [b.gep(chunk, [I64(line * _CHUNK)], source_etype=kind) for line in range(len(rows))]
    with loops.loop(I64(0), depth, _CHUNK) as start:
        count = smaller(b, b.sub(depth, start), I64(_CHUNK))
        for source, target in zip(rows, wide, strict=True):
            _widen(loops, b.gep(source, [start], source_etype=element(row_dtype)), row_dtype, target, dtype, count)
        part = b.gep(panel, [b.mul(start, I64(tile.columns if apart is None else apart))], source_etype=panel_kind)
        accumulate(loops, dtype, tile, cells, wide, I64(1), part, count, apart, panel_dtype=panel_dtype, ahead=ahead)


def _widen(loops: Loops, source: ir.Value, narrow: DType, target: ir.Value, dtype: DType, count: ir.Value) -> None:
    """Store `count` elements of a type as those of another: whole vectors, then what is left in shorter ones."""
    b, lanes = loops.b, loops.frame.target.lanes(width(dtype))
    done: ir.Value = I64(0)
    while lanes:
        end = b.and_(count, I64(-lanes))
        with loops.loop(done, end, lanes) as place:
            start = b.gep(source, [place], source_etype=element(narrow))
            loaded = b.load(start, typ=vector(element(narrow), lanes), align=width(narrow))
            stored = b.gep(target, [place], source_etype=element(dtype))
            b.store(scalars.cast(b, loaded, narrow, dtype), stored).align = width(dtype)
        done, lanes = end, lanes // 2
