"""What becomes of raw scores: nothing, a logistic, a softmax, or the inverse of the normal distribution."""

from __future__ import annotations

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError

NAMES = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""The transforms by the number that TreeEnsemble gives them."""


def checked(transform: str) -> str:
    """The name of a transform; CheckError if there is no such one."""
    if transform not in NAMES:
        raise CheckError(f"post_transform is '{transform}'", hint=f"one of {', '.join(NAMES)}")
    return transform


def transformed(scores: Array, transform: str) -> Array:
    """Scores, a row for each example, transformed; in float64."""
    scores = scores.astype(np.float64)
    match checked(transform):
        case "SOFTMAX":
            return _softmax(scores)
        case "SOFTMAX_ZERO":
            return _softmax_zero(scores)
        case "LOGISTIC":
            return logistic(scores)
        case "PROBIT":
            return probit(scores)
    return scores


def two_classes(score: Array, transform: str, *, complement: bool) -> Array:
    """Scores of two classes from that of the second, shape [rows]: the first has its complement to one or its opposite.

    A logistic or a softmax is always taken of opposites. The standard does not say any of this; where its reference
    and onnxruntime differ, the raw scores are those of onnxruntime and the softmax is that of the reference.
    """
    score = score.astype(np.float64)
    opposites = checked(transform) in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO") or (
        transform == "NONE" and not complement
    )
    first = -score if opposites else 1 - score
    return transformed(np.stack([first, score], axis=1), transform)


def logistic(x: Array) -> Array:
    """One over one plus the exponential of `-x`, without overflow."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1, small) / (1 + small))


def probit(x: Array) -> Array:
    """The argument at which the normal distribution reaches `x`, by the approximation of Winitzki with a = 0.147.

    The standard's reference and onnxruntime both compute this, exact to about 2e-3; NaN outside zero to one.
    """
    centred = 2 * x - 1
    log = np.log((1 - centred) * (1 + centred))
    half = 2 / (np.pi * 0.147) + log / 2
    with np.errstate(invalid="ignore"):
        root = np.sqrt(np.sqrt(half * half - log / 0.147) - half)
    return np.asarray(np.sqrt(2.0) * np.copysign(np.where(np.isneginf(log), np.inf, root), centred))


def _softmax(x: Array) -> Array:
    if not x.size:
        return x
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def _softmax_zero(x: Array) -> Array:
    """A softmax of the scores that are not zero; zeros stay, and a row of nothing else becomes one half throughout."""
    if not x.size:
        return x
    peak = x.max(axis=-1, keepdims=True)
    exponentials = np.where(np.abs(x) > 1e-7, np.exp(x - peak), x * np.exp(-peak))
    total = exponentials.sum(axis=-1, keepdims=True)
    return np.where(total == 0, 0.5, exponentials / np.where(total == 0, 1, total))
