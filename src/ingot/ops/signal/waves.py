"""Fourier transforms in primitives: products with constant matrices of waves, up to a size where that pays."""

from __future__ import annotations

import numpy as np

from ingot import prim
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
