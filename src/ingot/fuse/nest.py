"""The loop nest of one stored tensor: rows, in each of them a pass for each reduction, and then its elements.

Elementwise functions before a reduction are its prologue, those after it its epilogue: all are in the same nest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from ingot.dataclass import dataclass
from ingot.fuse.contraction import require_stored
from ingot.fuse.gemv import as_reduction, is_gemv
from ingot.fuse.read import Place, Placed, Reader, StoreFirst, linear, of_var
from ingot.loops.ir import Index, Let, Literal, Local, Nest, Scalar, Stage, Statement, Store, Update, Var
from ingot.loops.rewrite import locals_in
from ingot.prim.functions import identity
from ingot.prim.tensor import Contract, Reduce, Tensor


def nest_of(
    tensor: Tensor,
    target: Placed,
    order: Sequence[int],
    placed: Mapping[Tensor, Placed],
    start: Index | None = None,
) -> Nest:
    """The loops that store `tensor` from element `start` of `target` on, axes nested in `order`.

    StoreFirst if another tensor has to be stored for that.
    """
    return _Builder(tensor, target, order, placed, start).build()


@dataclass(slots=True)
class _Pass:
    """A stage in progress."""

    inner: tuple[Var, ...]
    starts: list[Statement] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)


class _Builder:
    def __init__(
        self, tensor: Tensor, target: Placed, order: Sequence[int], placed: Mapping[Tensor, Placed], start: Index | None
    ) -> None:
        self._start = start or Index()
        self._placed = placed
        self._sums: dict[Contract, Reduce] = {}
        self._origins: dict[Reduce, Contract] = {}
        self._tensor = tensor
        self._target = target
        self._order = [axis for axis in order if tensor.shape[axis] != 1]
        self._vars = {axis: Var(f"i{axis}", tensor.shape[axis]) for axis in self._order}
        self._reader = Reader(placed, self._local)
        self._rows: frozenset[Var] | None = None
        self._reductions: dict[Reduce, Local] = {}
        self._levels: dict[str, int] = {}
        self._stages: list[_Pass] = []
        self._inner: dict[int, Var] = {}

    def build(self) -> Nest:
        at = tuple(of_var(self._vars[axis]) if axis in self._vars else Index() for axis in range(self._tensor.rank))
        value = self._element(at)
        store = Store(self._target.buffer, linear(at, self._target.strides) + self._start, value)
        rows = [self._vars[axis] for axis in self._order]
        if self._rows is not None:
            inner = tuple(var for var in rows if var not in self._rows)
            rows = [var for var in rows if var in self._rows]
            self._stages.append(_Pass(inner, [], [store]))
        else:
            self._stages.append(_Pass((), [], [store]))
        stages = (stage for stage in self._stages if stage.starts or stage.body)
        return Nest(
            tuple(rows),
            tuple(Stage(finished.inner, tuple(finished.starts), tuple(finished.body)) for finished in stages),
        )

    def _element(self, at: Place) -> Scalar:
        if isinstance(self._tensor, Reduce):
            reduction = self._local(self._tensor, at)
            assert reduction is not None
            return reduction
        return self._reader.read(self._tensor, at)

    def _local(self, tensor: Tensor, at: Place) -> Scalar | None:
        if isinstance(tensor, Contract) and is_gemv(tensor):
            for operand in tensor.reads:
                require_stored(operand, self._placed)
            if tensor not in self._sums:
                self._sums[tensor] = as_reduction(tensor)
                self._origins[self._sums[tensor]] = tensor
            tensor = self._sums[tensor]
            at = (*at, *(Index() for _ in tensor.axes))
        if not isinstance(tensor, Reduce):
            return None
        rows = _variables(tensor, at)
        if rows is None:
            raise StoreFirst(self._origins.get(tensor, tensor), "it is read elsewhere than at its own row")
        if self._rows is None:
            self._rows = rows
        if rows != self._rows:
            raise StoreFirst(self._inside(tensor), "another reduction goes over other rows")
        if tensor not in self._reductions:
            self._reduce(tensor, at)
        return self._reductions[tensor]

    def _inside(self, tensor: Reduce) -> Tensor:
        """The first reduction of this nest that another one is computed from, which needs no other then; else that."""
        before = {self._origins.get(own, own) for own in self._reductions}
        pending, seen = [*tensor.reads], set[Tensor]()
        while pending:
            read = pending.pop()
            if read in before:
                return read
            if read not in seen and read not in self._placed:
                seen.add(read)
                pending += read.reads
        return self._origins.get(tensor, tensor)

    def _reduce(self, tensor: Reduce, at: Place) -> None:
        """Add the pass over a row that a reduction takes."""
        inner = {axis: self._along(tensor, axis) for axis in tensor.axes if tensor.x.shape[axis] != 1}
        place = tuple(of_var(inner[axis]) if axis in inner else index for axis, index in enumerate(at))
        value = self._reader.read(tensor.x, place)
        level = max((self._levels[name] for name in locals_in(value)), default=0)
        name = f"r{len(self._reductions)}"
        local = Local(tensor.dtype, name)
        self._reductions[tensor] = local
        stage = self._stage(level, tuple(inner.values()))
        stage.starts.append(Let(name, Literal(tensor.dtype, identity(tensor.function, tensor.dtype).item())))
        stage.body.append(Update(name, tensor.function, value))
        self._levels[name] = level + 1

    def _along(self, tensor: Reduce, axis: int) -> Var:
        """The variable of a reduced axis: that of the result where it has the same, so that passes share loops."""
        own = self._vars.get(axis)
        extent = tensor.x.shape[axis]
        if own is not None and own.extent == extent and (self._rows is None or own not in self._rows):
            return own
        known = self._inner.get(axis)
        if known is None or known.extent != extent:
            known = self._inner[axis] = Var(f"j{axis}", extent)
        return known

    def _stage(self, level: int, inner: tuple[Var, ...]) -> _Pass:
        while len(self._stages) <= level:
            self._stages.append(_Pass(inner))
        stage = self._stages[level]
        if stage.inner != inner:
            if stage.body:
                first = next(iter(self._reductions))
                raise StoreFirst(self._origins.get(first, first), "reductions go over different axes")
            stage.inner = inner
        return stage


def _variables(tensor: Reduce, at: Place) -> frozenset[Var] | None:
    """The variables a reduction is read at, if each of its axes is read along one of its own; else None."""
    variables: list[Var] = []
    for axis, index in enumerate(at):
        if axis in tensor.axes or tensor.shape[axis] == 1:
            continue
        if len(index.terms) != 1 or index.offset != 0 or index.terms[0][1] != 1:
            return None
        term = index.terms[0][0]
        if not isinstance(term, Var) or term in variables:
            return None
        variables.append(term)
    return frozenset(variables)
