"""Loops on a GPU: iterations distributed over threads, or over groups of threads that reduce a row together.

A group has a power of two of threads, `ntid.x` of them, and a block `ntid.y` groups. Every thread of a block takes the
same way through barriers and shuffles: a group without a row computes the last one, and stores nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ingot.codegen.llvm import ir, scalars
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.expressions import Cell
from ingot.codegen.llvm.lanes import Lane, count_of
from ingot.codegen.llvm.share import smaller, up
from ingot.codegen.llvm.types import I32, I64, is_float, stored
from ingot.codegen.nvptx.grid import WARP, SharedArray, barrier, exchanged, register
from ingot.codegen.nvptx.memory import ThreadMemory, lanes_along
from ingot.loops.ir import Apply, For, Kind, Let, Load, Statement, Store, Update, Var, extent
from ingot.loops.nest_shape import has_vectors, innermost_parallel, is_vector, parallel_chain
from ingot.loops.rewrite import parts, stores, values, within
from ingot.prim.functions import identity

TURNED = 32
"""Elements of each side of a tile that is read along one axis and stored along another."""

HELD = 4
"""Vectors of a row that a thread holds in registers."""

_MOST_TURNED = 4
_MOST_UNROLLED = 16
_MOST_WARPS = 32


class ThreadLoops(ThreadMemory):
    """Emits statements for one thread of a grid."""

    def __init__(self, b: Builder, frame: Frame) -> None:
        super().__init__(b, frame)
        self._group: Group | None = None
        self._sums: dict[str, dict[int, Cell]] = {}
        self._rereads = False
        self._is_held = False
        self._inside_row: ir.Value | None = None

    def nest(self, statements: Sequence[Statement]) -> None:
        """The statements of a kernel: see `schedule/gpu.py` for what its loops mean."""
        chain, body = parallel_chain(statements)
        if is_vector(body):
            assert isinstance(body[0], For)
            self._turned_or_not(chain, body[0])
        elif has_vectors(body):
            self._group_of_each(chain, body)
        elif chain:
            with self.loop(*self._strided(self.frame.size(extent(chain)))) as number:
                self.unflatten(chain, number)
                self.statements(body)
        elif (inner := innermost_parallel(body)) is not None:
            with self.loop(*self._strided(self.frame.size(inner.extent))) as number:
                self.variables[inner] = number
                self.statements(_without(body, inner))
        else:
            with self.b.if_then(self.b.icmp_signed("==", self._thread(), I64(0))):
                self.statements(body)

    # --- iterations

    def _thread(self) -> ir.Value:
        """The number of the thread among all of the grid."""
        b = self.b
        return b.add(b.mul(register(b, "ctaid.x"), self._threads_of_block()), self._thread_of_block())

    def _thread_of_block(self) -> ir.Value:
        b = self.b
        return b.add(register(b, "tid.x"), b.mul(register(b, "tid.y"), register(b, "ntid.x")))

    def _threads_of_block(self) -> ir.Value:
        return self.b.mul(register(self.b, "ntid.x"), register(self.b, "ntid.y"))

    def _strided(self, total: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
        """The iterations of a thread: from its number on, in steps of the threads of the grid."""
        step = self.b.mul(self._threads_of_block(), register(self.b, "nctaid.x"))
        return self._thread(), total, step

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

    def _turned_or_not(self, chain: Sequence[Var], inner: For) -> None:
        """Elements in tiles, where some are read along another axis than results are stored, and both are long."""
        b, turned = self.b, turned_loads(chain, inner)
        if turned is None:
            self._vector_of_each(chain, inner)
            return
        along, loads = turned
        sizes = [self.frame.size(var.extent) for var in (along, inner.var)]
        is_long = b.and_(*(b.icmp_signed(">=", size, I64(TURNED // 2)) for size in sizes))
        known = dict(self._known)
        with b.if_else(is_long) as (then, otherwise):
            with then:
                self._tile_of_each([var for var in chain if var is not along], along, inner, loads)
                self._known = known
            with otherwise:
                self._vector_of_each(chain, inner)

    def _tile_of_each(self, rest: Sequence[Var], along: Var, inner: For, loads: Sequence[Load]) -> None:
        """A tile of elements for each block: `loads` read them along one axis, and results are stored along the other.

        In between they are in shared memory, whose lines are one element longer than a tile, for the banks.
        """
        b = self.b
        arrays = [
            SharedArray(b.module, f"turned{number}", stored(load.dtype), TURNED * (TURNED + 1))
            for number, load in enumerate(loads)
        ]
        thread = self._thread_of_block()
        near, far = b.srem(thread, I64(TURNED)), b.sdiv(thread, I64(TURNED))
        threads = b.sdiv(self._threads_of_block(), I64(TURNED))
        sizes = [self.frame.size(var.extent) for var in (along, inner.var)]
        tiles = [up(b, size, I64(TURNED)) for size in sizes]
        total = b.mul(self.frame.size(extent(rest)), b.mul(*tiles))
        with self.loop(register(b, "ctaid.x"), total, register(b, "nctaid.x")) as number:
            first = b.mul(b.srem(number, tiles[1]), I64(TURNED))
            other = b.sdiv(number, tiles[1])
            start = b.mul(b.srem(other, tiles[0]), I64(TURNED))
            self.unflatten(rest, b.sdiv(other, tiles[0]))
            for is_read in (True, False):
                with self.loop(far, I64(TURNED), threads) as line:
                    places = (near, line) if is_read else (line, near)
                    ends = []
                    for var, begin, place, size in zip((along, inner.var), (start, first), places, sizes, strict=True):
                        self.variables[var] = b.add(begin, place)
                        ends.append(b.icmp_signed("<", self.variables[var], size))
                    at = b.add(b.mul(places[1], I64(TURNED + 1)), places[0])
                    with b.if_then(b.and_(*ends)):
                        self._known = {}
                        for load, array in zip(loads, arrays, strict=True):
                            self._move(load, b.gep(array, [at], source_etype=stored(load.dtype)), is_read)
                        if not is_read:
                            self.statements(inner.body)
                barrier(b)

    def _move(self, load: Load, place: ir.Value, is_read: bool) -> None:
        """Put an element that a load reads into a tile, or have it read from there."""
        if is_read:
            self.b.store(self._stored(self.scalar(load), load.dtype), place)
        else:
            self._known[id(load)] = load, self._computed(self.b.load(place, stored(load.dtype)), load.dtype)

    def _vector_of_each(self, chain: Sequence[Var], inner: For) -> None:
        """A vector of neighbours for each thread; single elements where they are not aligned, or fewer are left."""
        b = self.b
        lanes = lanes_along(inner.body, inner.var)
        length = self.frame.size(inner.var.extent)
        if lanes == 1:
            with self.loop(*self._strided(self.frame.size(extent((*chain, inner.var))))) as number:
                self.unflatten((*chain, inner.var), number)
                self.statements(inner.body)
            return
        aligned = self.is_aligned(inner.body, inner.var, lanes)
        step = b.select(aligned, I64(lanes), I64(1))
        pieces = up(b, length, step)
        with self.loop(*self._strided(b.mul(self.frame.size(extent(chain)), pieces))) as number:
            self.unflatten(chain, b.sdiv(number, pieces))
            first = b.mul(b.srem(number, pieces), step)
            end = b.add(first, step)
            whole = b.and_(aligned, b.icmp_signed("<=", end, length))
            with b.if_else(whole) as (then, otherwise):
                with then:
                    self.in_lanes(inner, first, lanes)
                with otherwise, self.loop(first, smaller(b, end, length), I64(1)) as place:
                    self.variables[inner.var] = place
                    self.statements(inner.body)

    def in_lanes(self, loop: For, first: ir.Value, lanes: int) -> None:
        """The body of a loop for a vector that begins at `first`."""
        known, self._known = self._known, {}
        before, self.cells = self.cells, dict(self.cells)
        self.variables[loop.var] = first
        self._lane = Lane(loop.var, lanes, None)
        self.statements(loop.body)
        self._lane = None
        self.cells, self._known = before, known

    # --- groups

    def _group_of_each(self, chain: Sequence[Var], body: Sequence[Statement]) -> None:
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
            self.b.store(self._stored(total, cell.dtype), cell.pointer)
        self._forget(updated)
        if self._rereads:  # other threads may read what was stored
            barrier(self.b)

    def _accumulator(self, name: str, function: str, lanes: int) -> Cell:
        dtype = self.cells[name].dtype
        cell = self._cell(dtype, lanes)
        start = scalars.number(dtype, identity(function, dtype).item(), lanes)
        self.b.store(self._stored(start, dtype), cell.pointer)
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
        if self._is_held:
            self._unrolled(loop, lanes, group)
            self._group = group
            return
        if lanes > 1:
            aligned = self.is_aligned(loop.body, loop.var, lanes)
            start = b.select(aligned, b.mul(b.sdiv(size, I64(lanes)), I64(lanes)), I64(0))
            low, step = b.mul(group.lane, I64(lanes)), b.mul(group.threads, I64(lanes))
            with self.loop(low, start, step) as first:
                self.in_lanes(loop, first, lanes)
        with self.loop(b.add(start, group.lane), size, group.threads) as index:
            self.variables[loop.var] = index
            self.statements(loop.body)
        self._group = group

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

    def statements(self, statements: Sequence[Statement]) -> None:
        """Statements one after another."""
        for statement in statements:
            if isinstance(statement, For):
                self._forget({inner.name for inner in within(statement.body) if isinstance(inner, Let | Update)})
            match statement:
                case For() if self._group is not None and has_vectors((statement,)):
                    self._reduce(statement)
                case For() if _unrolls(statement):
                    assert isinstance(statement.var.extent, int)
                    for number in range(statement.var.extent):
                        known = dict(self._known)
                        self.variables[statement.var] = I64(number)
                        self.statements(statement.body)
                        self._known = known
                case For():
                    with self.loop(I64(0), self.frame.size(statement.var.extent), I64(1)) as index:
                        self.variables[statement.var] = index
                        self.statements(statement.body)
                case Let():
                    self._let(statement)
                case Update():
                    self._update(statement)
                case Store():
                    every, group = self.active, self._group
                    if group is not None:  # what all of its threads know, one of them stores
                        self.active = group.active
                    self._store(statement)
                    self.active = every

    def _let(self, statement: Let) -> None:
        dtype = statement.value.dtype
        value = self._in_lanes(self.scalar(statement.value))
        before = cell = self.cells.get(statement.name)
        if cell is None or cell.lanes != count_of(value):
            cell = self.cells[statement.name] = self._cell(dtype, count_of(value))
        self.b.store(self._stored(value, dtype), cell.pointer)
        if before is not None:
            self._forget((statement.name,))

    def _update(self, statement: Update) -> None:
        lanes = 1 if self._lane is None else self._lane.count
        cells = self._sums.get(statement.name)
        cell = self.cells[statement.name] if cells is None else cells[lanes]
        after = self._updated(statement, cell)
        self.b.store(self._stored(after, cell.dtype), cell.pointer)
        self._forget((statement.name,))

    def _updated(self, statement: Update, cell: Cell) -> ir.Value:
        b, value, before = self.b, statement.value, self._fetched(cell)
        if self._inside_row is not None and cell.lanes > 1:
            neutral = scalars.number(cell.dtype, identity(statement.function, cell.dtype).item(), cell.lanes)
            own = self.splat(self.scalar(value), cell.lanes)
            masked = b.select(self._inside_row, own, neutral)
            return scalars.combined(b, statement.function, cell.dtype, [before, masked])
        is_product = isinstance(value, Apply) and value.function == "multiply"
        if is_product and statement.function == "add" and is_float(cell.dtype):
            assert isinstance(value, Apply)
            one, other = (self.splat(self.scalar(part), cell.lanes) for part in value.arguments)
            return scalars.multiply_add(b, one, other, before)
        return scalars.combined(b, statement.function, cell.dtype, [before, self.splat(self.scalar(value), cell.lanes)])


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
        b.store(loops._stored(value, cell.dtype), slot.pointer)
        within_warp = smaller(b, self.threads, I64(WARP))
        distance = I32(1)
        for _ in range(5):
            with b.if_then(b.icmp_signed("<", b.zext(distance, I64), within_warp)):
                before = b.load(slot.pointer, kind)
                other = loops._computed(exchanged(b, before, distance), cell.dtype)
                b.store(loops._stored(both(loops._computed(before, cell.dtype), other), cell.dtype), slot.pointer)
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
            b.store(b.load(slot.pointer, kind), place)
        barrier(b)
        b.store(b.load(memory, kind), slot.pointer)
        with b.counted(I64(1), warps, I64(1)) as warp:
            other = loops._computed(b.load(b.gep(memory, [warp], source_etype=I64), kind), slot.dtype)
            b.store(loops._stored(both(loops._fetched(slot), other), slot.dtype), slot.pointer)
        barrier(b)


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


def turned_loads(chain: Sequence[Var], inner: For) -> tuple[Var, list[Load]] | None:
    """An axis among `chain` that elements lie along which are stored along the inner one, and their loads, if any."""
    if any(isinstance(statement, For) for statement in inner.body):
        return None
    if any(store.index.factor(inner.var) != 1 for store in stores(inner.body)):
        return None
    loads = [part for part in parts(list(values(inner.body))) if isinstance(part, Load)]
    for along in reversed(chain):
        turned = [
            load
            for load in loads
            if load.index.factor(along) == 1
            and load.index.factor(inner.var) not in (0, 1)
            and all(isinstance(term, Var) for term, _ in load.index.terms)
        ]
        if turned:
            return along, turned[:_MOST_TURNED]
    return None


def _without(body: Sequence[Statement], var: Var) -> tuple[Statement, ...]:
    """Nested loops without the one over a variable, whose body stays."""
    (loop,) = body
    assert isinstance(loop, For)
    return loop.body if loop.var is var else (For(loop.var, _without(loop.body, var), loop.kind),)


def _unrolls(loop: For) -> bool:
    """Whether a loop is short enough to be unrolled: those over windows are."""
    times = 1
    for inner in within((loop,)):
        if isinstance(inner, For):
            if not isinstance(inner.var.extent, int):
                return False
            times *= inner.var.extent
    return times <= _MOST_UNROLLED
