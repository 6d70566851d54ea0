"""Errors in units in the last place."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from ingot.codegen.llvm.math import Function

Array = NDArray[Any]


def errors(function: Function, x: Array, got: Array, true: Array) -> Array:
    """How far `got` is from `true`, which is of a wider type than it, in the function's unit.

    No unit is below that of the smallest normal number. An infinity counts as the number after the largest finite one;
    two NaNs agree, and one is infinitely far from anything else.
    """
    kind, wide = np.finfo(got.dtype), true.dtype.type
    beyond, tiny = np.ldexp(wide(1), int(kind.maxexp)), wide(kind.smallest_normal)
    with np.errstate(all="ignore"):
        size = np.abs(true)
        match function.unit:
            case "half argument":
                size = np.where(x < 0, np.abs(x.astype(wide)) / 2, size)
            case "factor":
                size = np.maximum(size, np.abs(x.astype(wide)) * tiny)
        size = np.clip(size, tiny, wide(kind.max))
        unit = np.ldexp(wide(1), np.frexp(size)[1] - 1 - kind.nmant)
        error = np.abs(np.clip(got.astype(wide), -beyond, beyond) - np.clip(true, -beyond, beyond)) / unit
    both = np.isnan(got) & np.isnan(true)
    return np.where(both, 0, np.where(np.isnan(error), np.inf, error))


def exact_error(function: Function, x: float, got: float, true: mpmath.mpf) -> float:
    """The same for one float64 and a number of any precision."""
    if np.isnan(got):
        return np.inf
    tiny, beyond = mpmath.mpf(2) ** -1022, mpmath.mpf(2) ** 1024
    true = max(min(true, beyond), -beyond)
    size = abs(true)
    match function.unit:
        case "half argument" if x < 0:
            size = abs(mpmath.mpf(x)) / 2
        case "factor":
            size = max(size, abs(mpmath.mpf(x)) * tiny)
    size = min(max(size, tiny), mpmath.mpf(np.finfo(np.float64).max))
    mine = mpmath.mpf(got) if np.isfinite(got) else mpmath.sign(got) * beyond
    with mpmath.workprec(120):
        return float(abs(mine - true) / mpmath.ldexp(1, mpmath.frexp(size)[1] - 53))
