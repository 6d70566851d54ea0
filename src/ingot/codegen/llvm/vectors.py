"""Vectorised loops in LLVM: whole SIMD vectors, several at a time in reductions, and the rest under a mask."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import UnionType

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.byte_table import SHORTEST, byte_table_of
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.expressions import Cell
from ingot.codegen.llvm.first_place import first_place_of
from ingot.codegen.llvm.lane_count import lane_count
from ingot.codegen.llvm.lanes import WORDS_IN_VECTOR, Lane
from ingot.codegen.llvm.marked_row import marked_row_of
from ingot.codegen.llvm.memory import Preheader
from ingot.codegen.llvm.share import part_of, smaller, up
from ingot.codegen.llvm.special_rows import SpecialRows
from ingot.codegen.llvm.types import I1, I8, I64, lane_numbers, stored, width
from ingot.codegen.llvm.work import operations_of
from ingot.dtypes import DType
from ingot.loops.ir import (
    Apply,
    CheckedIndex,
    For,
    Index,
    Kind,
    Let,
    Load,
    Local,
    Scalar,
    Statement,
    Store,
    Update,
    Var,
)
from ingot.loops.rewrite import parts, stores, values, within
from ingot.loops.walk import Node, children
from ingot.prim.functions import identity
from ingot.schedule.copies import WORD
from ingot.schedule.work import HEAVY_FOR_UNROLLING

_OF_BITS = {"and": "and", "minimum": "and", "or": "or", "maximum": "or"}
"""The reductions of bools that are one comparison of all bits of a mask."""


class Vectors(SpecialRows):
    """Emits vectorised loops."""

    def __init__(self, b: Builder, frame: Frame) -> None:
        super().__init__(b, frame)
        self._reduced: frozenset[str] = frozenset()

    def _part(self, total: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The begin and end of this piece, of so many parts."""
        return part_of(self.b, total, self.frame.piece, self.frame.pieces)

    def in_lanes(self, statements: Sequence[Statement], lane: Lane, first: ir.Value) -> None:
        """Statements once, for the lanes of a vector that begins at `first` of its variable."""
        self._known = {}
        self._lane = lane
        self.variables[lane.var] = first
        self.statements(statements)
        self._lane = None
        self._known = {}

    def value_in_lanes(self, value: Scalar, lane: Lane, first: ir.Value) -> ir.Value:
        """An expression for the lanes of a vector that begins at `first` of its variable."""
        self._known = {}
        self._lane = lane
        self.variables[lane.var] = first
        result = self._in_lanes(self.scalar(value))
        self._lane = None
        self._known = {}
        return result

    def _vector(self, statement: For, shared: bool) -> None:
        """Vectorise a loop: whole vectors, several at a time in a reduction, and the rest under a mask.

        Where a mask costs nothing, all vectors of a long body have one, so that its code is there once.
        """
        b = self.b
        marked = marked_row_of(statement)
        statement = statement if marked is None else marked.filling
        own = {inner.name for inner in statement.body if isinstance(inner, Let)}
        totals = [inner.name for inner in statement.body if isinstance(inner, Update) and inner.name not in own]
        reduced = [self.cells[name].dtype for name in totals if name in self.cells]
        lanes = lane_count(statement, reduced, self.frame.target)
        length = self.frame.size(statement.var.extent)
        low: ir.Value = I64(0)
        high = length
        if shared:
            first, last = self._part(up(b, length, I64(lanes)))
            low, end = b.mul(first, I64(lanes)), b.mul(last, I64(lanes))
            high = b.select(b.icmp_signed("<", end, length), end, length)
        if not any(isinstance(part, CheckedIndex) for part in parts([*_own_values(statement)])):
            self._hoist(statement)
            self._vector_between(statement, low, high, lanes, shared)
            if marked is not None:
                self._mark(marked, low, high)
            return
        with b.if_then(b.icmp_signed("<", low, high)):  # an index that no iteration reads is not reported
            known = dict(self._known)
            self._hoist(statement)
            self._vector_between(statement, low, high, lanes, shared)
            self._known = known

    def _vector_between(self, statement: For, low: ir.Value, high: ir.Value, lanes: int, shared: bool) -> None:
        """The iterations `low` to `high` of a loop, by so many lanes."""
        b = self.b
        first_place = first_place_of(statement) if self.frame.target.masks and not shared else None
        if first_place is not None and lanes <= WORDS_IN_VECTOR:
            self._find(statement, first_place, high, lanes)
            return
        table = byte_table_of(statement) if self.frame.target.masks and not self.frame.compact else None
        if table is not None and self.frame.target.machine == "x86_64":
            is_long = b.icmp_signed(">=", b.sub(high, low), I64(SHORTEST))
            with b.if_else(is_long) as (then, otherwise):
                with then:
                    self._by_table(statement, table, low, high, lanes)
                with otherwise:
                    self._plain_vectors(statement, low, high, lanes)
            return
        self._plain_vectors(statement, low, high, lanes)

    def _plain_vectors(self, statement: For, low: ir.Value, high: ir.Value, lanes: int) -> None:
        """The same, each element computed."""
        b = self.b
        own = {inner.name for inner in statement.body if isinstance(inner, Let)}
        updates = [inner for inner in statement.body if isinstance(inner, Update)]
        reductions = [inner for inner in updates if inner.name not in own]
        if statement.kind is Kind.STRINGS:
            low = self._strings(statement, low, high)
        count = b.sub(high, low)
        unrolled = reductions if self.frame.compact else updates
        times = 1 if not unrolled else 4 if operations_of(statement.body) < HEAVY_FOR_UNROLLING else 2
        outer = {inner.name: self.cells[inner.name] for inner in reductions if inner.name in self.cells}
        totals = [self._accumulators(outer, reductions, lanes) for _ in range(times)]
        whole = b.add(low, b.mul(b.sdiv(count, I64(lanes)), I64(lanes)))
        if _jams(statement):
            self._preheader = self._open_preheader(statement)
        if (
            not unrolled
            and self.frame.target.masks
            and (self.frame.compact or _is_long(statement))
            and _is_dense(statement)
        ):
            with self.loop(low, high, lanes) as index:
                rest = b.sub(high, index)
                self._body(statement, index, lanes, self.lanes_below(rest, lanes), {}, smaller(b, rest, I64(lanes)))
            self._close_preheader()
            return
        start = low
        if times > 1:
            stride = lanes * times
            many = b.add(low, b.mul(b.sdiv(count, I64(stride)), I64(stride)))
            with self.loop(start, many, stride) as index:
                for part, cells in enumerate(totals):
                    self._body(statement, b.add(index, I64(part * lanes)), lanes, None, cells)
            start = many
        with self.loop(start, whole, lanes) as index:
            self._body(statement, index, lanes, None, totals[0])
        rest = b.sub(high, whole)
        with b.if_then(b.icmp_signed(">", rest, I64(0))):
            known = dict(self._known)
            self._body(statement, whole, lanes, self._first_lanes(rest, lanes), totals[0], rest)
            self._known = known
        self._close_preheader()
        for name, cell in outer.items():
            function = next(inner.function for inner in reductions if inner.name == name)
            self._combine(cell, function, [total[name] for total in totals])

    def _strings(self, statement: For, low: ir.Value, high: ir.Value) -> ir.Value:
        """Move the whole words of the row that a loop copies; where the rest begins."""
        b, (store,) = self.b, statement.body
        assert isinstance(store, Store)
        assert isinstance(store.value, Load)
        kind, size = stored(store.buffer.dtype), I64(width(store.buffer.dtype))
        words = b.sdiv(b.mul(b.sub(high, low), size), I64(WORD))
        self.variables[statement.var] = low
        to, source = (
            b.gep(self.frame.buffers[part.buffer], [self._base(part.index)], source_etype=kind)
            for part in (store, store.value)
        )
        b.move_words(to, source, words)
        return b.add(low, b.sdiv(b.mul(words, I64(WORD)), size))

    def _first_lanes(self, count: ir.Value, lanes: int) -> ir.Value:
        """The mask of the first `count` of the lanes, fewer than all."""
        b, kind = self.b, I64
        if lanes > WORDS_IN_VECTOR:
            count, kind = b.trunc(count, I8), I8
        numbers = lane_numbers(kind, lanes) if lanes > 1 else I64(0)
        return b.icmp_signed("<", numbers, self.splat(count, lanes))

    def _open_preheader(self, statement: For) -> Preheader:
        """A block before a loop, to which addresses are added until the loop is emitted."""
        block, then = (self.b.append_basic_block(name) for name in ("ahead", "then"))
        self.b.branch(block)
        self.b.position_at_end(then)
        inside = {inner.var for inner in within((statement,)) if isinstance(inner, For)}
        return Preheader(block, then, frozenset(self.variables.keys() - inside))

    def _close_preheader(self) -> None:
        if self._preheader is not None:
            with self.b.goto_block(self._preheader.block):
                self.b.branch(self._preheader.then)
            self._preheader = None

    def _hoist(self, statement: For) -> None:
        """Hoist what is computed and loaded, and is invariant in a loop, out of it."""
        inside = {statement.var, *(inner.var for inner in within(statement.body) if isinstance(inner, For))}
        changed = {inner.name for inner in within(statement.body) if isinstance(inner, Let | Update)}
        inner = [value for loop in statement.body if isinstance(loop, For) for value in values((loop,))]
        written = {store.buffer for store in stores(statement.body)}
        hoisted = invariants([*_own_values(statement)], Apply | Load | CheckedIndex, inside, changed, checked=True)
        for part in (*hoisted, *invariants(inner, Apply | Load, inside, changed)):
            if not any(isinstance(read, Load) and read.buffer in written for read in parts([part])):
                self.scalar(part)

    def _body(
        self,
        statement: For,
        index: ir.Value,
        lanes: int,
        mask: ir.Value | None,
        cells: Mapping[str, Cell],
        active: ir.Value | None = None,
    ) -> None:
        """The body of a loop for one vector; `cells` are the accumulators of its reductions."""
        known, self._known = self._known, dict(self._known)
        before, self.cells = self.cells, {**self.cells, **cells}
        self.variables[statement.var] = index
        self._lane = Lane(statement.var, lanes, mask, active)
        self._reduced = frozenset(cells)
        self.statements(statement.body)
        self._lane = None
        self.cells = {**before, **{name: cell for name, cell in self.cells.items() if name not in before}}
        self._known = known

    def _accumulators(self, outer: Mapping[str, Cell], reductions: Sequence[Update], lanes: int) -> dict[str, Cell]:
        """A vector for each reduction into a local from outside the loop, with the identity in every lane."""
        accumulators = {}
        for reduction in reductions:
            if reduction.name in outer:
                dtype = outer[reduction.name].dtype
                cell = self._cell(dtype, lanes)
                start = identity(reduction.function, dtype).item()
                self.b.store_local(self._stored(scalars.number(dtype, start, lanes), dtype), cell.pointer)
                accumulators[reduction.name] = cell
        return accumulators

    def _combine(self, cell: Cell, function: str, parts: Sequence[Cell]) -> None:
        """Reduce the lanes of accumulators into a local, always in the same order: `local = f(local, lanes)`."""
        b = self.b
        values = [self._fetched(part) for part in parts]
        apart = scalars.finds_nan_apart(b, function, cell.dtype, values[0])
        wrong = [b.fcmp_unordered("uno", *pair) for pair in _pairs(values)] if apart else []

        def both(x: ir.Value, y: ir.Value) -> ir.Value:
            if apart:
                return scalars.extreme_of_numbers(b, function, x, y)
            return scalars.combined(b, function, cell.dtype, [x, y])

        while len(values) > 1:
            values = [both(*pair) for pair in _pairs(values)]
        bits = _OF_BITS.get(function) if cell.dtype is DType.BOOL else None
        if bits is None:
            value = self.across(values[0], both)
        else:
            value = scalars.intrinsic(b, f"vector.reduce.{bits}", I1, [values[0]], values[0].type)
        if wrong:
            while len(wrong) > 1:
                wrong = [b.or_(*pair) for pair in _pairs(wrong)]
            has_nan = scalars.intrinsic(b, "vector.reduce.or", I1, wrong, wrong[0].type)
            value = b.select(has_nan, scalars.number(cell.dtype, float("nan"), 1), value)
        total = scalars.combined(b, function, cell.dtype, [self._fetched(cell), value])
        b.store_local(self._stored(total, cell.dtype), cell.pointer)


