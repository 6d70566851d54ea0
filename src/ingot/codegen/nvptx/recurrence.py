"""Recurrences on a GPU: a loop of products with packed weights as one kernel that stays, blocks and all.

A *gang* of blocks has some rows of a cycle, and each of its blocks some columns, whose weights it holds in shared
memory as long as the kernel runs. In every iteration a block reads the rows, multiplies, and stores what its columns
have; then the gang meets. Rows do not depend on each other, and nor do cycles: gangs never meet. Rows that shared
memory has no room for go through the loop after those before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.share import larger, smaller, up
from ingot.codegen.llvm.types import F32, I32, I64, PTR, stack_slot, stored, vector
from ingot.codegen.nvptx.grid import barrier, exchanged, register
from ingot.codegen.nvptx.inline import ptx
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.codegen.nvptx.warp_tiles import DynamicShared
from ingot.dataclass import dataclass
from ingot.loops.ir import Buffer, Contraction, Cycle, Load, Recurrence, Scalar, extent
from ingot.loops.rewrite import parts, stores, values
from ingot.schedule.gpu import line_of
from ingot.schedule.gpu_recurrence import ARRIVALS

PARAMETERS = ("blocks", "row_groups", "rows_at_once")
"""The blocks of a gang, the gangs that share the rows of a cycle, and the rows that a gang has at once."""

BEGIN = "begin"
"""The function that sets counts of arrivals to zero."""

FOUR = 4
THREADS = 512


@dataclass(frozen=True, slots=True)
class RecurrentTile:
    """`sharing` threads share what is summed for `rows` rows of a unit; weights are `held` in shared memory, or not."""

    sharing: int
    rows: int
    held: bool = True


def arrivals_of(nest: Recurrence) -> Buffer:
    """The buffer that has the counts of arrivals."""
    first = nest.cycles[0].nests[0]
    assert isinstance(first, Contraction)
    return first.scratch[0]


def emit_begin(b: Builder, frame: Frame, nest: Recurrence) -> None:
    """Nobody has arrived."""
    loops = ThreadLoops(b, frame)
    counts = frame.buffers[arrivals_of(nest)]
    with loops.loop(*loops.strided(I64(ARRIVALS))) as number:
        b.store(I32(0), b.gep(counts, [number], source_etype=I32))


def emit_recurrence(b: Builder, frame: Frame, nest: Recurrence, tile: RecurrentTile) -> None:
    """All iterations of the cycle of this block's gang, for its rows."""
    blocks, groups, _ = _parameters()
    block = register(b, "ctaid.x")
    gang = b.sdiv(block, blocks)
    cycle_of_gang = b.sdiv(gang, groups)
    for number, cycle in enumerate(nest.cycles):
        with b.if_then(b.icmp_signed("==", cycle_of_gang, I64(number))):
            _GangBlock(b, frame, nest, cycle, tile, gang, b.srem(block, blocks)).emit()


def _parameters() -> list[ir.Value]:
    return [ir.Value(I64, f"%{name}") for name in PARAMETERS]


