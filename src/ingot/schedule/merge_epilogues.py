"""Epilogues of loops: elementwise kernels of a body, merged into the contraction whose sums they read.

The gates of a recurrent network are columns of one product, each an axis away from the next, and its states are
functions of them: one kernel sums all gates of some units, and stores nothing but states.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.fuse.contraction import Packed
from ingot.loops.ir import (
    BranchStep,
    Buffer,
    Contraction,
    Index,
    Kernel,
    Let,
    Load,
    Local,
    LoopStep,
    Nest,
    Scalar,
    Statement,
    Step,
    Store,
    Var,
    collected_by_loops,
    kernels_in,
    read_by_regions,
)
from ingot.loops.kernel import kernel_of
from ingot.loops.walk import Node, Transform, walk
from ingot.schedule.tile import MOST_GROUPS


@dataclass(frozen=True, slots=True)
class Merged:
    """Steps, for each new kernel those that it replaces, and the groups of columns of packed right operands."""

    steps: tuple[Step, ...]
    origins: Mapping[Kernel, tuple[Kernel, ...]]
    groups: Mapping[Buffer, int]


def merge_epilogues(steps: Sequence[Step]) -> Merged:
    """Steps in which the contractions of loops have absorbed what reads their sums element by element."""
    readers: dict[Buffer, set[Kernel]] = {}
    for kernel in kernels_in(steps):
        for buffer in kernel.reads:
            readers.setdefault(buffer, set()).add(kernel)
    merging = _Merging(readers, {*read_by_regions(steps), *collected_by_loops(steps)})
    return Merged(tuple(merging.steps(steps)), merging.origins, merging.groups)


def grouped(constants: Mapping[Buffer, object], groups: Mapping[Buffer, int]) -> Iterator[tuple[Buffer, Packed]]:
    """The packed constants whose columns are in groups now."""
    for buffer, count in groups.items():
        weights = constants.get(buffer)
        if isinstance(weights, Packed):
            yield buffer, replace(weights, groups=count)


class _Merging:
    def __init__(self, readers: Mapping[Buffer, set[Kernel]], held: Collection[Buffer]) -> None:
        self._readers = readers
        self._held = held
        self.origins: dict[Kernel, tuple[Kernel, ...]] = {}
        self.groups: dict[Buffer, int] = {}

    def steps(self, steps: Sequence[Step], inside: bool = False) -> Iterator[Step]:
        absorbed: set[Kernel] = set()
        for place, step in enumerate(steps):
            if step in absorbed:
                continue
            match step:
                case LoopStep():
                    yield replace(step, steps=tuple(self.steps(step.steps, inside=True)))
                case BranchStep():
                    then, otherwise = (tuple(self.steps(arm)) for arm in (step.then, step.otherwise))
                    yield replace(step, then=then, otherwise=otherwise)
                case Kernel() if inside and (epilogue := _epilogue_of(step)) is not None:
                    for other in steps[place + 1 :]:
                        if not isinstance(other, Kernel):
                            break
                        if other not in absorbed:
                            epilogue.absorb(other)
                    absorbed.update(epilogue.absorbed)
                    yield self._merged(epilogue) if epilogue.absorbed else step
                case _:
                    yield step

    def _merged(self, epilogue: _Epilogue) -> Kernel:
        unread = {
            buffer
            for buffer in (epilogue.store.buffer, *epilogue.values)
            if buffer not in self._held and self._readers.get(buffer, set()).issubset(epilogue.absorbed)
        }
        product, writes = epilogue.merged(unread)
        kernel = kernel_of(epilogue.kernel.name, (product,), writes)
        self.origins[kernel] = (epilogue.kernel, *epilogue.absorbed)
        self.groups[product.rhs.buffer] = product.groups
        return kernel


def _epilogue_of(kernel: Kernel) -> _Epilogue | None:
    """The epilogue of a kernel that is a contraction of one stack and one axis of columns, and stores its sums so."""
    match kernel.nests:
        case (Contraction(batch=(), n=(column,), body=(Store() as store,), codes=None) as product,):
            terms = dict(store.index.terms)
            if terms.get(column) == 1 and all(term is column or term in product.m for term in terms):
                return _Epilogue(kernel, product, store)
    return None


@dataclass(slots=True)
class _Epilogue:
    """A contraction, and the kernels after it that are absorbed, as statements; `values` are what they store.

    `column` is the variable of the columns of one group.
    """

    kernel: Kernel
    product: Contraction
    store: Store
    absorbed: dict[Kernel, None] = field(default_factory=dict)
    column: Var | None = None
    values: dict[Buffer, Store] = field(default_factory=dict)
    body: list[Statement] = field(default_factory=list)
    _skipped: list[Kernel] = field(default_factory=list)
    _own_stores: dict[int, Store] = field(default_factory=dict)

    @property
    def groups(self) -> int:
        (column,) = self.product.n
        if self.column is None or not isinstance(column.extent, int) or not isinstance(self.column.extent, int):
            return 1
        return column.extent // self.column.extent

    def absorb(self, kernel: Kernel) -> None:
        """Absorb a kernel if it reads nothing but what is known at one place of the epilogue; else skip it."""
        stores = self._rewritten(kernel)
        if stores is None:
            self._skipped.append(kernel)
            return
        self.absorbed[kernel] = None
        for store in stores:
            value = store.value
            if not isinstance(value, Local):
                value = Local(value.dtype, f"e{len(self.body)}")
                self.body.append(Let(value.name, store.value))
            self.values[store.buffer] = replace(store, value=value)
            self.body.append(self.values[store.buffer])

    def merged(self, unread: Collection[Buffer]) -> tuple[Contraction, tuple[Buffer, ...]]:
        """The contraction with all that was absorbed, which stores nothing that is `unread`."""
        column = self.column
        assert column is not None
        own: list[Statement] = []
        known = Transform(lambda node: node)
        for group in () if self.store.buffer in unread else range(self.groups):
            store = self._own(group)
            local = Local(store.value.dtype, f"g{group}")
            known.replace(store.value, local)
            own += (Let(local.name, store.value), replace(store, value=local))
        stored = [step for step in self.body if not (isinstance(step, Store) and step.buffer in unread)]
        body = (*own, *map(known, stored))
        writes = tuple(dict.fromkeys(store.buffer for store in body if isinstance(store, Store)))
        (whole,) = self.product.n
        rename = Transform(lambda node: _renamed(node, {whole: column}) if isinstance(node, Index) else node)
        product = replace(self.product, n=(column,), rhs=rename(self.product.rhs), body=body, groups=self.groups)
        return product, writes

    def _rewritten(self, kernel: Kernel) -> list[Store] | None:
        """The stores of an elementwise kernel over one group of columns, with sums in the place of loads."""
        match kernel.nests:
            case (Nest(rows=(*rows, column), stages=(stage,)),) if not stage.inner and not stage.starts:
                pass
            case _:
                return None
        if not self._depends(kernel) or self._conflicts(kernel) or not self._fits(rows, column):
            return None
        assert self.column is not None
        renamed = dict(zip((*rows, column), (*self.product.m, self.column), strict=True))
        rename = Transform(lambda node: _renamed(node, renamed) if isinstance(node, Index) else node)
        stores = [rename(statement) for statement in stage.body]
        replaced = Transform(lambda node: node)
        for node in walk(*stores):
            if isinstance(node, Load) and (node.buffer is self.store.buffer or node.buffer in self.values):
                value = self._value(node)
                if value is None:
                    return None
                replaced.replace(node, value)
        done = [replaced(statement) for statement in stores]
        return [statement for statement in done if isinstance(statement, Store)] if done else None

    def _depends(self, kernel: Kernel) -> bool:
        return self.store.buffer in kernel.reads or any(buffer in self.values for buffer in kernel.reads)

    def _conflicts(self, kernel: Kernel) -> bool:
        """Whether a kernel that was skipped comes between: it writes what this one reads, or uses what it writes."""
        before = (self.kernel, *self.absorbed)
        return (
            any(buffer in kernel.reads for other in self._skipped for buffer in other.writes)
            or any(buffer in other.buffers for other in self._skipped for buffer in kernel.writes)
            or any(buffer in other.reads or buffer in other.writes for other in before for buffer in kernel.writes)
        )

    def _fits(self, rows: Sequence[Var], column: Var) -> bool:
        """Whether a kernel goes over the rows of the sums, and over the columns of one group."""
        if [row.extent for row in rows] != [row.extent for row in self.product.m]:
            return False
        if self.column is not None:
            return column.extent == self.column.extent
        (whole,) = self.product.n
        if column.extent == whole.extent:
            self.column = whole
            return True
        if not isinstance(whole.extent, int) or not isinstance(column.extent, int) or whole.extent % column.extent:
            return False
        if whole.extent // column.extent > MOST_GROUPS:
            return False
        self.column = Var(column.name, column.extent)
        return True

    def _value(self, load: Load) -> Scalar | None:
        """What a load of a sum, or of what is stored in the epilogue, reads; None if it is of another place."""
        if load.where:
            return None
        if load.buffer in self.values:
            known = self.values[load.buffer]
            return known.value if _same(load.index, known.index) else None
        for group in range(self.groups):
            own = self._own(group)
            if _same(load.index, own.index):
                return own.value
        return None

    def _own(self, group: int) -> Store:
        """The store of the sums of a group."""
        if group not in self._own_stores:
            assert self.column is not None
            (whole,) = self.product.n
            name = replace(self.product, groups=self.groups).sums[group]
            self._own_stores[group] = _in_group(self.store, whole, self.column, self.column.extent * group, name)
        return self._own_stores[group]


def _in_group(store: Store, whole: Var, column: Var, start: Dim, name: str) -> Store:
    """A store of sums as that of one group of columns, which begins at column `start`; its sum is the local `name`."""

    def change(node: Node) -> Node:
        if isinstance(node, Index):
            factor = node.factor(whole)
            rest = Index(tuple(item for item in node.terms if item[0] is not whole), node.offset)
            return rest + Index(((column, factor),) if factor != 0 else (), start * factor)
        if isinstance(node, Local):
            return Local(node.dtype, name)
        return node

    return Transform(change)(store)


def _renamed(index: Index, names: Mapping[Var, Var]) -> Index:
    return Index(
        tuple((names.get(term, term) if isinstance(term, Var) else term, factor) for term, factor in index.terms),
        index.offset,
    )


def _same(one: Index, other: Index) -> bool:
    return dict(one.terms) == dict(other.terms) and one.offset == other.offset
