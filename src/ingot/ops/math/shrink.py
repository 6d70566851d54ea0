"""Shrink: numbers moved towards zero, and those close to it set to it."""

from __future__ import annotations

from math import isfinite
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.precision import narrowed, rounded, truncated
from ingot.ops.shapes import require
from ingot.ops.typesets import NUMERIC_3, types
from ingot.prim.functions import FLOATING

T: TypeAlias = Annotated[Array, types("T", NUMERIC_3)]


@operator("Shrink", since=9)
def shrink(x: T, /, *, bias: float = 0.0, lambd: float = 0.5) -> T:
    """`x + bias` below `-lambd`, `x - bias` above `lambd`, zero between.

    Integers wrap around where `bias` is whole; else they are truncated, InputError if one does not fit its type.
    """
    if x.dtype.kind not in "iu":
        return rounded(lambda x: _shrunk(x, x + bias, x - bias, lambd), x)
    _require_finite(bias)
    if bias != int(bias):
        wide = x.astype(np.float64)
        return truncated(_shrunk(x, wide + bias, wide - bias, lambd), x.dtype)
    step = np.asarray(int(bias) % 2**64, np.uint64).astype(x.dtype)
    return narrowed(_shrunk(x, np.add(x, step), np.subtract(x, step), lambd), x.dtype)


@shrink.infer
def infer(x: Fact, /, *, bias: float, lambd: float) -> Inferred:
    if x.dtype is not None and x.dtype.is_integer:
        _require_finite(bias)
    return x.type


@shrink.lower
def lower(x: prim.Tensor, /, *, bias: float, lambd: float) -> prim.Tensor:
    size, step = x, prim.scalar(bias, x.dtype) if x.dtype in FLOATING else None
    if step is None:
        if bias != int(bias):
            raise prim.Refused(f"integers moved by {bias}, which may not fit their type")
        size = prim.cast(x, DType.FLOAT64)
        step = prim.constant(np.asarray(int(bias) % 2**64, np.uint64).astype(x.dtype.numpy))
    above = prim.where(prim.apply("less", lambd, size), x - step, 0)
    return prim.where(prim.apply("less", size, -lambd), x + step, above)


def _shrunk(x: Array, up: Array, down: Array, lambd: float) -> Array:
    return np.where(x < -lambd, up, np.where(x > lambd, down, np.zeros_like(down)))


def _require_finite(bias: float) -> None:
    require(isfinite(bias), f"bias is {bias}, which no integer can be moved by")
