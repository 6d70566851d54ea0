"""Loops in LLVM: statements of the loop IR, the outermost loops parallel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame, NestEmitter
from ingot.codegen.llvm.expressions import Cell
from ingot.codegen.llvm.lanes import count_of
from ingot.codegen.llvm.share import Share, Sharing, up
from ingot.codegen.llvm.types import I64, is_float, stack_slot
from ingot.codegen.llvm.vectors import Vectors, invariants
from ingot.codegen.llvm.work import rounds_of, weight_of
from ingot.loops.ir import Apply, For, Index, Kind, Let, Load, Scalar, Statement, Store, Update, Var, extent
from ingot.loops.nest_shape import is_vector, parallel_chain
from ingot.loops.rewrite import parts, within
from ingot.prim.functions import identity
from ingot.schedule.work import LOOP_GRAIN, MOST_JAMMED, MOST_UNROLLED

_MOST_WIDTH = 8
"""Bytes of the widest element."""


class Loops(Vectors):
    """Emits statements at a builder; `variables` are the values of loop variables around them."""

    def __init__(self, b: Builder, frame: Frame) -> None:
        super().__init__(b, frame)
        self._jammed: list[tuple[dict[Var, ir.Value], dict[str, Cell]]] = []
        self._watched = False
        self._invariants: dict[int, tuple[Statement, Sequence[Scalar]]] = {}

    def nest(self, statements: Sequence[Statement]) -> None:
        """Statements of a kernel: the outermost loops divided among threads."""
        b = self.b
        chain, body = parallel_chain(statements)
        if chain:
            self.rows(chain, body)
        elif is_vector(body):
            assert isinstance(body[0], For)
            self._vector(body[0], shared=True)
        else:
            with b.if_then(b.icmp_signed("==", self.frame.piece, I64(0))):
                self._watched = True
                self.statements(body)
                self._watched = False

    def rows(self, chain: Sequence[Var], body: Sequence[Statement], before: Sequence[Statement] = ()) -> None:
        """Statements for the iterations of a piece of nested loops; `before` are those that come first, once."""
        b = self.b
        low, high = self._part(self.frame.size(extent(chain)))
        with b.if_then(b.icmp_signed("<", low, high)):
            self.statements(before)
            self._rows(chain, low, high, body)

    def _rows(self, chain: Sequence[Var], low: ir.Value, high: ir.Value, body: Sequence[Statement]) -> None:
        """Statements for iterations `low` to `high` of nested loops, collapsed into one."""
        b = self.b
        self.unflatten(chain, low)
        cells = {var: stack_slot(b, I64) for var in chain}
        for var, cell in cells.items():
            b.store(self.variables[var], cell)
        with self.loop(low, high, 1):
            for var, cell in cells.items():
                self.variables[var] = b.load(cell, typ=I64)
            self.statements(body)
            carry: ir.Value = I64(1)
            for var in reversed(chain):
                raised = b.add(self.variables[var], carry)
                full = b.icmp_signed("==", raised, self.frame.size(var.extent))
                b.store(b.select(full, I64(0), raised), cells[var])
                carry = b.zext(full, I64)

    def unflatten(self, chain: Sequence[Var], flat: ir.Value) -> None:
        """Bind the variables of nested loops to their values in iteration `flat` of the collapsed loop."""
        b = self.b
        if not chain:
            return
        for var in reversed(chain[1:]):
            extent = self.frame.size(var.extent)
            self.variables[var] = b.srem(flat, extent)
            flat = b.sdiv(flat, extent)
        self.variables[chain[0]] = flat

    def advance(self, chain: Sequence[Var], by: ir.Value) -> None:
        """Bind the variables of nested loops to their values in the next iteration, or leave them, if `by` is zero.

        A division for each of them takes longer than the sums of a short row.
        """
        b = self.b
        if not chain:
            return
        for var in reversed(chain[1:]):
            moved = b.add(self.variables[var], by)
            over = b.icmp_signed("==", moved, self.frame.size(var.extent))
            self.variables[var] = b.select(over, I64(0), moved)
            by = b.zext(over, I64)
        self.variables[chain[0]] = b.add(self.variables[chain[0]], by)

    def start_of(self, index: Index, without: Sequence[Var]) -> ir.Value:
        """An index without the terms of variables whose loops have not begun."""
        b, total = self.b, self.frame.size(index.offset)
        for term, factor in index.terms:
            if isinstance(term, Var) and term not in without:
                total = b.add(total, b.mul(self.variables[term], self.frame.size(factor)))
        return total

    def statements(self, statements: Sequence[Statement]) -> None:
        """Statements one after another."""
        for statement in statements if self._lane is None or self._jammed else self._in_turns(statements):
            if isinstance(statement, For):
                self._forget({inner.name for inner in within(statement.body) if isinstance(inner, Let | Update)})
            match statement:
                case For() if statement.kind.has_lanes and self._lane is None:
                    self._vector(statement, shared=False)
                case For(kind=Kind.JAM):
                    self._jam(statement)
                case For() if self._unrolls(statement):
                    assert isinstance(statement.var.extent, int)
                    for number in range(statement.var.extent):
                        known = dict(self._known)
                        self.variables[statement.var] = I64(number)
                        self.statements(statement.body)
                        self._known = known
                case For():
                    watched, self._watched = self._watched, False
                    with self.loop(I64(0), self.frame.size(statement.var.extent), 1, watched) as index:
                        self.variables[statement.var] = index
                        self.statements(statement.body)
                    self._watched = watched
                case Let() | Update() | Store() if self._jammed:
                    self._for_each_jammed(statement)
                case Let():
                    self._let(statement)
                case Update():
                    self._update(statement)
                case Store():
                    self._store(statement)

    def _in_turns(self, statements: Sequence[Statement]) -> Iterator[Statement]:
        """Statements without the stores of neighbours, in vectors whose lanes are as far apart, which are emitted."""
        place = 0
        while place < len(statements):
            group = neighbours(statements[place:])
            if len(group) > 1 and self._is_apart(group[0], len(group)):
                self._store_interleaved(group[0], [self._lanes_of(store) for store in group])
                place += len(group)
            else:
                yield statements[place]
                place += 1

    def _unrolls(self, statement: For) -> bool:
        """Whether a loop is short enough to be unrolled: those over windows are."""
        if self._lane is None or self.frame.compact or not isinstance(statement.var.extent, int):
            return False
        times = max(1, len(self._jammed))
        for inner in within((statement,)):
            if isinstance(inner, For):
                if not isinstance(inner.var.extent, int):
                    return False
                times *= inner.var.extent
        return times <= (MOST_JAMMED if self._jammed else MOST_UNROLLED)

    def _jam(self, statement: For) -> None:
        """Unroll and jam: each statement runs for all values of the variable before the next statement does."""
        assert isinstance(statement.var.extent, int)
        before = self._jammed
        around = before or [({}, {})]
        self._jammed = [
            ({**variables, statement.var: I64(number)}, dict(cells))
            for variables, cells in around
            for number in range(statement.var.extent)
        ]
        block, self._block = self._block, None if before else statement.var
        self.statements(statement.body)
        self._jammed, self._block = before, block

    def _for_each_jammed(self, statement: Let | Update | Store) -> None:
        """A statement for all values of the variables of jammed loops, each with its own locals."""
        jammed, self._jammed = self._jammed, []
        self._turned = {}
        before = self.cells
        for part in self._invariants_of(statement, *jammed[0]):
            self.scalar(part)
        if isinstance(statement, Store) and self._interleaves(statement):
            values = []
            for variables, cells in jammed:
                known = dict(self._known)
                self.variables.update(variables)
                self.cells = {**before, **cells}
                values.append(self._lanes_of(statement))
                self._known = known
            self._store_interleaved(statement, values)
            self.cells, self._jammed = before, jammed
            return
        for variables, cells in jammed:
            known = dict(self._known)
            self.variables.update(variables)
            self.cells = {**before, **cells}
            self.statements((statement,))
            cells.update({name: cell for name, cell in self.cells.items() if before.get(name) is not cell})
            self._known = known
        self.cells, self._jammed = before, jammed

    def _invariants_of(
        self, statement: Let | Update | Store, variables: Mapping[Var, ir.Value], cells: Mapping[str, Cell]
    ) -> Sequence[Scalar]:
        """What a statement loads and computes that is the same in all jammed iterations."""
        known = self._invariants.get(id(statement))
        if known is None:
            changed = cells.keys() if isinstance(statement, Store) else {*cells, statement.name}
            own = invariants((statement.value,), Apply | Load, variables, changed)
            known = self._invariants[id(statement)] = (statement, own)
        return known[1]

    def _let(self, statement: Let) -> None:
        """`local = value`."""
        dtype = statement.value.dtype
        lanes = self._lane.count if self._lane else 1
        before = cell = self.cells.get(statement.name)
        if cell is None or cell.lanes != lanes:
            cell = self.cells[statement.name] = self._cell(dtype, lanes)
        self.b.store_local(self._stored(self._in_lanes(self.scalar(statement.value)), dtype), cell.pointer)
        if before is not None:
            self._forget((statement.name,))

    def _update(self, statement: Update) -> None:
        """`local = f(local, value)`; lanes that are masked off keep what they have."""
        cell = self.cells[statement.name]
        if not self._fuses(statement, cell):
            self._apply_update(statement, cell)
        self._forget((statement.name,))

    def _apply_update(self, statement: Update, cell: Cell) -> None:
        value = self.scalar(statement.value)
        if cell.lanes > 1:
            value = self._in_lanes(value)
            if self._lane is not None and self._lane.mask is not None and statement.name in self._reduced:
                neutral = identity(statement.function, cell.dtype).item()
                value = self.b.select(self._lane.mask, value, scalars.number(cell.dtype, neutral, cell.lanes))
        before = self._fetched(cell)
        after = scalars.combined(self.b, statement.function, cell.dtype, [before, value])
        self.b.store_local(self._stored(after, cell.dtype), cell.pointer)

    def _fuses(self, statement: Update, cell: Cell) -> bool:
        """Emit `local += a * b` as one fused multiply-add, if it may be; not in a reduction under a mask."""
        value = statement.value
        if statement.function != "add" or not isinstance(value, Apply) or value.function != "multiply":
            return False
        masked = self._lane is not None and self._lane.mask is not None
        if not is_float(cell.dtype) or (masked and statement.name in self._reduced):
            return False
        a, b, total = self._alike(*map(self.scalar, value.arguments), self._fetched(cell))
        if count_of(total) != cell.lanes:
            return False
        self.b.store_local(scalars.multiply_add(self.b, a, b, total), cell.pointer)
        return True


def neighbours(statements: Sequence[Statement]) -> list[Store]:
    """The stores that statements begin with, of which each stores at the next place and none reads what they store."""
    group: list[Store] = []
    for statement in statements:
        if not isinstance(statement, Store) or any(
            isinstance(part, Load) and part.buffer is statement.buffer for part in parts([statement.value])
        ):
            break
        if group:
            first, index = group[0], statement.index
            if statement.buffer is not first.buffer or frozenset(index.terms) != frozenset(first.index.terms):
                break
            if index.offset != first.index.offset + len(group):
                break
        group.append(statement)
    return group


def _emit(b: Builder, frame: Frame, statements: Sequence[Statement]) -> None:
    Loops(b, frame).nest(statements)


def _share(b: Builder, sharing: Sharing, statements: Sequence[Statement]) -> Share:
    """How statements are divided among threads: by rows, by vectors if there is but one loop, or not at all."""
    chain, body = parallel_chain(statements)
    return share_of(b, sharing, chain, body)


def share_of(b: Builder, sharing: Sharing, chain: Sequence[Var], body: Sequence[Statement]) -> Share:
    """How the statements in nested parallel loops are divided among threads."""
    size = sharing.size
    parts: ir.Value = I64(1)
    if chain:
        parts = size(extent(chain))
    elif is_vector(body):
        assert isinstance(body[0], For)
        parts = up(b, size(body[0].var.extent), I64(sharing.target.lanes(_MOST_WIDTH)))
    rounds = size(extent(chain) * rounds_of(body))
    return Share(b.sdiv(rounds, I64(max(1, LOOP_GRAIN // weight_of(body)))), parts)


EMITTER = NestEmitter(_emit, _share)
