"""Softmax and normalisations, of elements that need no widening."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def softmax(x: Array, *, axis: int = -1) -> Array:
    """Exponentials along an axis, scaled to sum to one; the largest is taken off first, so that none overflows."""
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True, initial=-np.inf))
    y: Array = exponentials / exponentials.sum(axis=axis, keepdims=True)
    return y


def layer_normalization(
    x: Array,
    scale: Array,
    b: Array | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-05,
    stash_type: int = 1,  # noqa: ARG001
) -> tuple[Array, Array, Array]:
    """`x` less its mean and over its deviation, along all axes from `axis` on; then scaled and moved."""
    axes = tuple(range(axis % x.ndim, x.ndim))
    mean = x.mean(axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + np.float32(epsilon))
    y = (x - mean) * inverse * scale
    return (y if b is None else y + b), mean, inverse


def batch_normalization(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    *,
    epsilon: float = 1e-05,
    momentum: float = 0.9,  # noqa: ARG001
    training_mode: int = 0,  # noqa: ARG001
) -> Array:
    """Each channel less its mean and over its deviation; then scaled and moved."""
    shape = (-1, *[1] * (x.ndim - 2))
    scale, b, mean, var = (each.reshape(shape) for each in (scale, b, mean, var))
    return (x - mean) / np.sqrt(var + np.float32(epsilon)) * scale + b
