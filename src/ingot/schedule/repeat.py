"""A loop along which every element is read several times, split in two: over the elements, and over the times.

Along an axis that is enlarged by a whole factor, place `i` reads element `i / factor`. As two loops every index is a
sum, and what is stored for one element are neighbours, which vectors interleave.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ingot.dataclass import dataclass
from ingot.dims import divide_exactly
from ingot.dtypes import DType
from ingot.loops.ir import Apply, For, Index, Literal, Nest, Position, Scalar, Stage, Statement, Store, Var
from ingot.loops.rewrite import Reindexed, parts
from ingot.loops.walk import Node, Transform
from ingot.schedule.interleave import interleaved
from ingot.schedule.target import Target
from ingot.schedule.turn import Turned

_MOST = 4
"""Times that an element is read: so many neighbours are interleaved."""


def repeated(nest: Nest, target: Target) -> Turned | None:
    """A nest of one store that reads the elements of its innermost axis several times each; None for any other.

    If it reads whole rows several times too, these are stored at once.
    """
    if len(nest.stages) != 1 or nest.stages[0].inner or nest.stages[0].starts or len(nest.stages[0].body) != 1:
        return None
    (store,) = nest.stages[0].body
    along = next((row for row in nest.rows if isinstance(store, Store) and store.index.factor(row) == 1), None)
    split = None if along is None else _split(store, along)
    if along is None or split is None:
        return None
    place = nest.rows.index(along)
    rows = (*nest.rows[:place], split.element, split.time, *nest.rows[place + 1 :])
    blocks = interleaved(Nest(rows, (Stage((), (), (split.statement,)),)), target)
    return None if blocks is None else _with_rows(blocks)


def _with_rows(blocks: Turned) -> Turned:
    """The same with as many stores as there are times that a row is read."""
    for place, row in enumerate(blocks.rows):
        ((loop, jam),) = [(loop, jam) for loop in blocks.statements if isinstance(loop, For) for jam in loop.body]
        assert isinstance(jam, For)
        split = _split(jam.body[0], row)
        if split is not None:
            stores = tuple(map(split.at, range(split.factor)))
            rows = (*blocks.rows[:place], split.element, *blocks.rows[place + 1 :])
            return Turned(rows, (replace(loop, body=(replace(jam, body=stores),)),))
    return blocks


@dataclass(frozen=True, slots=True)
class _Split:
    """A statement with two variables in the place of one: over elements, and over the times each of them is read."""

    statement: Statement
    element: Var
    time: Var
    factor: int

    def at(self, time: int) -> Statement:
        """The statement for one of the times."""

        def change(index: Index) -> Index:
            terms = tuple(item for item in index.terms if item[0] is not self.time)
            return Index(terms, index.offset + index.factor(self.time) * time)

        return Reindexed(change).statement(self.statement)


def _split(store: Statement, along: Var) -> _Split | None:
    """A store whose places along an axis are divided by a number; None for any other."""
    assert isinstance(store, Store)
    factor = next(_factors(store.value, along), None)
    length = None if factor is None or not 1 < factor <= _MOST else divide_exactly(along.extent, factor)
    if factor is None or length is None:
        return None
    element, time = Var(along.name, length), Var(f"{along.name}t", factor)
    both = Index(((element, factor), (time, 1)))

    def change(node: Node) -> Node:
        if not isinstance(node, Index):
            return node
        total = Index((), node.offset)
        for term, stride in node.terms:
            own = both if term is along else Index(((element if _is_quotient(term, both, factor) else term, 1),))
            total = total + own.times(stride)
        return total

    return _Split(Transform(change)(store), element, time, factor)


def _factors(value: Scalar, along: Var) -> Iterator[int]:
    """The numbers by which the places along an axis are divided."""
    own = Index(((along, 1),))
    for part in parts([value]):
        if isinstance(part, Apply) and isinstance(part.arguments[-1], Literal):
            factor = part.arguments[-1].value
            if isinstance(factor, int) and _is_quotient(part, own, factor):
                yield factor


def _is_quotient(value: Var | Scalar, index: Index, factor: int) -> bool:
    """Whether a value is an index, divided by a number."""
    match value:
        case Apply(dtype=DType.INT64, function="divide", arguments=(Position(index=divided), Literal(value=by))):
            return divided == index and by == factor
    return False
