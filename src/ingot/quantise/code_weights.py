"""The weights of all products in codes, each by the method that the options ask for and that it allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.dtypes import Array
from ingot.ir.model import Model
from ingot.quantise.calibrate import Progress
from ingot.quantise.coding import coded_weight
from ingot.quantise.gptq import gptq_weight
from ingot.quantise.options import Options
from ingot.quantise.products import Product
from ingot.quantise.samples import Samples
from ingot.quantise.statistics import activation, is_matrix_product, second_moments
from ingot.quantise.weights import Coded


def coded_weights(
    model: Model,
    products: Sequence[Product],
    samples: Samples | None,
    options: Options,
    progress: Progress,
    input_scales: Mapping[str, Array] | None = None,
) -> dict[str, Coded]:
    """By what the products compute; with `gptq`, convolutions are rounded to nearest all the same."""
    moments: Mapping[str, Array] = {}
    if "gptq" in options.methods and samples is not None:
        moments = second_moments(model, products, samples, progress)
    weights = {}
    for product in products:
        if product.weight is None:
            continue
        name = product.key
        moment = moments.get(activation(product).name) if is_matrix_product(product) else None
        if moment is not None:
            weights[name] = gptq_weight(product, options, moment)
        else:
            weights[name] = coded_weight(product, options, (input_scales or {}).get(name))
    return weights
