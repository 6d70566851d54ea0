"""Nests that store parts of the same rows, one after another, merged: each row is then written from end to end.

So are the parts of a Concat along the last axis, and what is padded. Every line is then met once, by one thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ingot.dims import Dim
from ingot.loops.ir import LANES_APART, Index, KernelNest, Nest, Stage, Statement, Store, Var
from ingot.loops.rewrite import Reindexed, buffers_read


def parts_of_rows(nests: Sequence[KernelNest]) -> Iterator[tuple[KernelNest, ...]]:
    """Nests in groups of neighbours: those of a group store parts of the same rows, and read nothing of it."""
    group: list[Nest] = []
    for nest in nests:
        if not isinstance(nest, Nest) or not _is_plain(nest):
            yield from _whole(group)
            group = []
            yield (nest,)
            continue
        if group and not _are_parts([*group, nest]):
            yield from _whole(group)
            group = []
        group.append(nest)
    yield from _whole(group)


def parts_in_rows(nests: Sequence[Nest]) -> Nest:
    """The nest of a group of `parts_of_rows`: a stage for each of them, and one for those that store in turns."""
    rows = max((nest.rows for nest in nests), key=len)[:-1]
    stages: list[Stage] = []
    for nest in nests:
        (store,) = _renamed(nest.stages[0].body, dict(zip(nest.rows, rows, strict=False)))
        along = nest.rows[len(rows) :]
        if stages and along and (before := _in_turns(stages[-1], store, along[0])) is not None:
            stages[-1] = before
        else:
            stages.append(Stage(along, (), (store,)))
    return Nest(rows, tuple(stages))


def _in_turns(before: Stage, store: Statement, along: Var) -> Stage | None:
    """A stage and a store as one, if what they store along a row are neighbours, such as the elements of pairs."""
    first = before.body[-1]
    assert isinstance(first, Store)
    assert isinstance(store, Store)
    if not before.inner or before.inner[0].extent != along.extent:
        return None
    (moved,) = _renamed((store,), {along: before.inner[0]})
    assert isinstance(moved, Store)
    stride = moved.index.factor(before.inner[0])
    if frozenset(moved.index.terms) != frozenset(first.index.terms) or moved.index.offset != first.index.offset + 1:
        return None
    if not isinstance(stride, int) or not len(before.body) < stride <= LANES_APART:
        return None
    return Stage(before.inner, (), (*before.body, moved))


def _renamed(body: Sequence[Statement], names: Mapping[Var, Var]) -> tuple[Statement, ...]:
    def change(index: Index) -> Index:
        terms = ((names.get(term, term) if isinstance(term, Var) else term, by) for term, by in index.terms)
        return Index(tuple(terms), index.offset)

    return tuple(map(Reindexed(change).statement, body))


def _whole(group: list[Nest]) -> Iterator[tuple[KernelNest, ...]]:
    if group:
        yield tuple(group)


def _is_plain(nest: Nest) -> bool:
    """Whether a nest stores one element for each of its rows, and reduces nothing."""
    match nest.stages:
        case (Stage((), (), (Store(),)),):
            return len(nest.rows) > 0
    return False


def _are_parts(nests: Sequence[Nest]) -> bool:
    """Whether nests store parts of the same rows of one buffer that none of them reads."""
    stored = {store.buffer for nest in nests for store in nest.stages[0].body if isinstance(store, Store)}
    extents = [tuple(row.extent for row in nest.rows) for nest in nests]
    rows: tuple[Dim, ...] = max(extents, key=len)[:-1]
    if len(stored) != 1 or not rows or not stored.isdisjoint(buffers_read(nests)):
        return False
    return all(own == rows or own[:-1] == rows for own in extents)
