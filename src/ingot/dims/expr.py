"""Sizes as polynomials in a normal form: their arithmetic, bounds and text."""

from __future__ import annotations

from math import gcd, prod
from operator import index

TYPE_CHECKING = False
if TYPE_CHECKING:  # at run time typing and collections.abc would be most of this module's import time
    from collections.abc import Callable, Iterable, Mapping
    from typing import NoReturn, TypeAlias

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

    def __init__(self, terms: Terms) -> None:
        self._terms = terms  # not changed after this
        self._shown: Terms | None = None
        self._hash: int | None = None

    __add__ = __radd__ = _operator(lambda x, y: add(x, y))
    __sub__ = _operator(lambda x, y: add(x, y, -1))
    __rsub__ = _operator(lambda x, y: add(y, x, -1))
    __mul__ = __rmul__ = _operator(lambda x, y: multiply(x, y))
    __floordiv__ = _operator(lambda x, y: floor_divide(x, y))
    __rfloordiv__ = _operator(lambda x, y: floor_divide(y, x))
    __mod__ = _operator(lambda x, y: modulo(x, y))
    __rmod__ = _operator(lambda x, y: modulo(y, x))

    def __neg__(self) -> Dim:
        return add(0, self, -1)

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

    def __reduce__(self) -> tuple[object, ...]:
        return Expr, (self._terms,)

    def substitute(self, bindings: Mapping[str, Dim]) -> Dim:
        """The size with each bound symbol replaced; see the function of the same name."""
        return substitute(self, bindings)


Dim: TypeAlias = int | Expr


def symbol(name: str) -> Expr:
    """The size called `name`, which may be any text but the empty one."""
    if not name:
        raise ValueError("a symbol needs a name")
    return Expr({(name,): 1})


def maximum(*dims: Dim) -> Dim:
    """The largest of one or more sizes."""
    return extreme("max", dims)


def minimum(*dims: Dim) -> Dim:
    """The smallest of one or more sizes."""
    return extreme("min", dims)


def evaluate(dim: Dim, bindings: Mapping[str, int]) -> int:
    """The value of `dim` at these sizes; UnboundSymbolError, a KeyError, where one is missing."""

    def size(name: str) -> int:
        if name not in bindings:
            raise UnboundSymbolError(name, tuple(bindings))
        return _as_size(name, bindings[name])

    value = _replace(dim, size)
    assert isinstance(value, int)
    return value


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
    atoms = (atom for monomial in terms_of(dim) for atom in monomial)
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
# where calls are in normal form, so only _reduced_quotient and extreme make calls.
_Atom: TypeAlias = "str | Call"
_Monomial: TypeAlias = "tuple[_Atom, ...]"
Terms: TypeAlias = "dict[_Monomial, int]"
_Bounds: TypeAlias = "tuple[int | None, int | None]"

MAX_DEGREE = 64  # factors in one term
_MAX_DEPTH = 24  # of calls in calls
_MAX_COMPARED = 16  # arguments of one max or min that are compared with each other
_MAX_QUOTIENT = 16  # terms in the quotient by a sum


class Call:
    """`//`, `max` or `min` of sizes about which no more is known, or `%` in terms that are to be shown."""

    __slots__ = ("args", "bounds", "depth", "op", "symbols", "text")

    def __init__(self, op: str, *args: Dim) -> None:
        self.op = op
        self.args = args
        self.symbols = frozenset().union(*map(symbols, args))
        inner: list[int] = [atom.depth for arg in args for m in terms_of(arg) for atom in m if isinstance(atom, Call)]
        self.depth: int = 1 + max(inner, default=0)
        if self.depth > _MAX_DEPTH:
            raise ValueError(f"the size would have more than {_MAX_DEPTH} divisions, max and min in each other")
        if op in ("//", "%"):
            self.text = ("//" if op == "//" else " % ").join(map(operand_text, args))
        else:
            self.text = f"{op}({', '.join(map(_text, args))})"
        self.bounds = _call_bounds(op, [_bounds(arg) for arg in args])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __len__(self) -> int:
        return len(self.text)

    def __reduce__(self) -> tuple[object, ...]:
        return Call, (self.op, *self.args)


def _as_int(value: int) -> int:
    return index(value) + 0  # a numpy integer, or True, as a plain int


def _as_size(name: str, value: int) -> int:
    value = _as_int(value)
    if value < 0:
        raise ValueError(f"the size of {name!r} is {value}, which is negative")
    return value


def terms_of(dim: Dim) -> Terms:
    if isinstance(dim, Expr):
        return dim._terms
    return {(): dim} if dim else {}


