"""`prune`: a model with fewer weights, and a report of what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.format.load import ModelSource, load
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.pruning.magnitude import prune_rows, prune_smallest, refuses_rows
from ingot.pruning.options import Options, options_from
from ingot.pruning.report import Layer, Pruned, Report
from ingot.pruning.unused import remove_unused_channels
from ingot.quantise.api import MEASURED
from ingot.quantise.budget import Budget, Evaluate, budget_from
from ingot.quantise.calibrate import Progress
from ingot.quantise.error import Baseline
from ingot.quantise.options import Options as QuantiseOptions
from ingot.quantise.prepare import Prepared, finished, prepare
from ingot.quantise.products import Product, select
from ingot.quantise.recipes import Recipe
from ingot.quantise.report import tensor_bytes
from ingot.quantise.samples import Samples
from ingot.quantise.sensitivity import sensitivities
from ingot.quantise.writer import Writer
from ingot.queries.lenient_inference import gather


def prune(
    model: Model | ModelSource,
    data: Any = None,
    *,
    evaluate: Evaluate | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Pruned:
    """A copy of a model, a path, bytes or a ModelProto, with fewer weights, and a report of what it cost on `data`.

    `settings` are the fields of `Options`. With `sparsity` or `pattern`, the smallest weights of products become zero;
    with or without, channels that nothing depends on are removed, which changes no result. With a budget, `snr` or
    `accuracy`, products that cost most stay dense until it holds; `evaluate` gives the score of a session. `data` is
    what the cost is measured on, in any form that `quantize` takes, and `progress(done, total)` is called while each
    product is measured.

    InputError if an option or the data does not fit; if the model is quantised, has no products, or cannot hold the
    budget.
    """
    options = options_from(settings)
    budget = budget_from(options.snr, options.accuracy, data, evaluate)
    original = model if isinstance(model, Model) else load(model)
    prepared = prepare(original, "prune")
    with ExitStack() as stack:
        samples = None
        if data is not None:
            samples = stack.enter_context(Samples(data, list(prepared.model.graph.inputs)))
        return _pruned(original, prepared, samples, options, budget, progress or _silent)


def _pruned(
    original: Model,
    prepared: Prepared,
    samples: Samples | None,
    options: Options,
    budget: Budget | None,
    progress: Progress,
) -> Pruned:
    measured = [] if samples is None else samples.first(MEASURED)
    baseline = Baseline(original, measured) if measured else None
    channels = remove_unused_channels(prepared.model) if options.channels else ()
    layers: tuple[Layer, ...] = ()
    if options.prunes_weights:
        prepared = Prepared(prepared.model, gather(prepared.model))
        written, layers = _prune_weights(prepared, measured, baseline, options, budget, progress)
        if options.channels and options.pattern is None:  # rows of a pattern would move
            channels += remove_unused_channels(written)
    else:
        written = prepared.model
    result = finished(written, original, 1)
    errors = () if baseline is None else baseline.errors(result)
    before, after = tensor_bytes(original), tensor_bytes(result)
    return Pruned(result, Report(layers, channels, before, after, errors, len(measured)))


def _prune_weights(
    prepared: Prepared,
    measured: Sequence[Mapping[str, Array]],
    baseline: Baseline | None,
    options: Options,
    budget: Budget | None,
    progress: Progress,
) -> tuple[Model, tuple[Layer, ...]]:
    """A copy with zeros for weights, and what became of each product."""
    wanted = QuantiseOptions(
        mode="weights", operators=options.operators, include=options.include, exclude=options.exclude
    )
    selection = select(prepared, wanted, "prune")
    products, reasons = list(selection.products), dict[Product, str]()
    if options.row is not None:
        refusals = {product: refuses_rows(product, options.row[1]) for product in products}
        reasons |= {product: reason for product, reason in refusals.items() if reason is not None}
        products = [product for product in products if refusals[product] is None]
        if not products:
            where = tuple(f"'{product.name}': {reason}" for product, reason in reasons.items())[:5]
            raise InputError(f"no product can be pruned to {options.pattern}", where=where)
    weights = _weights(products, options)
    recipe = _recipe(prepared, weights)
    chosen, costs = products, dict[Product, float]()
    if budget is not None:
        assert baseline is not None
        decibels = sensitivities(prepared, products, recipe, measured, progress)
        costs = dict(zip(products, decibels, strict=True))
        chosen = budget.choose(products, decibels, baseline, recipe.write, "pruned")
    for product in set(products) - set(chosen):
        reasons[product] = f"the budget: {costs[product]:.1f} dB with it pruned alone"
    written = recipe.write(chosen)
    layers = []
    for product in [*products, *(each for each in selection.products if each not in products)]:
        array = weights[product.key] if product in chosen else product.weight_array()
        zeros = int(array.size - np.count_nonzero(array))
        reason, cost = reasons.get(product), costs.get(product)
        layers.append(Layer(product.name, product.node.op_type, reason, array.size, zeros, cost))
    layers += [Layer(left.node.label, left.node.op_type, left.reason, 0, 0) for left in selection.in_float]
    return written, tuple(layers)


def _weights(products: Sequence[Product], options: Options) -> dict[str, Array]:
    if options.row is not None:
        return {product.key: prune_rows(product, *options.row) for product in products}
    assert options.sparsity is not None
    return prune_smallest(products, options.sparsity, together=options.scope == "model")


def _recipe(prepared: Prepared, weights: Mapping[str, Array]) -> Recipe:
    """How pruned weights are written: for good, and beside the dense ones."""

    def write(chosen: Sequence[Product]) -> Model:
        writer = Writer(prepared.model)
        places = {(writer.node(product), product.weight_position): weights[product.key] for product in chosen}
        for (node, position), array in places.items():
            dense = node.inputs[position]
            assert dense is not None
            if all(places.get((use.node, use.position)) is array for use in dense.uses) and not dense.is_output:
                dense.constant = Tensor(array, name=dense.name)
            else:
                node.replace_input(position, writer.constant(dense.name, array))
        return writer.finish()

    def operands(writer: Writer, product: Product) -> dict[int, Value]:
        assert product.weight is not None
        array = weights[product.key]
        return {product.weight_position: writer.constant(f"{product.weight.name}_pruned", array)}

    return Recipe(write, operands)


def _silent(done: int, total: int) -> None:
    """No progress is shown."""
