"""Bias correction: the mean error that rounded weights make in each channel, subtracted from the bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ingot.dtypes import Array
from ingot.quantise.products import Product
from ingot.quantise.statistics import is_matrix_product, matrix
from ingot.quantise.weights import Coded
from ingot.queries.values import read


def corrected_biases(
    products: Sequence[Product], weights: Mapping[str, Coded], means: Mapping[str, Array]
) -> dict[str, Array]:
    """The biases of products, also of those that had none, by what they compute; MatMul has no place for one.

    `means` are those of the channels of their activations: products without are left as they are.

    The mean error of a channel is its error of weights times the mean of the activations, at the edges of a padded
    image as well.
    """
    biases: dict[str, Array] = {}
    for product in products:
        old = product.bias_array()
        name = product.key
        if product.weight is None or name not in means or not (old is not None or _may_have_bias(product)):
            continue
        error = weights[name].decoded().astype(np.float64) - product.weight_array()
        shift = _mean_error(product, error, means[name])
        biases[name] = ((0.0 if old is None else old.astype(np.float64)) - shift).astype(np.float32)
    return biases


def _may_have_bias(product: Product) -> bool:
    node = product.node
    if read(node, 2) is not None:
        return False
    return node.applies("Conv") or (node.applies("Gemm") and node.get("alpha", 1.0) == 1.0)


def _mean_error(product: Product, error: Array, mean: Array) -> Array:
    if is_matrix_product(product):
        return np.asarray(matrix(product, error).T @ mean)
    groups = int(product.node.get("group", 1))
    by_input = error.reshape(*error.shape[:2], -1).sum(2)  # [channels, inputs of a group]
    parts = by_input.reshape(groups, -1, by_input.shape[1])
    return np.asarray(np.einsum("goi,gi->go", parts, mean.reshape(groups, -1)).reshape(-1))
