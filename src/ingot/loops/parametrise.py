"""Kernels for any sizes: every size but the smallest becomes a parameter, so that few kernels serve many layers.

What is compiled depends on the form of a kernel alone; what a kernel is for, its sizes, is told when it runs. Sizes
that happen to be equal stay apart: each loop has its own, and buffers share strides if they are read alike. The numbers
that a model has learned are told too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import frexp, isfinite

import numpy as np

from ingot.dims import Dim, symbol
from ingot.dtypes import DType
from ingot.loops.ir import (
    Apply,
    Attention,
    Buffer,
    CheckedIndex,
    Contraction,
    For,
    Index,
    Inside,
    Kernel,
    KernelNest,
    Kind,
    Let,
    Literal,
    Load,
    Local,
    Nest,
    Position,
    RuntimeScalar,
    Scalar,
    Select,
    Statement,
    Store,
    Update,
    Var,
    Winograd,
)
from ingot.loops.rewrite import indices

_WINDOW = 8
"""Extents up to this stay in the code: those of windows, which loops over them are unrolled for."""

_STEP = 1
"""Strides up to this stay in the code: neighbours are loaded together."""

_MOST_TIMES = 4
"""How many times as long one step may be as another for windows to meet: the stride, or how far apart elements are."""

_BY_CONSTANTS = {"divide", "remainder", "power", "shift_left", "shift_right"}
"""Functions that are quicker, or need no check, by an integer that is known, or an exponent."""


@dataclass(frozen=True, slots=True)
class Parametrised:
    """A kernel with parameters for its sizes, and the size that each of them is, by name."""

    kernel: Kernel
    sizes: dict[str, Dim]


def parametrise(kernel: Kernel) -> Parametrised:
    """The kernel with its sizes made parameters; names of buffers and variables are made alike too."""
    return _Generaliser(kernel).run()


class _Generaliser:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._sizes: dict[tuple[Hashable, Dim], Dim] = {}
        self._multiples: dict[Dim, tuple[int, int]] = {}
        self._vars: dict[Var, Var] = {}
        self._places: dict[Var, int] = {}
        self._buffers: dict[Buffer, Buffer] = {}
        self._layouts: dict[Buffer, Hashable] = {}
        self._known: dict[int, tuple[Scalar, Scalar]] = {}

    def run(self) -> Parametrised:
        kernel = self._kernel
        for buffer in (*kernel.reads, *kernel.writes, *kernel.scratch):
            if buffer not in self._buffers:
                self._buffers[buffer] = Buffer(f"b{len(self._buffers)}", buffer.dtype, 0)
        for nest in kernel.nests:
            if isinstance(nest, tuple):
                self._relate(nest)
        nests = tuple(map(self._nest, kernel.nests))
        reads, writes, scratch = (
            tuple(self._buffers[buffer] for buffer in some) for some in (kernel.reads, kernel.writes, kernel.scratch)
        )
        sizes = {str(name): size for (_, size), name in self._sizes.items()}
        return Parametrised(Kernel("kernel", nests, reads, writes, scratch), sizes)

    # --- sizes

    def _size(self, size: Dim, of: Hashable, fixed: int = -1) -> Dim:
        """The parameter for a size of something; equal sizes of one thing share it. Up to `fixed` it stays as it is."""
        if isinstance(size, int) and abs(size) <= fixed:
            return size
        if isinstance(size, int) and size < 0:
            return self._size(-size, of) * -1  # a named size is never negative
        if (of, size) not in self._sizes:
            self._sizes[of, size] = symbol(f"p{len(self._sizes)}")
        return self._sizes[of, size]

    def _step(self, size: Dim, of: Hashable) -> Dim:
        """The parameter for a step through a buffer: steps that are multiples of others are said as such."""
        if size in self._multiples:
            part, times = self._multiples[size]
            return self._step(part, of) * times
        return self._size(size, of, _STEP)

    def _relate(self, nest: Sequence[Statement]) -> None:
        """Note which steps of loops run together are multiples of others, so that places are seen to be the same."""
        together = set(_together(nest))
        for index in indices(*nest):
            terms = [
                (term, factor)
                for term, factor in index.terms
                if isinstance(term, Var) and isinstance(term.extent, int) and term.extent <= _WINDOW
                if isinstance(factor, int) and factor > _STEP
            ]
            for _, step in (item for item in terms if item[0] in together):
                for _, other in terms:
                    small, large = sorted((step, other))
                    if large != small and large % small == 0 and large // small <= _MOST_TIMES:
                        self._multiples[large] = (small, large // small)

    def _var(self, var: Var, fixed: int = -1) -> Var:
        """A variable with an extent of its own."""
        if var not in self._vars:
            self._places[var] = len(self._vars)
            self._vars[var] = Var(f"v{len(self._vars)}", self._size(var.extent, var, fixed))
        return self._vars[var]

    # --- nests

    def _nest(self, nest: KernelNest) -> KernelNest:
        match nest:
            case Contraction():
                return self._product(nest)
            case Winograd():
                return self._winograd(nest)
            case Attention():
                return self._attend(nest)
            case Nest():
                raise AssertionError("a kernel is scheduled before its sizes become parameters")
            case _:
                return tuple(map(self._statement, nest))

    def _product(self, nest: Contraction) -> Contraction:
        batch, m, n = (tuple(map(self._var, some)) for some in (nest.batch, nest.m, nest.n))
        k = self._summed(nest.k)
        left, right = self._scalar(nest.lhs), self._scalar(nest.rhs)
        assert isinstance(left, Load)
        assert isinstance(right, Load)
        body = tuple(map(self._statement, nest.body))
        scratch = tuple(self._buffers[buffer] for buffer in nest.scratch)
        zeros, panels = (None if each is None else self._buffers[each] for each in (nest.zeros, nest.panels))
        return replace(
            nest,
            batch=batch,
            m=m,
            n=n,
            k=k,
            lhs=left,
            rhs=right,
            body=body,
            scratch=scratch,
            zeros=zeros,
            panels=panels,
        )

    def _winograd(self, nest: Winograd) -> Winograd:
        m, n = (tuple(map(self._var, some)) for some in (nest.m, nest.n))
        k = self._summed(nest.k)
        left, right, plain = (self._scalar(load) for load in (nest.lhs, nest.rhs, nest.plain))
        assert isinstance(left, Load)
        assert isinstance(right, Load)
        assert isinstance(plain, Load)
        return replace(
            nest,
            m=m,
            n=n,
            k=k,
            lhs=left,
            rhs=right,
            plain=plain,
            body=tuple(map(self._statement, nest.body)),
            block=self._size(nest.block, "block"),
            lines=(self._size(nest.lines[0], 0), self._size(nest.lines[1], 1)),
            scratch=tuple(self._buffers[buffer] for buffer in nest.scratch),
            zeros=self._buffers[nest.zeros],
        )

    def _attend(self, nest: Attention) -> Attention:
        queries = self._scalar(nest.queries)
        assert isinstance(queries, Load)
        keys, values, scores = (self._size(line, number) for number, line in enumerate(nest.lines))
        return replace(
            nest,
            batch=tuple(map(self._var, nest.batch)),
            m=tuple(map(self._var, nest.m)),
            n=self._var(nest.n),
            k=self._var(nest.k),
            t=self._var(nest.t),
            queries=queries,
            keys=self._scalar(nest.keys),
            values=self._scalar(nest.values),
            score=self._scalar(nest.score),
            body=tuple(map(self._statement, nest.body)),
            lines=(keys, values, scores),
            scratch=tuple(self._buffers[buffer] for buffer in nest.scratch),
        )

    def _summed(self, variables: tuple[Var, ...]) -> tuple[Var, ...]:
        """What is summed over: windows outside, which stay as they are if they are small, and the rest inside."""
        return tuple(self._var(var, -1 if var is variables[-1] else _WINDOW) for var in variables)

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case For():
                var = self._var(statement.var, -1 if statement.kind is Kind.PARALLEL else _WINDOW)
                return For(var, tuple(map(self._statement, statement.body)), statement.kind)
            case Let():
                return Let(statement.name, self._scalar(statement.value))
            case Update():
                return Update(statement.name, statement.function, self._scalar(statement.value))
            case Store():
                index = self._index(statement.index, self._layout(statement.buffer, statement.index))
                return Store(self._buffers[statement.buffer], index, self._scalar(statement.value))

    # --- indices

    def _index(self, index: Index, of: Hashable, fixed: int = _STEP) -> Index:
        """An index of something, its variables in the order of their loops; strides up to `fixed` stay as they are."""
        variables = [(term, factor) for term, factor in index.terms if isinstance(term, Var)]
        for term, _ in variables:
            self._var(term)
        variables.sort(key=lambda item: self._places[item[0]])
        steps = [self._step(by, of) if fixed == _STEP else self._size(by, of, fixed) for _, by in variables]
        terms: list[tuple[Var | Scalar, Dim]] = [
            (self._var(term), by) for (term, _), by in zip(variables, steps, strict=True)
        ]
        terms += [
            (self._scalar(term), self._size(factor, of, fixed))
            for term, factor in index.terms
            if not isinstance(term, Var)
        ]
        return Index(tuple(terms), self._size(index.offset, ("offset", of), fixed))

    def _layout(self, buffer: Buffer, index: Index) -> Hashable:
        """What tells a buffer from others that lie in memory in another way: how it is gone through first."""
        return self._layouts.setdefault(buffer, frozenset(each for each in index.terms if isinstance(each[0], Var)))

    def _inside(self, where: tuple[Inside, ...], of: Hashable) -> tuple[Inside, ...]:
        return tuple(
            Inside(self._index(each.index, (of, number), _WINDOW), self._size(each.size, ("inside", of, number)))
            for number, each in enumerate(where)
        )

    # --- scalars

    def _scalar(self, value: Scalar) -> Scalar:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = (value, self._changed(value))
        return known[1]

    def _changed(self, value: Scalar) -> Scalar:
        match value:
            case Literal():
                return value if _stays(value) else self._told(value)
            case RuntimeScalar() | Local():
                return value
            case Position():
                return Position(self._index(value.index, "position", _WINDOW))
            case Load():
                index = self._index(value.index, self._layout(value.buffer, value.index))
                where = self._inside(value.where, value.buffer)
                return Load(value.dtype, self._buffers[value.buffer], index, where, value.fill)
            case Apply():
                return Apply(value.dtype, value.function, self._arguments(value))
            case Select():
                return Select(value.dtype, self._scalar(value.value), self._inside(value.where, "chosen"), value.fill)
            case CheckedIndex():
                return CheckedIndex(self._scalar(value.value), self._size(value.size, "checked"))

    def _arguments(self, value: Apply) -> tuple[Scalar, ...]:
        known = value.function in _BY_CONSTANTS and (value.function == "power" or value.dtype.is_integer)
        return tuple(each if known and isinstance(each, Literal) else self._scalar(each) for each in value.arguments)

    def _told(self, number: Literal) -> RuntimeScalar:
        """A number as a parameter; equal ones share it, so that what is computed of them is seen to be the same."""
        array = np.asarray(number.value).astype(number.dtype.numpy)
        whole = int(array.view(f"u{array.itemsize}"))
        halves = [whole] if array.itemsize < 8 else [whole & 0xFFFFFFFF, whole >> 32]
        of = (number.dtype, whole)
        return RuntimeScalar(number.dtype, tuple(self._size(half, (of, i)) for i, half in enumerate(halves)))


def _together(statements: Sequence[Statement]) -> Iterator[Var]:
    for statement in statements:
        if isinstance(statement, For):
            if statement.kind is Kind.TOGETHER:
                yield statement.var
            yield from _together(statement.body)


def _stays(number: Literal) -> bool:
    """Whether a number is a matter of form, or spares work when it is known: truths, small integers, powers of two."""
    if number.dtype is DType.BOOL or isinstance(number.value, bool):
        return True
    if number.dtype.is_integer:
        return abs(number.value) <= _WINDOW
    return not isfinite(number.value) or frexp(number.value)[0] in (0, 0.5, -0.5)
