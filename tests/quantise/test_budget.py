"""Budgets: what costs most stays in float, and the table says why."""

from __future__ import annotations

from typing import Any

import pytest

import ingot
from ingot.errors import InputError
from quantise.digits import MODEL, accuracy, digits
from quantise.models import normal, parsed


def fragile() -> ingot.Model:
    """Three products, of which the second one has an outlier that leaves no steps for the rest."""
    second = normal(16, 16, seed=1, scale=0.3)
    second[0, :] = 0
    second[0, 0] = 2000
    third = normal(16, 4)
    third[0, :] = 0
    return parsed(
        """g (float[n, 16] x) => (float[n, 4] y) {
          a = MatMul (x, w1) t = Tanh (a) b = MatMul (t, w2) u = Tanh (b) y = MatMul (u, w3)
        }""",
        w1=normal(16, 16, scale=0.3), w2=second, w3=third,
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["static", "dynamic", "weights"])
def test_the_product_that_costs_most_stays_in_float(mode: str) -> None:
    x = normal(64, 16, seed=3)
    settings: dict[str, Any] = {"mode": mode, "granularity": "tensor"}
    plain = ingot.quantize(fragile(), x, **settings).report
    report = ingot.quantize(fragile(), x, snr=25, **settings).report
    assert plain.snr is not None
    assert report.snr is not None
    assert plain.snr < 10
    assert report.snr >= 25
    costs = {layer.name: layer.snr for layer in report.layers}
    assert None not in costs.values()
    [left] = report.in_float
    assert left.snr == min(cost for cost in costs.values() if cost is not None)
    assert left.reason == f"the budget: {left.snr:.1f} dB with it quantised alone"


def test_a_budget_that_holds_keeps_nothing_in_float() -> None:
    report = ingot.quantize(MODEL, digits()[0][:128], snr=20).report
    assert report.in_float == ()
    assert all(layer.snr is not None and layer.snr > 20 for layer in report.layers)


def test_an_accuracy_is_held_as_the_caller_measures_it() -> None:
    scores: list[float] = []

    def evaluate(session: ingot.Session) -> float:
        scores.append(accuracy(session))
        return scores[-1]

    result = ingot.quantize(
        MODEL,
        digits()[0][:128],
        mode="weights",
        weights="int2",
        granularity="tensor",
        accuracy=0.97,
        evaluate=evaluate,
    )
    assert accuracy(result.model) >= 0.97 * scores[0]
    assert result.report.in_float
    assert result.report.quantised


def test_a_budget_that_nothing_holds_shows_what_each_product_costs() -> None:
    with pytest.raises(InputError, match="nothing can be quantised within the budget of 200 dB") as refused:
        ingot.quantize(MODEL, digits()[0][:32], snr=200)
    assert len(refused.value.where) == 3


def test_a_budget_says_what_it_needs() -> None:
    with pytest.raises(InputError, match="a budget needs data"):
        ingot.quantize(MODEL, mode="dynamic", snr=30)
    with pytest.raises(InputError, match="needs evaluate="):
        ingot.quantize(MODEL, digits()[0][:32], accuracy=0.99)
    with pytest.raises(InputError, match="the accuracy is 99"):
        ingot.quantize(MODEL, digits()[0][:32], accuracy=99, evaluate=accuracy)
