"""Numbers that sizes lie between, whatever their symbols are: these are never negative."""

from __future__ import annotations

from math import prod

from ingot.dims.terms import Bounds, Terms


def sum_bounds(shown: Terms) -> Bounds:
    """The bounds of terms that are to be shown, where remainders have bounds of their own."""
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
