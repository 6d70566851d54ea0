"""Loops with other indices: every index of a statement replaced by what a function says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ingot.dims import Dim
from ingot.loops.ir import (
    Apply,
    Attention,
    Buffer,
    CheckedIndex,
    Contraction,
    For,
    Index,
    Inside,
    KernelNest,
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


class Reindexed:
    """Statements rewritten by a function of indices; expressions that were shared stay so."""

    def __init__(self, change: Callable[[Index], Index]) -> None:
        self._change = change
        self._known: dict[int, tuple[Scalar, Scalar]] = {}

    def statement(self, statement: Statement) -> Statement:
        match statement:
            case For():
                return For(statement.var, tuple(map(self.statement, statement.body)), statement.kind)
            case Let():
                return Let(statement.name, self.scalar(statement.value))
            case Update():
                return Update(statement.name, statement.function, self.scalar(statement.value))
            case Store():
                return Store(statement.buffer, self.index(statement.index), self.scalar(statement.value))

    def scalar(self, value: Scalar) -> Scalar:
        known = self._known.get(id(value))
        if known is None:  # the old value is kept too, so that its identity is not given to another
            known = self._known[id(value)] = (value, self._scalar(value))
        return known[1]

    def replace(self, old: Scalar, new: Scalar) -> None:
        """From here on, put one expression in the place of another."""
        self._known[id(old)] = (old, new)

    def index(self, index: Index) -> Index:
        terms = tuple((term if isinstance(term, Var) else self.scalar(term), factor) for term, factor in index.terms)
        return self._change(Index(terms, index.offset))

    def _scalar(self, value: Scalar) -> Scalar:
        match value:
            case Literal() | RuntimeScalar() | Local():
                return value
            case Position():
                return Position(self.index(value.index))
            case Load():
                where = tuple(map(self._inside, value.where))
                return Load(value.dtype, value.buffer, self.index(value.index), where, value.fill)
            case Apply():
                return Apply(value.dtype, value.function, tuple(map(self.scalar, value.arguments)))
            case Select():
                where = tuple(map(self._inside, value.where))
                return Select(value.dtype, self.scalar(value.value), where, value.fill)
            case CheckedIndex():
                return CheckedIndex(self.scalar(value.value), value.size)

    def _inside(self, inside: Inside) -> Inside:
        return Inside(self.index(inside.index), inside.size)


def indices(*statements: Statement) -> Iterator[Index]:
    """Every index in statements, those of opaque terms too."""
    seen: set[int] = set()
    for statement in statements:
        match statement:
            case For():
                yield from indices(*statement.body)
            case Let() | Update():
                yield from _in_scalar(statement.value, seen)
            case Store():
                yield from _in_index(statement.index, seen)
                yield from _in_scalar(statement.value, seen)


def _in_scalar(value: Scalar, seen: set[int]) -> Iterator[Index]:
    if id(value) in seen:
        return
    seen.add(id(value))
    match value:
        case Position():
            yield from _in_index(value.index, seen)
        case Load():
            yield from _in_index(value.index, seen)
            for each in value.where:
                yield from _in_index(each.index, seen)
        case Apply():
            for argument in value.arguments:
                yield from _in_scalar(argument, seen)
        case Select():
            yield from _in_scalar(value.value, seen)
            for each in value.where:
                yield from _in_index(each.index, seen)
        case CheckedIndex():
            yield from _in_scalar(value.value, seen)


def _in_index(index: Index, seen: set[int]) -> Iterator[Index]:
    yield index
    for term, _ in index.terms:
        if not isinstance(term, Var):
            yield from _in_scalar(term, seen)


def buffers_read(nests: Sequence[KernelNest]) -> list[Buffer]:
    """The buffers that nests load from, each once."""
    roots = [root for nest in nests for root in roots_of(nest)]
    return list(dict.fromkeys(value.buffer for value in parts(roots) if isinstance(value, Load)))


def sizes_indexed(nest: KernelNest) -> list[Dim]:
    """The sizes of the axes that a nest reads or writes at computed places, each once."""
    return list(dict.fromkeys(value.size for value in parts(roots_of(nest)) if isinstance(value, CheckedIndex)))


def roots_of(nest: KernelNest) -> list[Scalar]:
    """The expressions of a nest."""
    match nest:
        case Contraction():
            return [nest.lhs, nest.rhs, *values(nest.body)]
        case Winograd():
            return [nest.lhs, nest.rhs, nest.plain, *values(nest.body)]
        case Attention():
            return [nest.queries, nest.keys, nest.values, nest.score, *values(nest.body)]
        case Nest():
            return [value for stage in nest.stages for value in values((*stage.starts, *stage.body))]
        case _:
            return list(values(nest))


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
        pending += made_of(value)


def made_of(value: Scalar) -> list[Scalar]:
    """The expressions that one is made of, those in its indices too."""
    match value:
        case Load():
            return _opaque(value.index, *(each.index for each in value.where))
        case Apply():
            return list(value.arguments)
        case Select():
            return [value.value, *_opaque(*(each.index for each in value.where))]
        case CheckedIndex():
            return [value.value]
        case Position():
            return _opaque(value.index)
    return []


def values(statements: Sequence[Statement]) -> Iterator[Scalar]:
    """The expressions of statements."""
    for statement in statements:
        if isinstance(statement, For):
            yield from values(statement.body)
        else:
            yield statement.value
            if isinstance(statement, Store):
                yield from _opaque(statement.index)


def _opaque(*found: Index) -> list[Scalar]:
    return [term for index in found for term, _ in index.terms if not isinstance(term, Var)]


def joins(outer: Var, inner: Var, seen: Iterable[Index]) -> bool:
    """Whether all indices move through two nested variables as through one."""
    return all(index.factor(outer) == index.factor(inner) * inner.extent for index in seen)


def joined(outer: Var, inner: Var) -> tuple[Var, Reindexed]:
    """One variable in the place of two nested ones, and the change that puts it there; `joins` must hold."""
    both = Var(f"{outer.name}{inner.name}", outer.extent * inner.extent)

    def through(index: Index) -> Index:
        factor = index.factor(inner)
        terms = tuple((term, each) for term, each in index.terms if term is not outer and term is not inner)
        return Index(terms if factor == 0 else (*terms, (both, factor)), index.offset)

    return both, Reindexed(through)
