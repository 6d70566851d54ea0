"""Symbolic sizes: a dimension is an `int` or an `Expr`, a polynomial of named sizes with integer coefficients.

Two assumptions make the simplifications sound: a symbol stands for a size, an integer >= 0, and a divisor is never
zero (so `(a*b)//b` is `a`). Division rounds towards minus infinity, as Python's does. `n % d` is kept as
`n - d*(n//d)`, so that `a//4*4 + a % 4` is `a`, and is folded back when shown.
"""

from __future__ import annotations

from math import gcd, prod
from operator import index

TYPE_CHECKING = False
if TYPE_CHECKING:  # at run time typing and collections.abc would be most of this module's import time
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, NoReturn, TypeAlias

LIMIT = 4096
"""Arithmetic whose result would take more characters than this to write raises a ValueError.

So does a term of more than 64 factors, and more than 24 divisions, max and min in each other.
"""


class UnboundSymbolError(KeyError):
    """A symbol was to be evaluated and has no size; `args` holds its name and the names that have one."""

    def __str__(self) -> str:
        name, known = self.args
        return f"symbol {name!r} has no size; known: {', '.join(sorted(known)) or 'none'}"


def _operator(compute: Callable[[Dim, Dim], Dim]) -> Callable[[Expr, Dim], Dim]:
    def method(self: Expr, other: Dim) -> Dim:
        if isinstance(other, Expr):
            return compute(self, other)
        return compute(self, _as_int(other)) if hasattr(other, "__index__") else NotImplemented

    return method


class Expr:
    """A size that depends on symbols; immutable, made by `symbol`, `parse` and arithmetic on either.

    `==` is equality of the normal forms: equal means provably equal, unequal does not mean different. Arithmetic
    that comes out constant gives an `int`. An Expr is neither true nor false, and has no order: see `lower_bound`.
    """

    __slots__ = ("_hash", "_shown", "_terms")
    __array_ufunc__ = None  # makes numpy leave `numpy.int64(2) * expr` to __rmul__

    def __init__(self, terms: _Terms) -> None:
        self._terms = terms  # not changed after this
        self._shown: _Terms | None = None
        self._hash: int | None = None

    __add__ = __radd__ = _operator(lambda x, y: _add(x, y))
    __sub__ = _operator(lambda x, y: _add(x, y, -1))
    __rsub__ = _operator(lambda x, y: _add(y, x, -1))
    __mul__ = __rmul__ = _operator(lambda x, y: _multiply(x, y))
    __floordiv__ = _operator(lambda x, y: _floor_divide(x, y))
    __rfloordiv__ = _operator(lambda x, y: _floor_divide(y, x))
    __mod__ = _operator(lambda x, y: _modulo(x, y))
    __rmod__ = _operator(lambda x, y: _modulo(y, x))

    def __neg__(self) -> Dim:
        return _add(0, self, -1)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Expr):
            return self is other or self._terms == other._terms
        return False if isinstance(other, int) else NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._terms.items()))
        return self._hash

    def __bool__(self) -> NoReturn:
        raise TypeError(f"whether the size {self} is zero is not known before its symbols are bound")

    def __str__(self) -> str:
        atom = _lone_atom(self)
        return atom if isinstance(atom, str) else _text(self)

    def __repr__(self) -> str:
        return f"parse({_text(self)!r})"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        atom = _lone_atom(self)
        return (symbol, (atom,)) if isinstance(atom, str) else (parse, (_text(self),))

    def substitute(self, bindings: Mapping[str, Dim]) -> Dim:
        """The size with each bound symbol replaced; see the function of the same name."""
        return substitute(self, bindings)


Dim: TypeAlias = int | Expr


def symbol(name: str) -> Expr:
    """The size called `name`, which may be any text but the empty one."""
    if not name:
        raise ValueError("a symbol needs a name")
    return Expr({(name,): 1})


