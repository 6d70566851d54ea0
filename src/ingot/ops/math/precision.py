"""Narrow floats are computed with in float32, and rounded once at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.errors import InputError


def rounded(compute: Callable[..., Any], *arrays: Array) -> Array:
    """What `compute` makes of the arrays, in the element type of the first."""
    return narrowed(compute(*map(widened, arrays)), arrays[0].dtype)


def widened(x: Array) -> Array:
    """Floats of less than four bytes as float32; all else as it is."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 and x.dtype.kind not in "iub" else x


def narrowed(result: Any, dtype: np.dtype[Any]) -> Array:
    """An array, also where numpy gave a scalar, of the given element type."""
    return np.asarray(result).astype(dtype, copy=False)


def truncated(x: Array, dtype: np.dtype[Any]) -> Array:
    """Floats rounded towards zero to integers of `dtype`; InputError where one is outside of it."""
    limits = np.iinfo(dtype)
    whole = np.trunc(x)
    outside = ~((whole >= float(limits.min)) & (whole < float(limits.max + 1)))
    if outside.any():
        raise InputError(f"{x[outside].flat[0]} is outside of {dtype}")
    return narrowed(whole, dtype)
