"""Rows on a GPU: each is computed by a group of threads, which reduce it together.

A group has a power of two of threads, `ntid.x` of them, and a block `ntid.y` groups. Every thread of a block takes the
same way through barriers and shuffles: a group without a row computes the last one, and stores nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.expressions import Cell
from ingot.codegen.llvm.types import I64
from ingot.codegen.nvptx.grid import barrier, register
from ingot.codegen.nvptx.group import Group
from ingot.codegen.nvptx.loops import ThreadLoops
from ingot.codegen.nvptx.memory import is_short, lanes_along
from ingot.loops.ir import For, Kind, Load, Statement, Store, Update, Var, extent
from ingot.loops.nest_shape import has_vectors
from ingot.loops.rewrite import parts, stores, values, within
from ingot.prim.functions import identity

HELD = 4
"""Vectors of a row that a thread holds in registers."""

SEVERAL = 4
_ELEMENTS = 16
"""Vectors that a thread loads at once of a row that it does not hold, and their elements, at most."""


class RowLoops(ThreadLoops):
    """Emits loops over rows, in which loops in vectors are shared by the threads of a group."""

    def __init__(self, b: Builder, frame: Frame) -> None:
        super().__init__(b, frame)
        self._group: Group | None = None
        self._sums: dict[str, dict[int, Cell]] = {}
        self._rereads = False
        self._is_held = False
        self._inside_row: ir.Value | None = None

    def rows_of(self, chain: Sequence[Var], body: Sequence[Statement]) -> None:
        """A row for each group of threads."""
        b = self.b
        group = self._group = Group(b)
        self._rereads = not {store.buffer for store in stores(body)}.isdisjoint(
            part.buffer for part in parts(list(values(body))) if isinstance(part, Load)
        )
        rows, groups = self.frame.size(extent(chain)), register(b, "ntid.y")
        first = b.mul(register(b, "ctaid.x"), groups)
        with self.loop(first, rows, b.mul(register(b, "nctaid.x"), groups)) as base:
            row = b.add(base, register(b, "tid.y"))
            self.active = b.icmp_signed("<", row, rows)
            self.unflatten(chain, b.select(self.active, row, b.sub(rows, I64(1))))
            group.active = b.and_(self.active, b.icmp_signed("==", group.lane, I64(0)))
            held = held_loop(body)
            if held is None:
                self.statements(body)
            else:
                self._held_or_not(body, *held)
        self._group = self.active = None

    def _held_or_not(self, body: Sequence[Statement], loop: For, lanes: int) -> None:
        """A row that each thread has few vectors of is read once: what one pass over it computes, the next one has.

        LLVM sees to that, once loops are unrolled and nothing in them is conditional.
        """
        b, group = self.b, self._group
        assert group is not None
        size = self.frame.size(loop.var.extent)
        fits = b.icmp_signed("<=", size, b.mul(group.threads, I64(lanes * HELD)))
        whole = b.icmp_signed("==", b.and_(size, I64(lanes - 1)), I64(0))
        held = b.and_(b.and_(fits, whole), b.icmp_signed(">", size, I64(0)))
        for vectors in within(body):
            if isinstance(vectors, For) and vectors.kind is Kind.VECTOR:
                held = b.and_(held, self.is_aligned(vectors.body, vectors.var, lanes))
        known, cells = dict(self._known), dict(self.cells)
        with b.if_else(held) as (then, otherwise):
            with then:
                self._is_held = True
                self.statements(body)
                self._is_held = False
                self._known, self.cells = known, cells
            with otherwise:
                self.statements(body)

    def _reduce(self, loop: For) -> None:
        """A loop of a group: its iterations divided among the threads, and then what they have reduced, together."""
        group = self._group
        assert group is not None
        updated = {
            inner.name: inner.function
            for inner in within((loop,))
            if isinstance(inner, Update) and inner.name in self.cells
        }
        lanes = min(
            lanes_along(inner.body, inner.var)
            for inner in within((loop,))
            if isinstance(inner, For) and inner.kind is Kind.VECTOR
        )
        self._sums = {
            name: {count: self._accumulator(name, function, count) for count in {1, lanes}}
            for name, function in updated.items()
        }
        self._divided(loop, lanes)
        sums, self._sums = self._sums, {}
        for name, function in updated.items():
            cell = self.cells[name]

            def both(x: ir.Value, y: ir.Value, function: str = function, cell: Cell = cell) -> ir.Value:
                return scalars.combined(self.b, function, cell.dtype, [x, y])

            total = self._fetched(sums[name][1])
            if lanes > 1:
                total = both(self.across(self._fetched(sums[name][lanes]), both), total)
            total = both(self._fetched(cell), group.together(self, total, both, cell))
            self.b.store_local(self._stored(total, cell.dtype), cell.pointer)
        self._forget(updated)
        if self._rereads:  # other threads may read what was stored
            barrier(self.b)

    def _accumulator(self, name: str, function: str, lanes: int) -> Cell:
        dtype = self.cells[name].dtype
        cell = self._cell(dtype, lanes)
        start = scalars.number(dtype, identity(function, dtype).item(), lanes)
        self.b.store_local(self._stored(start, dtype), cell.pointer)
        return cell

    def _divided(self, loop: For, lanes: int) -> None:
        """The loops down to one in vectors, whose iterations the threads of a group share."""
        b, group = self.b, self._group
        assert group is not None
        size = self.frame.size(loop.var.extent)
        if loop.kind is not Kind.VECTOR:
            with self.loop(I64(0), size, I64(1)) as index:
                self.variables[loop.var] = index
                for statement in loop.body:
                    if isinstance(statement, For) and has_vectors((statement,)):
                        self._divided(statement, lanes)
                    else:
                        self.statements((statement,))
            return
        self._group = None
        start: ir.Value = I64(0)
        count = min(SEVERAL, _ELEMENTS // lanes) if is_short(loop.body) else 1
        if self._is_held:
            self._unrolled(loop, lanes, group)
            self._group = group
            return
        if lanes > 1:
            aligned = self.is_aligned(loop.body, loop.var, lanes)
            start = b.select(aligned, b.mul(b.sdiv(size, I64(lanes)), I64(lanes)), I64(0))
            low, step = b.mul(group.lane, I64(lanes)), b.mul(group.threads, I64(lanes))
            self._several(low, start, step, count, lambda first: self.in_lanes(loop, first, lanes))

        def element(index: ir.Value) -> None:
            self.variables[loop.var] = index
            self.statements(loop.body)

        self._several(b.add(start, group.lane), size, group.threads, count, element)
        self._group = group

    def _several(
        self, low: ir.Value, high: ir.Value, step: ir.Value, count: int, body: Callable[[ir.Value], None]
    ) -> None:
        """A loop from `low` by `step` while below `high`, several iterations at once, if short: so are their loads."""
        b = self.b
        if count == 1:
            with self.loop(low, high, step) as index:
                body(index)
            return
        with self.loop(low, high, b.mul(step, I64(count))) as first:
            last = b.add(first, b.mul(step, I64(count - 1)))
            known = dict(self._known)
            with b.if_else(b.icmp_signed("<", last, high)) as (then, otherwise):
                with then:
                    for place in range(count):
                        self._known = dict(known)
                        body(b.add(first, b.mul(step, I64(place))))
                    self._known = dict(known)
                with otherwise, self.loop(first, high, step) as index:
                    body(index)

    def _unrolled(self, loop: For, lanes: int, group: Group) -> None:
        """The vectors of a row that a thread holds; in the place of those that are too many, the first is computed."""
        b, size, active = self.b, self.frame.size(loop.var.extent), self.active
        assert active is not None
        for number in range(HELD):
            place = b.mul(b.add(group.lane, b.mul(group.threads, I64(number))), I64(lanes))
            self._inside_row = inside = b.icmp_signed("<", place, size)
            self.active = b.and_(active, inside)
            self.in_lanes(loop, b.select(inside, place, I64(0)), lanes)
        self.active, self._inside_row = active, None

    # --- statements

    def _for(self, loop: For) -> None:
        if self._group is not None and has_vectors((loop,)):
            self._reduce(loop)
        else:
            super()._for(loop)

    def _store(self, statement: Store) -> None:
        every, group = self.active, self._group
        if group is not None:  # what all of its threads know, one of them stores
            self.active = group.active
        super()._store(statement)
        self.active = every

    def _cell_of(self, statement: Update) -> Cell:
        cells = self._sums.get(statement.name)
        if cells is None:
            return super()._cell_of(statement)
        return cells[1 if self._lane is None else self._lane.count]

    def _updated(self, statement: Update, cell: Cell) -> ir.Value:
        if self._inside_row is None or cell.lanes == 1:
            return super()._updated(statement, cell)
        before = self._fetched(cell)
        neutral = scalars.number(cell.dtype, identity(statement.function, cell.dtype).item(), cell.lanes)
        own = self.splat(self.scalar(statement.value), cell.lanes)
        masked = self.b.select(self._inside_row, own, neutral)
        return scalars.combined(self.b, statement.function, cell.dtype, [before, masked])


def held_loop(body: Sequence[Statement]) -> tuple[For, int] | None:
    """One of the loops in vectors of a row, and the lanes of all of them, if they have one extent and are read again.

    None where a loop is inside of another, or nothing would be saved.
    """
    loops = [statement for statement in body if isinstance(statement, For)]
    if len(loops) < 2 or any(loop.kind is not Kind.VECTOR or has_loops(loop.body) for loop in loops):
        return None
    lanes = {lanes_along(loop.body, loop.var) for loop in loops}
    if len(lanes) != 1 or lanes == {1} or len({loop.var.extent for loop in loops}) != 1:
        return None
    return loops[0], lanes.pop()


def has_loops(body: Sequence[Statement]) -> bool:
    return any(isinstance(statement, For) for statement in body)
