"""Indices of nested axes that are walked in steps: divided once, and carried from then on."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I1, I32, stack_slot


class Counter:
    """The places along nested axes of some extents, int32 each, of a flat place that only grows."""

    def __init__(self, b: Builder, extents: Sequence[ir.Value]) -> None:
        self._b, self._extents = b, extents
        self._cells = [stack_slot(b, I32) for _ in extents]

    def start(self, flat: ir.Value) -> None:
        """Begin at a flat place."""
        b = self._b
        for cell, extent in zip(self._cells[:0:-1], self._extents[:0:-1], strict=True):
            b.store(b.urem(flat, extent), cell)
            flat = b.udiv(flat, extent)
        for cell in self._cells[:1]:
            b.store(flat, cell)

    def advance(self, step: ir.Value) -> None:
        """Go on by a step, which may be zero; it should be of a few times the innermost extent."""
        if not self._cells:
            return
        b, (*outer, last) = self._b, self._cells
        b.store(b.add(b.load(last, I32), step), last)
        if not outer:
            return
        head, body, end = (b.append_basic_block(name) for name in ("carry", "carried", "on"))
        b.branch(head)
        b.position_at_end(head)
        place = b.load(last, I32)
        b.cbranch(b.icmp_signed(">=", place, self._extents[-1]), body, end)
        b.position_at_end(body)
        b.store(b.sub(place, self._extents[-1]), last)
        carried: ir.Value = I1(1)
        for axis in reversed(range(len(outer))):
            value = b.add(b.load(outer[axis], I32), b.zext(carried, I32))
            if axis > 0:
                carried = b.icmp_signed(">=", value, self._extents[axis])
                value = b.select(carried, I32(0), value)
            b.store(value, outer[axis])
        b.branch(head)
        b.position_at_end(end)

    def places(self) -> list[ir.Value]:
        return [self._b.load(cell, I32) for cell in self._cells]
