"""Products of bytes in primitives: exact sums, and their way back to bytes."""

from __future__ import annotations

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ops.quantization.rounding import integer_range

_MOST = (2**31 - 1) // 255**2
"""As many products of bytes, each less a zero point, have sums that 32 bits always hold."""


def sum_type(products: Dim) -> DType:
    """The integers that hold every sum of so many products of bytes."""
    return DType.INT32 if isinstance(products, int) and products <= _MOST else DType.INT64


def centred(x: prim.Tensor, zero_point: prim.Tensor | None, dtype: DType) -> prim.Tensor:
    """Bytes less their zero point, which broadcasts to them, as integers of a type; Refused if they are none."""
    for each in (x, zero_point):
        if each is not None and each.dtype not in (DType.INT8, DType.UINT8):
            raise prim.Refused(f"elements of {each.dtype}")
    wide = prim.cast(x, dtype)
    return wide if zero_point is None else wide - prim.cast(zero_point, dtype)


def single(x: prim.Tensor) -> prim.Tensor:
    """A tensor of one element without axes; Refused if it may have another number of them."""
    if any(size != 1 for size in x.shape):
        raise prim.Refused(f"a scale or zero point of shape {list(map(str, x.shape))}")
    return prim.reshape(x, ())


def held(x: prim.Tensor, dtype: DType) -> prim.Tensor:
    """Whole numbers cut to the range of an integer type."""
    lowest, highest = integer_range(dtype)
    return prim.cast(prim.apply("minimum", prim.apply("maximum", x, lowest), highest), dtype)


def is_single(x: prim.Tensor) -> bool:
    return all(size == 1 for size in x.shape)


def known_number(x: prim.Tensor | None) -> int | None:
    """The only element of a constant of integers, zero for none given; None if a run decides on it."""
    if x is None:
        return 0
    array = getattr(x, "array", None)
    return int(array.reshape(-1)[0]) if isinstance(array, np.ndarray) and array.size == 1 else None
