"""Loops in LLVM: statements of the loop IR, one element at a time or many in a vector."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.share import Share, part_of, up
from ingot.codegen.llvm.types import I1, I8, I32, I64, PTR, element, is_float, room, stored, vector, width, zeros
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.loops.ir import (
    LONGEST_TOGETHER,
    Apply,
    Buffer,
    CheckedIndex,
    For,
    Index,
    Inside,
    Kind,
    Let,
    Literal,
    Load,
    Local,
    Position,
    RuntimeScalar,
    Scalar,
    Select,
    Statement,
    Store,
    Update,
    Var,
    extent,
)
from ingot.loops.rewrite import parts
from ingot.prim.functions import identity
from ingot.schedule.target import Target

_GRAIN = 1 << 17
"""Work that is worth a thread of its own, some microseconds: elements times the functions of each and its transport."""

_TRANSPORT = 4
"""What it takes to read and write an element, in functions."""

_MOST_BYTES = 256
"""Bytes of the widest vector: as many lanes as one of four-byte elements has, of eight bytes each, and some."""

_MOST_WIDTH = 8
"""Bytes of the widest element."""

_MOST_UNROLLED = 32
"""Times that the body of a short loop inside a vector is written out."""

_MOST_TOGETHER = 256
"""Times that it is where rows are taken together: 25 for a window of 5 x 5, each for 8 rows."""

_HEAVY_FOR_UNROLLING = 24
"""Functions in the body of a reduction from which on it is not unrolled four times."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a kernel has at hand: where its buffers are, its sizes, what to report errors to, and which piece it does.

    What a thread needs its own of is found by its number; a piece is the same whoever does it.
    """

    buffers: Mapping[Buffer, ir.Value]
    size: Callable[[Dim], ir.Value]
    state: ir.Value
    thread: ir.Value
    piece: ir.Value
    pieces: ir.Value
    target: Target


@dataclass(frozen=True, slots=True)
class Lane:
    """The variable that a vector runs along, and which lanes count: all, if there is no mask."""

    var: Var
    count: int
    mask: ir.Value | None


@dataclass(frozen=True, slots=True)
class _Cell:
    """Where a local is kept."""

    pointer: ir.Value
    dtype: DType
    lanes: int


@dataclass(frozen=True, slots=True)
class _Ahead:
    """Where what does not change in a loop of vectors is computed before it, from these variables alone."""

    block: ir.Block
    then: ir.Block
    variables: frozenset[Var]
    places: dict[tuple[object, ...], ir.Value] = field(default_factory=dict)


def loops_share(b: Builder, size: Callable[[Dim], ir.Value], statements: Sequence[Statement], target: Target) -> Share:
    """How statements of a kernel can be shared: by rows, by vectors if there is but one loop, or not at all."""
    chain, body = _chained(statements)
    parts: ir.Value = I64(1)
    if chain:
        parts = size(extent(chain))
    elif _is_vector(body):
        assert isinstance(body[0], For)
        parts = up(b, size(body[0].var.extent), I64(target.lanes(_MOST_WIDTH)))
    return Share(b.sdiv(size(_rounds(statements)), I64(max(1, _GRAIN // _weight(statements)))), parts)


class Loops:
    """Emits statements at a builder; `variables` are the values of loop variables around them."""

    def __init__(self, b: Builder, frame: Frame) -> None:
        self.b = b
        self.frame = frame
        self.variables: dict[Var, ir.Value] = {}
        self.cells: dict[str, _Cell] = {}
        self._summed: frozenset[str] = frozenset()
        self._ahead: _Ahead | None = None
        self._together: list[tuple[dict[Var, ir.Value], dict[str, _Cell]]] = []
        self.locals: dict[str, ir.Value] = {}
        self._lane: Lane | None = None
        self._watched = False
        self._known: dict[int, tuple[Scalar, ir.Value]] = {}
        self._totals: dict[tuple[Dim | tuple[int, Dim], ...], Dim] = {}

    # --- statements

    def nest(self, statements: Sequence[Statement]) -> None:
        """Statements of a kernel: the outermost loops shared among threads."""
        b = self.b
        chain, body = _chained(statements)
        if chain:
            low, high = self._part(self.frame.size(extent(chain)))
            with b.if_then(b.icmp_signed("<", low, high)):
                self._rows(chain, low, high, body)
        elif _is_vector(body):
            assert isinstance(body[0], For)
            self._vector(body[0], shared=True)
        else:
            with b.if_then(b.icmp_signed("==", self.frame.piece, I64(0))):
                self._watched = True
                self.statements(body)
                self._watched = False

    def _rows(self, chain: Sequence[Var], low: ir.Value, high: ir.Value, body: Sequence[Statement]) -> None:
        """Statements for a part of all values of nested variables, which are counted on from one to the next."""
        b = self.b
        self.unflatten(chain, low)
        cells = {var: room(b, I64) for var in chain}
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

    def _part(self, total: ir.Value) -> tuple[ir.Value, ir.Value]:
        return part_of(self.b, total, self.frame.piece, self.frame.pieces)

    def unflatten(self, chain: Sequence[Var], flat: ir.Value) -> None:
        """Give variables the values they have when all that are inside them have gone round `flat` times."""
        b = self.b
        if not chain:
            return
        for var in reversed(chain[1:]):
            extent = self.frame.size(var.extent)
            self.variables[var] = b.srem(flat, extent)
            flat = b.sdiv(flat, extent)
        self.variables[chain[0]] = flat

    def statements(self, statements: Sequence[Statement]) -> None:
        """Statements one after another."""
        for statement in statements:
            match statement:
                case For(kind=Kind.VECTOR) if self._lane is None:
                    self._vector(statement, shared=False)
                case For(kind=Kind.TOGETHER):
                    self._jointly(statement)
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
                case Let() | Update() | Store() if self._together:
                    self._for_each(statement)
                case Let():
                    self._let(statement)
                case Update():
                    self._update(statement)
                case Store():
                    self._store(statement)

    def _jointly(self, statement: For) -> None:
        """A loop whose statements are each run for all values of its variable before the next one is."""
        assert isinstance(statement.var.extent, int)
        before = self._together
        around = before or [({}, {})]
        self._together = [
            ({**variables, statement.var: I64(number)}, dict(cells))
            for variables, cells in around
            for number in range(statement.var.extent)
        ]
        self.statements(statement.body)
        self._together = before

    def _for_each(self, statement: Let | Update | Store) -> None:
        """One statement for all values of the variables of loops that are run together, each with its own locals."""
        together, self._together = self._together, []
        before = self.cells
        for variables, cells in together:
            known = dict(self._known)
            self.variables.update(variables)
            self.cells = {**before, **cells}
            self.statements((statement,))
            cells.update({name: cell for name, cell in self.cells.items() if before.get(name) is not cell})
            self._known = known
        self.cells, self._together = before, together

    def _unrolls(self, statement: For) -> bool:
        """Whether a loop is short and light enough to be written out: those over windows are."""
        if self._lane is None or not isinstance(statement.var.extent, int):
            return False
        times = max(1, len(self._together))
        for each in _within((statement,)):
            if isinstance(each, For):
                if not isinstance(each.var.extent, int):
                    return False
                times *= each.var.extent
        return times <= (_MOST_TOGETHER if self._together else _MOST_UNROLLED)

    @contextmanager
    def loop(self, low: ir.Value, high: ir.Value, step: int, watched: bool = False) -> Iterator[ir.Value]:
        """A loop from `low` while below `high`; what is emitted while it is open is its body.

        If it is `watched`, it ends when the run is to stop: each of its rounds is asked for that.
        """
        b = self.b
        before = b.block
        head, body, end = (b.append_basic_block(name) for name in ("head", "body", "end"))
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(I64)
        index.add_incoming(low, before)
        inside = b.icmp_signed("<", index, high)
        b.cbranch(b.and_(inside, self._goes_on()) if watched else inside, body, end)
        b.position_at_end(body)
        known = dict(self._known)
        yield index
        self._known = known
        index.add_incoming(b.add(index, I64(step)), b.block)
        b.branch(head)
        b.position_at_end(end)

    def _goes_on(self) -> ir.Value:
        """Whether nobody wants the run to stop, which other threads may at any time."""
        word = self.b.gep(self.frame.state, [I64(1)], source_etype=I32)
        return self.b.icmp_signed("==", self.b.load_atomic(word, "monotonic", 4, typ=I32), I32(0))

    def _vector(self, statement: For, shared: bool) -> None:
        """A loop in vectors: whole ones, several at a time if they are summed, and the rest under a mask."""
        b = self.b
        lanes = self._lanes(statement)
        length = self.frame.size(statement.var.extent)
        low: ir.Value = I64(0)
        high = length
        if shared:
            first, last = self._part(up(b, length, I64(lanes)))
            low, end = b.mul(first, I64(lanes)), b.mul(last, I64(lanes))
            high = b.select(b.icmp_signed("<", end, length), end, length)
        count = b.sub(high, low)
        self._hoist(statement)
        summed = [each for each in statement.body if isinstance(each, Update)]
        times = 1 if not summed else 4 if _functions(statement.body) < _HEAVY_FOR_UNROLLING else 2
        outer = {each.name: self.cells[each.name] for each in summed if each.name in self.cells}
        parts = [self._accumulators(outer, summed, lanes) for _ in range(times)]
        whole = b.add(low, b.mul(b.sdiv(count, I64(lanes)), I64(lanes)))
        if any(isinstance(each, For) and each.kind is Kind.TOGETHER for each in statement.body):
            self._ahead = self._before(statement)
        start = low
        if times > 1:
            stride = lanes * times
            many = b.add(low, b.mul(b.sdiv(count, I64(stride)), I64(stride)))
            with self.loop(start, many, stride) as index:
                for part, cells in enumerate(parts):
                    self._body(statement, b.add(index, I64(part * lanes)), lanes, None, cells)
            start = many
        with self.loop(start, whole, lanes) as index:
            self._body(statement, index, lanes, None, parts[0])
        rest = b.sub(high, whole)
        with b.if_then(b.icmp_signed(">", rest, I64(0))):
            known = dict(self._known)
            numbers = ir.Constant(vector(I64, lanes), list(range(lanes))) if lanes > 1 else I64(0)
            mask = b.icmp_signed("<", numbers, self.splat(rest, lanes))
            self._body(statement, whole, lanes, mask, parts[0])
            self._known = known
        if self._ahead is not None:
            with b.goto_block(self._ahead.block):
                b.branch(self._ahead.then)
            self._ahead = None
        for name, cell in outer.items():
            function = next(each.function for each in summed if each.name == name)
            self._combine(cell, function, [part[name] for part in parts])

    def _before(self, statement: For) -> _Ahead:
        """A block before a loop, open until that is emitted, to which what is asked for is added."""
        block, then = (self.b.append_basic_block(name) for name in ("ahead", "then"))
        self.b.branch(block)
        self.b.position_at_end(then)
        inside = {each.var for each in _within((statement,)) if isinstance(each, For)}
        return _Ahead(block, then, frozenset(self.variables.keys() - inside))

    def _hoist(self, statement: For) -> None:
        """Compute what does not change in a loop before it."""
        inside = {statement.var, *(each.var for each in _within(statement.body) if isinstance(each, For))}
        changed = {each.name for each in _within(statement.body) if isinstance(each, Let | Update)}
        values = [each.value for each in _within(statement.body) if not isinstance(each, For)]
        known: dict[int, bool] = {}
        for part in parts(values):
            if isinstance(part, Apply) and not _moves(part, inside, changed, known):
                self.scalar(part)

    def _body(
        self, statement: For, index: ir.Value, lanes: int, mask: ir.Value | None, cells: Mapping[str, _Cell]
    ) -> None:
        known, self._known = self._known, dict(self._known)
        before, self.cells = self.cells, {**self.cells, **cells}
        self.variables[statement.var] = index
        self._lane = Lane(statement.var, lanes, mask)
        self._summed = frozenset(cells)
        self.statements(statement.body)
        self._lane = None
        self.cells = {**before, **{name: cell for name, cell in self.cells.items() if name not in before}}
        self._known = known

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
        found = self._in_lanes(self.scalar(value))
        self._lane = None
        self._known = {}
        return found

    def _accumulators(self, outer: Mapping[str, _Cell], summed: Sequence[Update], lanes: int) -> dict[str, _Cell]:
        found = {}
        for each in summed:
            if each.name in outer:
                dtype = outer[each.name].dtype
                cell = self._cell(dtype, lanes)
                start = identity(each.function, dtype).item()
                self.b.store(self._stored(scalars.number(dtype, start, lanes), dtype), cell.pointer)
                found[each.name] = cell
        return found

    def _combine(self, cell: _Cell, function: str, parts: Sequence[_Cell]) -> None:
        """Take the lanes of accumulators together, in an order that never changes, and with what there was."""
        b = self.b
        values = [self._fetched(part) for part in parts]
        while len(values) > 1:
            values = [
                scalars.apply(b, function, cell.dtype, [values[i], values[i + 1]]) for i in range(0, len(values), 2)
            ]
        value = self.across(values[0], lambda low, high: scalars.apply(b, function, cell.dtype, [low, high]))
        total = scalars.apply(b, function, cell.dtype, [self._fetched(cell), value])
        b.store(self._stored(total, cell.dtype), cell.pointer)

    def across(self, value: ir.Value, both: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
        """The lanes of a vector taken together by a function of two, halves at a time."""
        b, lanes = self.b, _count(value)
        while lanes > 1:
            half = lanes // 2
            low, high = (
                b.shuffle_vector(value, value, ir.Constant(ir.VectorType(I32, half), list(range(at, at + half))))
                for at in (0, half)
            )
            if half == 1:
                low, high = b.extract_element(low, I32(0)), b.extract_element(high, I32(0))
            value, lanes = both(low, high), half
        return value

    def _lanes(self, statement: For) -> int:
        widths = [width(each.buffer.dtype) for each in _stores(statement.body)]
        widths += [
            width(self.cells[e.name].dtype) for e in statement.body if isinstance(e, Update) and e.name in self.cells
        ]
        return max(1, self.frame.target.vector // max(4, *widths, 4))

    # --- locals

    def _cell(self, dtype: DType, lanes: int) -> _Cell:
        return _Cell(room(self.b, vector(stored(dtype), lanes)), dtype, lanes)

    def _let(self, statement: Let) -> None:
        dtype = statement.value.dtype
        lanes = self._lane.count if self._lane else 1
        cell = self.cells.get(statement.name)
        if cell is None or cell.lanes != lanes:
            cell = self.cells[statement.name] = self._cell(dtype, lanes)
        self.b.store(self._stored(self._in_lanes(self.scalar(statement.value)), dtype), cell.pointer)

    def _update(self, statement: Update) -> None:
        cell = self.cells[statement.name]
        if self._fuses(statement, cell):
            return
        value = self.scalar(statement.value)
        if cell.lanes > 1:
            value = self._in_lanes(value)
            if self._lane is not None and self._lane.mask is not None and statement.name in self._summed:
                neutral = identity(statement.function, cell.dtype).item()
                value = self.b.select(self._lane.mask, value, scalars.number(cell.dtype, neutral, cell.lanes))
        before = self._fetched(cell)
        after = scalars.apply(self.b, statement.function, cell.dtype, [before, value])
        self.b.store(self._stored(after, cell.dtype), cell.pointer)

    def _fuses(self, statement: Update, cell: _Cell) -> bool:
        """Add a product in one instruction, with one rounding; not where lanes under a mask are summed with others."""
        value = statement.value
        if statement.function != "add" or not isinstance(value, Apply) or value.function != "multiply":
            return False
        masked = self._lane is not None and self._lane.mask is not None
        if not is_float(cell.dtype) or (masked and statement.name in self._summed):
            return False
        a, b, total = self._alike(*map(self.scalar, value.arguments), self._fetched(cell))
        if _count(total) != cell.lanes:
            return False
        self.b.store(scalars.multiply_add(self.b, a, b, total), cell.pointer)
        return True

    def _fetched(self, cell: _Cell) -> ir.Value:
        value = self.b.load(cell.pointer, typ=vector(stored(cell.dtype), cell.lanes))
        return self._computed(value, cell.dtype)

    # --- scalars

    def scalar(self, value: Scalar) -> ir.Value:
        """The value of an expression: a vector if it differs from lane to lane, else one element."""
        known = self._known.get(id(value))
        if known is None:
            known = (value, self._scalar(value))
            if not isinstance(value, Local):
                self._known[id(value)] = known
        return known[1]

    def _scalar(self, value: Scalar) -> ir.Value:
        match value:
            case Literal():
                return scalars.number(value.dtype, value.value, 1)
            case RuntimeScalar():
                return scalars.from_bits(self.b, value.dtype, [self.frame.size(half) for half in value.bits])
            case Local():
                return self.locals[value.name] if value.name in self.locals else self._fetched(self.cells[value.name])
            case Position():
                return self.index(value.index)
            case Load():
                return self._load(value)
            case Apply():
                return self._apply(value)
            case Select():
                inside = self._inside(value.where)
                found, other = self.scalar(value.value), scalars.number(value.dtype, value.fill, 1)
                return self.b.select(*self._alike(inside, found, other))
            case CheckedIndex():
                return self._checked(value)

    def _apply(self, value: Apply) -> ir.Value:
        arguments = self._alike(*map(self.scalar, value.arguments))
        operand = value.arguments[-1].dtype
        if value.function == "cast":
            return scalars.cast(self.b, arguments[0], operand, value.dtype)
        if value.function in ("divide", "remainder") and isinstance(arguments[1].type, ir.IntType | ir.VectorType):
            self._refuse_zero(arguments[1], operand)
        return scalars.apply(self.b, value.function, operand, arguments)

    def _refuse_zero(self, divisor: ir.Value, dtype: DType) -> None:
        known = isinstance(divisor, ir.Constant) and divisor.constant != 0
        if isinstance(element(dtype), ir.IntType) and not known:
            lanes = _count(divisor)
            self._report(self.b.icmp_signed("==", divisor, scalars.number(dtype, 0, lanes)))

    def _checked(self, value: CheckedIndex) -> ir.Value:
        b = self.b
        index = self.scalar(value.value)
        lanes = _count(index)
        size = self.splat(self.frame.size(value.size), lanes)
        outside = b.icmp_unsigned(">=", index, size)
        self._report(outside)
        return b.select(outside, scalars.number(DType.INT64, 0, lanes), index)

    def _report(self, wrong: ir.Value) -> None:
        """Note in the state of the run that something is wrong in a lane that counts."""
        b = self.b
        lanes = _count(wrong)
        if lanes > 1:
            if self._lane is not None and self._lane.mask is not None:
                wrong = b.and_(wrong, self._lane.mask)
            wrong = scalars.intrinsic(b, "vector.reduce.or", I1, [wrong], wrong.type)
        with b.if_then(wrong, likely=False):
            b.store(I32(1), self.frame.state)

    # --- memory

    def index(self, index: Index) -> ir.Value:
        """An index as int64: a vector of them if it differs from lane to lane."""
        base = self._base(index)
        varying = self._varying(index)
        return base if varying is None else self.b.add(self.splat(base, _count(varying)), varying)

    def _base(self, index: Index) -> ir.Value:
        """What is common to all lanes: the place of the first one, without terms that differ otherwise."""
        return self._sum(index, None)

    def _sum(self, index: Index, without: Var | None) -> ir.Value:
        b = self.b
        total: ir.Value = I64(0)
        for term, factor in index.terms:
            value = self.variables[term] if isinstance(term, Var) else self.scalar(term)
            if term is not without and _count(value) == 1 and not isinstance(value, ir.Constant):
                total = b.add(total, value if factor == 1 else b.mul(value, self.frame.size(factor)))
        return b.add(total, self.frame.size(self._fixed(index)))

    def _fixed(self, index: Index) -> Dim:
        """The part of an index that loops which are written out tell: one size, so that equal places are seen to be."""
        told: list[tuple[int, Dim]] = []
        for term, factor in index.terms:
            value = self.variables[term] if isinstance(term, Var) else self.scalar(term)
            if isinstance(value, ir.Constant) and _count(value) == 1 and value.constant:
                told.append((value.constant, factor))
        if not told:
            return index.offset
        key = (index.offset, *told)
        total = self._totals.get(key)
        if total is None:
            total = self._totals[key] = sum((times * factor for times, factor in told), index.offset)
        return total

    def _varying(self, index: Index) -> ir.Value | None:
        """What differs from lane to lane; None if nothing does."""
        b, lane = self.b, self._lane
        if lane is None:
            return None
        total: ir.Value | None = None
        for term, factor in index.terms:
            if term is lane.var:
                value: ir.Value = ir.Constant(ir.VectorType(I64, lane.count), list(range(lane.count)))
            elif not isinstance(term, Var) and _count(self.scalar(term)) > 1:
                value = self.scalar(term)
            else:
                continue
            scaled = value if factor == 1 else b.mul(value, self.splat(self.frame.size(factor), lane.count))
            total = scaled if total is None else b.add(total, scaled)
        return total

    def _contiguous(self, index: Index) -> bool:
        lane = self._lane
        assert lane is not None
        opaque = any(not isinstance(term, Var) and _count(self.scalar(term)) > 1 for term, _ in index.terms)
        return index.factor(lane.var) == 1 and not opaque

    def _place_ahead(self, buffer: Buffer, index: Index, where: Sequence[Inside] = ()) -> ir.Value | None:
        """Where the lanes of a vector begin, in a loop whose places are found before it; None if this one cannot be.

        Where a condition does not hold, nothing is there but zeros, for as long as the loop is.
        """
        ahead, lane, b = self._ahead, self._lane, self.b
        if ahead is None or lane is None or index.factor(lane.var) != 1:
            return None
        key: list[object] = [buffer]
        for each in (index, *_indices(where)):
            moving = [(term, factor) for term, factor in each.terms if not self._is_fixed(term)]
            if any(term is not lane.var and term not in ahead.variables for term, _ in moving):
                return None
            if each is not index and each.factor(lane.var) != 0:
                return None
            key += [tuple(moving), self._fixed(each)]
        kind = stored(buffer.dtype)
        place = ahead.places.get(tuple(key))
        if place is None:
            with b.goto_block(ahead.block):
                place = b.gep(self.frame.buffers[buffer], [self._sum(index, lane.var)], source_etype=kind)
                for condition in where:
                    inside = b.icmp_unsigned("<", self._base(condition.index), self.frame.size(condition.size))
                    place = b.select(inside, place, self._nothing(LONGEST_TOGETHER * width(buffer.dtype)))
            ahead.places[tuple(key)] = place
        return b.gep(place, [self.variables[lane.var]], source_etype=kind)

    def _is_fixed(self, term: Var | Scalar) -> bool:
        return isinstance(term, Var) and isinstance(self.variables[term], ir.Constant)

    def _load(self, value: Load) -> ir.Value:
        b = self.b
        kind = stored(value.dtype)
        if value.fill == 0:
            place = self._place_ahead(value.buffer, value.index, value.where)
            if place is not None:
                return self._computed(self._lanes_at(place, value), value.dtype)
        pointer = self.frame.buffers[value.buffer]
        inside = self._inside(value.where) if value.where else None
        if self._varying(value.index) is None and (inside is None or _count(inside) == 1):
            place = b.gep(pointer, [self._base(value.index)], source_etype=kind)
            if inside is None:
                return self._computed(b.load(place, typ=kind), value.dtype)
            place = b.select(inside, place, self._nothing())
            found = self._computed(b.load(place, typ=kind), value.dtype)
            return b.select(inside, found, scalars.number(value.dtype, value.fill, 1))
        assert self._lane is not None
        lanes = self._lane.count
        mask = self._lane.mask
        uniform = inside if inside is not None and _count(inside) == 1 else None
        if inside is not None:
            inside = self._in_lanes(inside)
            mask = inside if mask is None else b.and_(mask, inside)
        fill = self._stored(scalars.number(value.dtype, value.fill, lanes), value.dtype)
        whole = vector(kind, lanes)
        if uniform is not None and self._lane.mask is None and self._contiguous(value.index):
            place = b.gep(pointer, [self._base(value.index)], source_etype=kind)
            found = b.load(b.select(uniform, place, self._nothing()), typ=whole)
            found.align = width(value.dtype)
            if value.fill != 0:
                found = b.select(uniform, found, fill)
        elif self._contiguous(value.index):
            place = b.gep(pointer, [self._base(value.index)], source_etype=kind)
            if mask is None:
                found = b.load(place, typ=whole)
                found.align = width(value.dtype)
            else:
                found = self._masked("masked.load", whole, [place, I32(width(value.dtype)), mask, fill], whole, PTR)
        else:
            places = b.gep(pointer, [self._in_lanes(self.index(value.index))], source_etype=kind)
            places.type = ir.VectorType(PTR, lanes)
            full = mask if mask is not None else ir.Constant(ir.VectorType(I1, lanes), [1] * lanes)
            arguments = [places, I32(width(value.dtype)), full, fill]
            found = self._masked("masked.gather", whole, arguments, whole, places.type)
        return self._computed(found, value.dtype)

    def _lanes_at(self, place: ir.Value, value: Load) -> ir.Value:
        """The lanes that count of what lies from a place on, zeros in the others."""
        assert self._lane is not None
        whole = vector(stored(value.dtype), self._lane.count)
        if self._lane.mask is not None:
            fill = ir.Constant(whole, None)
            arguments = [place, I32(width(value.dtype)), self._lane.mask, fill]
            return self._masked("masked.load", whole, arguments, whole, PTR)
        found = self.b.load(place, typ=whole)
        found.align = width(value.dtype)
        return found

    def _masked(self, name: str, result: ir.Type, arguments: Sequence[ir.Value], *over: ir.Type) -> ir.Value:
        return scalars.intrinsic(self.b, name, result, arguments, *over)

    def _store(self, statement: Store) -> None:
        b = self.b
        dtype = statement.buffer.dtype
        kind = stored(dtype)
        pointer = self.frame.buffers[statement.buffer]
        value = self.scalar(statement.value)
        lane = self._lane
        if lane is None or (self._varying(statement.index) is None and _count(value) == 1):
            place = b.gep(pointer, [self._base(statement.index)], source_etype=kind)
            b.store(self._stored(value, dtype), place)
            return
        found = self._stored(self._in_lanes(value), dtype)
        if self._contiguous(statement.index):
            ahead = self._place_ahead(statement.buffer, statement.index)
            place = ahead or b.gep(pointer, [self._base(statement.index)], source_etype=kind)
            if lane.mask is None:
                b.store(found, place).align = width(dtype)
            else:
                arguments = [found, place, I32(width(dtype)), lane.mask]
                self._masked("masked.store", ir.VoidType(), arguments, found.type, PTR)
            return
        places = b.gep(pointer, [self._in_lanes(self.index(statement.index))], source_etype=kind)
        places.type = ir.VectorType(PTR, lane.count)
        full = lane.mask if lane.mask is not None else ir.Constant(ir.VectorType(I1, lane.count), [1] * lane.count)
        arguments = [found, places, I32(width(dtype)), full]
        self._masked("masked.scatter", ir.VoidType(), arguments, found.type, places.type)

    def _inside(self, where: Sequence[Inside]) -> ir.Value:
        b = self.b
        result: ir.Value | None = None
        for each in where:
            index = self.index(each.index)
            size = self.splat(self.frame.size(each.size), _count(index))
            found = b.icmp_unsigned("<", index, size)
            result = found if result is None else b.and_(*self._alike(result, found))
        assert result is not None
        return result

    def _nothing(self, bytes_: int = _MOST_BYTES) -> ir.Value:
        """Somewhere to read from when there is nothing to be read."""
        return zeros(self.b, f"nothing{bytes_}", ir.ArrayType(I8, bytes_))

    # --- lanes

    def _in_lanes(self, value: ir.Value) -> ir.Value:
        assert self._lane is None or _count(value) in (1, self._lane.count)
        return value if self._lane is None else self.splat(value, self._lane.count)

    def _alike(self, *values: ir.Value) -> list[ir.Value]:
        most = max(map(_count, values))
        return [self.splat(value, most) for value in values]

    def splat(self, value: ir.Value, lanes: int) -> ir.Value:
        """A value in every lane."""
        if lanes == 1 or _count(value) == lanes:
            return value
        kind = ir.VectorType(value.type, lanes)
        first = self.b.insert_element(ir.Constant(kind, ir.Undefined), value, I32(0))
        return self.b.shuffle_vector(
            first, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
        )

    def _stored(self, value: ir.Value, dtype: DType) -> ir.Value:
        return self.b.zext(value, vector(I8, _count(value))) if dtype is DType.BOOL else value

    def _computed(self, value: ir.Value, dtype: DType) -> ir.Value:
        if dtype is not DType.BOOL:
            return value
        zero = ir.Constant(value.type, None) if _count(value) > 1 else I8(0)
        return self.b.icmp_unsigned("!=", value, zero)


def _count(value: ir.Value) -> int:
    return value.type.count if isinstance(value.type, ir.VectorType) else 1


def _within(statements: Sequence[Statement]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        if isinstance(statement, For):
            yield from _within(statement.body)


def _moves(value: Scalar, inside: set[Var], changed: set[str], known: dict[int, bool]) -> bool:
    """Whether an expression changes in a loop over the variables `inside` that sets the locals `changed`."""
    if id(value) not in known:
        terms: list[Var | Scalar] = []
        match value:
            case Local():
                known[id(value)] = value.name in changed
            case Apply():
                terms = list(value.arguments)
            case CheckedIndex():  # it may report, which is to be done where it is met
                known[id(value)] = True
            case Position():
                terms = [term for term, _ in value.index.terms]
            case Load():
                terms = [term for index in (value.index, *_indices(value.where)) for term, _ in index.terms]
            case Select():
                terms = [value.value, *(term for index in _indices(value.where) for term, _ in index.terms)]
        if id(value) not in known:
            known[id(value)] = any(
                term in inside if isinstance(term, Var) else _moves(term, inside, changed, known) for term in terms
            )
    return known[id(value)]


def _indices(where: Sequence[Inside]) -> Iterator[Index]:
    return (each.index for each in where)


def _stores(statements: Sequence[Statement]) -> Iterator[Store]:
    for statement in statements:
        if isinstance(statement, Store):
            yield statement
        elif isinstance(statement, For):
            yield from _stores(statement.body)


def _chained(statements: Sequence[Statement]) -> tuple[list[Var], tuple[Statement, ...]]:
    """The variables of the outermost loops, as far as threads share them, and what is inside."""
    chain: list[Var] = []
    body = tuple(statements)
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind is Kind.PARALLEL:
        chain.append(body[0].var)
        body = body[0].body
    return chain, body


def _is_vector(body: Sequence[Statement]) -> bool:
    return len(body) == 1 and isinstance(body[0], For) and body[0].kind is Kind.VECTOR


def _rounds(statements: Sequence[Statement]) -> Dim:
    """How many times the innermost statements run."""
    total: Dim = 0
    for statement in statements:
        if isinstance(statement, For):
            total = total + statement.var.extent * _rounds(statement.body)
    return total if total != 0 else 1


def _weight(statements: Sequence[Statement]) -> int:
    """What it takes each time, at most: functions, and the transport."""
    inner = max((_weight(each.body) for each in statements if isinstance(each, For)), default=0)
    return max(inner, _TRANSPORT + _functions(statements))


def _functions(statements: Sequence[Statement]) -> int:
    """How many functions there are in statements, not counting loops."""
    seen: set[int] = set()
    pending: list[Scalar] = [each.value for each in statements if not isinstance(each, For)]
    count = 0
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Apply):
            count += 1 if value.function not in ("exp", "tanh", "erf", "log", "sigmoid") else 12
            pending.extend(value.arguments)
        elif isinstance(value, Select | CheckedIndex):
            pending.append(value.value)
    return count
