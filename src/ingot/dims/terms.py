"""What a size is made of: a sum of terms in a normal form, so that equal sizes have equal terms.

Terms map monomials to their coefficients, of which none is 0. A monomial is a sorted tuple of atoms, () for the
constant term; an atom is the name of a symbol, or a call of `//`, `max` or `min` about which no more is known:
`2*n + n//3 - 1` is `{("n",): 2, (Call("//", {("n",): 1}, {(): 3}),): 1, (): -1}`. No terms are 0. Terms and calls are
not changed once they are part of a size; only `calls.call` makes calls.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # at run time typing would be most of the import time
    from typing import TypeAlias

LIMIT = 4096
"""Arithmetic whose result would take more characters than this to write raises a ValueError.

So does a term of more than 64 factors, and more than 24 divisions, max and min in each other.
"""

MAX_DEGREE = 64
"""Factors in one term."""

Atom: TypeAlias = "str | Call"
Monomial: TypeAlias = "tuple[Atom, ...]"
Terms: TypeAlias = "dict[Monomial, int]"
Bounds: TypeAlias = "tuple[int | None, int | None]"
"""Numbers that a size is never below and never above, where they are known."""


class Call:
    """`//`, `max` or `min` of sizes about which no more is known, or `%` in terms that are to be shown."""

    __slots__ = ("args", "bounds", "depth", "op", "symbols", "text")

    def __init__(
        self, op: str, args: tuple[Terms, ...], symbols: frozenset[str], depth: int, text: str, bounds: Bounds
    ) -> None:
        self.op = op
        self.args = args
        self.symbols = symbols
        self.depth = depth
        """How many calls are in each other, this one included."""
        self.text = text
        """What is written for it, the same only for equal calls."""
        self.bounds = bounds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __len__(self) -> int:
        return len(self.text)


def constant(value: int) -> Terms:
    """The terms of a number."""
    return {(): value} if value else {}


def known_value(terms: Terms) -> int | None:
    """The number that terms are, or None where they have symbols."""
    if not terms:
        return 0
    return terms.get(()) if len(terms) == 1 else None


def lone_atom(terms: Terms) -> Atom | None:
    """The atom that terms are, or None where they are a number, a product or a sum."""
    if len(terms) == 1:
        ((monomial, coefficient),) = terms.items()
        if coefficient == 1 and len(monomial) == 1:
            return monomial[0]
    return None


def symbols_in(terms: Terms) -> frozenset[str]:
    """The names that terms depend on."""
    atoms = (atom for monomial in terms for atom in monomial)
    return frozenset(name for atom in atoms for name in ([atom] if isinstance(atom, str) else atom.symbols))


def within_limit(terms: Terms) -> Terms:
    """The terms; ValueError if they would take more than `LIMIT` characters to write."""
    if length(terms) > LIMIT:
        raise ValueError(f"the size would take more than {LIMIT} characters")
    return terms


def length(terms: Terms) -> int:
    """About how many characters the terms take to write, never less than a quarter of it."""
    total = 0
    for monomial, coefficient in terms.items():
        total += coefficient.bit_length() // 3 + 4 * len(monomial) + 4
        for atom in monomial:
            total += len(atom)
    return total


def order(monomial: Monomial) -> tuple[int, list[str]]:
    """Sorts the highest degree first, then by the alphabet, which is a monomial order, as long division needs."""
    return -len(monomial), [atom_text(atom) for atom in monomial]


def leading(terms: Terms) -> Monomial:
    """The first of the monomials, by `order`."""
    return min(terms, key=order)


def merge(m: Monomial, n: Monomial) -> Monomial:
    """The product of two monomials; ValueError if it has more than `MAX_DEGREE` factors."""
    if not m or not n:
        return m or n
    if len(m) + len(n) > MAX_DEGREE:
        raise ValueError(f"the size would have a product of more than {MAX_DEGREE} factors")
    return tuple(sorted(m + n, key=atom_text))


def without(monomial: Monomial, part: Monomial) -> Monomial | None:
    """The monomial divided by part, or None where part does not divide it."""
    left = list(monomial)
    for atom in part:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def atom_text(atom: Atom) -> str:
    """An atom as it is written: a name that could not be read back is in backticks."""
    if isinstance(atom, Call):
        return atom.text
    if atom.isidentifier() or (atom[0] != "." and atom.replace(".", "_").isidentifier()):
        return atom
    return "`" + atom.replace("`", "``") + "`"
