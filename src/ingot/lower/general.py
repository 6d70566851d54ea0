"""Kernels for any sizes: every size but the smallest becomes a parameter, so that few kernels serve many layers.

What is compiled depends on the form of a kernel alone; what a kernel is for, its sizes, is told when it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingot.dims import Dim, symbol
from ingot.lower.loops import (
    Apply,
    Buffer,
    Checked,
    Choose,
    For,
    Index,
    Inside,
    Kernel,
    Kind,
    Let,
    Load,
    Local,
    Number,
    Position,
    Product,
    Scalar,
    Statement,
    Store,
    Update,
    Var,
    Winograd,
)
from ingot.lower.rewrite import indices

_LARGEST_FIXED = 8
"""Sizes up to this stay in the code: those of windows, which loops over them are unrolled for, and the stride one."""

_MOST_TIMES = 4
"""How many times as long one step may be as another for windows to meet: the stride, or how far apart elements are."""


@dataclass(frozen=True, slots=True)
class General:
    """A kernel with parameters for its sizes, and the size that each of them is, by name."""

    kernel: Kernel
    sizes: dict[str, Dim]


def generalised(kernel: Kernel) -> General:
    """The kernel with its sizes made parameters; names of buffers and variables are made alike too."""
    return _Generaliser(kernel).run()


class _Generaliser:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._sizes: dict[Dim, Dim] = {}
        self._multiples: dict[Dim, tuple[int, int]] = {}
        self._vars: dict[Var, Var] = {}
        self._buffers: dict[Buffer, Buffer] = {}
        self._known: dict[int, tuple[Scalar, Scalar]] = {}

    def run(self) -> General:
        kernel = self._kernel
        for buffer in (*kernel.reads, *kernel.writes, *kernel.scratch):
            if buffer not in self._buffers:
                self._buffers[buffer] = Buffer(f"b{len(self._buffers)}", buffer.dtype, 0)
        for nest in kernel.nests:
            if not isinstance(nest, Product | Winograd):
                self._relate(nest)
        nests = tuple(map(self._nest, kernel.nests))
        reads, writes, scratch = (
            tuple(self._buffers[buffer] for buffer in some) for some in (kernel.reads, kernel.writes, kernel.scratch)
        )
        sizes = {str(name): size for size, name in self._sizes.items()}
        return General(Kernel("kernel", nests, reads, writes, scratch), sizes)

    def _size(self, size: Dim) -> Dim:
        if isinstance(size, int) and abs(size) <= _LARGEST_FIXED:
            return size
        if isinstance(size, int) and size < 0:
            return self._size(-size) * -1  # a named size is never negative
        if size in self._multiples:
            part, times = self._multiples[size]
            return self._size(part) * times
        return self._named(size)

    def _named(self, size: Dim) -> Dim:
        if size not in self._sizes:
            self._sizes[size] = symbol(f"p{len(self._sizes)}")
        return self._sizes[size]

    def _relate(self, nest: Sequence[Statement]) -> None:
        """Note which steps of loops run together are multiples of others, so that places are seen to be the same."""
        together = set(_together(nest))
        for index in indices(*nest):
            terms = [
                (term, factor)
                for term, factor in index.terms
                if isinstance(term, Var) and isinstance(term.extent, int) and term.extent <= _LARGEST_FIXED
                if isinstance(factor, int) and factor > _LARGEST_FIXED
            ]
            for _, step in (item for item in terms if item[0] in together):
                for _, other in terms:
                    small, large = sorted((step, other))
                    if large != small and large % small == 0 and large // small <= _MOST_TIMES:
                        self._multiples[large] = (small, large // small)

    def _var(self, var: Var, kind: Kind = Kind.SERIAL) -> Var:
        if var not in self._vars:
            extent = self._named(var.extent) if kind is Kind.PARALLEL else self._size(var.extent)
            self._vars[var] = Var(f"v{len(self._vars)}", extent)
        return self._vars[var]

    def _nest(self, nest: tuple[Statement, ...] | Product | Winograd) -> tuple[Statement, ...] | Product | Winograd:
        match nest:
            case Product():
                return self._product(nest)
            case Winograd():
                return self._winograd(nest)
            case _:
                return tuple(map(self._statement, nest))

    def _product(self, nest: Product) -> Product:
        left, right = self._scalar(nest.lhs), self._scalar(nest.rhs)
        assert isinstance(left, Load)
        assert isinstance(right, Load)
        batch, m, n, k = (tuple(map(self._var, some)) for some in (nest.batch, nest.m, nest.n, nest.k))
        body = tuple(map(self._statement, nest.body))
        scratch = tuple(self._buffers[buffer] for buffer in nest.scratch)
        zeros = None if nest.zeros is None else self._buffers[nest.zeros]
        return replace(nest, batch=batch, m=m, n=n, k=k, lhs=left, rhs=right, body=body, scratch=scratch, zeros=zeros)

    def _winograd(self, nest: Winograd) -> Winograd:
        left, right, plain = (self._scalar(load) for load in (nest.lhs, nest.rhs, nest.plain))
        assert isinstance(left, Load)
        assert isinstance(right, Load)
        assert isinstance(plain, Load)
        return replace(
            nest,
            m=tuple(map(self._var, nest.m)),
            n=tuple(map(self._var, nest.n)),
            k=tuple(map(self._var, nest.k)),
            lhs=left,
            rhs=right,
            plain=plain,
            body=tuple(map(self._statement, nest.body)),
            block=self._size(nest.block),
            lines=(self._size(nest.lines[0]), self._size(nest.lines[1])),
            scratch=tuple(self._buffers[buffer] for buffer in nest.scratch),
            zeros=self._buffers[nest.zeros],
        )

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case For():
                var = self._var(statement.var, statement.kind)
                return For(var, tuple(map(self._statement, statement.body)), statement.kind)
            case Let():
                return Let(statement.name, self._scalar(statement.value))
            case Update():
                return Update(statement.name, statement.function, self._scalar(statement.value))
            case Store():
                buffer = self._buffers[statement.buffer]
                return Store(buffer, self._index(statement.index), self._scalar(statement.value))

    def _index(self, index: Index) -> Index:
        terms = tuple(
            (self._var(term) if isinstance(term, Var) else self._scalar(term), self._size(factor))
            for term, factor in index.terms
        )
        return Index(terms, self._size(index.offset))

    def _inside(self, inside: Inside) -> Inside:
        return Inside(self._index(inside.index), self._size(inside.size))

    def _scalar(self, value: Scalar) -> Scalar:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = (value, self._changed(value))
        return known[1]

    def _changed(self, value: Scalar) -> Scalar:
        match value:
            case Number() | Local():
                return value
            case Position():
                return Position(self._index(value.index))
            case Load():
                where = tuple(map(self._inside, value.where))
                return Load(value.dtype, self._buffers[value.buffer], self._index(value.index), where, value.fill)
            case Apply():
                return Apply(value.dtype, value.function, tuple(map(self._scalar, value.arguments)))
            case Choose():
                where = tuple(map(self._inside, value.where))
                return Choose(value.dtype, self._scalar(value.value), where, value.fill)
            case Checked():
                return Checked(self._scalar(value.value), self._size(value.size))


def _together(statements: Sequence[Statement]) -> Iterator[Var]:
    for statement in statements:
        if isinstance(statement, For):
            if statement.kind is Kind.TOGETHER:
                yield statement.var
            yield from _together(statement.body)
