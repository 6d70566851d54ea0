"""Loops of one thread of a GPU: iterations distributed over the grid, and statements in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.expressions import Cell
from ingot.codegen.llvm.lanes import Lane, count_of
from ingot.codegen.llvm.types import I64, is_float
from ingot.codegen.nvptx.grid import register
from ingot.codegen.nvptx.memory import ThreadMemory
from ingot.loops.ir import Apply, For, Let, Statement, Store, Update, Var
from ingot.loops.rewrite import within

_MOST_UNROLLED = 16


class ThreadLoops(ThreadMemory):
    """Emits statements for one thread of a grid."""

    def thread_of_grid(self) -> ir.Value:
        """The number of the thread among all of the grid."""
        b = self.b
        return b.add(b.mul(register(b, "ctaid.x"), self.threads_of_block()), self.thread_of_block())

    def thread_of_block(self) -> ir.Value:
        b = self.b
        return b.add(register(b, "tid.x"), b.mul(register(b, "tid.y"), register(b, "ntid.x")))

    def threads_of_block(self) -> ir.Value:
        return self.b.mul(register(self.b, "ntid.x"), register(self.b, "ntid.y"))

    def strided(self, total: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
        """The iterations of a thread: from its number on, in steps of the threads of the grid."""
        step = self.b.mul(self.threads_of_block(), register(self.b, "nctaid.x"))
        return self.thread_of_grid(), total, step

    @contextmanager
    def loop(self, low: ir.Value, high: ir.Value, step: ir.Value) -> Iterator[ir.Value]:
        """A loop from `low` while below `high`; what is emitted while it is open is its body."""
        with self.b.counted(low, high, step) as index:
            known = dict(self._known)
            yield index
            self._known = known

    def unflatten(self, chain: Sequence[Var], flat: ir.Value) -> None:
        """Bind the variables of nested loops to their values in iteration `flat` of the collapsed loop."""
        b = self.b
        for var in reversed(chain[1:]):
            size = self.frame.size(var.extent)
            self.variables[var] = b.srem(flat, size)
            flat = b.sdiv(flat, size)
        if chain:
            self.variables[chain[0]] = flat

    def in_lanes(self, loop: For, first: ir.Value, lanes: int) -> None:
        """The body of a loop for a vector that begins at `first`."""
        known, self._known = self._known, {}
        before, self.cells = self.cells, dict(self.cells)
        self.variables[loop.var] = first
        self._lane = Lane(loop.var, lanes, None)
        self.statements(loop.body)
        self._lane = None
        self.cells, self._known = before, known

    def statements(self, statements: Sequence[Statement]) -> None:
        """Statements one after another."""
        for statement in statements:
            if isinstance(statement, For):
                self._forget({inner.name for inner in within(statement.body) if isinstance(inner, Let | Update)})
            match statement:
                case For():
                    self._for(statement)
                case Let():
                    self._let(statement)
                case Update():
                    self._update(statement)
                case Store():
                    self._store(statement)

    def _for(self, loop: For) -> None:
        if not _unrolls(loop):
            with self.loop(I64(0), self.frame.size(loop.var.extent), I64(1)) as index:
                self.variables[loop.var] = index
                self.statements(loop.body)
            return
        assert isinstance(loop.var.extent, int)
        for number in range(loop.var.extent):
            known = dict(self._known)
            self.variables[loop.var] = I64(number)
            self.statements(loop.body)
            self._known = known

    def _let(self, statement: Let) -> None:
        dtype = statement.value.dtype
        value = self._in_lanes(self.scalar(statement.value))
        before = cell = self.cells.get(statement.name)
        if cell is None or cell.lanes != count_of(value):
            cell = self.cells[statement.name] = self._cell(dtype, count_of(value))
        self.b.store_local(self._stored(value, dtype), cell.pointer)
        if before is not None:
            self._forget((statement.name,))

    def _update(self, statement: Update) -> None:
        cell = self._cell_of(statement)
        after = self._updated(statement, cell)
        self.b.store_local(self._stored(after, cell.dtype), cell.pointer)
        self._forget((statement.name,))

    def _cell_of(self, statement: Update) -> Cell:
        """The memory of the local that a statement updates."""
        return self.cells[statement.name]

    def _updated(self, statement: Update, cell: Cell) -> ir.Value:
        b, value, before = self.b, statement.value, self._fetched(cell)
        is_product = isinstance(value, Apply) and value.function == "multiply"
        if is_product and statement.function == "add" and is_float(cell.dtype):
            assert isinstance(value, Apply)
            one, other = (self.splat(self.scalar(part), cell.lanes) for part in value.arguments)
            return scalars.multiply_add(b, one, other, before)
        return scalars.combined(b, statement.function, cell.dtype, [before, self.splat(self.scalar(value), cell.lanes)])


def _unrolls(loop: For) -> bool:
    """Whether a loop is short enough to be unrolled: those over windows are."""
    times = 1
    for inner in within((loop,)):
        if isinstance(inner, For):
            if not isinstance(inner.var.extent, int):
                return False
            times *= inner.var.extent
    return times <= _MOST_UNROLLED