def parse(text: str) -> Dim:
    """The size that `text` says, written by `str` or by an exporter; ValueError with the position where it is not one.

    Understood are numbers, names (`batch`, `input.1_dim_0`, or any text in backticks), `+ - * // % **`, parentheses,
    and `max`, `min`, `Mod`, `floor` and `ceiling` in sympy's and PyTorch's spellings. `/` is exact: `floor(h/2 - 1/2)`
    is `(h - 1)//2`, and what may come out fractional is refused.

    `parse(str(d)) == d`, except for a lone symbol whose name is no such name: `str` gives that name bare. So a
    dim_param that is refused here is the name of a symbol.
    """
    return _Parser(text).whole_text()


def from_param(text: str) -> Dim:
    """The size that a dim_param stands for: an expression where it reads as one, else a symbol of that name.

    A text longer than any exporter writes is a name: normalising one takes a while, and a file may hold many.
    """
    if text.isidentifier() or len(text) > _LONGEST_PARAM:
        return symbol(text)
    try:
        found = parse(text)
    except ValueError:
        return symbol(text)
    return symbol(text) if isinstance(found, int) else found


class Packing:
    """Sizes as plain data, and back without being worked out again: numbers, names and lists, for files of our own.

    A size is a list of terms, each its coefficient and its factors: names, or places in `calls`, which go with it.
    """

    def __init__(self, calls: Iterable[list[Any]] = ()) -> None:
        """Ready to unpack what was packed with these calls; with none, to pack."""
        self.calls: list[list[Any]] = []
        self._places: dict[_Call, int] = {}
        self._made: list[_Call] = []
        for op, *args in calls:
            self._made.append(_Call(op, *(arg if isinstance(arg, int) else self.unpacked(arg) for arg in args)))

    def packed(self, dim: Expr) -> list[list[Any]]:
        """A size as plain data."""
        return [[c, *(a if isinstance(a, str) else self._place(a) for a in m)] for m, c in dim._terms.items()]

    def unpacked(self, said: Iterable[list[Any]]) -> Expr:
        """The size that was packed."""
        made = self._made
        return Expr({tuple([a if isinstance(a, str) else made[a] for a in m]): c for c, *m in said})

    def _place(self, call: _Call) -> int:
        if call not in self._places:
            said = [call.op, *(self.packed(arg) if isinstance(arg, Expr) else arg for arg in call.args)]
            self._places[call] = len(self.calls)
            self.calls.append(said)
        return self._places[call]


def maximum(*dims: Dim) -> Dim:
    """The largest of one or more sizes."""
    return _extreme("max", dims)


def minimum(*dims: Dim) -> Dim:
    """The smallest of one or more sizes."""
    return _extreme("min", dims)


def evaluate(dim: Dim, bindings: Mapping[str, int]) -> int:
    """The value of `dim` at these sizes; UnboundSymbolError, a KeyError, where one is missing."""

    def size(name: str) -> int:
        if name not in bindings:
            raise UnboundSymbolError(name, tuple(bindings))
        return _as_size(name, bindings[name])

    value = _replace(dim, size)
    assert isinstance(value, int)
    return value


def formula(dim: Dim, names: Mapping[str, str]) -> str:
    """The text of a Python expression that is `dim`, symbols called as `names` says; KeyError where one has no name."""
    terms = []
    for monomial, coefficient in _terms(dim).items():
        factors = [] if coefficient == 1 and monomial else [str(coefficient)]
        for atom in monomial:
            if isinstance(atom, str):
                factors.append(names[atom])
                continue
            args = [formula(arg, names) for arg in atom.args]
            factors.append(f"(({args[0]})//({args[1]}))" if atom.op == "//" else f"{atom.op}({', '.join(args)})")
        terms.append("*".join(factors))
    return " + ".join(terms) or "0"


def substitute(dim: Dim, bindings: Mapping[str, Dim]) -> Dim:
    """`dim` with each bound symbol replaced, all at once; the replacements must be sizes, so never negative."""

    def size(name: str) -> Dim:
        value = bindings.get(name)
        if value is None:
            return symbol(name)
        return value if isinstance(value, Expr) else _as_size(name, value)

    return dim if symbols(dim).isdisjoint(bindings) else _replace(dim, size)