def _pairs(values: Sequence[ir.Value]) -> list[tuple[ir.Value, ir.Value]]:
    """Neighbours in twos; a single value with itself."""
    return [(values[at], values[min(at + 1, len(values) - 1)]) for at in range(0, len(values), 2)]


def _own_values(loop: For) -> Iterator[Scalar]:
    """The expressions in the body of a loop, but for those in loops inside of it, which may not run."""
    return values([statement for statement in loop.body if not isinstance(statement, For)])


def _is_long(loop: For) -> bool:
    """Whether the code of the body of a loop is long: of many rows, or with costly functions."""
    return _jams(loop) or operations_of(loop.body) >= HEAVY_FOR_UNROLLING


def _jams(loop: For) -> bool:
    return any(isinstance(inner, For) and inner.kind is Kind.JAM for inner in loop.body)


def _is_dense(loop: For) -> bool:
    """Whether all that a loop loads and stores is next to each other in its lanes, or the same for all."""
    loads = [part for part in parts([*values(loop.body)]) if isinstance(part, Load)]
    places = [load.index for load in loads] + [store.index for store in stores(loop.body)]
    bounds = [condition.index for load in loads for condition in load.where]
    return all(
        index.factor(loop.var) in (0, 1) and all(isinstance(term, Var) for term, _ in index.terms) for index in places
    ) and all(index.factor(loop.var) == 0 for index in bounds)


def invariants(
    values: Sequence[Scalar],
    kinds: type | UnionType,
    variables: Collection[Var],
    changed: Collection[str],
    *,
    checked: bool = False,
) -> list[Scalar]:
    """The parts of expressions, of some kinds, that read none of the variables and of the locals `changed`.

    Those with an index that may be reported only if `checked`: it is to be done where something reads it.
    """
    known: dict[int, bool] = {}
    return [
        part
        for part in parts(values)
        if isinstance(part, kinds) and not _is_variant(part, variables, changed, known, checked)
    ]


def _is_variant(
    node: Node, variables: Collection[Var], changed: Collection[str], known: dict[int, bool], checked: bool
) -> bool:
    """Whether a node changes in a loop over `variables` that sets the locals `changed`."""
    if id(node) not in known:
        match node:
            case Local():
                variant = node.name in changed
            case CheckedIndex() if not checked:
                variant = True
            case Index() if any(term in variables for term, _ in node.terms if isinstance(term, Var)):
                variant = True
            case _:
                variant = any(_is_variant(part, variables, changed, known, checked) for part in children(node))
        known[id(node)] = variant
    return known[id(node)]
