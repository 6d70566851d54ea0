"""A group of threads on a GPU: what each of them has, reduced together, within warps and between them."""

from __future__ import annotations

from collections.abc import Callable

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.expressions import Cell
from ingot.codegen.llvm.share import smaller
from ingot.codegen.llvm.types import I32, I64, stored
from ingot.codegen.nvptx.grid import WARP, SharedArray, barrier, exchanged, register
from ingot.codegen.nvptx.loops import ThreadLoops

_MOST_WARPS = 32


class Group:
    """The threads that compute a row together."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.lane = register(b, "tid.x")
        self.threads = register(b, "ntid.x")
        self.active: ir.Value | None = None
        self._memory: SharedArray | None = None

    def together(
        self, loops: ThreadLoops, value: ir.Value, both: Callable[[ir.Value, ir.Value], ir.Value], cell: Cell
    ) -> ir.Value:
        """The values of all threads of the group reduced, always in the same order; each thread gets the result.

        Within a warp by shuffles, and between warps through shared memory.
        """
        b = self.b
        slot = loops._cell(cell.dtype, 1)
        kind = stored(cell.dtype)
        b.store_local(loops._stored(value, cell.dtype), slot.pointer)
        within_warp = smaller(b, self.threads, I64(WARP))
        distance = I32(1)
        for _ in range(5):
            with b.if_then(b.icmp_signed("<", b.zext(distance, I64), within_warp)):
                before = b.load_local(slot.pointer, kind)
                other = loops._computed(exchanged(b, before, distance), cell.dtype)
                after = both(loops._computed(before, cell.dtype), other)
                b.store_local(loops._stored(after, cell.dtype), slot.pointer)
            distance = I32(2 * distance.constant)
        with b.if_then(b.icmp_signed(">", self.threads, I64(WARP))):
            self._between_warps(loops, slot, both)
        return loops._fetched(slot)

    def _between_warps(self, loops: ThreadLoops, slot: Cell, both: Callable[[ir.Value, ir.Value], ir.Value]) -> None:
        b, kind = self.b, stored(slot.dtype)
        if self._memory is None:
            self._memory = SharedArray(b.module, "warps", I64, _MOST_WARPS)
        warps = b.sdiv(self.threads, I64(WARP))
        memory = b.gep(self._memory, [b.mul(register(b, "tid.y"), warps)], source_etype=I64)  # of this group
        with b.if_then(b.icmp_signed("==", b.and_(self.lane, I64(WARP - 1)), I64(0))):
            place = b.gep(memory, [b.sdiv(self.lane, I64(WARP))], source_etype=I64)
            b.store(b.load_local(slot.pointer, kind), place)
        barrier(b)
        b.store_local(b.load(memory, kind), slot.pointer)
        with b.counted(I64(1), warps, I64(1)) as warp:
            other = loops._computed(b.load(b.gep(memory, [warp], source_etype=I64), kind), slot.dtype)
            b.store_local(loops._stored(both(loops._fetched(slot), other), slot.dtype), slot.pointer)
        barrier(b)
