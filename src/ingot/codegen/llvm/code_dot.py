"""Products with codes of few bits whose rows are rounded to bytes, block by block: bytes times bytes, added to int32s.

Codes of a word are read by shifting and masking all its bytes at once, so those of one step are not neighbours: of
`each` codes every `each // 4`-th one. Rows of bytes are stored in that order (`rounded_rows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.byte_micro import instruction
from ingot.codegen.llvm.code_blocks import Block, blocks_of, splat_word
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.micro import Cells, cells_of
from ingot.codegen.llvm.share import up
from ingot.codegen.llvm.types import F32, I8, I32, I64, vector
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import CodeBlocks, Tile


@dataclass(frozen=True, slots=True)
class ByteRow:
    """A row in bytes, and for each of its blocks the scale, as FLOAT32, and the sum of bytes, as INT32."""

    codes: ir.Value
    scales: ir.Value
    sums: ir.Value


def accumulate_rounded(
    loops: Loops, codes: CodeBlocks, tile: Tile, cells: Cells, rows: Sequence[ByteRow], panel: ir.Value, depth: ir.Value
) -> None:
    """Add `depth` terms to each accumulator: bytes of a row times codes of a column, both scaled block by block."""
    b, lanes = loops.b, tile.lanes
    assert codes.dot is not None
    multiply_add = instruction(loops, codes.dot, lanes)
    floats, words = vector(F32, lanes), vector(I32, lanes)
    mask = splat_word(int.from_bytes(bytes([(1 << codes.bits) - 1] * 4), "little"), lanes)
    with blocks_of(loops, codes, tile, panel, depth) as block:
        sums = cells_of(b, DType.INT32, tile, len(rows))
        totals = [b.load(b.gep(row.sums, [block.number], source_etype=I32), typ=I32) for row in rows]
        for total, own in zip(totals, sums, strict=True):
            _start(loops, codes, block, total, own)
        with loops.loop(I64(0), up(b, block.count, I64(codes.each)), 1) as group:
            first = b.add(block.first, b.mul(group, I64(codes.each)))
            if loops.frame.target.fetches_ahead:
                block.fetch_ahead(group)
            read = block.words(group)
            for part in range(codes.each // 4):
                place = b.add(first, I64(4 * part))
                units = [b.load(b.gep(row.codes, [place], source_etype=I8), typ=I32, align=4) for row in rows]
                spread = [loops.splat(unit, lanes) for unit in units]
                for index, word in enumerate(read):
                    own_codes = b.and_(b.lshr(word, splat_word(codes.bits * part, lanes)) if part else word, mask)
                    for unit, own in zip(spread, sums, strict=True):
                        b.store(multiply_add(b.load(own[index], typ=words), own_codes, unit), own[index])
        steps, zeros = block.scales(), block.zeros()
        for row, total, own, result in zip(rows, totals, sums, cells, strict=True):
            scale = loops.splat(b.load(b.gep(row.scales, [block.number], source_etype=F32), typ=F32), lanes)
            for index, step in enumerate(steps):
                value = b.sitofp(b.load(own[index], typ=words), floats)
                if codes.zeros is DType.FLOAT32:
                    moved = loops.splat(b.sitofp(b.sub(I32(0), total), F32), lanes)
                    value = scalars.multiply_add(b, zeros[index], moved, value)
                summed = scalars.multiply_add(b, b.fmul(value, scale), step, b.load(result[index], typ=floats))
                b.store(summed, result[index])


def _start(loops: Loops, codes: CodeBlocks, block: Block, total: ir.Value, sums: Sequence[ir.Value]) -> None:
    """What the sums of a row start with: what zeros that are whole numbers take off."""
    b, lanes = loops.b, block.tile.lanes
    words = vector(I32, lanes)
    if codes.zeros is DType.FLOAT32 or (codes.zeros is None and codes.zero == 0):
        return
    less = b.sub(I32(0), total)
    if codes.zeros is None:
        starts = [loops.splat(b.mul(less, I32(codes.zero)), lanes)] * len(sums)
    else:
        starts = [b.mul(b.zext(zero, words), loops.splat(less, lanes)) for zero in block.byte_zeros()]
    for start, cell in zip(starts, sums, strict=True):
        b.store(start, cell)
