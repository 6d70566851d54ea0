"""Rewrites of indices in the loop IR, and queries about statements and expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ingot.dims import Dim
from ingot.loops.ir import (
    Apply,
    Buffer,
    CheckedIndex,
    For,
    Index,
    Inside,
    KernelNest,
    Let,
    Load,
    Local,
    Scalar,
    Statement,
    Store,
    Update,
    Var,
)
from ingot.loops.walk import Node, Transform, children, is_scalar, walk


class Reindexed:
    """Statements rewritten by a function of indices; expressions that were shared stay so."""

    def __init__(self, change: Callable[[Index], Index]) -> None:
        self._transform = Transform(lambda node: change(node) if isinstance(node, Index) else node)

    def statement(self, statement: Statement) -> Statement:
        return self._transform(statement)

    def scalar(self, value: Scalar) -> Scalar:
        return self._transform(value)

    def replace(self, old: Scalar, new: Scalar) -> None:
        """From here on, put one expression in the place of another."""
        self._transform.replace(old, new)


def in_turn(changes: Iterable[Callable[[Index], Index]]) -> Reindexed:
    """Statements rewritten by several functions of indices, one after another."""
    functions = tuple(changes)

    def changed(index: Index) -> Index:
        for change in functions:
            index = change(index)
        return index

    return Reindexed(changed)


def indices(*statements: Statement) -> Iterator[Index]:
    """Every index in statements, those inside of other indices too."""
    return (node for node in walk(*statements) if isinstance(node, Index))


def buffers_read(nests: Sequence[KernelNest]) -> list[Buffer]:
    """The buffers that nests load from, each once."""
    roots = [root for nest in nests for root in roots_of(nest)]
    return list(dict.fromkeys(value.buffer for value in parts(roots) if isinstance(value, Load)))


def sizes_indexed(nest: KernelNest) -> list[Dim]:
    """The sizes of the axes that a nest reads or writes at computed places, each once."""
    return list(dict.fromkeys(value.size for value in parts(roots_of(nest)) if isinstance(value, CheckedIndex)))


def roots_of(nest: KernelNest) -> list[Scalar]:
    """The expressions of a nest."""
    roots: list[Scalar] = []
    pending: list[Node] = list(reversed(nest)) if isinstance(nest, tuple) else [nest]
    while pending:
        node = pending.pop()
        if is_scalar(node):
            roots.append(node)
        elif isinstance(node, For | Let | Update | Store):
            roots += values((node,))
        else:
            pending += reversed(children(node))
    return roots


def locals_in(value: Scalar) -> set[str]:
    """The names of the locals in an expression."""
    return {part.name for part in parts([value]) if isinstance(part, Local)}


def parts(roots: Sequence[Scalar]) -> Iterator[Scalar]:
    """Everything in expressions, each part once."""
    pending = list(roots)
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        pending += operands(value)


def operands(value: Scalar) -> list[Scalar]:
    """The scalars that one is computed from, those in its indices too."""
    if type(value) is Apply:  # as most are
        return list(value.arguments)
    parts: list[Scalar] = []
    for part in children(value):
        if is_scalar(part):
            parts.append(part)
        elif isinstance(part, Index | Inside):
            parts += _opaque(part if isinstance(part, Index) else part.index)
    return parts


def values(statements: Sequence[Statement]) -> Iterator[Scalar]:
    """The expressions of statements."""
    for statement in statements:
        if isinstance(statement, For):
            yield from values(statement.body)
        else:
            yield statement.value
            if isinstance(statement, Store):
                yield from _opaque(statement.index)


def stores(statements: Sequence[Statement]) -> Iterator[Store]:
    """The stores of statements."""
    return (node for node in within(statements) if isinstance(node, Store))


def within(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Statements, and those inside of loops, each loop before what is in it."""
    for statement in statements:
        yield statement
        if isinstance(statement, For):
            yield from within(statement.body)


def _opaque(index: Index) -> list[Scalar]:
    return [term for term, _ in index.terms if not isinstance(term, Var)]


def joins(outer: Var, inner: Var, seen: Iterable[Index]) -> bool:
    """Whether all indices move through two nested variables as through one."""
    return all(index.factor(outer) == index.factor(inner) * inner.extent for index in seen)


def joined(outer: Var, inner: Var) -> tuple[Var, Callable[[Index], Index]]:
    """One variable in the place of two nested ones, and the change that puts it there; `joins` must hold."""
    both = Var(f"{outer.name}{inner.name}", outer.extent * inner.extent)

    def through(index: Index) -> Index:
        factor = index.factor(inner)
        terms = tuple((term, stride) for term, stride in index.terms if term is not outer and term is not inner)
        if len(terms) == len(index.terms):
            return index
        return Index(terms if factor == 0 else (*terms, (both, factor)), index.offset)

    return both, through


def with_index(body: tuple[Statement, ...], var: Var, to: Index) -> tuple[Statement, ...]:
    """Statements with an index in the place of a variable."""

    def change(index: Index) -> Index:
        factor = index.factor(var)
        if factor == 0:
            return index
        return Index(tuple(item for item in index.terms if item[0] is not var), index.offset) + to.times(factor)

    return tuple(map(Reindexed(change).statement, body))
