"""Rows as lines of 16-bit floats, with zeros behind up to a whole step, for products with weights in codes.

A float32 is three numbers of bfloat16: what is left after cutting off all but its upper 16 bits, again. They are
together exactly as large, but for infinities and NaN, which are the first alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.types import F32, I16, I32, I64, element, stack_slot
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.codegen.nvptx.variant import Function, Sized, Step
from ingot.dtypes import DType
from ingot.loops.ir import Contraction, extent
from ingot.schedule.code_tiles import CodeTiles, line_parts

LINES = "lines"
"""The function that stores lines."""

_THREADS = 256


def lines_function(product: Contraction, tiles: CodeTiles) -> Function:
    return Function(partial(_emit, product=product, tiles=tiles), _THREADS)


def line_step(sized: Sized) -> tuple[Step, float]:
    """The launch that stores lines, and the seconds that it takes, about."""
    product = sized.product
    assert product.codes is not None
    tiles = CodeTiles(product.codes, extent(product.n), extent(product.k))
    total = sized.rows * sized.size(tiles.steps) * tiles.step
    return Step(LINES, (-(-total // _THREADS), 1, 1), (_THREADS, 1)), sized.gpu.step


def _emit(b: Builder, frame: Frame, product: Contraction, tiles: CodeTiles) -> None:
    """An element of a row for each thread."""
    loops = ThreadLoops(b, frame)
    dtype, out = product.lhs.dtype, frame.buffers[product.scratch[1]]
    depth, rows = frame.size(extent(product.k)), frame.size(extent(product.m))
    pitch, parts = b.mul(frame.size(tiles.steps), I64(tiles.step)), line_parts(dtype)
    with loops.loop(*loops.strided(b.mul(rows, pitch))) as number:
        row, at = b.sdiv(number, pitch), b.srem(number, pitch)
        cell = stack_slot(b, element(dtype))
        b.store(ir.Constant(element(dtype), 0 if element(dtype) is I16 else 0.0), cell)
        with b.if_then(b.icmp_signed("<", at, depth)):
            loops.unflatten(product.m, row)
            loops.variables[product.k[0]] = at
            b.store(loops.scalar(product.lhs), cell)
        value = b.load(cell, element(dtype))
        for part, half in enumerate(_parts(b, value) if dtype is DType.FLOAT32 else [b.bitcast(value, I16)]):
            place = b.add(b.mul(b.add(b.mul(row, I64(parts)), I64(part)), pitch), at)
            b.store(half, b.gep(out, [place], source_etype=I16), 2)


def _parts(b: Builder, value: ir.Value) -> Sequence[ir.Value]:
    bits = b.bitcast(value, I32)
    is_number = b.icmp_unsigned("<", b.and_(bits, I32(0x7FFFFFFF)), I32(0x7F800000))
    is_nan = b.fcmp_unordered("uno", value, value)
    left, halves = value, []
    for part in range(line_parts(DType.FLOAT32)):
        cut = b.and_(b.bitcast(left, I32), I32(-(1 << 16)))
        own = b.select(is_nan, I32(0x7FC00000), cut) if part == 0 else cut
        halves.append(b.trunc(b.lshr(own, I32(16)), I16))
        left = b.select(is_number, b.fsub(left, b.bitcast(cut, F32)), F32(0.0))
    return halves
