"""The precision that sums are taken in, wider than their elements, and the one rounding back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dtypes import Array


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type to compute in: float32 for what is narrower, float64 for float32; other types are their own."""
    if dtype == np.float32:
        return np.dtype(np.float64)
    if dtype.kind in "biu" or dtype == np.float64:
        return dtype
    return np.dtype(np.float32)


def widened(x: Array) -> Array:
    """The elements in the type to compute in."""
    return x.astype(wide(x.dtype), copy=False)


def narrowed(x: Array, dtype: np.dtype[Any]) -> Array:
    """Computed elements in the type of a result: floats rounded, floats that become integers cut off."""
    x = np.asarray(x)
    if dtype.kind in "iu" and x.dtype.kind == "f":
        return truncated(x, dtype)
    return x.astype(dtype, copy=False)


def truncated(x: Array, dtype: np.dtype[Any]) -> Array:
    """Floats cut off to integers; what is outside the range is its nearest end, NaN is 0."""
    limits = np.iinfo(dtype)
    above, below = x >= float(limits.max), x <= float(limits.min)
    inside = np.where(above | below | np.isnan(x), 0, x).astype(dtype)
    return np.where(above, limits.max, np.where(below, limits.min, inside)).astype(dtype, copy=False)
