"""Quotients and remainders of terms; no divisor is zero."""

from __future__ import annotations

from math import gcd, prod

from ingot.dims.arithmetic import ONE, add, multiply, negate
from ingot.dims.calls import call, is_natural, text_of
from ingot.dims.terms import Call, Terms, constant, known_value, leading, within_limit, without

_MAX_QUOTIENT = 16
"""Terms in the quotient by a sum."""


def floor_divide(n: Terms, d: Terms) -> Terms:
    """N divided by d, rounded towards minus infinity; ZeroDivisionError where d is 0 itself."""
    if not d:
        raise ZeroDivisionError(f"the size {text_of(n)} divided by zero")
    if d[leading(d)] < 0:
        n, d = negate(n), negate(d)
    whole, rest = _split(n, d)
    return add(whole, _reduced_quotient(*_cancel(rest, d))) if rest else whole


def modulo(n: Terms, d: Terms) -> Terms:
    return add(n, multiply(d, floor_divide(n, d)), -1)


def exact_quotient(n: Terms, d: Terms) -> Terms | None:
    """The q with `n == q*d`, or None where none is found."""
    if not d:
        return None
    quotient, rest = _split(n, d)
    return None if rest else quotient


def content(terms: Terms) -> int:
    """A number that divides terms; 0 only for 0."""
    parts = []
    for monomial, part in terms.items():
        calls = [atom for atom in monomial if isinstance(atom, Call) and atom.op != "//"]
        parts.append(part * prod(gcd(*map(content, each.args)) for each in calls))
    return gcd(*parts)


def _split(n: Terms, d: Terms) -> tuple[Terms, Terms]:
    """A quotient and a rest with n == quotient*d + rest; a d of one term leaves nothing in the rest that it divides."""
    if len(d) > 1:
        quotient = _divide_by_sum(n, d)
        return ({}, n) if quotient is None else (quotient, {})
    ((part, c),) = d.items()
    whole: Terms = {}
    rest: Terms = {}
    for monomial, k in n.items():
        others = without(monomial, part)
        q, r = (0, k) if others is None else divmod(k, c)
        if others is not None and q:
            whole[others] = q
        if r:
            rest[monomial] = r
    return within_limit(whole), within_limit(rest)


def _divide_by_sum(n: Terms, d: Terms) -> Terms | None:
    """The polynomial that times d is n, by long division, or None where there is none of few terms."""
    first = leading(d)
    quotient: Terms = {}
    for _ in range(_MAX_QUOTIENT):
        if not n:
            return quotient
        top = leading(n)
        others = without(top, first)
        if others is None or len(n) > 4 * _MAX_QUOTIENT or n[top] % d[first]:
            return None
        try:
            step = within_limit({others: n[top] // d[first]})
            quotient = add(quotient, step)
            n = add(n, multiply(step, d), -1)
        except ValueError:  # over the limits on the way, which n and d are not
            return None
    return None if n else quotient


def _cancel(n: Terms, d: Terms) -> tuple[Terms, Terms]:
    """Takes out the factors that all terms of n and d share, which are not zero because d is not."""
    number = gcd(*n.values(), *d.values())
    factors: list[Terms] = [{(atom,): 1} for atom in next(iter(d))]
    for factor in factors if number == 1 else [constant(number), *factors]:
        x, y = exact_quotient(n, factor), exact_quotient(d, factor)
        if x is not None and y is not None:
            n, d = x, y
    return n, d


def _reduced_quotient(n: Terms, d: Terms) -> Terms:
    """n//d where _split and _cancel have nothing left to do."""
    alone = [m[0] for m, c in n.items() if c == 1 and len(m) == 1]
    nested = [atom for atom in alone if isinstance(atom, Call) and atom.op == "//"]
    if len(nested) == 1 and is_natural(d):
        x, a = nested[0].args
        y = add(n, {(nested[0],): 1}, -1)
        if not y or known_value(a) is not None:  # (x//a + y)//d is (x + a*y)//(a*d)
            return floor_divide(add(x, multiply(a, y)), multiply(a, d))
    if known_value(d) is None and is_natural(n) and is_natural(add(add(d, n, -1), ONE, -1)):  # 0 <= n < d
        return {}
    quotient = call("//", n, d)
    low, high = quotient.bounds
    return constant(low) if low is not None and low == high else within_limit({(quotient,): 1})
