"""Copies of what loops collect, left out: each run stores its rows where they would be copied to.

Layers of a network put out rows of one direction; what reads them wants both directions side by side, the last one
first, or other axes in front. These are other places of the same elements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import (
    Buffer,
    Contraction,
    Index,
    Kernel,
    Load,
    LoopStep,
    Nest,
    Scalar,
    Statement,
    Step,
    Store,
    Var,
    kernels_in,
    read_by_regions,
)
from ingot.loops.kernel import kernel_of
from ingot.prim.tensor import HostStep

_MOST_PARTS = 8
"""Parts side by side that are tried to find which of them rows are."""


@dataclass(frozen=True, slots=True)
class Forwarded:
    """Steps, and for each new kernel those whose work it does, the last one last."""

    steps: tuple[Step, ...]
    origins: Mapping[Kernel, tuple[Kernel, ...]]


@dataclass(frozen=True, slots=True)
class _Copy:
    """A nest of a kernel that copies a buffer: for every place of `rows`, a load and where it is stored."""

    kernel: Kernel
    nest: Nest
    rows: tuple[Var, ...]
    load: Load
    store: Store


def forward_stores(steps: Sequence[Step], visible: Collection[Buffer]) -> Forwarded:
    """Steps in which loops store what they collect where a later copy, its only reader, would store it.

    `visible` are the buffers that are also read outside of kernels. No step of the host is between the two, so that
    both are in one segment of a plan.
    """
    forwarding = _Forwarding(list(steps), visible)
    while forwarding.collected and any(forwarding.forward(copy) for copy in list(forwarding.copies())):
        pass
    return Forwarded(tuple(forwarding.done), forwarding.origins)


class _Forwarding:
    """Steps in progress."""

    def __init__(self, steps: list[Step], visible: Collection[Buffer]) -> None:
        self.done = steps
        self._visible = {*visible, *read_by_regions(steps)}
        self.collected = {buffer for step in steps if isinstance(step, LoopStep) for buffer in step.collected}
        self.origins: dict[Kernel, tuple[Kernel, ...]] = {}

    def copies(self) -> Iterator[_Copy]:
        """The nests that copy a buffer which a loop collects, in order."""
        for step in self.done:
            if not isinstance(step, Kernel):
                continue
            for nest in step.nests:
                match nest:
                    case Nest(rows=rows, stages=(stage,)) if not stage.inner and not stage.starts:
                        for statement in stage.body:
                            load = statement.value if isinstance(statement, Store) else None
                            if (
                                isinstance(statement, Store)
                                and isinstance(load, Load)
                                and load.buffer in self.collected
                            ):
                                yield _Copy(step, nest, rows, load, statement)

    def forward(self, copy: _Copy) -> bool:
        """Leave a copy out if all that it reads is collected by loops before it that can store it in its place."""
        buffer, target = copy.load.buffer, copy.store.buffer
        if copy.load.where or copy.kernel not in self.done or not self._is_only_reader(copy):
            return False
        end = self.done.index(copy.kernel)
        begin = max((place + 1 for place in range(end) if isinstance(self.done[place], HostStep)), default=0)
        changed: dict[int, LoopStep] = {}
        replaced: dict[Kernel, Kernel] = {}
        for place, step in enumerate(self.done):
            writers = [kernel for kernel in kernels_in((step,)) if buffer in kernel.writes]
            if not writers:
                continue
            loop = _stored_in_place(step, copy) if isinstance(step, LoopStep) and begin <= place < end else None
            if loop is None:
                return False
            changed[place] = loop[0]
            replaced.update(loop[1])
        if not changed:
            return False
        self.collected.add(target)
        for place, new_loop in changed.items():
            self.done[place] = new_loop
        for old, new in replaced.items():
            self.origins[new] = (*self.origins.pop(old, (old,)), *self.origins.get(copy.kernel, (copy.kernel,)))
        rest = tuple(nest for nest in copy.kernel.nests if nest is not copy.nest)
        if rest:
            kernel = self.done[end] = kernel_of(copy.kernel.name, rest, (target,))
            self.origins[kernel] = self.origins.pop(copy.kernel, (copy.kernel,))
        else:
            del self.done[end]
        return True

    def _is_only_reader(self, copy: _Copy) -> bool:
        """Whether nothing else reads what is copied, and no loop or branch holds it but to collect it."""
        buffer = copy.load.buffer
        if len(copy.kernel.writes) != 1 or buffer in self._visible:
            return False
        nests = [nest for nest in copy.kernel.nests if buffer in kernel_of("", (nest,), ()).reads]
        return nests == [copy.nest] and [k for k in kernels_in(self.done) if buffer in k.reads] == [copy.kernel]


def _stored_in_place(loop: LoopStep, copy: _Copy) -> tuple[LoopStep, dict[Kernel, Kernel]] | None:
    """A loop that stores what it collects where a copy of it goes, and its kernels that do; None if it cannot."""
    buffer, target = copy.load.buffer, copy.store.buffer
    if buffer not in loop.collected:
        return None
    steps: list[Step] = []
    new: dict[Kernel, Kernel] = {}
    for step in loop.steps:
        if not isinstance(step, Kernel):
            if any(buffer in kernel.writes for kernel in kernels_in((step,))):
                return None
        elif buffer in step.writes:
            (nest, *others) = step.nests
            moved = None if others else _moved_nest(nest, copy, loop)
            if moved is None:
                return None
            writes = tuple(target if each is buffer else each for each in step.writes)
            new[step] = kernel_of(step.name, (moved,), writes)
            step = new[step]
        steps.append(step)
    collected = tuple(target if each is buffer else each for each in loop.collected)
    return replace(loop, steps=tuple(steps), collected=collected), new


def _moved_nest(nest: object, copy: _Copy, loop: LoopStep) -> Nest | Contraction | None:
    match nest:
        case Contraction():
            body = _moved(nest.body, copy, loop)
            return None if body is None else replace(nest, body=body)
        case Nest(stages=(*stages, last)):
            body = _moved(last.body, copy, loop)
            return None if body is None else replace(nest, stages=(*stages, replace(last, body=body)))
    return None


def _moved(body: Sequence[Statement], copy: _Copy, loop: LoopStep) -> tuple[Statement, ...] | None:
    """Statements that store at the place of the copy what they would have stored to be copied."""
    moved: list[Statement] = []
    for statement in body:
        if isinstance(statement, Store) and statement.buffer is copy.load.buffer:
            index = _place(statement.index, copy, loop)
            if index is None:
                return None
            statement = Store(copy.store.buffer, index, statement.value)
        moved.append(statement)
    return tuple(moved)


def _place(stored: Index, copy: _Copy, loop: LoopStep) -> Index | None:
    """Where an element that is stored at an index is copied to; None if the two go through memory differently.

    Each variable of the copy is a term of the index, or that term counted from its end; or, where the copy goes over
    parts that different loops have stored, the number of the part, or a term of it behind the parts before.
    """
    terms = dict(stored.terms)
    offset: Dim = stored.offset - copy.load.index.offset
    values: dict[Var, Index] = {}
    parts: list[tuple[Var, Dim, Index, int]] = []
    for var, factor in copy.load.index.terms:
        if not isinstance(var, Var):
            return None
        same = [term for term, other in terms.items() if other in (factor, factor * -1) and _ends(term, loop, var)]
        if not same:
            inner = [term for term, other in terms.items() if other == factor and isinstance(term, Var)]
            length = inner[0].extent if inner and isinstance(inner[0], Var) else 1
            if not isinstance(length, int) or not isinstance(var.extent, int):
                return None
            parts.append((var, factor, Index(tuple((term, 1) for term in inner[:1])), length))
            if inner:
                del terms[inner[0]]
            continue
        if terms.pop(same[0]) == factor:
            values[var] = Index(((same[0], 1),))
        else:
            values[var] = Index(((same[0], -1),), var.extent - 1)
            offset = offset - factor * (var.extent - 1)
    if len(parts) == 1:
        var, factor, place, length = parts[0]
        begins = [part * length for part in range(_MOST_PARTS)]
        begin = next((begin for begin in begins if factor * begin == offset), None)
        if begin is None or not isinstance(var.extent, int) or begin + length > var.extent:
            return None
        values[var], offset = place.plus(begin), 0
    if terms or len(parts) > 1 or offset != 0 or set(values) != set(copy.rows):
        return None
    index = Index((), copy.store.index.offset)
    for term, factor in copy.store.index.terms:
        if not isinstance(term, Var):
            return None
        index = index + values[term].times(factor)
    return index


def _ends(term: Var | Scalar, loop: LoopStep, var: Var) -> bool:
    """Whether a term of an index in a loop goes as far as a variable."""
    if isinstance(term, Var):
        return term.extent == var.extent
    return isinstance(term, Load) and term.buffer is loop.number and loop.trips == var.extent
