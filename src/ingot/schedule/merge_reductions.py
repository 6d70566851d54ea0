"""Reductions of one operand merged: what several of them read, such as an extreme at either end, is read once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ingot.dataclass import dataclass
from ingot.loops.ir import (
    BranchStep,
    Buffer,
    Index,
    Kernel,
    Let,
    Load,
    Local,
    LoopStep,
    Nest,
    Stage,
    Step,
    Store,
    Update,
    Var,
)
from ingot.loops.kernel import kernel_of
from ingot.loops.rewrite import parts, values
from ingot.loops.walk import Node, Transform
from ingot.schedule.nest import collapse

_MOST = 4
"""Reductions of one kernel: several vectors of each are summed at a time, in registers."""


@dataclass(frozen=True, slots=True)
class MergedReductions:
    """Steps, and for each new kernel those that it replaces."""

    steps: tuple[Step, ...]
    origins: Mapping[Kernel, tuple[Kernel, ...]]


def merge_reductions(steps: Sequence[Step]) -> MergedReductions:
    """Steps in which kernels that reduce the same elements over the same axes are one."""
    origins: dict[Kernel, tuple[Kernel, ...]] = {}
    return MergedReductions(tuple(_merged(steps, origins)), origins)


def _merged(steps: Sequence[Step], origins: dict[Kernel, tuple[Kernel, ...]]) -> Iterator[Step]:
    reductions = {
        step: nest for step in steps if isinstance(step, Kernel) and (nest := _reduction_of(step)) is not None
    }
    last = {_alike(reductions[step]): place for place, step in enumerate(steps) if step in reductions}
    absorbed: set[Step] = set()
    for place, step in enumerate(steps):
        if step in absorbed:
            continue
        match step:
            case LoopStep():
                yield replace(step, steps=tuple(_merged(step.steps, origins)))
            case BranchStep():
                then, otherwise = (tuple(_merged(arm, origins)) for arm in (step.then, step.otherwise))
                yield replace(step, then=then, otherwise=otherwise)
            case Kernel() if step in reductions:
                nest = reductions[step]
                together = [step]
                between = _Accesses()
                for other in steps[place + 1 : last[_alike(nest)] + 1]:
                    if not isinstance(other, Kernel) or len(together) == _MOST:
                        break
                    both = None
                    if other in reductions and other not in absorbed and not between.conflict(other):
                        both = _both(nest, reductions[other], len(together))
                    if both is None:
                        between.add(other)
                    else:
                        nest = both
                        together.append(other)
                yield step if len(together) == 1 else _kernel(nest, together, origins)
                absorbed.update(together)
            case _:
                yield step


class _Accesses:
    """What kernels write, and what they use at all."""

    def __init__(self) -> None:
        self._written, self._used = set[Buffer](), set[Buffer]()

    def add(self, kernel: Kernel) -> None:
        self._written.update(kernel.writes)
        self._used.update(kernel.buffers)

    def conflict(self, kernel: Kernel) -> bool:
        """Whether a kernel cannot run before these: they write what it reads, or use what it writes."""
        return not (self._written.isdisjoint(kernel.reads) and self._used.isdisjoint(kernel.writes))


def _kernel(nest: Nest, together: Sequence[Kernel], origins: dict[Kernel, tuple[Kernel, ...]]) -> Kernel:
    writes = [buffer for kernel in together for buffer in kernel.writes]
    merged = kernel_of(together[0].name, (nest,), writes)
    origins[merged] = tuple(together)
    return merged


def _reduction_of(kernel: Kernel) -> Nest | None:
    """The nest of a kernel that reduces, and stores what it reduced to; None of any other."""
    match kernel.nests:
        case (Nest(stages=(first, last)) as nest,) if first.inner and not last.inner and not last.starts:
            sums = all(isinstance(statement, Update) for statement in first.body)
            if sums and all(isinstance(statement, Store) for statement in last.body):
                return collapse(nest)  # which has the same statements, in fewer loops
    return None


def _both(nest: Nest, other: Nest, number: int) -> Nest | None:
    """A nest with the reduction of another one; None unless it has the same loops, and reads the same elements.

    What the other one then reads of results of the first is what was stored just before.
    """
    if _alike(nest) != _alike(other):
        return None
    (first, last), (inner, end) = nest.stages, other.stages
    names = dict(zip((*other.rows, *inner.inner), (*nest.rows, *first.inner), strict=True))

    def change(node: Node) -> Node:
        match node:
            case Index():
                terms = tuple((names.get(term, term) if isinstance(term, Var) else term, by) for term, by in node.terms)
                return Index(terms, node.offset)
            case Local() | Let() | Update():
                return replace(node, name=f"{node.name}_{number}")
        return node

    renamed = Transform(change)
    reduced = Stage(
        first.inner,
        (*first.starts, *map(renamed, inner.starts)),
        (*first.body, *map(renamed, inner.body)),
    )
    if _places(Stage(first.inner, (), reduced.body[len(first.body) :])) != _places(first):
        return None
    results = {
        (store.buffer, frozenset(store.index.terms), store.index.offset): store.value
        for store in last.body
        if isinstance(store, Store)
    }

    def forward(node: Node) -> Node:
        match node:
            case Load(dtype, buffer, Index() as index, ()):
                value = results.get((buffer, frozenset(index.terms), index.offset))
                return node if value is None or value.dtype is not dtype else value
        return node

    forwarded = tuple(map(Transform(forward), map(renamed, end.body)))
    before, after = ({store.buffer for store in body if isinstance(store, Store)} for body in (last.body, forwarded))
    statements = (*reduced.starts, *reduced.body, *last.body, *forwarded)
    loaded = {part.buffer for part in parts(list(values(statements))) if isinstance(part, Load)}
    if not before.isdisjoint(after) or not loaded.isdisjoint(before | after):
        return None
    return Nest(nest.rows, (reduced, Stage((), (), (*last.body, *forwarded))))


def _alike(nest: Nest) -> tuple[object, ...]:
    """What reductions have in common that can be merged: the extents of their loops, and the buffers that they read."""
    first = nest.stages[0]
    buffers = frozenset(load.buffer for load in _loads(first))
    return tuple(row.extent for row in nest.rows), tuple(var.extent for var in first.inner), buffers


def _places(stage: Stage) -> set[object]:
    """What a stage loads in every step, and where."""
    return {(load.buffer, frozenset(load.index.terms), load.index.offset, len(load.where)) for load in _loads(stage)}


def _loads(stage: Stage) -> list[Load]:
    """The loads that differ from step to step of a stage."""
    loads = [part for part in parts(list(values(stage.body))) if isinstance(part, Load)]
    return [load for load in loads if any(load.index.factor(var) != 0 for var in stage.inner)]
