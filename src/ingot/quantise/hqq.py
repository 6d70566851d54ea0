"""HQQ: scales and zero points that fit most weights of a group well, and let a few outliers be far off, without data.

The errors are measured by a power below one, which counts many small ones more than a few large. Half-quadratic
splitting makes that a sequence of least squares: the largest part of each error is taken for an outlier and set aside,
scale and zero point are fitted to the rest, and the weights are rounded again.
"""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array
from ingot.ops.quantization.parameters import SMALLEST_SCALE, Parameters
from ingot.quantise.weights import grouped

_POWER = 0.7
_STARTS = (1.0, 0.85, 0.7, 0.55)
"""Parts of the first step that are started from: rounds alone stop at the first scale that fits its own codes."""
_ROUNDS = 6
_PENALTY = 10.0
"""How much of an error is fitted and not set aside, in units of the first step."""
_GROWTH = 1.2
"""Of the penalty, each round."""
_ELEMENTS = 1 << 22
"""Weights that are fitted at once, so that memory stays bounded."""


def refine(weight: Array, start: Parameters, axis: int | None, block_size: int, symmetric: bool) -> Parameters:
    """The parameters of the least error of all that the rounds reach, `start` among them; symmetric zero points stay.

    Those whose squared error is above that of `start` do not count: outliers alone may not cost more than was gained.
    """
    groups = grouped(weight, axis, block_size)
    scale, zero = start.scale.reshape(-1).copy(), start.zero_point.reshape(-1).astype(np.int64)
    step = max(1, _ELEMENTS // groups.shape[1])
    for first in range(0, len(groups), step):
        part = slice(first, first + step)
        scale[part], zero[part] = _fitted(groups[part], scale[part], zero[part], start, symmetric)
    shape = start.scale.shape
    sizes = np.maximum(scale, np.float32(SMALLEST_SCALE)).reshape(shape)
    return Parameters(sizes, zero.reshape(shape).astype(start.dtype.numpy), start.dtype, start.low, start.high)


def _fitted(groups: Array, scale: Array, zero: Array, start: Parameters, symmetric: bool) -> tuple[Array, Array]:
    """The scale and the zero point of each row, the best of all rounds from all starts."""
    steps = groups.astype(np.float32) / scale[:, None]
    least = np.full(len(steps), np.inf, np.float32)
    best_size, best_point = np.ones(len(steps), np.float32), zero.astype(np.float32)
    most: Array | None = None
    for share in _STARTS:
        size, point = np.full(len(steps), share, np.float32), zero.astype(np.float32)
        penalty = _PENALTY
        for _ in range(_ROUNDS):
            codes = np.clip(np.rint(steps / size[:, None]) + point[:, None], start.low, start.high)
            error = steps - size[:, None] * (codes - point[:, None])
            magnitude = np.abs(error)
            total, squares = (magnitude**_POWER).sum(1), (magnitude * magnitude).sum(1)
            most = squares if most is None else most
            better = (total < least) & (squares <= most)
            least = np.where(better, total, least)
            best_size, best_point = np.where(better, size, best_size), np.where(better, point, best_point)
            with np.errstate(divide="ignore"):
                outlier = np.sign(error) * np.maximum(magnitude - magnitude ** (_POWER - 1) / penalty, 0)
            size, point = _least_squares(steps - outlier, codes, size, point, start, symmetric)
            penalty *= _GROWTH
    return best_size * scale, best_point.astype(np.int64)


def _least_squares(
    target: Array, codes: Array, size: Array, point: Array, start: Parameters, symmetric: bool
) -> tuple[Array, Array]:
    """The scale, and the zero point if it may move, that fit codes to numbers best; as they were where none does."""
    if not symmetric:
        point = _zero_points(target, codes, point, start)
    offsets = codes - point[:, None]
    energy = (offsets * offsets).sum(1)
    fitted = np.divide((target * offsets).sum(1), energy, out=size.copy(), where=energy > 0)
    return np.where(fitted > 0, fitted, size), point


def _zero_points(target: Array, codes: Array, point: Array, start: Parameters) -> Array:
    """The code of zero on the line that fits each row best, rounded; as it was where a row has one code alone."""
    centred = codes - codes.mean(1, keepdims=True)
    energy = (centred * centred).sum(1)
    slope = np.divide((centred * target).sum(1), energy, out=np.zeros_like(energy), where=energy > 0)
    usable = slope > 0
    crossing = codes.mean(1) - np.divide(target.mean(1), slope, out=np.zeros_like(slope), where=usable)
    return np.where(usable, np.clip(np.rint(crossing), start.low, start.high), point).astype(np.float32)
