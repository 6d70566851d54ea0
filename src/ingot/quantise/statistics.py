"""What methods need to know of the inputs of products: sums over samples, by channel, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ingot.dtypes import Array
from ingot.ir.model import Model
from ingot.ir.value import Value
from ingot.quantise.calibrate import Progress, observed
from ingot.quantise.products import Product
from ingot.quantise.samples import Samples

MOST_CHANNELS = 8192
"""Channels whose second moments are held: a matrix of half a gigabyte."""


def activation(product: Product) -> Value:
    """What a product multiplies its weight by."""
    value = product.node.inputs[product.activations[0]]
    assert value is not None
    return value


def is_matrix_product(product: Product) -> bool:
    """Whether the last axis of its activation is summed with a constant matrix."""
    if product.weight is None or product.weight_position != 1 or product.node.applies("Conv", "ConvTranspose"):
        return False
    return product.weight_array().ndim == 2 and not product.node.get("transA", 0)


def matrix(product: Product, array: Array) -> Array:
    """A weight as `[what is summed, channels]`."""
    return array if product.sum_axis == 0 else array.T


def channel_means(model: Model, products: Sequence[Product], samples: Samples, progress: Progress) -> dict[str, Array]:
    """The mean of each channel of the activations of products, by name."""
    axes = {activation(product).name: -1 if is_matrix_product(product) else 1 for product in products}
    sums: dict[str, Array] = {}
    counts: dict[str, int] = {}

    def add(name: str, array: Array) -> None:
        rows = np.moveaxis(array, axes[name], -1).reshape(-1, array.shape[axes[name]])
        sums[name] = sums.get(name, 0) + rows.sum(0, dtype=np.float64)
        counts[name] = counts.get(name, 0) + len(rows)

    _each(model, list(axes), samples, progress, add)
    return {name: sums[name] / max(counts[name], 1) for name in sums}


def channel_reaches(
    model: Model, products: Sequence[Product], samples: Samples, progress: Progress
) -> dict[str, Array]:
    """The largest magnitude of each channel of the activations of products of matrices, by name."""
    names = [activation(product).name for product in products if is_matrix_product(product)]
    reaches: dict[str, Array] = {}

    def add(name: str, array: Array) -> None:
        reach = np.abs(array.reshape(-1, array.shape[-1])).max(0, initial=0.0)
        reaches[name] = np.maximum(reaches.get(name, reach), reach)

    _each(model, list(dict.fromkeys(names)), samples, progress, add)
    return reaches


def second_moments(model: Model, products: Sequence[Product], samples: Samples, progress: Progress) -> dict[str, Array]:
    """`x.T @ x` over all rows of the activations of products of matrices, by name; without very wide ones."""
    names = [
        activation(product).name
        for product in products
        if is_matrix_product(product) and matrix(product, product.weight_array()).shape[0] <= MOST_CHANNELS
    ]
    moments: dict[str, Array] = {}

    def add(name: str, array: Array) -> None:
        rows = array.reshape(-1, array.shape[-1]).astype(np.float32)
        moments[name] = moments.get(name, 0) + (rows.T @ rows).astype(np.float64)

    _each(model, list(dict.fromkeys(names)), samples, progress, add)
    return moments


def _each(
    model: Model, names: list[str], samples: Samples, progress: Progress, add: Callable[[str, Array], None]
) -> None:
    if names:
        for values in observed(model, names, samples, progress):
            for name, array in values.items():
                add(name, array)