def rename(dim: Dim, names: Mapping[str, str]) -> Dim:
    """`dim` with each symbol in `names` called by its new name."""
    return substitute(dim, {old: symbol(new) for old, new in names.items()})


def symbols(dim: Dim) -> frozenset[str]:
    """The names that `dim` depends on."""
    atoms = (atom for monomial in _terms(dim) for atom in monomial)
    return frozenset(name for atom in atoms for name in ([atom] if isinstance(atom, str) else atom.symbols))


def lower_bound(dim: Dim) -> int | None:
    """A number that `dim` is never below, or None where none is known."""
    return _bounds(dim)[0]


def upper_bound(dim: Dim) -> int | None:
    """A number that `dim` is never above, or None where none is known."""
    return _bounds(dim)[1]


def is_multiple(dim: Dim, n: int) -> bool:
    """Whether `dim` is provably a multiple of `n`."""
    return _content(dim) % n == 0 if n else dim == 0


def divide_exactly(a: Dim, b: Dim) -> Dim | None:
    """The q with `a == q*b`, or None where none is found; `b` is taken to be non-zero unless it is 0 itself."""
    if b == 0:
        return None
    quotient, rest = _split(a, b)
    return quotient if rest == 0 else None


# A size is a sum of terms: monomials with their coefficients, of which none is 0. A monomial is a sorted tuple of
# atoms, () for the constant term, and an atom is the name of a symbol or a call. Equal sizes have equal terms only
# where calls are in normal form, so only _reduced_quotient and _extreme make calls.
_Atom: TypeAlias = "str | _Call"
_Monomial: TypeAlias = "tuple[_Atom, ...]"
_Terms: TypeAlias = "dict[_Monomial, int]"
_Bounds: TypeAlias = "tuple[int | None, int | None]"

_LONGEST_PARAM = 256
_MAX_DEGREE = 64  # factors in one term
_MAX_DEPTH = 24  # of calls in calls
_MAX_PARENTHESES = 64  # in each other, in a text; a call takes two at most
_MAX_COMPARED = 16  # arguments of one max or min that are compared with each other
_MAX_QUOTIENT = 16  # terms in the quotient by a sum


class _Call:
    """`//`, `max` or `min` of sizes about which no more is known, or `%` in terms that are to be shown."""

    __slots__ = ("args", "bounds", "depth", "op", "symbols", "text")

    def __init__(self, op: str, *args: Dim) -> None:
        self.op = op
        self.args = args
        self.symbols = frozenset().union(*map(symbols, args))
        inner: list[int] = [atom.depth for arg in args for m in _terms(arg) for atom in m if isinstance(atom, _Call)]
        self.depth: int = 1 + max(inner, default=0)
        if self.depth > _MAX_DEPTH:
            raise ValueError(f"the size would have more than {_MAX_DEPTH} divisions, max and min in each other")
        if op in ("//", "%"):
            self.text = ("//" if op == "//" else " % ").join(map(_operand_text, args))
        else:
            self.text = f"{op}({', '.join(map(_text, args))})"
        self.bounds = _call_bounds(op, [_bounds(arg) for arg in args])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __len__(self) -> int:
        return len(self.text)


def _as_int(value: int) -> int:
    return index(value) + 0  # a numpy integer, or True, as a plain int


def _as_size(name: str, value: int) -> int:
    value = _as_int(value)
    if value < 0:
        raise ValueError(f"the size of {name!r} is {value}, which is negative")
    return value


def _terms(dim: Dim) -> _Terms:
    if isinstance(dim, Expr):
        return dim._terms
    return {(): dim} if dim else {}


def _from_terms(terms: _Terms) -> Dim:
    if _length(terms) > LIMIT:
        raise ValueError(f"the size would take more than {LIMIT} characters")
    if len(terms) <= 1:
        if not terms:
            return 0
        if () in terms:
            return terms[()]
    return Expr(terms)


