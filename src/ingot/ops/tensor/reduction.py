"""How scattered updates meet what is there, and each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError, InputError

REDUCTIONS = ("none", "add", "mul", "max", "min")

_UFUNCS: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def scattered(data: Array, at: tuple[Any, ...], updates: Array, reduction: str) -> Array:
    """A copy of `data` with `updates` put in, or combined with what is there, at index `at`.

    Where an index comes twice, the last update is put in, and all are combined; 16-bit floats are rounded at the end.
    """
    check_reduction(reduction)
    if updates.dtype != data.dtype:
        raise InputError(f"updates are {updates.dtype}, data is {data.dtype}")
    if reduction == "none":
        result = data.copy()
        result[at] = updates
        return result
    if data.dtype == np.object_ or (data.dtype.kind == "c" and reduction in ("max", "min")):
        raise InputError(f"reduction '{reduction}' is not defined for this element type")
    narrow = data.dtype.itemsize == 2 and data.dtype.kind not in "iu"
    result = data.astype(np.float32) if narrow else data.copy()
    with np.errstate(all="ignore"):
        _UFUNCS[reduction].at(result, at, updates.astype(result.dtype))
        return result.astype(data.dtype)


def check_reduction(reduction: str) -> None:
    """CheckError unless there is such a reduction."""
    if reduction not in REDUCTIONS:
        raise CheckError(f"reduction is '{reduction}', expected one of {', '.join(REDUCTIONS)}")
