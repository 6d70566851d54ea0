"""A budget: the products that cost most stay in float until the model is as good as was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ingot.errors import InputError
from ingot.quantise.products import Product


def within_budget(
    products: Sequence[Product], costs: Sequence[float], holds: Callable[[Sequence[Product]], bool], goal: str
) -> list[Product]:
    """The products to quantise, in the order of the model: as many as a search by halves finds that hold the budget.

    `costs` are decibels of signal over noise, so that the least are kept in float first; `holds` measures a choice.
    InputError with the table if no choice holds.
    """
    order = sorted(range(len(products)), key=lambda place: costs[place])

    def without(count: int) -> list[Product]:
        leaving = set(order[:count])
        return [product for place, product in enumerate(products) if place not in leaving]

    if holds(products):
        return list(products)
    low, high = 0, len(products)  # one that fails, and one that holds or leaves nothing
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(without(middle)) else (middle, high)
    if high == len(products):
        table = tuple(f"{costs[place]:.1f} dB with '{products[place].name}' quantised alone" for place in order[:8])
        raise InputError(f"nothing can be quantised within the budget of {goal}", where=table)
    return without(high)
