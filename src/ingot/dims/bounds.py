"""Numbers that sizes lie between, whatever their symbols are: these are never negative."""

from __future__ import annotations

from math import gcd, lcm, prod

from ingot.dims.terms import MAX_DEGREE, Bounds, Call, Monomial, Terms, known_value, merge, without

_MOST_ROUNDS = 4
"""Quotients in each other that are looked into."""


def sum_bounds(shown: Terms) -> Bounds:
    """The bounds of terms that are to be shown, where remainders have bounds of their own."""
    low, high = _plain_bounds(shown)
    if (low is None or high is None) and min(shown.values(), default=0) < 0 < max(shown.values()):
        quotients = _quotients(shown)
        if quotients and low is None:  # 8*((n + 7)//8) - n is never negative
            terms, scale = _replaced(shown, quotients, -1)
            least = _plain_bounds(terms)[0]
            low = None if least is None else -(-least // scale)
        if quotients and high is None:
            terms, scale = _replaced(shown, quotients, 1)
            most = _plain_bounds(terms)[1]
            high = None if most is None else most // scale
    return low, high


def _quotients(terms: Terms) -> dict[Monomial, tuple[Call, int]]:
    """The quotient by a number, and that number, of each term that has one times what is never negative."""
    quotients = {}
    for monomial in terms:
        for atom in monomial:
            if isinstance(atom, Call) and atom.op == "//":
                divisor = known_value(atom.args[1])
                if divisor is not None and divisor > 0 and _is_natural_times(monomial, atom):
                    quotients[monomial] = atom, divisor
                    break
    return quotients


def _is_natural_times(monomial: Monomial, quotient: Call) -> bool:
    """Whether the other factors are never negative, and few enough to be multiplied with the numerator."""
    others = without(monomial, (quotient,)) or ()
    if len(others) + max(map(len, quotient.args[0]), default=0) > MAX_DEGREE:
        return False
    return all(isinstance(atom, str) or (atom.bounds[0] is not None and atom.bounds[0] >= 0) for atom in others)


def _replaced(terms: Terms, quotients: dict[Monomial, tuple[Call, int]], sign: int) -> tuple[Terms, int]:
    """Terms without these quotients that are never above (`sign` -1) or below (1) a multiple of others, and how many
    times these: `d*(n//d)` lies between `n - (d - 1)` and `n`.
    """
    scale = 1
    for _ in range(_MOST_ROUNDS):
        times = lcm(*(divisor // gcd(terms[monomial], divisor) for monomial, (_, divisor) in quotients.items()))
        scale *= times
        bound = {monomial: times * c for monomial, c in terms.items() if monomial not in quotients}
        for monomial, (quotient, divisor) in quotients.items():
            factor = times * terms[monomial] // divisor
            others = without(monomial, (quotient,)) or ()
            numerator = quotient.args[0]
            if factor * sign < 0:
                numerator = {**numerator, (): numerator.get((), 0) - (divisor - 1)}
            for inner, c in numerator.items():
                product = merge(others, inner)
                bound[product] = bound.get(product, 0) + factor * c
        terms = {monomial: c for monomial, c in bound.items() if c}
        quotients = _quotients(terms)
        if not quotients:
            break
    return terms, scale


def _plain_bounds(shown: Terms) -> Bounds:
    low: int | None = 0
    high: int | None = 0
    for monomial, c in shown.items():
        factors = [(0, None) if isinstance(atom, str) else atom.bounds for atom in monomial]
        least, most = factors[0] if len(factors) == 1 else _product_bounds(factors)
        if c < 0:
            least, most = most, least
        low = None if low is None or least is None else low + c * least
        high = None if high is None or most is None else high + c * most
    return low, high


def call_bounds(op: str, args: list[Bounds]) -> Bounds:
    """The bounds of a call, by those of what it is of."""
    if op == "max":
        lows, highs = _known(args)
        return max(lows, default=None), max(highs) if len(highs) == len(args) else None
    if op == "min":
        lows, highs = _known(args)
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


def _product_bounds(factors: list[Bounds]) -> Bounds:
    lows = [low for low, _ in factors if low is not None and low >= 0]
    highs = [high for _, high in factors if high is not None]
    if len(lows) < len(factors):
        return None, None
    return prod(lows), prod(highs) if len(highs) == len(factors) else None


def _known(args: list[Bounds]) -> tuple[list[int], list[int]]:
    return [low for low, _ in args if low is not None], [high for _, high in args if high is not None]
