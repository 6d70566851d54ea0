"""Reuse of costly values: one that two passes over a row need is stored by the first, in the memory of the result."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.loops.function_costs import COSTLY
from ingot.loops.ir import Apply, For, Load, Nest, Scalar, Stage, Statement, Store
from ingot.loops.rewrite import Reindexed, parts


def reuse_costly(nest: Nest) -> Nest:
    """The nest with one costly value computed once, in the memory of the result, if several passes need it."""
    *before, last = nest.stages
    if not before or len(last.body) > 1:
        return nest
    (store,) = last.body
    assert isinstance(store, Store)
    for position, stage in enumerate(before):
        if stage.inner != last.inner:
            continue
        shared = _shared(stage, last)
        if shared is None or shared.dtype is not store.buffer.dtype or _reads(nest, store):
            continue
        store_shared = Store(store.buffer, store.index, shared)
        first = Stage(stage.inner, stage.starts, (*stage.body, store_shared))
        change = Reindexed(lambda index: index)
        change.replace(shared, Load(shared.dtype, store.buffer, store.index))
        later = [
            Stage(following.inner, following.starts, tuple(map(change.statement, following.body)))
            for following in nest.stages[position + 1 :]
            if following.inner == last.inner
        ]
        if len(later) == len(nest.stages) - position - 1:
            return Nest(nest.rows, (*before[:position], first, *later))
    return nest


def _shared(stage: Stage, last: Stage) -> Scalar | None:
    """The largest costly expression that both stages have."""
    theirs = {id(part) for part in parts(_values(last.body))}
    for part in parts(_values(stage.body)):  # what contains others comes before them
        if id(part) in theirs and isinstance(part, Apply) and _is_costly(part):
            return part
    return None


def _is_costly(value: Scalar) -> bool:
    return any(isinstance(part, Apply) and part.function in COSTLY for part in parts([value]))


def _reads(nest: Nest, store: Store) -> bool:
    """Whether the memory of the result is read by something else."""
    values = [value for stage in nest.stages for value in _values(stage.body)]
    return any(isinstance(part, Load) and part.buffer is store.buffer for part in parts(values))


def _values(statements: Sequence[Statement]) -> list[Scalar]:
    return [statement.value for statement in statements if not isinstance(statement, For)]
