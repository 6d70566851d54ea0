"""GPTQ: rows of a weight are rounded one after the other, and the rows after them make up for the error.

What counts is the error of the product, `x @ w`, on the samples: its square is a quadratic form of the error of the
weight with `x.T @ x` in the middle, whose Cholesky factor gives what each row owes to the next ones.
"""

from __future__ import annotations

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.ops.quantization.parameters import Parameters, decode, encode
from ingot.quantise.coding import scale_axis, weight_scales
from ingot.quantise.options import Options
from ingot.quantise.products import Product
from ingot.quantise.statistics import matrix
from ingot.quantise.weights import Coded

_DAMPING = 0.01
"""Of the mean of the diagonal, added to it: channels that samples never use would have no inverse."""

_LAZY = 128
"""Rows whose corrections of the rest are applied at once."""


def gptq_weight(product: Product, options: Options, moments: Array) -> Coded:
    """The weight of a product of matrices in codes, by the second moments of its activations."""
    array = product.weight_array()
    weight = matrix(product, array).astype(np.float64)
    axis, block_size = scale_axis(product, options)
    chosen = weight_scales(product, options, array)
    scale, zero = _by_row(chosen.scale, product, block_size), _by_row(chosen.zero_point, product, block_size)
    codes = _rounded(weight, _inverse_factor(moments), _Scales(chosen, scale, zero, block_size))
    back = product.sum_axis != 0
    return Coded(
        (codes.T if back else codes).astype(chosen.dtype.numpy), chosen.scale, chosen.zero_point, axis or 0, block_size
    )


@dataclass(frozen=True, slots=True)
class _Scales:
    """The scale and the zero point of each row: those of the block it is in."""

    chosen: Parameters
    scale: Array
    zero_point: Array
    block_size: int

    def of(self, row: int) -> tuple[Array, Array]:
        place = row // self.block_size if self.block_size else 0
        return self.scale[place], self.zero_point[place]


def _rounded(weight: Array, factor: Array, scales: _Scales) -> Array:
    rows = len(weight)
    codes = np.zeros(weight.shape, np.int64)
    rest = weight.copy()
    for start in range(0, rows, _LAZY):
        end = min(start + _LAZY, rows)
        errors = np.zeros((end - start, weight.shape[1]))
        for row in range(start, end):
            scale, zero = scales.of(row)
            codes[row] = encode(rest[row], scale, zero, scales.chosen.low, scales.chosen.high)
            error = (rest[row] - decode(codes[row], scale, zero)) / factor[row, row]
            rest[row + 1 : end] -= factor[row, row + 1 : end, None] * error
            errors[row - start] = error
        rest[end:] -= factor[start:end, end:].T @ errors
    return codes


def _inverse_factor(moments: Array) -> Array:
    """The upper Cholesky factor of the inverse of damped second moments."""
    damped = moments.astype(np.float64).copy()
    diagonal = np.diagonal(damped).mean() or 1.0
    damped[np.diag_indices_from(damped)] += _DAMPING * diagonal
    return np.asarray(np.linalg.cholesky(np.linalg.inv(damped)).T)


def _by_row(parts: Array, product: Product, block_size: int) -> Array:
    """Scales as `[blocks, channels]`, or `[1, ...]` where all rows have the same."""
    if block_size:
        return parts if product.sum_axis == 0 else parts.T
    return parts.reshape(1, -1)
