"""Long sums in blocks, each summed by itself: what is lost to rounding grows with the blocks, not with the terms."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.dtypes import DType
from ingot.loops.ir import For, Index, Let, Literal, Local, Stage, Statement, Update, Var, extent
from ingot.loops.rewrite import Reindexed

_BLOCK = 128
"""Terms of a block: beside them, what is done once a block does not count."""

_LONGEST = 1024
"""Terms of a sum that is not divided: about as many as matrix products sum one after another."""


def in_blocks(stage: Stage) -> tuple[Statement, ...] | None:
    """The loops of a stage that sums float32 alone, in blocks; None if it does anything else, or its sums are short."""
    length = extent(stage.inner)
    updates = [statement for statement in stage.body if isinstance(statement, Update)]
    if len(updates) < len(stage.body) or not updates or (isinstance(length, int) and length <= _LONGEST):
        return None
    if any(update.function != "add" or update.value.dtype is not DType.FLOAT32 for update in updates):
        return None
    *outer, along = stage.inner
    loops: tuple[Statement, ...] = _blocks(along, updates)
    for var in reversed(outer):
        loops = (For(var, loops),)
    return (*stage.starts, *loops)


def _blocks(along: Var, updates: Sequence[Update]) -> tuple[Statement, ...]:
    if isinstance(along.extent, int) and along.extent <= 2 * _BLOCK:
        return _block(along, updates)
    block, number = Var(along.name, _BLOCK), Var(f"{along.name}s", along.extent // _BLOCK)
    rest = Var(f"{along.name}r", along.extent % _BLOCK)
    whole = For(number, _block(block, _moved(updates, along, Index(((number, _BLOCK), (block, 1))))))
    if rest.extent == 0:
        return (whole,)
    end = Index(((rest, 1),), along.extent // _BLOCK * _BLOCK)
    return whole, *_block(rest, _moved(updates, along, end))


def _block(along: Var, updates: Sequence[Update]) -> tuple[Statement, ...]:
    """The sums of one block, each added to its total."""
    parts = [f"{update.name}_block" for update in updates]
    sums = tuple(Update(part, "add", update.value) for part, update in zip(parts, updates, strict=True))
    return (
        *(Let(part, Literal(DType.FLOAT32, 0.0)) for part in parts),
        For(along, sums),
        *(Update(update.name, "add", Local(DType.FLOAT32, part)) for part, update in zip(parts, updates, strict=True)),
    )


def _moved(updates: Sequence[Update], along: Var, to: Index) -> list[Update]:
    """Updates with a variable replaced."""

    def change(index: Index) -> Index:
        factor = index.factor(along)
        if factor == 0:
            return index
        return Index(tuple(item for item in index.terms if item[0] is not along), index.offset) + to.times(factor)

    moved = Reindexed(change)
    return [Update(update.name, update.function, moved.scalar(update.value)) for update in updates]
