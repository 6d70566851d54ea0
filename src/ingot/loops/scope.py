"""Scopes of the loop IR: what is bound around a statement, and whether a statement is valid there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import NoReturn

from ingot.dataclass import dataclass
from ingot.dims import Dim, lower_bound, upper_bound
from ingot.dtypes import DType
from ingot.errors import CompileError
from ingot.loops.ir import (
    Apply,
    Buffer,
    CheckedIndex,
    For,
    Index,
    Inside,
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
from ingot.loops.walk import Node, walk
from ingot.prim.functions import CONVERSIONS, FUNCTIONS


@dataclass(frozen=True, slots=True)
class _Definition:
    """A local: its type, the variables that its value depends on, and how many parallel loops are around it."""

    dtype: DType
    depends: frozenset[Var] = frozenset()
    depth: int = 0


@dataclass(slots=True)
class Scope:
    """Variables and locals that are bound; `loaded` and `stored` collect the buffers that were met.

    Whatever breaks a rule is a CompileError, with the loops around it.
    """

    path: tuple[str, ...]
    loaded: dict[Buffer, None] = field(default_factory=dict)
    stored: dict[Buffer, None] = field(default_factory=dict)
    _variables: frozenset[Var] = frozenset()
    _parallel: tuple[Var, ...] = ()
    _locals: dict[str, _Definition] = field(default_factory=dict)

    @contextmanager
    def inside(
        self,
        place: str,
        variables: Sequence[Var] = (),
        locals_: Mapping[str, DType] | None = None,
        parallel: bool = False,
    ) -> Iterator[None]:
        """Bind variables and locals, for what is checked while it is open."""
        before = self.path, self._variables, self._parallel, self._locals
        for var in variables:
            if var in self._variables:
                self.refuse(f"variable {var.name} is bound twice")
        self.path = (*self.path, place)
        self._variables = self._variables | set(variables)
        self._parallel = (*self._parallel, *variables) if parallel else self._parallel
        self._locals = {**self._locals, **{name: _Definition(dtype) for name, dtype in (locals_ or {}).items()}}
        yield
        self.path, self._variables, self._parallel, self._locals = before

    def refuse(self, reason: str) -> NoReturn:
        raise CompileError(f"a kernel breaks a rule: {reason}", where=tuple(f"in {place}" for place in self.path))

    @property
    def _is_empty(self) -> bool:
        """Whether a loop around this runs for nothing: strides may then be anything."""
        return any(var.extent == 0 for var in self._variables)

    # --- statements

    def statements(self, statements: Sequence[Statement]) -> None:
        """Statements in order; a local that one of them defines is bound for those after it."""
        for statement in statements:
            match statement:
                case For():
                    name = f"for {statement.var.name} < {statement.var.extent}"
                    with self.inside(name, (statement.var,), parallel=statement.kind is Kind.PARALLEL):
                        self.statements(statement.body)
                case Let():
                    depends = self.expression(statement.value, f"local {statement.name}")
                    self._locals[statement.name] = _Definition(statement.value.dtype, depends, len(self._parallel))
                case Update():
                    self._update(statement)
                case Store():
                    self._store(statement)

    def _update(self, statement: Update) -> None:
        depends = self.expression(statement.value, f"local {statement.name}")
        definition = self._locals.get(statement.name)
        if definition is None:
            self.refuse(f"local {statement.name} is updated before it is defined")
        if definition.depth < len(self._parallel):
            self.refuse(f"local {statement.name} is updated by all of a parallel loop")
        if statement.function not in FUNCTIONS or FUNCTIONS[statement.function].arity != 2:
            self.refuse(f"local {statement.name} is updated by '{statement.function}', no function of two")
        self._same_dtype(f"local {statement.name}", definition.dtype, statement.value.dtype)
        self._locals[statement.name] = _Definition(definition.dtype, definition.depends | depends, definition.depth)

    def _store(self, statement: Store) -> None:
        name = f"store to {statement.buffer.name}"
        self.stored[statement.buffer] = None
        self.expression(statement.value, name)
        depends = self._check(statement.index, name)
        self._same_dtype(name, statement.buffer.dtype, statement.value.dtype)
        for var in self._parallel:
            if var not in depends and var.extent != 1 and not self._is_empty:
                self.refuse(f"{name} at a place that is the same for all of parallel loop {var.name}")
        self._within(statement.buffer, statement.index, name)

    # --- expressions

    def expression(self, value: Scalar, place: str = "expression", bounded: bool = True) -> frozenset[Var]:
        """The variables that an expression depends on. `bounded` says that what it loads lies where its index says."""
        return self._check(value, place, bounded)

    def _check(self, root: Node, place: str, bounded: bool = True) -> frozenset[Var]:
        depends: set[Var] = set()
        for node in walk(root):
            match node:
                case Index():
                    for term, _ in node.terms:
                        if isinstance(term, Var):
                            if term not in self._variables:
                                self.refuse(f"variable {term.name} in {place} is not bound")
                            depends.add(term)
                        elif term.dtype is not DType.INT64:
                            self.refuse(f"an index in {place} has a term of {term.dtype}")
                case Local():
                    definition = self._locals.get(node.name)
                    if definition is None:
                        self.refuse(f"local {node.name} in {place} is not defined")
                    self._same_dtype(f"local {node.name}", definition.dtype, node.dtype)
                    depends |= definition.depends
                case Load():
                    self.loaded[node.buffer] = None
                    self._same_dtype(f"a load of {node.buffer.name}", node.buffer.dtype, node.dtype)
                    if bounded and not node.where:
                        self._within(node.buffer, node.index, f"load of {node.buffer.name}")
                case Apply():
                    self._apply(node)
                case Select():
                    self._same_dtype("a selected value", node.dtype, node.value.dtype)
                case CheckedIndex():
                    self._same_dtype("a checked index", DType.INT64, node.dtype, node.value.dtype)
                case Position():
                    if node.dtype is not DType.INT32:
                        self._same_dtype("a position", DType.INT64, node.dtype)
                case Literal() | RuntimeScalar() | Inside():
                    pass
        return frozenset(depends)

    def _apply(self, value: Apply) -> None:
        dtypes = [argument.dtype for argument in value.arguments]
        if value.function in CONVERSIONS:
            if len(dtypes) != 1:
                self.refuse(f"{value.function} of {len(dtypes)} arguments")
            return
        function = FUNCTIONS.get(value.function)
        if function is None:
            self.refuse(f"there is no function '{value.function}'")
        if function.arity != len(dtypes):
            self.refuse(f"{function.name} of {len(dtypes)} arguments, which takes {function.arity}")
        if function.result == "second":
            self._same_dtype("a condition", DType.BOOL, dtypes.pop(0))
        self._same_dtype(f"the arguments of {function.name}", *dtypes)
        self._same_dtype(function.name, value.dtype, DType.BOOL if function.result == "bool" else dtypes[0])

    def _same_dtype(self, what: str, *dtypes: DType) -> None:
        if len(set(dtypes)) > 1:
            self.refuse(f"element types of {what} differ: {' and '.join(map(str, dict.fromkeys(dtypes)))}")

    def _within(self, buffer: Buffer, index: Index, what: str) -> None:
        """Refuse an index that is known to be outside of a buffer at one of its places."""
        if buffer.elements == 0 or self._is_empty:
            return
        least, most = _range(index)
        if least is not None and (upper_bound(least) or 0) < 0:
            self.refuse(f"{what} at {least}")
        beyond = None if most is None else lower_bound(most - buffer.elements)
        if beyond is not None and beyond >= 0:
            self.refuse(f"{what} at {most}, of {buffer.elements} elements")


def _range(index: Index) -> tuple[Dim | None, Dim | None]:
    """The least and the greatest value of an index, as far as they are known."""
    least: Dim | None = index.offset
    most: Dim | None = index.offset
    for term, factor in index.terms:
        low, high = _term_range(term)
        if (upper_bound(factor) or 0) < 0:
            low, high = high, low
        elif (lower_bound(factor) or 0) < 0:
            low = high = None
        least = None if least is None or low is None else least + low * factor
        most = None if most is None or high is None else most + high * factor
    return least, most


def _term_range(term: Var | Scalar) -> tuple[Dim | None, Dim | None]:
    match term:
        case Var():
            return (None, None) if term.extent == 0 else (0, term.extent - 1)
        case CheckedIndex():
            return (0, term.size - 1)
        case Position():
            return _range(term.index)
        case Literal() if isinstance(term.value, int):
            return (term.value, term.value)
    return (None, None)
