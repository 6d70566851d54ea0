"""`quantize`: a float model to a quantised one, with a report that proves what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ingot.dtypes import DType
from ingot.errors import InputError
from ingot.format.load import ModelSource, load
from ingot.ir.model import Model
from ingot.quantise.budget import Budget, Evaluate, budget_from
from ingot.quantise.calibrate import Progress
from ingot.quantise.error import Baseline
from ingot.quantise.half import OPSET, write_half
from ingot.quantise.options import HALVES, WITHOUT_DATA, Options, options_from
from ingot.quantise.prepare import Prepared, finished, prepare
from ingot.quantise.products import Product, select
from ingot.quantise.recipes import Recipe, recipe_for
from ingot.quantise.report import Layer, Quantised, Report, tensor_bytes
from ingot.quantise.samples import Samples
from ingot.quantise.sensitivity import sensitivities
from ingot.quantise.transform import transformed

MEASURED = 8
"""Samples that the error is measured on."""


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
    _check_needs(options, data)
    budget = budget_from(options.snr, options.accuracy, data, evaluate)
    original = model if isinstance(model, Model) else load(model)
    prepared = prepare(original)
    if options.mode in HALVES:
        return _halved(original, prepared, data, options, progress or _silent)
    job = _Job(original, prepared, options, budget, progress or _silent)
    if data is None:
        return job.run(None)
    with Samples(data, list(prepared.model.graph.inputs)) as samples:
        return job.run(samples)


class _Job:
    """One quantisation: what it is asked for, and the stages in order."""

    def __init__(
        self, original: Model, prepared: Prepared, options: Options, budget: Budget | None, progress: Progress
    ) -> None:
        self._original = original
        self._prepared = prepared
        self._options = options
        self._budget = budget
        self._progress = progress

    def run(self, samples: Samples | None) -> Quantised:
        """The quantised model and its report."""
        options, progress = self._options, self._progress
        selection = select(self._prepared, options)
        self._prepared = transformed(self._prepared, selection.products, samples, options, progress)
        selection = select(self._prepared, options)
        products = list(selection.products)
        recipe = recipe_for(self._prepared, products, samples, options, progress)
        baseline = None if samples is None else Baseline(self._original, samples.first(MEASURED))
        chosen, costs = products, dict[Product, float]()
        if self._budget is not None:
            assert samples is not None
            assert baseline is not None
            decibels = sensitivities(self._prepared, products, recipe, samples.first(MEASURED), progress)
            write = partial(self._written, recipe)
            chosen = self._budget.choose(products, decibels, baseline, write, "quantised")
            costs = dict(zip(products, decibels, strict=True))
        written = self._written(recipe, chosen)
        layers = [
            Layer(each.name, each.node.op_type, None if each in chosen else _reason(costs[each]), costs.get(each))
            for each in products
        ]
        layers += [Layer(left.node.label, left.node.op_type, left.reason) for left in selection.in_float]
        return _reported(self._original, written, layers, baseline)

    def _written(self, recipe: Recipe, products: Sequence[Product]) -> Model:
        return finished(recipe.write(products), self._original, self._options.opset)


def _halved(original: Model, prepared: Prepared, data: Any, options: Options, progress: Progress) -> Quantised:
    """A model that computes in floats of 16 bits, and its report."""
    target = DType.of(options.mode)
    baseline = None
    if data is None:
        halved = write_half(prepared, target, None, options, progress)
    else:
        with Samples(data, list(prepared.model.graph.inputs)) as samples:
            halved = write_half(prepared, target, samples, options, progress)
            baseline = Baseline(original, samples.first(MEASURED))
    written = finished(halved.model, original, OPSET[target])
    layers = [Layer(node.label, node.op_type, None) for node in halved.narrow]
    layers += [Layer(left.node.label, left.node.op_type, left.reason) for left in halved.wide]
    return _reported(original, written, layers, baseline)


def _reported(original: Model, written: Model, layers: Sequence[Layer], baseline: Baseline | None) -> Quantised:
    errors, samples = ((), 0) if baseline is None else (baseline.errors(written), baseline.samples)
    before, after = tensor_bytes(original), tensor_bytes(written)
    return Quantised(written, Report(tuple(layers), before, after, errors, samples))


def _check_needs(options: Options, data: Any) -> None:
    if options.mode == "static" and data is None:
        raise InputError("a static quantisation needs data to measure ranges on", hint="or mode='dynamic'")
    if data is None and (methods := [name for name in options.methods if name not in WITHOUT_DATA]):
        raise InputError(f"the method '{methods[0]}' needs data to measure activations on")
    if options.mode in HALVES and (options.methods or options.snr is not None or options.accuracy is not None):
        raise InputError(f"methods and budgets are for integers, the mode is '{options.mode}'")


def _reason(cost: float) -> str:
    return f"the budget: {cost:.1f} dB with it quantised alone"


def _silent(done: int, total: int) -> None:
    """No progress is shown."""
