"""Rows of floats rounded to bytes in LLVM: each block is scaled so that its largest element is 127."""

from __future__ import annotations

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.code_blocks import splat_word
from ingot.codegen.llvm.emitter import Frame, NestEmitter
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.share import Share, Sharing, larger, part_of, smaller
from ingot.codegen.llvm.types import F32, I8, I32, I64, element, stack_slot, vector
from ingot.loops.ir import RoundedRows, extent
from ingot.schedule.work import LOOP_GRAIN

_LARGEST = 127.0
"""The largest byte that a row is rounded to; the least is as far from zero."""

_OPERATIONS = 8
"""Operations for each element."""


def _emit(b: Builder, frame: Frame, nest: RoundedRows) -> None:
    """The blocks of a piece, counted through all rows."""
    loops, size = Loops(b, frame), frame.size
    rows, blocks = size(extent(nest.m)), size(nest.blocks)
    low, high = part_of(b, b.mul(rows, blocks), frame.piece, frame.pieces)
    with b.if_then(b.icmp_signed("<", low, high)):
        last = b.add(b.sdiv(b.sub(high, I64(1)), blocks), I64(1))
        with loops.loop(b.sdiv(low, blocks), last, 1, watched=True) as row:
            before = b.mul(row, blocks)
            begin, end = larger(b, b.sub(low, before), I64(0)), smaller(b, b.sub(high, before), blocks)
            _round(loops, nest, row, begin, end)


def _share(b: Builder, sharing: Sharing, nest: RoundedRows) -> Share:
    size = sharing.size
    work = b.sdiv(size(extent((*nest.m, nest.k)) * _OPERATIONS), I64(LOOP_GRAIN))
    return Share(work, size(extent(nest.m) * nest.blocks))


def _round(loops: Loops, nest: RoundedRows, row: ir.Value, begin: ir.Value, end: ir.Value) -> None:
    """Store the blocks of a row from `begin` to `end`.

    Behind the last element are zeros, as far as so many are rounded at once.
    """
    b, codes, frame, count = loops.b, nest.codes, loops.frame, nest.chunk
    loops.unflatten(nest.m, row)
    elements = b.gep(frame.buffers[nest.x.buffer], [loops.start_of(nest.x.index, (nest.k,))], source_etype=F32)
    stored, scales, totals = (
        b.gep(frame.buffers[buffer], [b.mul(row, frame.size(line))], source_etype=element(buffer.dtype))
        for buffer, line in ((nest.rounded, nest.line), (nest.scales, nest.blocks), (nest.totals, nest.blocks))
    )
    depth = frame.size(nest.k.extent)
    kind, words = vector(F32, count), vector(I32, count)
    rest_of_row = stack_slot(b, kind, 64)
    largest, total = stack_slot(b, words), stack_slot(b, words)
    size = depth if codes.block == 0 else I64(codes.block)
    with loops.loop(begin, end, 1) as number:
        first = b.mul(number, size)
        left = b.sub(depth, first)
        elements_left = b.select(b.icmp_signed("<", left, size), left, size)
        whole = b.lshr(elements_left, I64(count.bit_length() - 1))
        start = b.gep(elements, [first], source_etype=F32)
        read = b.mul(whole, I64(count))
        has_rest = b.icmp_signed("<", read, elements_left)
        b.store(ir.Constant(kind, None), rest_of_row)
        with loops.loop(read, elements_left, 1) as place:
            one = b.load(b.gep(start, [place], source_etype=F32), typ=F32)
            b.store(one, b.gep(rest_of_row, [b.sub(place, read)], source_etype=F32))

        def chunk(at: ir.Value, base: ir.Value = start) -> ir.Value:
            return b.load(b.gep(base, [b.mul(at, I64(count))], source_etype=F32), typ=kind, align=4)

        def compare(values: ir.Value) -> None:
            """Bits without their sign are in the order of sizes, NaN above all."""
            size_of = b.and_(b.bitcast(values, words), splat_word(0x7FFFFFFF, count))
            b.store(scalars.intrinsic(b, "smax", words, [b.load(largest, typ=words), size_of]), largest)

        b.store(ir.Constant(words, None), largest)
        with loops.loop(I64(0), whole, 1) as at:
            compare(chunk(at))
        compare(b.load(rest_of_row, typ=kind))
        most = b.bitcast(scalars.intrinsic(b, "vector.reduce.smax", I32, [b.load(largest, typ=words)], words), F32)
        none = ir.Constant(F32, 0.0)
        factor = b.select(b.fcmp_unordered("!=", most, none), b.fdiv(ir.Constant(F32, _LARGEST), most), none)
        b.store(b.fmul(most, ir.Constant(F32, 1 / _LARGEST)), b.gep(scales, [number], source_etype=F32))
        spread = loops.splat(factor, count)
        b.store(ir.Constant(words, None), total)

        def convert(at: ir.Value, values: ir.Value) -> None:
            near = scalars.intrinsic(b, "roundeven", kind, [b.fmul(values, spread)])
            known = b.select(b.fcmp_ordered("ord", near, near), near, ir.Constant(kind, None))
            wide = b.fptosi(known, words)  # none is larger than 127
            b.store(b.add(b.load(total, typ=words), wide), total)
            small = b.trunc(wide, vector(I8, count))
            order = ir.Constant(words, _order(codes.each, count))
            place = b.gep(stored, [b.add(first, b.mul(at, I64(count)))], source_etype=I8)
            b.store(b.shuffle_vector(small, small, order), place, align=1)

        with loops.loop(I64(0), whole, 1) as at:
            convert(at, chunk(at))
        with b.if_then(has_rest):
            convert(whole, b.load(rest_of_row, typ=kind))
        summed = scalars.intrinsic(b, "vector.reduce.add", I32, [b.load(total, typ=words)], words)
        b.store(summed, b.gep(totals, [number], source_etype=I32))


def _order(each: int, count: int) -> list[int]:
    """Which element each byte is of, in the order in which codes of words are read."""
    step = each // 4
    return [group + part + step * byte for group in range(0, count, each) for part in range(step) for byte in range(4)]


EMITTER = NestEmitter(_emit, _share)