def _from_terms(terms: Terms) -> Dim:
    if _length(terms) > LIMIT:
        raise ValueError(f"the size would take more than {LIMIT} characters")
    if len(terms) <= 1:
        if not terms:
            return 0
        if () in terms:
            return terms[()]
    return Expr(terms)


def _length(terms: Terms) -> int:
    """About how many characters the terms take to write, never less than a quarter of it."""
    total = 0
    for monomial, coefficient in terms.items():
        total += coefficient.bit_length() // 3 + 4 * len(monomial) + 4
        for atom in monomial:
            total += len(atom)
    return total


def add(x: Dim, y: Dim, times: int = 1) -> Dim:
    """The sum of x and times*y, where times is 1 or -1."""
    if not isinstance(y, Expr):
        if not isinstance(x, Expr):
            return x + times * y
        if not y:
            return x
    terms = terms_of(x).copy()
    for monomial, coefficient in terms_of(y).items():
        total = terms.get(monomial, 0) + times * coefficient
        if total:
            terms[monomial] = total
        else:
            del terms[monomial]
    return _from_terms(terms)


def multiply(x: Dim, y: Dim) -> Dim:
    if not isinstance(x, Expr):
        x, y = y, x
    if not isinstance(y, Expr):
        if not isinstance(x, Expr):
            return x * y
        return x if y == 1 else _from_terms({monomial: c * y for monomial, c in x._terms.items()} if y else {})
    left, right = terms_of(x), terms_of(y)
    if len(left) * _length(right) + len(right) * _length(left) > 4 * LIMIT:
        raise ValueError(f"the product of {len(left)} and {len(right)} terms would take more than {LIMIT} characters")
    terms: Terms = {}
    for m, c in left.items():
        for n, d in right.items():
            monomial = _merge(m, n)
            terms[monomial] = terms.get(monomial, 0) + c * d
    return _from_terms({monomial: c for monomial, c in terms.items() if c})


def modulo(n: Dim, d: Dim) -> Dim:
    return add(n, multiply(d, floor_divide(n, d)), -1)


def floor_divide(n: Dim, d: Dim) -> Dim:
    divisor = terms_of(d)
    if not divisor:
        raise ZeroDivisionError(f"the size {n} divided by zero")
    if divisor[min(divisor, key=_order)] < 0:
        n, d = add(0, n, -1), add(0, d, -1)
    whole, rest = _split(n, d)
    return whole if rest == 0 else add(whole, _reduced_quotient(*_cancel(rest, d)))


def _split(n: Dim, d: Dim) -> tuple[Dim, Dim]:
    """A quotient and a rest with n == quotient*d + rest; a d of one term leaves nothing in the rest that it divides."""
    divisor = terms_of(d)
    if len(divisor) > 1:
        quotient = _divide_by_sum(n, d)
        return (0, n) if quotient is None else (quotient, 0)
    ((part, c),) = divisor.items()
    whole: Terms = {}
    rest: Terms = {}
    for monomial, k in terms_of(n).items():
        others = _without(monomial, part)
        q, r = (0, k) if others is None else divmod(k, c)
        if others is not None and q:
            whole[others] = q
        if r:
            rest[monomial] = r
    return _from_terms(whole), _from_terms(rest)


