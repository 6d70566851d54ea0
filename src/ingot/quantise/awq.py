"""AWQ: rows of a weight that large activations meet are multiplied before they are rounded, and divided after.

A row that is larger has finer steps in proportion, at the cost of its block. How far to go is searched for: the error
of the product on the samples is a quadratic form of the error of the weight with `x.T @ x` in the middle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ingot.dtypes import Array
from ingot.quantise.coding import extreme_scales, scale_axis
from ingot.quantise.options import Options
from ingot.quantise.prepare import Prepared
from ingot.quantise.products import Product
from ingot.quantise.smooth import by_activation, scale_channels
from ingot.quantise.statistics import matrix
from ingot.quantise.weights import coded
from ingot.queries.lenient_inference import gather

_STRENGTHS = np.arange(1, 21) / 20


def scale_important(
    prepared: Prepared, products: Sequence[Product], moments: Mapping[str, Array], options: Options
) -> Prepared:
    """The model with the rows of weights scaled where that lowers the error; results stay the same."""
    for value, readers in by_activation(products).items():
        moment = moments.get(value.name)
        if moment is None:
            continue
        size = np.sqrt(np.maximum(np.diagonal(moment), 0.0))
        if not size.any():
            continue
        size = np.maximum(size, size[size > 0].min())
        candidates = [np.ones(size.shape)] + [_centred(size**strength) for strength in _STRENGTHS]
        best = min(candidates, key=lambda factors: sum(_error(each, factors, moment, options) for each in readers))
        if best is not candidates[0]:
            scale_channels(prepared, value, readers, best)
    return Prepared(prepared.model, gather(prepared.model))


def _error(product: Product, factors: Array, moment: Array, options: Options) -> float:
    """The squared error of a product on the samples, with its weight rounded after scaling."""
    array = product.weight_array()
    spread = factors[:, None] if product.sum_axis == 0 else factors[None, :]
    scaled = (array * spread).astype(np.float32)
    rounded = coded(scaled, extreme_scales(product, options, scaled), *scale_axis(product, options)).decoded()
    error = matrix(product, rounded / spread - array)
    return float((error * (moment @ error)).sum())


def _centred(factors: Array) -> Array:
    centred: Array = factors / np.sqrt(factors.max() * factors.min())
    return centred
