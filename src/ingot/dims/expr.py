"""Sizes as values: numbers, and expressions with the operators of Python."""

from __future__ import annotations

from operator import index

from ingot.dims.arithmetic import add, multiply, negate
from ingot.dims.bounds import sum_bounds
from ingot.dims.calls import shown_terms
from ingot.dims.division import content, exact_quotient, floor_divide, modulo
from ingot.dims.extremes import extreme
from ingot.dims.substitution import replaced, value_of
from ingot.dims.terms import Bounds, Terms, constant, lone_atom, symbols_in
from ingot.dims.text import sum_text

TYPE_CHECKING = False
if TYPE_CHECKING:  # at run time typing and collections.abc would be most of the import time
    from collections.abc import Callable, Mapping
    from typing import NoReturn, TypeAlias


class UnboundSymbolError(KeyError):
    """A symbol was to be evaluated and has no size; `args` holds its name and the names that have one."""

    def __str__(self) -> str:
        name, known = self.args
        return f"symbol {name!r} has no size; known: {', '.join(sorted(known)) or 'none'}"


def _operator(compute: Callable[[Terms, Terms], Terms]) -> Callable[[Expr, Dim], Dim]:
    def method(self: Expr, other: Dim) -> Dim:
        if type(other) is int:
            terms = compute(self.terms, {(): other} if other else {})
        elif isinstance(other, Expr):
            terms = compute(self.terms, other.terms)
        else:
            return method(self, _as_int(other)) if hasattr(other, "__index__") else NotImplemented
        return self if terms is self.terms else dim_of(terms)

    return method


class Expr:
    """A size that depends on symbols; immutable, made by `symbol`, `parse` and arithmetic on either.

    `==` is equality of the normal forms: equal means provably equal, unequal does not mean different. Arithmetic
    that comes out constant gives an `int`. An Expr is neither true nor false, and has no order: see `lower_bound`.
    """

    __slots__ = ("_hash", "_shown", "_symbols", "terms")
    __array_ufunc__ = None  # makes numpy leave `numpy.int64(2) * expr` to __rmul__

    def __init__(self, terms: Terms) -> None:
        self.terms = terms  # not changed after this
        self._shown: Terms | None = None
        self._hash: int | None = None
        self._symbols: frozenset[str] | None = None

    __add__ = __radd__ = _operator(add)
    __sub__ = _operator(lambda x, y: add(x, y, -1))
    __rsub__ = _operator(lambda x, y: add(y, x, -1))
    __mul__ = __rmul__ = _operator(multiply)
    __floordiv__ = _operator(floor_divide)
    __rfloordiv__ = _operator(lambda x, y: floor_divide(y, x))
    __mod__ = _operator(modulo)
    __rmod__ = _operator(lambda x, y: modulo(y, x))

    def __neg__(self) -> Dim:
        return dim_of(negate(self.terms))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Expr):
            return self is other or self.terms == other.terms
        return False if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __bool__(self) -> NoReturn:
        raise TypeError(f"whether the size {self} is zero is not known before its symbols are bound")

    def __str__(self) -> str:
        atom = lone_atom(self.terms)
        return atom if isinstance(atom, str) else sum_text(self.shown)

    def __repr__(self) -> str:
        return f"parse({sum_text(self.shown)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Expr, (self.terms,)

    @property
    def shown(self) -> Terms:
        """The terms as they are written, with remainders."""
        if self._shown is None:
            self._shown = shown_terms(self.terms)
        return self._shown

    @property
    def symbols(self) -> frozenset[str]:
        """The names that it depends on."""
        if self._symbols is None:
            self._symbols = symbols_in(self.terms)
        return self._symbols

    def substitute(self, bindings: Mapping[str, Dim]) -> Dim:
        """The size with each bound symbol replaced; see the function of the same name."""
        return substitute(self, bindings)


Dim: TypeAlias = int | Expr


def symbol(name: str) -> Expr:
    """The size called `name`, which may be any text but the empty one."""
    if not name:
        raise ValueError("a symbol needs a name")
    return Expr({(name,): 1})


def terms_of(dim: Dim) -> Terms:
    """What a size is made of."""
    return dim.terms if isinstance(dim, Expr) else constant(_as_int(dim))


def constant_term(dim: Dim) -> int:
    """The number in a size that depends on no symbol: 3 in `n*m + 3`."""
    return terms_of(dim).get((), 0)


def dim_of(terms: Terms) -> Dim:
    """The size that is made of these terms."""
    if len(terms) <= 1:
        if not terms:
            return 0
        if () in terms:
            return terms[()]
    return Expr(terms)


def maximum(*dims: Dim) -> Dim:
    """The largest of one or more sizes."""
    return dim_of(extreme("max", map(terms_of, dims)))


def minimum(*dims: Dim) -> Dim:
    """The smallest of one or more sizes."""
    return dim_of(extreme("min", map(terms_of, dims)))


def evaluate(dim: Dim, bindings: Mapping[str, int]) -> int:
    """The value of `dim` at these sizes; UnboundSymbolError, a KeyError, where one is missing."""

    def size(name: str) -> int:
        if name not in bindings:
            raise UnboundSymbolError(name, tuple(bindings))
        return _as_size(name, bindings[name])

    return value_of(dim.terms, size) if isinstance(dim, Expr) else dim


def substitute(dim: Dim, bindings: Mapping[str, Dim]) -> Dim:
    """`dim` with each bound symbol replaced, all at once; the replacements must be sizes, so never negative."""

    def size(name: str) -> Terms:
        value = bindings.get(name)
        if value is None:
            return {(name,): 1}
        return value.terms if isinstance(value, Expr) else constant(_as_size(name, value))

    if not isinstance(dim, Expr) or symbols(dim).isdisjoint(bindings):
        return dim
    return dim_of(replaced(dim.terms, size))


def rename(dim: Dim, names: Mapping[str, str]) -> Dim:
    """`dim` with each symbol in `names` called by its new name."""
    return substitute(dim, {old: symbol(new) for old, new in names.items()})


def symbols(dim: Dim) -> frozenset[str]:
    """The names that `dim` depends on."""
    return dim.symbols if isinstance(dim, Expr) else frozenset()


def lower_bound(dim: Dim) -> int | None:
    """A number that `dim` is never below, or None where none is known."""
    return _bounds(dim)[0]


def upper_bound(dim: Dim) -> int | None:
    """A number that `dim` is never above, or None where none is known."""
    return _bounds(dim)[1]


def is_multiple(dim: Dim, n: int) -> bool:
    """Whether `dim` is provably a multiple of `n`."""
    return content(terms_of(dim)) % n == 0 if n else dim == 0


def divide_exactly(a: Dim, b: Dim) -> Dim | None:
    """The q with `a == q*b`, or None where none is found; `b` is assumed to be non-zero unless it is 0 itself."""
    quotient = exact_quotient(terms_of(a), terms_of(b))
    return None if quotient is None else dim_of(quotient)


def _bounds(dim: Dim) -> Bounds:
    return sum_bounds(dim.shown) if isinstance(dim, Expr) else (dim, dim)


def _as_int(value: int) -> int:
    return index(value) + 0  # a numpy integer, or True, as a plain int


def _as_size(name: str, value: int) -> int:
    value = _as_int(value)
    if value < 0:
        raise ValueError(f"the size of {name!r} is {value}, which is negative")
    return value
