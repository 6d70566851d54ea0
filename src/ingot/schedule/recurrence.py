"""Recurrences: loops whose steps are too short to be worth sharing run inside of one kernel.

The kernels of a body become nests of one kernel, and the number of the iteration a variable of it. Loops that do not
read from each other, such as the two directions of a network, are cycles of one recurrence, which threads share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ingot.dataclass import dataclass
from ingot.dims import Dim, lower_bound
from ingot.dtypes import DType
from ingot.loops.ir import (
    Apply,
    BranchStep,
    Buffer,
    Contraction,
    Cycle,
    For,
    Index,
    Kernel,
    Literal,
    Load,
    LoopStep,
    Position,
    Recurrence,
    Statement,
    Step,
    Var,
    extent,
)
from ingot.loops.kernel import kernel_of
from ingot.loops.rewrite import buffers_read, stores
from ingot.loops.tally import Tally
from ingot.loops.walk import Node, Transform, walk
from ingot.schedule.work import LOOP_GRAIN, MOST_RECURRENT, TRANSPORT

_MOST_ITERATIONS = 1 << 20
"""Iterations of a known count up to which a loop may be a recurrence, whose iterations no limit counts."""


@dataclass(frozen=True, slots=True)
class Enclosed:
    """Steps, and for each new kernel those of the loops that it replaces."""

    steps: tuple[Step, ...]
    origins: Mapping[Kernel, tuple[Kernel, ...]]


def enclose_loops(steps: Sequence[Step], most: int = MOST_RECURRENT) -> Enclosed:
    """Steps with recurrences in the place of the innermost loops that can be, and are worth it.

    `most` are the multiply-adds for a row of an iteration up to which it is.
    """
    origins: dict[Kernel, tuple[Kernel, ...]] = {}

    def enclosed(steps: Sequence[Step]) -> Iterator[Step]:
        for step in steps:
            match step:
                case LoopStep():
                    kernel = _recurrence_of(step, most)
                    if kernel is None:
                        yield replace(step, steps=tuple(joined_recurrences(step.steps)))
                        continue
                    origins[kernel] = tuple(inner for inner in step.steps if isinstance(inner, Kernel))
                    yield kernel
                case BranchStep():
                    then, otherwise = tuple(joined_recurrences(step.then)), tuple(joined_recurrences(step.otherwise))
                    yield replace(step, then=then, otherwise=otherwise)
                case _:
                    yield step

    def joined_recurrences(steps: Sequence[Step]) -> list[Step]:
        done: list[Step] = []
        for step in enclosed(steps):
            joined = _joined(done, step, origins) if isinstance(step, Kernel) and step in origins else None
            if joined is None or not isinstance(step, Kernel):
                done.append(step)
                continue
            origins[joined.both] = (*origins.pop(joined.earlier), *origins.pop(step))
            done = joined.steps
        return done

    return Enclosed(tuple(joined_recurrences(steps)), origins)


def _recurrence_of(loop: LoopStep, most: int) -> Kernel | None:
    """A loop as one kernel; None if its steps are worth sharing, or it does not end by its number alone."""
    if loop.trips is None or isinstance(loop.trips, Buffer) or loop.condition is not None or loop.going is not None:
        return None
    if isinstance(loop.trips, int) and loop.trips > _MOST_ITERATIONS:
        return None
    kernels = [step for step in loop.steps if isinstance(step, Kernel)]
    nests = [nest for kernel in kernels for nest in kernel.nests if isinstance(nest, tuple | Contraction)]
    rows = _rows(nests, most)
    if len(kernels) < len(loop.steps) or len(nests) < sum(len(kernel.nests) for kernel in kernels) or rows is None:
        return None
    time = Var("t", loop.trips)
    body = tuple(_numbered(nest, loop.number, time) for nest in nests)
    lines = [_line(nests, result, initial, rows) for initial, result in loop.swapped]
    if any(line is None for line in lines) or (rows != 1 and not _keep_to_rows(nests, loop)):
        return None
    cycle = Cycle(time, body, loop.swapped, tuple(line for line in lines if line is not None))
    written = (buffer for kernel in kernels for buffer in kernel.writes)
    writes = dict.fromkeys((*(buffer for pair in loop.swapped for buffer in pair), *written))
    return kernel_of(loop.name, (Recurrence(rows, (cycle,)),), tuple(writes))


def _rows(nests: Sequence[tuple[Statement, ...] | Contraction], most: int) -> Dim | None:
    """The rows of a recurrence of these nests; None if it is not worth it, or they have different rows.

    Contractions have panels to read, which are few, and the same rows; statements are short, by sizes that are known.
    """
    products = [nest for nest in nests if isinstance(nest, Contraction)]
    if not products:
        return 1 if nests and all(isinstance(nest, tuple) and _is_short(nest) for nest in nests) else None
    rows = extent(products[0].m)
    weights = [extent(product.n) * extent(product.k) * product.groups for product in products]
    if len(products) < len(nests) or any(product.scratch or product.batch for product in products):
        return None
    if any(
        not product.packed or product.codes is not None or len(product.m) > 1 or extent(product.m) != rows
        for product in products
    ):
        return None
    total = sum(weight for weight in weights if isinstance(weight, int))
    return rows if all(isinstance(weight, int) for weight in weights) and total <= most else None


def _is_short(statements: tuple[Statement, ...]) -> bool:
    tally = Tally()
    tally.statements(statements)
    work = tally.operations + TRANSPORT * _rounds(statements)
    return isinstance(work, int) and work <= LOOP_GRAIN


def _rounds(statements: Sequence[Statement]) -> Dim:
    """How often the innermost statements run."""
    total: Dim = 0
    for statement in statements:
        total = total + (statement.var.extent * _rounds(statement.body) if isinstance(statement, For) else 1)
    return total


def _line(
    nests: Sequence[tuple[Statement, ...] | Contraction], result: Buffer, initial: Buffer, rows: Dim
) -> Dim | None:
    """The elements of a state that belong to a row: as far apart as its rows are stored; None if they are not so."""
    if rows == 1:
        return initial.elements
    for product in nests:
        assert isinstance(product, Contraction)
        for store in stores(product.body):
            if store.buffer is result:
                return store.index.factor(product.m[0])
    return None


def _keep_to_rows(nests: Sequence[tuple[Statement, ...] | Contraction], loop: LoopStep) -> bool:
    """Whether no row of what a loop writes is read by another row, which may be of another run by then."""
    written = {buffer for pair in loop.swapped for buffer in pair}
    written.update(store.buffer for nest in nests if isinstance(nest, Contraction) for store in stores(nest.body))
    lines: dict[Buffer, Dim] = {}
    for nest in nests:
        assert isinstance(nest, Contraction)
        for node in walk(nest):
            if isinstance(node, Load) and node.buffer in written:
                line = lines.setdefault(node.buffer, node.index.factor(nest.m[0]))
                if not _is_in_row(node.index, nest.m[0], line):
                    return False
    pairs = [(lines.get(one), lines.get(other)) for one, other in loop.swapped]
    if any(one is not None and other is not None and one != other for one, other in pairs):
        return False
    for one, other in loop.swapped:
        lines.setdefault(other, lines.get(one, 0))
    return all(
        _is_in_row(store.index, nest.m[0], lines[store.buffer])
        for nest in nests
        if isinstance(nest, Contraction)
        for store in stores(nest.body)
        if lines.get(store.buffer, 0) != 0
    )


def _is_in_row(index: Index, row: Var, line: Dim) -> bool:
    """Whether an index is of `line` elements of a row, whatever its variables are."""
    rest = [(term, factor) for term, factor in index.terms if term is not row]
    if index.factor(row) != line or not isinstance(index.offset, int) or index.offset < 0:
        return False
    most: Dim = index.offset
    for term, factor in rest:
        if not isinstance(term, Var) or not isinstance(factor, int) or factor < 0:
            return False
        most = most + factor * (term.extent - 1)
    beyond = lower_bound(line - most)
    return beyond is not None and beyond > 0


def _numbered(
    nest: tuple[Statement, ...] | Contraction, number: Buffer, time: Var
) -> tuple[Statement, ...] | Contraction:
    """A nest with a variable in the place of the number of the iteration."""

    def change(node: Node) -> Node:
        if isinstance(node, Load) and node.buffer is number:
            return Position(Index(((time, 1),)))
        if isinstance(node, Apply):
            return _position(node)
        if isinstance(node, Index):
            total = Index((), node.offset)
            for term, factor in node.terms:
                total = total + (term.index.times(factor) if isinstance(term, Position) else Index(((term, factor),)))
            return total
        return node

    transform = Transform(change)
    return tuple(map(transform, nest)) if isinstance(nest, tuple) else transform(nest)


def _position(value: Apply) -> Apply | Position:
    """A sum or a difference of positions and whole numbers as a position; any other function as it is."""
    if value.dtype is not DType.INT64 or value.function not in ("add", "subtract"):
        return value
    total = Index()
    for sign, operand in zip((1, 1 if value.function == "add" else -1), value.arguments, strict=True):
        match operand:
            case Position():
                total = total + operand.index.times(sign)
            case Literal(value=int() as number):
                total = total.plus(sign * number)
            case _:
                return value
    return Position(total)


def _joined(done: Sequence[Step], later: Kernel, known: Mapping[Kernel, object]) -> _Joined | None:
    """Steps with `later` beside the last recurrence before it; None if the two cannot run side by side.

    Of the steps between, those that follow from the earlier one come after both, and the others before.
    """
    place = next((place for place in range(len(done) - 1, -1, -1) if done[place] in known), None)
    earlier = None if place is None else done[place]
    if place is None or not isinstance(earlier, Kernel) or _first(earlier).rows != _first(later).rows:
        return None
    before: list[Step] = []
    after: list[Kernel] = []
    for step in done[place + 1 :]:
        if not isinstance(step, Kernel):
            return None
        follows = not all(_are_independent(step, other) for other in (earlier, *after))
        (after if follows else before).append(step)
    if not _run_side_by_side(earlier, later) or not all(_are_independent(later, step) for step in after):
        return None
    both = _both(earlier, later)
    return _Joined(earlier, both, [*done[:place], *before, both, *after])


@dataclass(frozen=True, slots=True)
class _Joined:
    """Steps in which `both` is in the place of `earlier`, and does the work of another recurrence too."""

    earlier: Kernel
    both: Kernel
    steps: list[Step]


def _first(kernel: Kernel) -> Recurrence:
    nest = kernel.nests[0]
    assert isinstance(nest, Recurrence)
    return nest


def _are_independent(one: Kernel, other: Kernel) -> bool:
    return not set(one.writes) & set(other.buffers) and not set(other.writes) & set(one.buffers)


def _run_side_by_side(one: Kernel, other: Kernel) -> bool:
    """Whether two recurrences share no buffer but what both only write: rows of either, at places of their own."""
    read = {*one.reads, *other.reads, *buffers_read((*one.nests, *other.nests))}
    states = {buffer for kernel in (one, other) for buffer in _states(kernel)}
    written = set(one.writes) & set(other.buffers) | set(other.writes) & set(one.buffers)
    return not written & (read | states)


def _states(kernel: Kernel) -> Iterator[Buffer]:
    for cycle in _first(kernel).cycles:
        for pair in cycle.swapped:
            yield from pair


def _both(one: Kernel, other: Kernel) -> Kernel:
    first, second = _first(one), _first(other)
    nest = Recurrence(first.rows, (*first.cycles, *second.cycles))
    return kernel_of(one.name, (nest,), tuple(dict.fromkeys((*one.writes, *other.writes))))
