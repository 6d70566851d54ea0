"""What the resampling operators share: the cubic kernel, and numbers brought back to the type of an image."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.prim.functions import FLOATING

Floats = npt.NDArray[np.float64]


def cubic(distance: Floats, a: float) -> Floats:
    """The weight that cubic convolution gives to a pixel at a distance (Keys 1981, equation 4)."""
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def linear(distance: Floats) -> Floats:
    """The weight that linear interpolation gives to a pixel at a distance."""
    return np.asarray(np.maximum(1 - np.abs(distance), 0.0))


def widened(x: Array) -> Array:
    """The elements in double precision, to compute with; InputError for strings, which only `nearest` can resample."""
    if x.dtype == np.object_:
        raise InputError("strings cannot be interpolated", hint="mode 'nearest' can resample them")
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def narrowed(values: Array, dtype: np.dtype[Any], *, rounded: bool) -> Array:
    """Computed values as elements of a type; integers are rounded or cut off, and end where their type does."""
    if dtype == np.bool_:
        return np.asarray((np.round(values) if rounded else values) != 0)
    if not DType.of(dtype).is_integer:
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    low, high = np.asarray(limits.min, dtype), np.asarray(limits.max, dtype)
    whole = np.nan_to_num(np.rint(values) if rounded else np.trunc(values), nan=0.0)
    inside = (whole > float(limits.min)) & (whole < float(limits.max))  # 64-bit limits round up in a float
    return np.where(inside, np.where(inside, whole, 0).astype(dtype), np.where(whole <= float(limits.min), low, high))


def cubic_in_primitives(distance: prim.Tensor, a: float) -> prim.Tensor:
    """The weight that cubic convolution gives to a pixel at a distance."""
    x = prim.apply("absolute", distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1.0
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    outer = prim.where(prim.apply("less", x, 2.0), far, 0.0)
    return prim.where(prim.apply("less_equal", x, 1.0), near, outer)


def linear_in_primitives(distance: prim.Tensor) -> prim.Tensor:
    """The weight that linear interpolation gives to a pixel at a distance."""
    return prim.apply("maximum", 1.0 - prim.apply("absolute", distance), 0.0)


def type_inside(dtype: DType) -> DType:
    """The type that primitives interpolate an image in: float32 for the floats it holds, else float64."""
    return DType.FLOAT32 if dtype in FLOATING and dtype is not DType.FLOAT64 else DType.FLOAT64


def narrowed_in_primitives(values: prim.Tensor, dtype: DType, *, rounded: bool) -> prim.Tensor:
    """What `narrowed` makes of computed values; a cast to an integer type stops at its ends, and makes NaN zero."""
    if dtype in FLOATING:
        return prim.cast(values, dtype)
    whole = prim.apply("round" if rounded else "truncate", values)
    if dtype is DType.BOOL:
        return prim.apply("not_equal", whole if rounded else values, 0.0)
    return prim.cast(whole, dtype)