def _length(terms: _Terms) -> int:
    """About how many characters the terms take to write, never less than a quarter of it."""
    total = 0
    for monomial, coefficient in terms.items():
        total += coefficient.bit_length() // 3 + 4 * len(monomial) + 4
        for atom in monomial:
            total += len(atom)
    return total


def _add(x: Dim, y: Dim, times: int = 1) -> Dim:
    """The sum of x and times*y, where times is 1 or -1."""
    if not isinstance(y, Expr):
        if not isinstance(x, Expr):
            return x + times * y
        if not y:
            return x
    terms = _terms(x).copy()
    for monomial, coefficient in _terms(y).items():
        total = terms.get(monomial, 0) + times * coefficient
        if total:
            terms[monomial] = total
        else:
            del terms[monomial]
    return _from_terms(terms)


def _multiply(x: Dim, y: Dim) -> Dim:
    if not isinstance(x, Expr):
        x, y = y, x
    if not isinstance(y, Expr):
        if not isinstance(x, Expr):
            return x * y
        return x if y == 1 else _from_terms({monomial: c * y for monomial, c in x._terms.items()} if y else {})
    left, right = _terms(x), _terms(y)
    if len(left) * _length(right) + len(right) * _length(left) > 4 * LIMIT:
        raise ValueError(f"the product of {len(left)} and {len(right)} terms would take more than {LIMIT} characters")
    terms: _Terms = {}
    for m, c in left.items():
        for n, d in right.items():
            monomial = _merge(m, n)
            terms[monomial] = terms.get(monomial, 0) + c * d
    return _from_terms({monomial: c for monomial, c in terms.items() if c})


def _modulo(n: Dim, d: Dim) -> Dim:
    return _add(n, _multiply(d, _floor_divide(n, d)), -1)


def _floor_divide(n: Dim, d: Dim) -> Dim:
    divisor = _terms(d)
    if not divisor:
        raise ZeroDivisionError(f"the size {n} divided by zero")
    if divisor[min(divisor, key=_order)] < 0:
        n, d = _add(0, n, -1), _add(0, d, -1)
    whole, rest = _split(n, d)
    return whole if rest == 0 else _add(whole, _reduced_quotient(*_cancel(rest, d)))


def _split(n: Dim, d: Dim) -> tuple[Dim, Dim]:
    """A quotient and a rest with n == quotient*d + rest; a d of one term leaves nothing in the rest that it divides."""
    divisor = _terms(d)
    if len(divisor) > 1:
        quotient = _divide_by_sum(n, d)
        return (0, n) if quotient is None else (quotient, 0)
    ((part, c),) = divisor.items()
    whole: _Terms = {}
    rest: _Terms = {}
    for monomial, k in _terms(n).items():
        others = _without(monomial, part)
        q, r = (0, k) if others is None else divmod(k, c)
        if others is not None and q:
            whole[others] = q
        if r:
            rest[monomial] = r
    return _from_terms(whole), _from_terms(rest)


