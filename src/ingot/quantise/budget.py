"""A budget: the products that cost most stay as they are until the model is as good as was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ingot.dataclass import dataclass
from ingot.errors import InputError
from ingot.ir.model import Model
from ingot.quantise.error import Baseline
from ingot.quantise.products import Product
from ingot.session import Session

Evaluate: TypeAlias = Callable[[Session], float]
"""The score of a model, the more the better: its accuracy on data that the caller has."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The least signal over noise of the outputs in decibels, or the least part of the original's score."""

    snr: float | None
    accuracy: float | None
    evaluate: Evaluate | None

    def choose(
        self,
        products: Sequence[Product],
        costs: Sequence[float],
        baseline: Baseline,
        write: Callable[[Sequence[Product]], Model],
        change: str,
    ) -> list[Product]:
        """The products to change, in the order of the model, such that what `write` makes of them holds the budget.

        `costs` are decibels of signal over noise with one product changed alone; InputError with the table if no choice
        holds, where `change` is the verb, as in 'quantised'.
        """
        holds = self._test(baseline)
        return within_budget(products, costs, lambda chosen: holds(write(chosen)), self._goal, change)

    @property
    def _goal(self) -> str:
        return f"{self.snr:g} dB" if self.accuracy is None else f"{self.accuracy} of the original's score"

    def _test(self, baseline: Baseline) -> Callable[[Model], bool]:
        if self.accuracy is None:
            decibels = self.snr
            assert decibels is not None
            return lambda model: min(error.snr for error in baseline.errors(model)) >= decibels
        evaluate = self.evaluate
        assert evaluate is not None
        least = self.accuracy * evaluate(Session(baseline.model))
        return lambda model: evaluate(Session(model)) >= least


def budget_from(snr: float | None, accuracy: float | None, data: Any, evaluate: Evaluate | None) -> Budget | None:
    """The budget that a caller asks for, None for none; InputError if it lacks what it is measured by."""
    if snr is None and accuracy is None:
        return None
    if accuracy is not None and not 0 < accuracy <= 1:
        raise InputError(f"the accuracy is {accuracy}, which is no part of the original's", hint="0.995")
    if data is None:
        raise InputError("a budget needs data to measure the cost of each product on")
    if accuracy is not None and evaluate is None:
        raise InputError("a budget of accuracy needs evaluate=, which gives the score of a session")
    return Budget(snr, accuracy, evaluate)


def within_budget(
    products: Sequence[Product],
    costs: Sequence[float],
    holds: Callable[[Sequence[Product]], bool],
    goal: str,
    change: str,
) -> list[Product]:
    """The products to change, in the order of the model: as many as a search by halves finds that hold the budget.

    `costs` are decibels of signal over noise, so that the least are left first; `holds` measures a choice.
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
        table = tuple(f"{costs[place]:.1f} dB with '{products[place].name}' {change} alone" for place in order[:8])
        raise InputError(f"nothing can be {change} within the budget of {goal}", where=table)
    return without(high)
