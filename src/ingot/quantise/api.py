"""`quantize`: a float model to a quantised one, with a report that proves what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ingot.errors import InputError
from ingot.format.load import ModelSource, load
from ingot.ir.model import Model
from ingot.quantise.budget import within_budget
from ingot.quantise.calibrate import Progress
from ingot.quantise.error import measure
from ingot.quantise.options import Options, options_from
from ingot.quantise.prepare import Prepared, finished, prepare
from ingot.quantise.products import Product, Selection, select
from ingot.quantise.recipes import Recipe, recipe_for
from ingot.quantise.report import Layer, Quantised, Report, tensor_bytes
from ingot.quantise.samples import Samples
from ingot.quantise.sensitivity import sensitivities
from ingot.quantise.transform import transformed
from ingot.session import Session

MEASURED = 8
"""Samples that the error is measured on."""

Evaluate = Callable[[Session], float]
"""The score of a model, the more the better: its accuracy on data that the caller has."""


def quantize(
    model: Model | ModelSource,
    data: Any = None,
    *,
    evaluate: Evaluate | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Quantised:
    """A quantised copy of a model, a path, bytes or a ModelProto, and a report of what it cost on `data`.

    `data` is what ranges are measured on: an iterable of feeds, a folder or file of arrays, or a reader with
    `get_next`; `progress(done, total)` is called after each sample. `settings` are the fields of `Options`. With a
    budget, `snr` or `accuracy`, products that cost most stay in float until it holds: `evaluate` gives the score of a
    session for `accuracy`, which is a part of the original's.

    InputError if an option or the data does not fit, with the number of the sample; if the model is quantised
    already, has no products, or cannot hold the budget.
    """
    options = options_from(settings)
    _check_needs(options, data, evaluate)
    original = model if isinstance(model, Model) else load(model)
    prepared = prepare(original)
    job = _Job(original, prepared, select(prepared, options), options, evaluate, progress or _silent)
    if data is None:
        return job.run(None)
    with Samples(data, list(prepared.model.graph.inputs)) as samples:
        return job.run(samples)


class _Job:
    """One quantisation: what it is asked for, and the stages in order."""

    def __init__(
        self,
        original: Model,
        prepared: Prepared,
        selection: Selection,
        options: Options,
        evaluate: Evaluate | None,
        progress: Progress,
    ) -> None:
        self._original = original
        self._prepared = prepared
        self._selection = selection
        self._options = options
        self._evaluate = evaluate
        self._progress = progress

    def run(self, samples: Samples | None) -> Quantised:
        """The quantised model and its report."""
        self._prepared = transformed(self._prepared, self._selection.products, samples, self._options, self._progress)
        self._selection = select(self._prepared, self._options)
        products = list(self._selection.products)
        recipe = recipe_for(self._prepared, products, samples, self._options, self._progress)
        measured = [] if samples is None else samples.first(MEASURED)
        chosen, costs = products, dict[Product, float]()
        if self._options.snr is not None or self._options.accuracy is not None:
            decibels = sensitivities(self._prepared, products, recipe, measured, self._progress)
            chosen = self._chosen(products, recipe, decibels, measured)
            costs = dict(zip(products, decibels, strict=True))
        written = self._written(recipe, chosen)
        errors = measure(self._original, written, measured) if measured else ()
        layers = [
            Layer(each.name, each.node.op_type, None if each in chosen else _reason(costs[each]), costs.get(each))
            for each in products
        ]
        layers += [Layer(left.node.label, left.node.op_type, left.reason) for left in self._selection.in_float]
        before, after = tensor_bytes(self._original), tensor_bytes(written)
        return Quantised(written, Report(tuple(layers), before, after, errors, len(measured)))

    def _written(self, recipe: Recipe, products: Sequence[Product]) -> Model:
        return finished(recipe.write(products), self._original, self._options.opset)

    def _chosen(
        self, products: list[Product], recipe: Recipe, costs: Sequence[float], measured: list[Any]
    ) -> list[Product]:
        options, evaluate = self._options, self._evaluate
        if options.accuracy is not None:
            assert evaluate is not None
            least = options.accuracy * evaluate(Session(self._original))
            goal = f"{options.accuracy} of the original's score"

            def holds(chosen: Sequence[Product]) -> bool:
                return evaluate(Session(self._written(recipe, chosen))) >= least
        else:
            decibels = options.snr
            assert decibels is not None
            goal = f"{decibels:g} dB"

            def holds(chosen: Sequence[Product]) -> bool:
                errors = measure(self._original, self._written(recipe, chosen), measured)
                return min(error.snr for error in errors) >= decibels

        return within_budget(products, costs, holds, goal)


def _check_needs(options: Options, data: Any, evaluate: Evaluate | None) -> None:
    if options.mode == "static" and data is None:
        raise InputError("a static quantisation needs data to measure ranges on", hint="or mode='dynamic'")
    if data is None and (methods := [name for name in options.methods if name != "equalise"]):
        raise InputError(f"the method '{methods[0]}' needs data to measure activations on")
    if (options.snr is not None or options.accuracy is not None) and data is None:
        raise InputError("a budget needs data to measure the cost of each product on")
    if options.accuracy is not None and evaluate is None:
        raise InputError("a budget of accuracy needs evaluate=, which gives the score of a session")


def _reason(cost: float) -> str:
    return f"the budget: {cost:.1f} dB with it quantised alone"


def _silent(done: int, total: int) -> None:
    """No progress is shown."""
