"""Tallies: operations and elements moved, added up over the nests of a kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ingot.dims import Dim, minimum
from ingot.loops.function_costs import operations_in
from ingot.loops.ir import Buffer, For, Index, Load, Scalar, Statement, Update, Var, extent
from ingot.loops.rewrite import parts, stores, values
from ingot.loops.walk import walk


class Tally:
    """The cost of nests: `operations`, and, if `moves` are asked for, how many elements they read and write."""

    def __init__(self, *, moves: bool = True) -> None:
        self.operations: Dim = 0
        self._moves = moves
        self._read: dict[Buffer, Dim] = {}
        self._written: dict[Buffer, Dim] = {}

    def statements(self, statements: Sequence[Statement], times: Dim = 1) -> None:
        """Statements that run so many times."""
        self.compute(_operations(statements, times))
        if not self._moves:
            return
        for store in stores(statements):
            self.write(store.buffer, _touched(store.index))
        self.expressions(list(values(statements)), 0)

    def expressions(self, expressions: Sequence[Scalar], times: Dim) -> None:
        """Expressions that are computed so many times; what they read is counted once for each place."""
        self.compute(times * operations_in(expressions))
        if not self._moves:
            return
        for load in _loads(expressions):
            self.read(load)

    def compute(self, operations: Dim) -> None:
        self.operations = self.operations + operations

    def read(self, load: Load) -> None:
        if self._moves:
            _add(self._read, load.buffer, _touched(load.index))

    def read_whole(self, buffer: Buffer) -> None:
        if self._moves:
            _add(self._read, buffer, buffer.elements)

    def write(self, buffer: Buffer, elements: Dim) -> None:
        if self._moves:
            _add(self._written, buffer, elements)

    def repeat(self, other: Tally, times: Dim) -> None:
        """What another has counted, so many times; what it reads and writes is moved once."""
        self.compute(other.operations * times)
        for mine, theirs in ((self._read, other._read), (self._written, other._written)):
            for buffer, elements in theirs.items():
                _add(mine, buffer, elements)

    def bytes_read(self, without: Collection[Buffer]) -> Dim:
        """The bytes that are read of all buffers but some."""
        return _bytes({buffer: elements for buffer, elements in self._read.items() if buffer not in without})

    @property
    def bytes_written(self) -> Dim:
        return _bytes(self._written)


def _operations(statements: Sequence[Statement], times: Dim) -> Dim:
    """The operations of statements that run `times`; an expression that they share counts once."""
    total: Dim = 0
    expressions: list[Scalar] = []
    for statement in statements:
        if isinstance(statement, For):
            total = total + _operations(statement.body, times * statement.var.extent)
        else:
            expressions.append(statement.value)
            total = total + (times if isinstance(statement, Update) else 0)
    return total + times * operations_in(expressions)


def _touched(index: Index) -> Dim:
    """How many elements an index goes over: all combinations of the variables in it."""
    variables: dict[Var, None] = {}
    for inner in walk(index):
        if isinstance(inner, Index):
            variables.update((term, None) for term, _ in inner.terms if isinstance(term, Var))
    return extent(list(variables))


def _add(elements_of: dict[Buffer, Dim], buffer: Buffer, elements: Dim) -> None:
    elements_of[buffer] = elements_of.get(buffer, 0) + elements


def _bytes(elements_of: dict[Buffer, Dim]) -> Dim:
    total: Dim = 0
    for buffer, elements in elements_of.items():
        total = total + minimum(elements, buffer.elements) * buffer.dtype.numpy.itemsize
    return total


def _loads(expressions: Sequence[Scalar]) -> Iterator[Load]:
    """Every load, once for each place that it reads."""
    seen: set[tuple[Buffer, Index]] = set()
    for part in parts(expressions):
        if isinstance(part, Load) and (part.buffer, part.index) not in seen:
            seen.add((part.buffer, part.index))
            yield part
