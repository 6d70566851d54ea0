"""What a kernel takes: operations, and bytes read and written, as expressions of the named sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingot.dims import Dim, minimum
from ingot.loops.ir import (
    Apply,
    Attention,
    Buffer,
    Contraction,
    For,
    Index,
    Kernel,
    KernelNest,
    Let,
    Load,
    Nest,
    Scalar,
    Select,
    Statement,
    Store,
    Update,
    Var,
    Winograd,
    serial_loops,
)
from ingot.loops.ir import extent as extent_of
from ingot.loops.rewrite import indices, parts

_WEIGHT = 4
"""What makes a weight of a score and counts it: the greatest, the difference, the exponential and the sum."""


@dataclass(frozen=True, slots=True)
class Cost:
    """`operations` are two for each term of a product, and one for each function of an element but `cast`.

    Bytes are counted as if every element were moved once: what a kernel reads again comes from a cache, if all is well.
    """

    operations: Dim
    read: Dim
    written: Dim


def cost_of(kernel: Kernel) -> Cost:
    """What a kernel takes."""
    operations: Dim = 0
    read: dict[Buffer, Dim] = {}
    written: dict[Buffer, Dim] = {}
    for nest in kernel.nests:
        statements = _statements(nest)
        each: Dim = 1
        if isinstance(nest, Contraction) and nest.panels is not None:
            _add(read, nest.rhs.buffer, _touched(nest.rhs.index))
            _add(written, nest.panels, extent_of((*nest.batch, *nest.n, *nest.k)))
        elif isinstance(nest, Contraction):
            each = extent_of((*nest.batch, *nest.m, *nest.n))
            operations = operations + each * extent_of(nest.k) * 2
            _add(read, nest.lhs.buffer, _touched(nest.lhs.index))
            _add(read, nest.rhs.buffer, nest.rhs.buffer.elements if nest.packed else _touched(nest.rhs.index))
        elif isinstance(nest, Winograd):
            each = extent_of((*nest.m, *nest.n))
            operations = operations + _multiplied(nest) * 2
            _add(read, nest.lhs.buffer, _touched(nest.lhs.index))
            _add(read, nest.rhs.buffer, nest.rhs.buffer.elements)
        elif isinstance(nest, Attention):
            each = extent_of((*nest.batch, *nest.m, nest.n))
            scores = extent_of((*nest.batch, *nest.m, nest.t))
            operations = operations + scores * ((nest.k.extent + nest.n.extent) * 2 + _WEIGHT)
            read_here = (Let("", nest.queries), Let("", nest.keys), Let("", nest.values), Let("", nest.score))
            operations = operations + _operations(read_here[3:], scores)
            for load in _loads(read_here):
                _add(read, load.buffer, _touched(load.index))
        operations = operations + _operations(statements, each)
        for store in _stores(statements):
            _add(written, store.buffer, _touched(store.index))
        for load in _loads(statements):
            _add(read, load.buffer, _touched(load.index))
    given = {buffer: elements for buffer, elements in read.items() if buffer not in kernel.writes}
    return Cost(operations, _bytes(given), _bytes(written))


def _statements(nest: KernelNest) -> tuple[Statement, ...]:
    """What is done with sums, or all of a nest that has none."""
    if isinstance(nest, Contraction | Winograd | Attention):
        return nest.body
    return serial_loops(nest) if isinstance(nest, Nest) else nest


def _multiplied(nest: Winograd) -> Dim:
    """How many products of transformed elements there are."""
    *images, row, column = nest.m
    tiles = extent_of(images)
    for var in (row, column):
        tiles = tiles * ((var.extent + (nest.side - 1)) // nest.side)
    return tiles * (nest.side + 2) ** 2 * nest.k[-1].extent * extent_of(nest.n)


def _operations(statements: Sequence[Statement], times: Dim) -> Dim:
    """The functions in statements that run `times`; an expression that they share counts once."""
    total: Dim = 0
    values: list[Scalar] = []
    for statement in statements:
        if isinstance(statement, For):
            total = total + _operations(statement.body, times * statement.var.extent)
        else:
            values.append(statement.value)
            total = total + (times if isinstance(statement, Update) else 0)
    return total + times * _functions(values)


def _functions(values: Sequence[Scalar]) -> int:
    """How many functions are in expressions; those that only tell where something is read are left out."""
    count, seen = 0, set[int]()
    pending = list(values)
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Apply):
            count += value.function != "cast"
            pending.extend(value.arguments)
        elif isinstance(value, Select):
            pending.append(value.value)
    return count


def _touched(index: Index) -> Dim:
    """How many elements an index goes over: all combinations of the variables in it."""
    found: dict[Var, None] = {}
    pending: list[Scalar] = []
    for term, _ in index.terms:
        if isinstance(term, Var):
            found[term] = None
        else:
            pending.append(term)
    for inner in indices(*(Let("", value) for value in pending)):
        found.update((term, None) for term, _ in inner.terms if isinstance(term, Var))
    return extent_of(list(found))


def _add(found: dict[Buffer, Dim], buffer: Buffer, elements: Dim) -> None:
    found[buffer] = minimum(found.get(buffer, 0) + elements, buffer.elements)


def _bytes(found: dict[Buffer, Dim]) -> Dim:
    total: Dim = 0
    for buffer, elements in found.items():
        total = total + elements * buffer.dtype.numpy.itemsize
    return total


def _stores(statements: Sequence[Statement]) -> Iterator[Store]:
    for statement in statements:
        if isinstance(statement, For):
            yield from _stores(statement.body)
        elif isinstance(statement, Store):
            yield statement


def _loads(statements: Sequence[Statement]) -> Iterator[Load]:
    """Every load, once for each place that it reads."""
    values: list[Scalar] = []
    pending = list(statements)
    while pending:
        statement = pending.pop()
        if isinstance(statement, For):
            pending.extend(statement.body)
        else:
            values.append(statement.value)
            if isinstance(statement, Store):
                values += [term for term, _ in statement.index.terms if not isinstance(term, Var)]
    seen: set[tuple[Buffer, Index]] = set()
    for part in parts(values):
        if isinstance(part, Load) and (part.buffer, part.index) not in seen:
            seen.add((part.buffer, part.index))
            yield part