def _divide_by_sum(n: Dim, d: Dim) -> Dim | None:
    """The polynomial that times d is n, by long division, or None where there is none of few terms."""
    divisor = terms_of(d)
    leading = min(divisor, key=_order)
    quotient: Dim = 0
    for _ in range(_MAX_QUOTIENT):
        terms = terms_of(n)
        top = min(terms, key=_order, default=())
        others = _without(top, leading)
        if others is None or len(terms) > 4 * _MAX_QUOTIENT or terms[top] % divisor[leading]:
            return None
        try:
            step = _from_terms({others: terms[top] // divisor[leading]})
            quotient = add(quotient, step)
            n = add(n, multiply(step, d), -1)
        except ValueError:  # over the limits on the way, which n and d are not
            return None
        if n == 0:
            return quotient
    return None


def _cancel(n: Dim, d: Dim) -> tuple[Dim, Dim]:
    """Takes out the factors that all terms of n and d share, which are not zero because d is not."""
    number = gcd(*terms_of(n).values(), *terms_of(d).values())
    factors: list[Dim] = [Expr({(atom,): 1}) for atom in next(iter(terms_of(d)))]
    for factor in factors if number == 1 else [number, *factors]:
        x, y = divide_exactly(n, factor), divide_exactly(d, factor)
        if x is not None and y is not None:
            n, d = x, y
    return n, d


def _reduced_quotient(n: Dim, d: Dim) -> Dim:
    """n//d where _split and _cancel have nothing left to do."""
    alone = [m[0] for m, c in terms_of(n).items() if c == 1 and len(m) == 1]
    nested = [atom for atom in alone if isinstance(atom, Call) and atom.op == "//"]
    if len(nested) == 1 and is_natural(d):
        x, a = nested[0].args
        y = add(n, Expr({(nested[0],): 1}), -1)
        if y == 0 or isinstance(a, int):  # (x//a + y)//d is (x + a*y)//(a*d)
            return floor_divide(add(x, multiply(a, y)), multiply(a, d))
    if isinstance(d, Expr) and is_natural(n) and is_natural(add(add(d, n, -1), 1, -1)):  # 0 <= n < d
        return 0
    call = Call("//", n, d)
    low, high = call.bounds
    return low if low is not None and low == high else _from_terms({(call,): 1})


def is_natural(dim: Dim) -> bool:
    """Whether dim is provably 0 or more, which for a divisor means more."""
    low = lower_bound(dim)
    return low is not None and low >= 0


def extreme(op: str, dims: Iterable[Dim]) -> Dim:
    sizes: set[Dim] = set()
    numbers: list[int] = []
    for dim in dims:
        atom = _lone_atom(dim)
        for arg in atom.args if isinstance(atom, Call) and atom.op == op else (dim,):
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
    return kept[0] if len(kept) == 1 else _from_terms({(Call(op, *kept),): 1})


def _decides(op: str, x: Dim, y: Dim) -> bool:
    """Whether op of x and y is provably x."""
    atom = _lone_atom(y)
    if isinstance(atom, Call) and {atom.op, op} == {"max", "min"} and x in atom.args:
        return True  # max(x, min(x, ...)) is x, and the other way round
    return is_natural(add(x, y, -1) if op == "max" else add(y, x, -1))


def _replace(dim: Dim, size: Callable[[str], Dim]) -> Dim:
    total: Dim = 0
    for monomial, coefficient in terms_of(dim).items():
        product: Dim = coefficient
        for atom in monomial:
            if isinstance(atom, str):
                product = product * size(atom)
                continue
            args = [_replace(arg, size) for arg in atom.args]
            product = product * (args[0] // args[1] if atom.op == "//" else extreme(atom.op, args))
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
    if len(m) + len(n) > MAX_DEGREE:
        raise ValueError(f"the size would have a product of more than {MAX_DEGREE} factors")
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
    for monomial, part in terms_of(dim).items():
        calls = [atom for atom in monomial if isinstance(atom, Call) and atom.op != "//"]
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


def _shown_terms(expr: Expr) -> Terms:
    """The terms of expr with c*m*n - c*m*d*(n//d) folded into c*m*(n % d) for each d of a single term."""
    if expr._shown is None:
        shown = expr._terms.copy()
        for monomial in sorted(expr._terms, key=_order):
            calls = [atom for atom in monomial if isinstance(atom, Call) and atom.op == "//"]
            any(_fold_remainder(shown, monomial, call) for call in calls)
        expr._shown = shown
    return expr._shown


def _fold_remainder(terms: Terms, monomial: _Monomial, call: Call) -> bool:
    n, d = call.args
    if len(terms_of(d)) > 1:
        return False
    ((part, c),) = terms_of(d).items()
    others = _without(monomial, (*part, call))
    times, inexact = divmod(-terms.get(monomial, 0), c)
    if others is None or inexact or not times:
        return False
    folded = {_merge(others, m): times * k for m, k in terms_of(n).items()}
    if not all(0 < k <= terms.get(m, 0) or 0 > k >= terms.get(m, 0) for m, k in folded.items()):
        return False
    remainder = _merge(others, (Call("%", n, d),))
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
            if isinstance(atom, Call) and atom.op in ("//", "%") and (c != 1 or len(monomial) > 1):
                factor = f"({factor})"
            factors.append(factor if power == 1 else f"{factor}**{power}")
        sign = (" - " if c < 0 else " + ") if text else "-" if c < 0 else ""
        text += sign + "*".join(factors)
    return text


def operand_text(dim: Dim) -> str:
    atom = _lone_atom(dim)
    open_ended = atom is None if isinstance(dim, Expr) else dim < 0
    return f"({_text(dim)})" if open_ended or (isinstance(atom, Call) and atom.op == "//") else _text(dim)


def _atom_text(atom: _Atom) -> str:
    if isinstance(atom, Call):
        return atom.text
    if atom.isidentifier() or (atom[0] != "." and atom.replace(".", "_").isidentifier()):
        return atom
    return "`" + atom.replace("`", "``") + "`"
