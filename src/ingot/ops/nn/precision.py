"""In which type to compute: half precision in float32, rounded once at the end; how much memory a result may take."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError
from ingot.ops.limit import most_bytes, oversized


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type to compute in for elements of `dtype`: float64 for itself, float32 for every smaller float."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def widened(*arrays: Array) -> tuple[Array, ...]:
    """The arrays in the one type in which to compute on them."""
    double = any(array.dtype == np.float64 for array in arrays)
    return tuple(array.astype(np.float64 if double else np.float32, copy=False) for array in arrays)


def stash(stash_type: int, allowed: Iterable[DType]) -> np.dtype[Any]:
    """The element type a `stash_type` attribute names; CheckError if it is not among those allowed."""
    for dtype in allowed:
        if stash_type == dtype:
            return dtype.numpy
    names = " or ".join(f"{int(dtype)} ({dtype})" for dtype in allowed)
    raise CheckError(f"stash_type is {stash_type}, it must be {names}")


def refuse_huge(shape: Iterable[int], dtype: np.dtype[Any]) -> None:
    """InputError if an array of that shape would take more memory than any result may."""
    sizes = tuple(int(size) for size in shape)
    count = prod(sizes) * dtype.itemsize
    if count > most_bytes():
        raise oversized(f"a tensor of shape {list(sizes)} takes {count:,} bytes, more than {most_bytes():,}", count)


def mean(x: Array, axes: tuple[int, ...]) -> Array:
    """The mean over `axes`, which are kept with size one; NaN over nothing."""
    count = prod(x.shape[axis] for axis in axes)
    return np.asarray(x.sum(axis=axes, keepdims=True) / x.dtype.type(count), x.dtype)
