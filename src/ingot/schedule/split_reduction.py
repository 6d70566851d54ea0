"""Long reductions of few rows split into parts, for threads to share: how many depends on sizes alone, not on threads.

The remainder of a row that is cut into equal parts is one more part. A second kernel reduces the parts, in order.
"""

from __future__ import annotations

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.fuse.limits import FusionLimits
from ingot.loops.ir import Buffer, Index, Load, Local, Nest, Stage, Store, Update, Var, extent
from ingot.loops.rewrite import Reindexed

_SHORTEST = 1 << 13
"""Elements of a part."""

_MOST_PARTS = 64

_UNKNOWN_PARTS = 32
"""Parts of a row of unknown length."""


@dataclass(frozen=True, slots=True)
class SplitReduction:
    """The nests that reduce parts, in any order, the buffers of partial results, and the nest that reduces these."""

    parts: tuple[Nest, ...]
    buffers: tuple[Buffer, ...]
    whole: Nest


def split_reduction(
    nest: Nest, name: str, limits: FusionLimits, shortest: int = _SHORTEST, most_parts: int = _MOST_PARTS
) -> SplitReduction | None:
    """A nest that reduces each of a few long rows, once, split in two; None for any other nest.

    A part has at least `shortest` elements, and there are at most `most_parts`.
    """
    if len(nest.stages) != 2:
        return None
    first, last = nest.stages
    rows = extent(nest.rows)
    updates = [statement for statement in first.body if isinstance(statement, Update)]
    if last.inner or len(updates) < len(first.body) or not limits.divides(rows, extent(first.inner)):
        return None
    count = _parts(first, shortest, most_parts)
    if count is None or len({update.name for update in updates}) < len(updates):
        return None
    along, *others = first.inner
    part_length = along.extent // count
    rest = along.extent - part_length * count
    part_count = count if rest == 0 else count + 1
    names = [f"{name}_parts{number or ''}" for number in range(len(updates))]
    buffers = [Buffer(own, update.value.dtype, part_count * rows) for own, update in zip(names, updates, strict=True)]
    reduced = list(zip(updates, buffers, strict=True))
    row = _row(nest.rows, part_count)

    def part(length: Dim, start: Index, rows: tuple[Var, ...], place: Index) -> Nest:
        inner = Var(along.name, length)
        change = Reindexed(lambda index: _moved(index, along, Index(((inner, 1),)) + start))
        stage = Stage((inner, *others), first.starts, tuple(map(change.statement, updates)))
        stores = (Store(buffer, row + place, Local(buffer.dtype, update.name)) for update, buffer in reduced)
        return Nest(rows, (stage, Stage((), (), tuple(stores))))

    number, every = Var("part", count), Var("part", part_count)
    parts = [part(part_length, Index(((number, part_length),)), (*nest.rows, number), Index(((number, 1),)))]
    if rest != 0:
        parts.append(part(rest, Index((), part_length * count), nest.rows, Index((), count)))
    combine = tuple(
        Update(update.name, update.function, Load(buffer.dtype, buffer, row + Index(((every, 1),))))
        for update, buffer in reduced
    )
    whole = Nest(nest.rows, (Stage((every,), first.starts, combine), last))
    return SplitReduction(tuple(parts), tuple(buffers), whole)


def _parts(stage: Stage, shortest: int, most_parts: int) -> int | None:
    """How many parts the outermost loop of a reduction is divided into; None if that does not pay."""
    total, outer = extent(stage.inner), stage.inner[0].extent
    parts = min(most_parts, total // shortest) if isinstance(total, int) else _UNKNOWN_PARTS
    return None if isinstance(outer, int) and outer < parts else parts


def _row(rows: tuple[Var, ...], length: int) -> Index:
    """Where the parts of a row begin."""
    terms, step = [], length
    for var in reversed(rows):
        assert isinstance(var.extent, int)
        terms.append((var, step))
        step *= var.extent
    return Index(tuple(terms))


def _moved(index: Index, var: Var, to: Index) -> Index:
    """An index with a variable replaced."""
    factor = index.factor(var)
    if factor == 0:
        return index
    return Index(tuple(item for item in index.terms if item[0] is not var), index.offset) + to.times(factor)