def _divide_by_sum(n: Dim, d: Dim) -> Dim | None:
    """The polynomial that times d is n, by long division, or None where there is none of few terms."""
    divisor = _terms(d)
    leading = min(divisor, key=_order)
    quotient: Dim = 0
    for _ in range(_MAX_QUOTIENT):
        terms = _terms(n)
        top = min(terms, key=_order, default=())
        others = _without(top, leading)
        if others is None or len(terms) > 4 * _MAX_QUOTIENT or terms[top] % divisor[leading]:
            return None
        try:
            step = _from_terms({others: terms[top] // divisor[leading]})
            quotient = _add(quotient, step)
            n = _add(n, _multiply(step, d), -1)
        except ValueError:  # over the limits on the way, which n and d are not
            return None
        if n == 0:
            return quotient
    return None


def _cancel(n: Dim, d: Dim) -> tuple[Dim, Dim]:
    """Takes out the factors that all terms of n and d share, which are not zero because d is not."""
    number = gcd(*_terms(n).values(), *_terms(d).values())
    factors: list[Dim] = [Expr({(atom,): 1}) for atom in next(iter(_terms(d)))]
    for factor in factors if number == 1 else [number, *factors]:
        x, y = divide_exactly(n, factor), divide_exactly(d, factor)
        if x is not None and y is not None:
            n, d = x, y
    return n, d


def _reduced_quotient(n: Dim, d: Dim) -> Dim:
    """n//d where _split and _cancel have nothing left to do."""
    alone = [m[0] for m, c in _terms(n).items() if c == 1 and len(m) == 1]
    nested = [atom for atom in alone if isinstance(atom, _Call) and atom.op == "//"]
    if len(nested) == 1 and _is_natural(d):
        x, a = nested[0].args
        y = _add(n, Expr({(nested[0],): 1}), -1)
        if y == 0 or isinstance(a, int):  # (x//a + y)//d is (x + a*y)//(a*d)
            return _floor_divide(_add(x, _multiply(a, y)), _multiply(a, d))
    if isinstance(d, Expr) and _is_natural(n) and _is_natural(_add(_add(d, n, -1), 1, -1)):  # 0 <= n < d
        return 0
    call = _Call("//", n, d)
    low, high = call.bounds
    return low if low is not None and low == high else _from_terms({(call,): 1})


def _is_natural(dim: Dim) -> bool:
    """Whether dim is provably 0 or more, which for a divisor means more."""
    low = lower_bound(dim)
    return low is not None and low >= 0


def _extreme(op: str, dims: Iterable[Dim]) -> Dim:
    sizes: set[Dim] = set()
    numbers: list[int] = []
    for dim in dims:
        atom = _lone_atom(dim)
        for arg in atom.args if isinstance(atom, _Call) and atom.op == op else (dim,):
            if isinstance(arg, Expr):
                sizes.add(arg)
            else:
                numbers.append(_as_int(arg))
    if numbers:
        sizes.add(max(numbers) if op == "max" else min(numbers))
    kept: list[Dim] = []
    for size in sorted(sizes, key=lambda size: (isinstance(size, int), _text(size))):
        if len(sizes) <= _MAX_COMPARED:
            if any(_decides(op, other, size) for other in kept):
                continue
            kept = [other for other in kept if not _decides(op, size, other)]
        kept.append(size)
    if not kept:
        raise ValueError(f"{op} of nothing")
    return kept[0] if len(kept) == 1 else _from_terms({(_Call(op, *kept),): 1})


def _decides(op: str, x: Dim, y: Dim) -> bool:
    """Whether op of x and y is provably x."""
    atom = _lone_atom(y)
    if isinstance(atom, _Call) and {atom.op, op} == {"max", "min"} and x in atom.args:
        return True  # max(x, min(x, ...)) is x, and the other way round
    return _is_natural(_add(x, y, -1) if op == "max" else _add(y, x, -1))


def _replace(dim: Dim, size: Callable[[str], Dim]) -> Dim:
    total: Dim = 0
    for monomial, coefficient in _terms(dim).items():
        product: Dim = coefficient
        for atom in monomial:
            if isinstance(atom, str):
                product = product * size(atom)
                continue
            args = [_replace(arg, size) for arg in atom.args]
            product = product * (args[0] // args[1] if atom.op == "//" else _extreme(atom.op, args))
        total = total + product
    return total


def _lone_atom(dim: Dim) -> _Atom | None:
    """The atom that dim is, or None where it is a number, a product or a sum."""
    if isinstance(dim, Expr) and len(dim._terms) == 1:
        ((monomial, coefficient),) = dim._terms.items()
        if coefficient == 1 and len(monomial) == 1:
            return monomial[0]
    return None


def _order(monomial: _Monomial) -> tuple[int, list[str]]:
    """Sorts the highest degree first, then by the alphabet, which is a monomial order, as long division needs."""
    return -len(monomial), [_atom_text(atom) for atom in monomial]


def _merge(m: _Monomial, n: _Monomial) -> _Monomial:
    if not m or not n:
        return m or n
    if len(m) + len(n) > _MAX_DEGREE:
        raise ValueError(f"the size would have a product of more than {_MAX_DEGREE} factors")
    return tuple(sorted(m + n, key=_atom_text))


def _without(monomial: _Monomial, part: _Monomial) -> _Monomial | None:
    """The monomial divided by part, or None where part does not divide it."""
    left = list(monomial)
    for atom in part:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _content(dim: Dim) -> int:
    """A number that divides dim; 0 only for 0."""
    parts = []
    for monomial, part in _terms(dim).items():
        calls = [atom for atom in monomial if isinstance(atom, _Call) and atom.op != "//"]
        parts.append(part * prod(gcd(*map(_content, call.args)) for call in calls))
    return gcd(*parts)


def _bounds(dim: Dim) -> _Bounds:
    if isinstance(dim, int):
        return dim, dim
    low: int | None = 0
    high: int | None = 0
    for monomial, c in _shown_terms(dim).items():
        factors = [(0, None) if isinstance(atom, str) else atom.bounds for atom in monomial]
        least, most = factors[0] if len(factors) == 1 else _product_bounds(factors)
        if c < 0:
            least, most = most, least
        low = None if low is None or least is None else low + c * least
        high = None if high is None or most is None else high + c * most
    return low, high


def _product_bounds(factors: list[_Bounds]) -> _Bounds:
    lows = [low for low, _ in factors if low is not None and low >= 0]
    highs = [high for _, high in factors if high is not None]
    if len(lows) < len(factors):
        return None, None
    return prod(lows), prod(highs) if len(highs) == len(factors) else None


def _call_bounds(op: str, args: list[_Bounds]) -> _Bounds:
    if op in ("max", "min"):
        lows = [low for low, _ in args if low is not None]
        highs = [high for _, high in args if high is not None]
        if op == "max":
            return max(lows, default=None), max(highs) if len(highs) == len(args) else None
        return min(lows) if len(lows) == len(args) else None, min(highs, default=None)
    (low, high), (least, most) = args
    if least is None or least < 0 or most == 0:  # most is 0 where every size would divide by zero
        return None, None
    least = max(least, 1)
    if op == "%":
        return 0, None if most is None else most - 1
    if low is not None:
        low = low // least if low < 0 else 0 if most is None else low // most
    if high is not None:
        high = high // least if high >= 0 else -1 if most is None else high // most
    return low, high


def _shown_terms(expr: Expr) -> _Terms:
    """The terms of expr with c*m*n - c*m*d*(n//d) folded into c*m*(n % d) for each d of a single term."""
    if expr._shown is None:
        shown = expr._terms.copy()
        for monomial in sorted(expr._terms, key=_order):
            calls = [atom for atom in monomial if isinstance(atom, _Call) and atom.op == "//"]
            any(_fold_remainder(shown, monomial, call) for call in calls)
        expr._shown = shown
    return expr._shown


def _fold_remainder(terms: _Terms, monomial: _Monomial, call: _Call) -> bool:
    n, d = call.args
    if len(_terms(d)) > 1:
        return False
    ((part, c),) = _terms(d).items()
    others = _without(monomial, (*part, call))
    times, inexact = divmod(-terms.get(monomial, 0), c)
    if others is None or inexact or not times:
        return False
    folded = {_merge(others, m): times * k for m, k in _terms(n).items()}
    if not all(0 < k <= terms.get(m, 0) or 0 > k >= terms.get(m, 0) for m, k in folded.items()):
        return False
    remainder = _merge(others, (_Call("%", n, d),))
    for m, k in (*folded.items(), (monomial, terms[monomial]), (remainder, -times)):
        terms[m] = terms.get(m, 0) - k
        if not terms[m]:
            del terms[m]
    return True


def _text(dim: Dim) -> str:
    """The size as parse reads it, with every name that it would not read in backticks."""
    if isinstance(dim, int):
        return str(dim)
    text = ""
    for monomial, c in sorted(_shown_terms(dim).items(), key=lambda term: _order(term[0])):
        factors = [str(abs(c))] if abs(c) != 1 or not monomial else []
        for atom in dict.fromkeys(monomial):
            factor, power = _atom_text(atom), monomial.count(atom)
            if isinstance(atom, _Call) and atom.op in ("//", "%") and (c != 1 or len(monomial) > 1):
                factor = f"({factor})"
            factors.append(factor if power == 1 else f"{factor}**{power}")
        sign = (" - " if c < 0 else " + ") if text else "-" if c < 0 else ""
        text += sign + "*".join(factors)
    return text


def _operand_text(dim: Dim) -> str:
    atom = _lone_atom(dim)
    open_ended = atom is None if isinstance(dim, Expr) else dim < 0
    return f"({_text(dim)})" if open_ended or (isinstance(atom, _Call) and atom.op == "//") else _text(dim)


def _atom_text(atom: _Atom) -> str:
    if isinstance(atom, _Call):
        return atom.text
    if atom.isidentifier() or (atom[0] != "." and atom.replace(".", "_").isidentifier()):
        return atom
    return "`" + atom.replace("`", "``") + "`"


# Reading a text. Values are a numerator over a denominator, because sympy writes `floor(h/2 - 1/2)`.
_Ratio: TypeAlias = "tuple[Dim, Dim]"
_Token: TypeAlias = "tuple[str, str, int]"  # "number", "name", "quoted", "end" or the operator; its text; its position

_PRIORITY = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2}


class _Parser:
    """Reads one text from left to right, by operator precedence."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self.scan()
        self.next: _Token = next(self.tokens)
        self.depth = 0

    def whole_text(self) -> Dim:
        value = self.expression()
        self.take("end")
        return self.apply(0, "", value)[0]

    def expression(self, above: int = 0) -> _Ratio:
        """What follows, up to an operator that binds no tighter than `above`."""
        value = self.operand()
        while (priority := _PRIORITY.get(self.next[0], 0)) > above:
            op, _, at = self.take()
            value = self.apply(at, op, value, self.expression(priority))
        return value

    def operand(self) -> _Ratio:
        negative = False
        while self.next[0] == "-":
            self.take()
            negative = not negative
        kind, word, at = self.take()
        if kind == "number":
            value = self.number(word, at)
        elif kind == "name" and self.next[0] == "(":
            value = self.apply(at, word, *self.bracketed(self.take()[2]))
        elif kind in ("name", "quoted"):
            value = symbol(word), 1
        elif kind == "(":
            value, *more = self.bracketed(at)
            if more:
                raise self.error("a comma outside a function", at)
        else:
            raise self.error(f"unexpected {word!r}", at)
        if self.next[0] == "**":
            at = self.take()[2]
            value = self.apply(at, "**", value, self.number(*self.take("number")[1:]))
        return self.apply(at, "-", (0, 1), value) if negative else value

    def bracketed(self, at: int) -> list[_Ratio]:
        """The values from a parenthesis at this position, which has been taken, to its pair."""
        self.depth += 1
        if self.depth > _MAX_PARENTHESES:
            raise self.error(f"more than {_MAX_PARENTHESES} parentheses in each other", at)
        values = [self.expression()]
        while self.next[0] == ",":
            self.take()
            values.append(self.expression())
        self.take(")")
        self.depth -= 1
        return values

    def number(self, word: str, at: int) -> _Ratio:
        digits, _, decimals = word.partition(".")
        if len(word) > LIMIT or "." in decimals or word[-1] == ".":
            raise self.error("a number that is malformed or too long", at)
        value, scale = int(digits + decimals), 10 ** len(decimals)
        value, scale = value // gcd(value, scale), scale // gcd(value, scale)
        if scale & (scale - 1):  # a rounded float: what the exporter floored may be another size
            raise self.error(f"{word} is not exact in binary", at)
        return value, scale

    def apply(self, at: int, op: str, *values: _Ratio) -> _Ratio:
        try:
            return _apply(op, values)
        except (ValueError, ZeroDivisionError) as error:
            raise self.error(str(error), at) from None

    def take(self, kind: str = "") -> _Token:
        token = self.next
        if kind and token[0] != kind:
            raise self.error(f"unexpected {token[1]!r}", token[2])
        self.next = next(self.tokens, token)
        return token

    def scan(self) -> Iterator[_Token]:
        text, end = self.text, 0
        if len(text) > 4 * LIMIT:
            raise self.error(f"more than {4 * LIMIT} characters", 4 * LIMIT)
        while end < len(text):
            at, char = end, text[end]
            end += 1
            if char in "0123456789":
                while end < len(text) and text[end] in "0123456789.":
                    end += 1
                yield "number", text[at:end], at
            elif char.isidentifier():
                while end < len(text) and (text[end] == "." or ("_" + text[end]).isidentifier()):
                    end += 1
                yield "name", text[at:end], at
            elif char == "`":
                while (end := text.find("`", end) + 1) and text[end : end + 1] == "`":
                    end += 1  # two are one backtick in the name
                if end - at < 3:
                    raise self.error("a backtick without its pair, or with nothing between", at)
                yield "quoted", text[at + 1 : end - 1].replace("``", "`"), at
            elif not char.isspace():
                end += char in "*/" and text[end : end + 1] == char
                yield text[at:end], text[at:end], at
        yield "end", "end of text", end

    def error(self, why: str, at: int) -> ValueError:
        text = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        return ValueError(f"{text!r} is not a size: {why} (position {at})")


def _apply(op: str, values: tuple[_Ratio, ...]) -> _Ratio:
    """An operator, or a function by any of its names, of these values; "" makes sure of a whole number."""
    match op, values:
        case "+" | "-", ((a, b), (c, d)):
            times = 1 if op == "+" else -1
            if b == d:
                return _add(a, c, times), b
            return _add(_multiply(a, d), _multiply(b, c), times), _multiply(b, d)
        case "*", ((a, b), (c, d)):
            return _multiply(a, c), _multiply(b, d)
        case "/" | "IntTrueDiv", ((a, b), (c, d)):
            if c == 0:
                raise ZeroDivisionError("division by zero")
            return _multiply(a, d), _multiply(b, c)
        case "**", ((a, b), (int(n), 1)):
            return _power(a, n), _power(b, n)
        case "//", _:
            return _apply("floor", (_apply("/", values),))
        case "floor" | "FloorToInt", ((a, b),):
            return _floor_divide(a, b), 1
        case "ceiling" | "CeilToInt", ((a, b),):
            if _is_natural(b):
                return _floor_divide(_add(_add(a, b), 1, -1), b), 1
            return _add(0, _floor_divide(_add(0, a, -1), b), -1), 1
        case "%" | "Mod" | "PythonMod", ((a, 1), (b, 1)):
            return _modulo(a, b), 1
        case "max" | "Max" | "min" | "Min", _:
            return _extreme(op.lower(), [_apply("", (value,))[0] for value in values]), 1
        case "", ((a, b),):
            quotient = divide_exactly(a, b)
            if quotient is None:
                raise ValueError(f"{_operand_text(a)}/{_operand_text(b)} may be a fraction")
            return quotient, 1
    raise ValueError(f"{op!r} of {len(values)} is not known")


def _power(x: Dim, n: int) -> Dim:
    if n > _MAX_DEGREE:
        raise ValueError(f"a power above {_MAX_DEGREE}")
    if n < 2:
        return x if n else 1
    half = _power(x, n // 2)
    square = _multiply(half, half)
    return _multiply(square, x) if n % 2 else square
