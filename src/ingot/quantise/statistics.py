"""What methods need to know of the inputs of products: sums over samples, by channel, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ingot.dtypes import Array
from ingot.errors import InputError
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
    """The mean of each channel of the activations of convolutions and of products of matrices, by their keys."""
    read = {product.key: (activation(product).name, _channel_axis(product)) for product in products}
    axes: dict[str, set[int]] = {}
    for name, axis in read.values():
        if axis is not None:
            axes.setdefault(name, set()).add(axis)
    sums: dict[tuple[str, int | None], Array] = {}
    counts: dict[tuple[str, int | None], int] = {}

    def add(name: str, array: Array) -> None:
        for axis in axes[name]:
            key, rows = (name, axis), np.moveaxis(array, axis, -1).reshape(-1, array.shape[axis])
            sums[key] = sums.get(key, 0) + rows.sum(0, dtype=np.float64)
            counts[key] = counts.get(key, 0) + len(rows)

    _each(model, list(axes), samples, progress, add)
    return {product: sums[key] / max(counts[key], 1) for product, key in read.items() if key in sums}


def _channel_axis(product: Product) -> int | None:
    """The axis of an activation whose entries meet different weights; None where there is no such axis alone."""
    if is_matrix_product(product):
        return -1
    return 1 if product.node.applies("Conv") else None


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
        for number, values in enumerate(observed(model, names, samples, progress)):
            for name, array in values.items():
                if not np.isfinite(array).all():
                    kind = "NaN" if np.isnan(array).any() else "infinite"
                    raise InputError(f"sample {number}: value '{name}' is {kind} inside of the model")
                add(name, array)
