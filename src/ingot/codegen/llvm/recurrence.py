"""Recurrences in LLVM: a loop over nests inside of a kernel, whose states are pointers that change places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ingot.codegen.llvm import ir, loops, product
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame, NestEmitter, unless_empty
from ingot.codegen.llvm.loops import Loops
from ingot.codegen.llvm.share import Share, Sharing, larger, part_of, smaller
from ingot.codegen.llvm.types import I64, PTR, stack_slot, stored, vector, width
from ingot.dims import Dim
from ingot.loops.ir import Buffer, Contraction, Cycle, Recurrence, extent
from ingot.loops.rewrite import sizes_indexed
from ingot.schedule.work import CONTRACTION_GRAIN, FEWEST_ROWS, RECURRENT_PIECES, ROWS_HIDING_A_READ


def _emit(b: Builder, frame: Frame, nest: Recurrence) -> None:
    """The rows of a piece, counted through all cycles: those of each cycle in one go."""
    rows = frame.size(nest.rows)
    low, high = part_of(b, b.mul(rows, I64(len(nest.cycles))), frame.piece, frame.pieces)
    for number, cycle in enumerate(nest.cycles):
        before = b.mul(rows, I64(number))
        first = larger(b, b.sub(low, before), I64(0))
        last = smaller(b, b.sub(high, before), rows)
        with b.if_then(b.icmp_signed("<", first, last)):
            _emit_cycle(b, frame, cycle, first, last)


def _emit_cycle(b: Builder, frame: Frame, cycle: Cycle, first: ir.Value, last: ir.Value) -> None:
    """All iterations of a cycle, for rows from `first` to `last`."""
    cells: dict[Buffer, ir.Value] = {}
    for pair in cycle.swapped:
        for buffer in pair:
            cells[buffer] = stack_slot(b, PTR)
            b.store(frame.buffers[buffer], cells[buffer])
    with Loops(b, frame).loop(I64(0), frame.size(cycle.time.extent), 1, watched=True) as time:
        current = {buffer: b.load(cell, typ=PTR) for buffer, cell in cells.items()}
        inner = replace(
            frame,
            buffers={**frame.buffers, **current},
            piece=I64(0),
            pieces=I64(1),
            variables={**frame.variables, cycle.time: time},
        )
        for nest in cycle.nests:
            with unless_empty(b, inner, sizes_indexed(nest)):
                if isinstance(nest, Contraction):
                    product.emit_rows(b, inner, nest, first, last)
                else:
                    loops.EMITTER.emit(b, inner, nest)
        for one, other in cycle.swapped:
            b.store(current[other], cells[one])
            b.store(current[one], cells[other])
    _copy_back(b, frame, cycle, cells, first, last)


def _copy_back(
    b: Builder, frame: Frame, cycle: Cycle, cells: Mapping[Buffer, ir.Value], first: ir.Value, last: ir.Value
) -> None:
    """Copy the rows of states to where they began, if they ended elsewhere: after an odd number of iterations."""
    odd = b.and_(frame.size(cycle.time.extent), I64(1))
    with b.if_then(b.icmp_signed("!=", odd, I64(0))):
        for (one, _), line in zip(cycle.swapped, cycle.lines, strict=True):
            kind = stored(one.dtype)
            lanes = frame.target.lanes(one.dtype.numpy.itemsize)
            source, target = b.load(cells[one], typ=PTR), frame.buffers[one]
            begin, end = (b.mul(row, frame.size(line)) for row in (first, last))
            whole = b.add(begin, b.mul(b.sdiv(b.sub(end, begin), I64(lanes)), I64(lanes)))
            for low, high, count in ((begin, whole, lanes), (whole, end, 1)):
                with b.counted(low, high, I64(count)) as place:
                    place_of = b.gep(source, [place], source_etype=kind)
                    element = b.load(place_of, typ=vector(kind, count), align=width(one.dtype))
                    b.store(element, b.gep(target, [place], source_etype=kind), align=width(one.dtype))


def _share(b: Builder, sharing: Sharing, nest: Recurrence) -> Share:
    """How a recurrence is divided: by cycles, and by rows where each piece has a few; not at all for one thread."""
    size, threads = sharing.size, sharing.threads
    rows = b.mul(size(nest.rows), I64(len(nest.cycles)))
    parts = larger(b, b.sdiv(rows, I64(FEWEST_ROWS)), I64(len(nest.cycles)))
    alone = b.icmp_signed("==", threads, I64(1))
    parts = b.select(alone, I64(1), smaller(b, parts, b.mul(threads, I64(RECURRENT_PIECES))))
    depth: Dim = 0
    for cycle in nest.cycles:
        for inner in cycle.nests:
            if isinstance(inner, Contraction):
                depth = depth + cycle.time.extent * extent(inner.n) * extent(inner.k) * inner.groups
    work = b.sdiv(size(depth * (nest.rows + ROWS_HIDING_A_READ)), I64(CONTRACTION_GRAIN))
    return Share(work, parts)


EMITTER = NestEmitter(_emit, _share)
