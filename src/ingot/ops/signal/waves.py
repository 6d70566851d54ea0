"""Fourier transforms in primitives: products with constant matrices of waves, up to a size where that pays."""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType

MOST_ELEMENTS = 2**20
"""Of a matrix of waves: a larger transform is left to a fast one."""


def waves(
    samples: int, parts: int, bins: int, period: int, dtype: DType, *, inverse: bool = False, real: bool = False
) -> prim.Tensor:
    """What takes `parts` (real, imaginary) of samples to parts of bins: shape (samples, parts, bins, 2 or 1).

    An inverse is divided by `period`. One that is `real` takes half a spectrum, and gives real parts alone. Refused if
    there are too many.
    """
    if samples * parts * bins > MOST_ELEMENTS:
        raise prim.Refused(f"a transform of {samples} samples to {bins}")
    turns: Array = np.outer(np.arange(samples), np.arange(bins)) % max(period, 1)
    angles = turns * (2 * np.pi / max(period, 1))
    cos, sin = np.cos(angles), np.sin(angles) * (1 if inverse else -1)
    rows = [np.stack([cos, sin], -1), np.stack([-sin, cos], -1)][:parts]
    matrix = np.stack(rows, 1)
    if inverse:
        matrix = matrix / max(period, 1)
    if real:
        k = np.arange(samples)
        mirrored = np.where((k == 0) | (2 * k == period), 1, 2).reshape(-1, 1, 1, 1)
        matrix = (matrix * mirrored)[..., :1]
    return prim.constant(matrix.astype(dtype.numpy))


def computed_waves(
    samples: Dim, parts: int, bins: Dim, period: Dim, dtype: DType, *, inverse: bool = False, real: bool = False
) -> prim.Tensor:
    """The same for sizes that a run computes."""
    n, k = prim.iota((samples, bins), 0), prim.iota((samples, bins), 1)
    whole = prim.apply("maximum", prim.size(period), 1)
    turns = prim.cast(prim.apply("remainder", n * k, whole), DType.FLOAT64)
    angles = turns * (2 * np.pi / prim.cast(whole, DType.FLOAT64))
    cos, sin = prim.apply("cos", angles), prim.apply("sin", angles)
    sin = sin if inverse else -sin
    rows = [_side_by_side([cos, sin], 2), _side_by_side([-sin, cos], 2)][:parts]
    matrix = _side_by_side(rows, 1)
    if inverse:
        matrix = matrix / prim.cast(whole, DType.FLOAT64)
    if real:
        at = prim.reshape(prim.iota((samples,), 0), (samples, 1, 1, 1))
        is_alone = prim.apply("or", prim.apply("equal", at, 0), prim.apply("equal", at * 2, prim.size(period)))
        matrix = matrix * prim.where(is_alone, prim.scalar(1.0, DType.FLOAT64), 2.0)
        matrix = prim.slice_(matrix, [0] * 4, [*matrix.shape[:3], 1])
    return prim.cast(matrix, dtype)


def _side_by_side(parts: list[prim.Tensor], axis: int) -> prim.Tensor:
    """Tensors along a new axis."""
    return prim.concat([prim.unsqueeze(part, [axis]) for part in parts], axis)
