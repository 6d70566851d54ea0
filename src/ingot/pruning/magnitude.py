"""Weights of the least magnitude set to zero: a part of all, or all but N of every M that a product sums in a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.dtypes import Array
from ingot.quantise.products import Product


def prune_smallest(products: Sequence[Product], sparsity: float, *, together: bool) -> dict[str, Array]:
    """The weights of products, by what they compute, with the smallest set to zero: of each one, or of all `together`.

    Exactly this part of the elements, rounded down, is zero, those that were zero before among them.
    """
    arrays = {_name(product): product.weight_array() for product in products}
    if together:
        magnitudes = np.concatenate([array.reshape(-1) for array in arrays.values()])
        joined = _without_smallest(magnitudes, _part(sparsity, magnitudes.size))
        ends = np.cumsum([array.size for array in arrays.values()])[:-1]
        parts = zip(arrays.items(), np.split(joined, ends), strict=True)
        pruned = {name: part.reshape(array.shape) for (name, array), part in parts}
    else:
        pruned = {name: _without_smallest(array, _part(sparsity, array.size)) for name, array in arrays.items()}
    return {product.key: pruned[_name(product)] for product in products}


def prune_rows(product: Product, count: int, of: int) -> Array:
    """The weight of a product with all but the `count` largest of each `of` in a row set to zero."""
    array, axis = product.weight_array(), _row_axis(product)
    rows = np.moveaxis(array, axis, -1)
    groups = rows.reshape(*rows.shape[:-1], -1, of)
    order = np.argsort(-np.abs(groups), axis=-1, kind="stable")
    pruned = groups.copy()
    np.put_along_axis(pruned, order[..., count:], 0, axis=-1)
    return np.ascontiguousarray(np.moveaxis(pruned.reshape(rows.shape), -1, axis))


def refuses_rows(product: Product, of: int) -> str | None:
    """Why what a product sums cannot be divided into rows of `of` weights."""
    summed = product.weight_array().shape[_row_axis(product)]
    if product.node.applies("ConvTranspose"):
        summed //= int(product.node.get("group", 1))
    return None if summed % of == 0 else f"it sums {summed} channels, which {of} does not divide"


def _name(product: Product) -> str:
    """That of the weight, which several products may read."""
    assert product.weight is not None
    return product.weight.name


def _row_axis(product: Product) -> int:
    """The axis of the weight along which a product sums; of a convolution, that of the channels."""
    if product.sum_axis is not None:
        return product.sum_axis
    return 0 if product.node.applies("ConvTranspose") else 1


def _part(sparsity: float, size: int) -> int:
    """A part of so many elements, rounded down: 29 of 100 are 0.29, though the product of both is a bit less."""
    return int(sparsity * size + 1e-6)


def _without_smallest(array: Array, count: int) -> Array:
    flat = array.reshape(-1).copy()
    if count:
        flat[np.argpartition(np.abs(flat), count - 1)[:count]] = 0
    return flat.reshape(array.shape)
