"""Parameters of a kernel template: they replace the sizes and numbers of a kernel, and its names.

Sizes that happen to be equal stay distinct: each loop has its own, and buffers share strides if they are indexed alike.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Iterator, Sequence
from math import frexp, isfinite

import numpy as np

from ingot.dims import Dim, symbol
from ingot.dtypes import DType
from ingot.loops.ir import (
    LANES_APART,
    Apply,
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
    Position,
    RuntimeScalar,
    Scalar,
    Select,
    Statement,
    Store,
    Update,
    Var,
)
from ingot.loops.rewrite import within
from ingot.loops.walk import rebuilt, walk

_WINDOW = 8
"""Extents up to this stay in the code: those of windows, which loops over them are unrolled for."""

_FIXED = {Kind.PARALLEL: -1, Kind.JAM: 64}
"""Extents up to which loops of a kind stay in the code: jams are unrolled, up to as many as a vector has lanes."""

_LARGE_WINDOW = 64
"""The same of the innermost loop of a large window, which is unrolled alone."""

_STEP = 1
"""Strides up to this stay in the code: neighbours are loaded together."""

_MOST_TIMES = 4
"""How many times as long one step may be as another for windows to meet: the stride, or how far apart elements are."""

_BY_CONSTANTS = {"divide", "remainder", "power", "shift_left", "shift_right"}
"""Functions that are quicker, or need no check, by an integer that is known, or an exponent."""


class Parameters:
    """The parameters of one kernel; each method returns a part of the kernel with parameters in it."""

    def __init__(self, kernel: Kernel) -> None:
        self._sizes: dict[tuple[Hashable, Dim], Dim] = {}
        self._multiples: dict[Dim, tuple[int, int]] = {}
        self._vars: dict[Var, Var] = {}
        self._places: dict[Var, int] = {}
        self._buffers: dict[Buffer, Buffer] = {}
        self._layouts: dict[Buffer, Hashable] = {}
        self._fixed_layouts: set[Buffer] = set()
        self._known: dict[int, tuple[Scalar, Scalar]] = {}
        loops = [list(_loops(nest)) for nest in kernel.nests]
        computed = [nest for nest in kernel.nests if isinstance(nest, Contraction) and not nest.packed]
        columns = [var for nest in computed for var in nest.n]
        vectors = (loop.var for own in loops for loop in own if loop.kind.has_lanes)
        self._lanes = frozenset((*columns, *vectors))
        for buffer in kernel.buffers:
            if buffer not in self._buffers:
                self._buffers[buffer] = Buffer(f"b{len(self._buffers)}", buffer.dtype, 0)
        for nest, own in zip(kernel.nests, loops, strict=True):
            jammed = {loop.var for loop in own if loop.kind is Kind.JAM}
            if jammed:
                self._relate(nest, jammed)
        self._windows = frozenset(var for own in loops for var in _windows(own))

    @property
    def sizes(self) -> dict[str, Dim]:
        """The size that each parameter stands for, by its name."""
        return {str(name): size for (_, size), name in self._sizes.items()}

    # --- sizes

    def size(self, size: Dim, of: Hashable, fixed: int = -1) -> Dim:
        """The parameter for a size of something; equal sizes of one thing share it. Up to `fixed` it stays as it is."""
        if isinstance(size, int) and abs(size) <= fixed:
            return size
        if isinstance(size, int) and size < 0:
            return self.size(-size, of) * -1  # a named size is never negative
        if (of, size) not in self._sizes:
            self._sizes[of, size] = symbol(f"p{len(self._sizes)}")
        return self._sizes[of, size]

    def _step(self, size: Dim, of: Hashable) -> Dim:
        """The parameter for a step through a buffer; a multiple of another step is a multiple of its parameter."""
        if size in self._multiples:
            part, times = self._multiples[size]
            return self._step(part, of) * times
        return self.size(size, of, _STEP)

    def _relate(self, nest: KernelNest, jammed: Collection[Var]) -> None:
        """Note which steps of jammed loops are multiples of others, so that places are seen to be the same."""
        nodes = walk(*(nest if isinstance(nest, tuple) else (nest,)))
        for index in (node for node in nodes if isinstance(node, Index)):
            terms = [
                (term, factor)
                for term, factor in index.terms
                if isinstance(term, Var) and isinstance(term.extent, int) and term.extent <= _WINDOW
                if isinstance(factor, int) and factor > _STEP
            ]
            for _, step in (item for item in terms if item[0] in jammed):
                for _, other in terms:
                    small, large = sorted((step, other))
                    if large != small and large % small == 0 and large // small <= _MOST_TIMES:
                        self._multiples[large] = (small, large // small)

    def variables(self, variables: Sequence[Var]) -> tuple[Var, ...]:
        return tuple(map(self.var, variables))

    def reduced(self, variables: Sequence[Var]) -> tuple[Var, ...]:
        """The variables of a reduction: windows outside, whose small extents stay as they are, and the rest inside."""
        return tuple(self.var(var, -1 if var is variables[-1] else _WINDOW) for var in variables)

    def windows(self, variables: Sequence[Var]) -> tuple[Var, ...]:
        """The variables of a reduction over windows: all small extents stay as they are."""
        return tuple(self.var(var, _WINDOW) for var in variables)

    def var(self, var: Var, fixed: int = -1) -> Var:
        """A variable with an extent of its own."""
        if var not in self._vars:
            self._places[var] = len(self._vars)
            self._vars[var] = Var(f"v{len(self._vars)}", self.size(var.extent, var, fixed))
        return self._vars[var]

    # --- buffers and statements

    def buffer(self, buffer: Buffer) -> Buffer:
        return self._buffers[buffer]

    def buffers(self, buffers: Sequence[Buffer]) -> tuple[Buffer, ...]:
        return tuple(self._buffers[buffer] for buffer in buffers)

    def keep_layouts(self, buffers: Sequence[Buffer]) -> None:
        """Leave the strides of buffers in the code, and where indices begin: they are few, and places found at once."""
        self._fixed_layouts.update(buffers)

    def optional(self, buffer: Buffer | None) -> Buffer | None:
        return None if buffer is None else self._buffers[buffer]

    def statements(self, statements: Sequence[Statement]) -> tuple[Statement, ...]:
        return tuple(map(self._statement, statements))

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case For():
                fixed = _LARGE_WINDOW if statement.var in self._windows else _FIXED.get(statement.kind, _WINDOW)
                var = self.var(statement.var, fixed)
                return For(var, tuple(map(self._statement, statement.body)), statement.kind)
            case Let() | Update():
                return rebuilt(statement, [self.scalar(statement.value)])
            case Store():
                index = self._place(statement.buffer, statement.index)
                return Store(self._buffers[statement.buffer], index, self.scalar(statement.value))

    # --- indices

    def _index(self, index: Index, of: Hashable, fixed: int = _STEP, *, picked: bool = False) -> Index:
        """An index of something, its variables in the order of their loops; strides up to `fixed` stay as they are.

        So do those of lanes that are `picked` out of contiguous vectors, or interleaved.
        """
        variables = [(term, factor) for term, factor in index.terms if isinstance(term, Var)]
        for term, _ in variables:
            self.var(term)
        variables.sort(key=lambda item: self._places[item[0]])
        steps = [
            by
            if picked and term in self._lanes and isinstance(by, int) and 1 < by <= LANES_APART
            else self._step(by, of)
            if fixed == _STEP
            else self.size(by, of, fixed)
            for term, by in variables
        ]
        terms: list[tuple[Var | Scalar, Dim]] = [
            (self.var(term), by) for (term, _), by in zip(variables, steps, strict=True)
        ]
        terms += [
            (self.scalar(term), self.size(factor, of, fixed))
            for term, factor in index.terms
            if not isinstance(term, Var)
        ]
        return Index(tuple(terms), self.size(index.offset, ("offset", of), fixed))

    def _place(self, buffer: Buffer, index: Index) -> Index:
        """An index into a buffer."""
        fixed = sys.maxsize if buffer in self._fixed_layouts else _STEP
        return self._index(index, self._layout(buffer, index), fixed, picked=True)

    def _layout(self, buffer: Buffer, index: Index) -> Hashable:
        """The memory layout of a buffer: the terms of the first index into it."""
        return self._layouts.setdefault(buffer, frozenset(term for term in index.terms if isinstance(term[0], Var)))

    def _inside(self, where: tuple[Inside, ...], of: Hashable) -> tuple[Inside, ...]:
        return tuple(
            Inside(
                self._index(condition.index, (of, number), _WINDOW), self.size(condition.size, ("inside", of, number))
            )
            for number, condition in enumerate(where)
        )

    # --- scalars

    def load(self, value: Load) -> Load:
        load = self.scalar(value)
        assert isinstance(load, Load)
        return load

    def scalar(self, value: Scalar) -> Scalar:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = (value, self._changed(value))
        return known[1]

    def _changed(self, value: Scalar) -> Scalar:
        match value:
            case Literal():
                return value if _stays(value) else self._runtime_scalar(value)
            case RuntimeScalar() | Local():
                return value
            case Position():
                return Position(self._index(value.index, "position", _WINDOW), value.dtype)
            case Load():
                index = self._place(value.buffer, value.index)
                where = self._inside(value.where, value.buffer)
                return Load(value.dtype, self._buffers[value.buffer], index, where, value.fill)
            case Apply():
                return Apply(value.dtype, value.function, self._arguments(value))
            case Select():
                return Select(value.dtype, self.scalar(value.value), self._inside(value.where, "chosen"), value.fill)
            case CheckedIndex():
                return CheckedIndex(self.scalar(value.value), self.size(value.size, "checked"))

    def _arguments(self, value: Apply) -> tuple[Scalar, ...]:
        known = value.function in _BY_CONSTANTS and (value.function == "power" or value.dtype.is_integer)
        return tuple(
            argument if known and isinstance(argument, Literal) else self.scalar(argument)
            for argument in value.arguments
        )

    def _runtime_scalar(self, number: Literal) -> RuntimeScalar:
        """A number as a parameter; equal ones share it, so that what is computed of them is seen to be the same."""
        array = np.asarray(number.value).astype(number.dtype.numpy)
        whole = int(array.view(f"u{array.itemsize}"))
        halves = [whole] if array.itemsize < 8 else [whole & 0xFFFFFFFF, whole >> 32]
        of = (number.dtype, whole)
        return RuntimeScalar(number.dtype, tuple(self.size(half, (of, i)) for i, half in enumerate(halves)))


def _loops(nest: KernelNest) -> Iterator[For]:
    """The loops of a nest."""
    nodes = within(nest) if isinstance(nest, tuple) else walk(nest)
    return (node for node in nodes if isinstance(node, For))


def _windows(loops: Sequence[For]) -> Iterator[Var]:
    """The variables of the innermost loops of large windows: over jammed rows, and of those that reach into padding."""
    for loop in loops:
        if not loop.kind.has_lanes and loop.kind is not Kind.JAM:
            continue
        inside = [inner for inner in within(loop.body) if isinstance(inner, For)]
        outer = {inner.var for around in inside for inner in around.body if isinstance(inner, For)}
        for inner in inside:
            size = inner.var.extent
            if not isinstance(size, int) or not _WINDOW < size <= _LARGE_WINDOW:
                continue
            if any(isinstance(statement, For) for statement in inner.body):
                continue
            reaches = (
                node.index.factor(inner.var) != 0 and node.index.factor(loop.var) != 0
                for node in walk(*inner.body)
                if isinstance(node, Inside)
            )
            if (loop.kind is Kind.JAM and inner.var in outer) or any(reaches):
                yield inner.var


def _stays(number: Literal) -> bool:
    """Whether a number stays in the template: bools, small and extreme integers, powers of two: they save work."""
    if number.dtype is DType.BOOL or isinstance(number.value, bool):
        return True
    if number.dtype.is_integer:
        return abs(number.value) <= _WINDOW or number.value in number.dtype.limits
    return not isfinite(number.value) or frexp(number.value)[0] in (0, 0.5, -0.5)