class _GangBlock(ThreadLoops):
    """A block of a gang: its rows, and its part of the columns of each product."""

    def __init__(
        self,
        b: Builder,
        frame: Frame,
        nest: Recurrence,
        cycle: Cycle,
        tile: RecurrentTile,
        gang: ir.Value,
        block: ir.Value,
    ) -> None:
        super().__init__(b, frame)
        self.blocks, self.groups, self.at_once = _parameters()
        self.cycle, self.tile, self.block = cycle, tile, block
        self.thread = self.thread_of_block()
        self.all_rows = frame.size(nest.rows)
        self.first_row: ir.Value = b.mul(b.srem(gang, self.groups), self.at_once)
        """The first of the rows that the gang has now, and how many these are."""
        self.rows: ir.Value = self.at_once
        self.products = [inner for inner in cycle.nests if isinstance(inner, Contraction)]
        assert len(self.products) == len(cycle.nests)
        self.written = {buffer for pair in cycle.swapped for buffer in pair}
        self.written |= {store.buffer for product in self.products for store in stores(product.body)}
        memory = DynamicShared(b.module)
        at: ir.Value = I64(0)
        self.weights: list[ir.Value] = []
        for product in self.products:
            self.weights.append(b.gep(memory, [at], source_etype=F32))
            if tile.held:
                at = b.add(at, b.mul(b.mul(self._share(product), I64(product.groups)), self._pitch(product)))
        self.states = b.gep(memory, [at], source_etype=F32)
        self.arrivals = b.gep(frame.buffers[arrivals_of(nest)], [gang], source_etype=I32)
        self.arrived = stack_slot(b, I32)

    def _share(self, product: Contraction) -> ir.Value:
        """The units of a block, at most."""
        return up(self.b, self.frame.size(extent(product.n)), self.blocks)

    def _pitch(self, product: Contraction) -> ir.Value:
        """The elements of a line of what is summed, a multiple of four."""
        return self.b.mul(up(self.b, self.frame.size(extent(product.k)), I64(FOUR)), I64(FOUR))

    def _units(self, product: Contraction) -> tuple[ir.Value, ir.Value]:
        """The first unit of this block, and how many it has."""
        b, share = self.b, self._share(product)
        first = b.mul(self.block, share)
        return first, larger(b, smaller(b, b.sub(self.frame.size(extent(product.n)), first), share), I64(0))

    def emit(self) -> None:
        b = self.b
        b.store(I32(0), self.arrived)
        if self.tile.held:
            for product, memory in zip(self.products, self.weights, strict=True):
                self._hold(product, memory)
        with self.loop(self.first_row, self.all_rows, b.mul(self.groups, self.at_once)) as first:
            self.first_row, self.rows = first, smaller(b, b.sub(self.all_rows, first), self.at_once)
            self._iterate()

    def _iterate(self) -> None:
        """All iterations for the rows that the gang has now."""
        b, frame = self.b, self.frame
        cells: dict[Buffer, ir.Value] = {}
        for pair in self.cycle.swapped:
            for buffer in pair:
                cells[buffer] = stack_slot(b, PTR)
                b.store(frame.buffers[buffer], cells[buffer])
        with self.loop(I64(0), frame.size(self.cycle.time.extent), I64(1)) as time:
            self.variables[self.cycle.time] = time
            current = {buffer: b.load(cell, PTR) for buffer, cell in cells.items()}
            self.frame = replace(frame, buffers={**frame.buffers, **current})
            for product, memory in zip(self.products, self.weights, strict=True):
                self._read_rows(product)
                barrier(b)
                self._multiply(product, memory)
                self._meet()
            for one, other in self.cycle.swapped:
                b.store(current[other], cells[one])
                b.store(current[one], cells[other])
        self.frame = frame
        self._copy_back(cells)

    def _meet(self) -> None:
        """Wait for the blocks of the gang: what they stored before can be read after."""
        b = self.b
        barrier(b)
        with b.if_then(b.icmp_signed(">", self.blocks, I64(1))):
            wanted = b.add(b.load(self.arrived, I32), b.trunc(self.blocks, I32))
            b.store(wanted, self.arrived)
            with b.if_then(b.icmp_signed("==", self.thread, I64(0))):
                ptx(
                    b,
                    "{ .reg .pred fewer; .reg .u32 there; fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [$0], 1; "
                    "again: ld.acquire.gpu.global.u32 there, [$0]; setp.lt.u32 fewer, there, $1; @fewer bra again; "
                    "fence.acq_rel.gpu; }",
                    [self.arrivals, wanted],
                )
            barrier(b)

    def _hold(self, product: Contraction, memory: ir.Value) -> None:
        """Put the weights of the block's units in shared memory: for each unit and group a line of what is summed."""
        b, size = self.b, self.frame.size
        first, count = self._units(product)
        share, pitch, depth = self._share(product), self._pitch(product), size(extent(product.k))
        total = b.mul(b.mul(share, I64(product.groups)), pitch)
        with self.loop(self.thread, total, I64(THREADS)) as place:
            unit, rest = b.srem(place, share), b.sdiv(place, share)
            group, k = b.srem(rest, I64(product.groups)), b.sdiv(rest, I64(product.groups))
            cell = stack_slot(b, F32)
            b.store(F32(0.0), cell)
            with b.if_then(b.and_(b.icmp_signed("<", unit, count), b.icmp_signed("<", k, depth))):
                b.store(self._weight(product, b.add(first, unit), group, k), cell)
            line = b.add(b.mul(unit, I64(product.groups)), group)
            b.store(b.load(cell, F32), b.gep(memory, [b.add(b.mul(line, pitch), k)], source_etype=F32))

    def _weight(self, product: Contraction, unit: ir.Value, group: ir.Value, k: ir.Value) -> ir.Value:
        b, units = self.b, extent(product.n)
        line = self.frame.size(line_of(units * product.groups, product.rhs.dtype))
        at = b.add(b.mul(k, line), b.add(b.mul(group, self.frame.size(units)), unit))
        return b.load(b.gep(self.frame.buffers[product.rhs.buffer], [at], source_etype=F32), F32)

    def _read_rows(self, product: Contraction) -> None:
        """Put the left operand of the gang's rows in shared memory."""
        b, pitch, depth = self.b, self._pitch(product), self.frame.size(extent(product.k))
        last = b.sub(self.rows, I64(1))
        threads = smaller(b, pitch, I64(THREADS))
        at_once = b.sdiv(I64(THREADS), threads)
        first, line = b.srem(self.thread, threads), b.sdiv(self.thread, threads)
        end = b.select(b.icmp_signed("<", line, at_once), pitch, I64(0))
        with self.loop(first, end, threads) as k, self.loop(line, self.rows, b.mul(at_once, I64(FOUR))) as start:
            elements = []
            for number in range(FOUR):  # all are under way before the first one is stored
                row = smaller(b, b.add(start, b.mul(at_once, I64(number))), last)
                self.unflatten(product.m, b.add(self.first_row, row))
                self.unflatten(product.k, smaller(b, k, b.sub(depth, I64(1))))
                self._known = {}
                elements.append((row, self.scalar(product.lhs)))
            self._known = {}
            inside = b.icmp_signed("<", k, depth)
            for row, element in elements:
                place = b.gep(self.states, [b.add(b.mul(row, pitch), k)], source_etype=F32)
                b.store(b.select(inside, element, F32(0.0)), place)

    def _multiply(self, product: Contraction, memory: ir.Value) -> None:
        """The sums of the block's units, for all rows, and their epilogue. All threads of a warp go through it."""
        b, tile = self.b, self.tile
        first, units = self._units(product)
        pitch = self._pitch(product)
        lane, own = b.srem(self.thread, I64(tile.sharing)), b.sdiv(self.thread, I64(tile.sharing))
        items = b.mul(up(b, self.rows, I64(tile.rows)), units)
        with self.loop(I64(0), items, I64(THREADS // tile.sharing)) as begin:
            item = b.add(begin, own)
            is_item = b.icmp_signed("<", item, items)
            item = smaller(b, item, b.sub(items, I64(1)))
            unit, row = b.srem(item, units), b.mul(b.sdiv(item, units), I64(tile.rows))
            sums = [[stack_slot(b, F32) for _ in range(product.groups)] for _ in range(tile.rows)]
            for cell in (cell for line in sums for cell in line):
                b.store(F32(0.0), cell)
            own_row = b.add(row, lane)
            known = self._read_ahead(product, smaller(b, own_row, b.sub(self.rows, I64(1))), b.add(first, unit))
            with self.loop(b.mul(lane, I64(FOUR)), pitch, I64(FOUR * tile.sharing)) as k:
                self._add_products(product, memory, first, unit, row, k, pitch, sums)
            totals = [[self._shared_sum(b.load(cell, F32)) for cell in line] for line in sums]
            chosen = totals[0]
            for number, line in enumerate(totals[1:], 1):
                is_own = b.icmp_signed("==", lane, I64(number))
                chosen = [b.select(is_own, x, y) for x, y in zip(line, chosen, strict=True)]
            inside = b.and_(b.icmp_signed("<", lane, I64(tile.rows)), b.icmp_signed("<", own_row, self.rows))
            with b.if_then(b.and_(is_item, inside)):
                self._end(product, b.add(self.first_row, own_row), b.add(first, unit), chosen, known)

    def _add_products(
        self,
        product: Contraction,
        memory: ir.Value,
        first: ir.Value,
        unit: ir.Value,
        row: ir.Value,
        k: ir.Value,
        pitch: ir.Value,
        sums: Sequence[Sequence[ir.Value]],
    ) -> None:
        """Add four products to every sum."""
        b = self.b
        last = b.sub(self.rows, I64(1))
        left = [
            self._four(b.gep(self.states, [b.add(b.mul(line, pitch), k)], source_etype=F32))
            for line in (smaller(b, b.add(row, I64(number)), last) for number in range(self.tile.rows))
        ]
        for group in range(product.groups):
            if self.tile.held:
                line = b.add(b.mul(unit, I64(product.groups)), I64(group))
                right = self._four(b.gep(memory, [b.add(b.mul(line, pitch), k)], source_etype=F32))
            else:
                depth = self.frame.size(extent(product.k))
                right = []
                for place in (b.add(k, I64(number)) for number in range(FOUR)):
                    last_or_own = smaller(b, place, b.sub(depth, I64(1)))
                    weight = self._weight(product, b.add(first, unit), I64(group), last_or_own)
                    right.append(b.select(b.icmp_signed("<", place, depth), weight, F32(0.0)))
            for line_of_left, cells in zip(left, sums, strict=True):
                for x, y in zip(line_of_left, right, strict=True):
                    b.store(scalars.multiply_add(b, x, y, b.load(cells[group], F32)), cells[group])

    def _four(self, address: ir.Value) -> list[ir.Value]:
        four = self.b.load(address, vector(F32, FOUR), 16)
        return [self.b.extract_element(four, I32(number)) for number in range(FOUR)]

    def _shared_sum(self, value: ir.Value) -> ir.Value:
        distance = 1
        while distance < self.tile.sharing:
            value = self.b.fadd(value, exchanged(self.b, value, I32(distance)))
            distance *= 2
        return value

    def _read_ahead(self, product: Contraction, row: ir.Value, unit: ir.Value) -> dict[int, tuple[Scalar, ir.Value]]:
        """What an epilogue reads that the loop does not write, while its sums are yet to be made."""
        self.unflatten(product.m, self.b.add(self.first_row, row))
        self.unflatten(product.n, unit)
        self._known = {}
        for value in parts(list(values(product.body))):
            if isinstance(value, Load) and value.buffer not in self.written and not value.where:
                self.scalar(value)
        known, self._known = self._known, {}
        return known

    def _end(
        self,
        product: Contraction,
        row: ir.Value,
        unit: ir.Value,
        sums: Sequence[ir.Value],
        known: Mapping[int, tuple[Scalar, ir.Value]],
    ) -> None:
        """The epilogue of the sums of a unit."""
        self.unflatten(product.m, row)
        self.unflatten(product.n, unit)
        self._known = dict(known)
        self.locals = dict(zip(product.sums, sums, strict=True))
        self.statements(product.body)
        self._known = {}

    def _copy_back(self, cells: Mapping[Buffer, ir.Value]) -> None:
        """Copy the rows of states to where they began, if they ended elsewhere: after an odd number of iterations."""
        b, size = self.b, self.frame.size
        odd = b.and_(size(self.cycle.time.extent), I64(1))
        start = b.add(b.mul(self.block, I64(THREADS)), self.thread)
        with b.if_then(b.icmp_signed("!=", odd, I64(0))):
            for (one, _), line in zip(self.cycle.swapped, self.cycle.lines, strict=True):
                kind, source, target = stored(one.dtype), b.load(cells[one], PTR), self.frame.buffers[one]
                begin, count = (b.mul(rows, size(line)) for rows in (self.first_row, self.rows))
                with self.loop(start, count, b.mul(self.blocks, I64(THREADS))) as place:
                    at = b.add(begin, place)
                    element = b.load(b.gep(source, [at], source_etype=kind), kind)
                    b.store(element, b.gep(target, [at], source_etype=kind))
