"""Calls, and terms as they are shown: with remainders in place of what these are short for.

`n % d` is kept as `n - d*(n//d)`. To bound a size, and to write it, such terms are folded into a call of
`%`; a call is written and bounded when it is made, by what it is of.
"""

from __future__ import annotations

from ingot.dims.bounds import call_bounds, sum_bounds
from ingot.dims.terms import Bounds, Call, Monomial, Terms, merge, order, symbols_in, without
from ingot.dims.text import call_text, operand_text, sum_text

_MAX_DEPTH = 24
"""Calls in each other."""


def call(op: str, *args: Terms) -> Call:
    """A call of an operation; ValueError if more than 24 would be in each other."""
    depth = 1 + max((atom.depth for arg in args for m in arg for atom in m if isinstance(atom, Call)), default=0)
    if depth > _MAX_DEPTH:
        raise ValueError(f"the size would have more than {_MAX_DEPTH} divisions, max and min in each other")
    shown = tuple(map(shown_terms, args))
    symbols = frozenset().union(*map(symbols_in, args))
    bounds = call_bounds(op, [sum_bounds(each) for each in shown])
    return Call(op, args, symbols, depth, call_text(op, args, shown), bounds)


def shown_terms(terms: Terms) -> Terms:
    """The terms with c*m*n - c*m*d*(n//d) folded into c*m*(n % d) for each d of a single term."""
    with_quotients = [m for m in terms for atom in m if isinstance(atom, Call) and atom.op == "//"]
    if not with_quotients:
        return terms
    shown = terms.copy()
    for monomial in sorted(set(with_quotients), key=order):
        quotients = (atom for atom in monomial if isinstance(atom, Call) and atom.op == "//")
        any(_fold_remainder(shown, monomial, quotient) for quotient in quotients)
    return shown


def bounds_of(terms: Terms) -> Bounds:
    """Numbers that terms are never below and never above, where they are known."""
    return sum_bounds(shown_terms(terms))


def is_natural(terms: Terms) -> bool:
    """Whether terms are provably 0 or more, which for a divisor means more."""
    low = bounds_of(terms)[0]
    return low is not None and low >= 0


def text_of(terms: Terms) -> str:
    """Terms as `parse` reads them."""
    return sum_text(shown_terms(terms))


def operand_text_of(terms: Terms) -> str:
    """Terms as they are written next to a division."""
    return operand_text(terms, shown_terms(terms))


def _fold_remainder(terms: Terms, monomial: Monomial, quotient: Call) -> bool:
    n, d = quotient.args
    if len(d) > 1:
        return False
    ((part, c),) = d.items()
    others = without(monomial, (*part, quotient))
    times, inexact = divmod(-terms.get(monomial, 0), c)
    if others is None or inexact or not times:
        return False
    folded = {merge(others, m): times * k for m, k in n.items()}
    if not all(0 < k <= terms.get(m, 0) or 0 > k >= terms.get(m, 0) for m, k in folded.items()):
        return False
    remainder = merge(others, (call("%", n, d),))
    for m, k in (*folded.items(), (monomial, terms[monomial]), (remainder, -times)):
        terms[m] = terms.get(m, 0) - k
        if not terms[m]:
            del terms[m]
    return True
