"""Abs, Neg and Sign; the smallest signed integer has no opposite, and wraps around to itself."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dims import Dim, maximum
from ingot.dtypes import Array
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed, less
from ingot.ops.math.legacy import consuming
from ingot.ops.math.precision import narrowed
from ingot.ops.typesets import FLOATS, FLOATS_3, NUMERIC, NUMERIC_3, SIGNED, types

T: TypeAlias = Annotated[Array, types("T", {6: NUMERIC_3, 13: NUMERIC})]
TSigned: TypeAlias = Annotated[Array, types("T", {6: FLOATS_3 | SIGNED, 13: FLOATS | SIGNED})]


@operator("Abs", since=(6, 13))
def absolute(x: T, /) -> T:
    """The distance from zero."""
    return narrowed(np.abs(x), x.dtype)


@absolute.infer
def infer_absolute(x: Fact, /) -> Inferred:
    return followed(x.dtype, lambda size: maximum(size, -size), x)


@operator("Neg", since=(6, 13))
def negative(x: TSigned, /) -> TSigned:
    """The opposite number."""
    return narrowed(np.negative(x), x.dtype)


@negative.infer
def infer_negative(x: Fact, /) -> Inferred:
    return followed(x.dtype, lambda size: -size, x)


@operator("Sign", since=(9, 13))
def sign(x: T, /) -> T:
    """1 for what is above zero, -1 for what is below, 0 for zero, NaN for NaN."""
    return narrowed(np.sign(x), x.dtype)


@sign.infer
def infer_sign(x: Fact, /) -> Inferred:
    return followed(x.dtype, _sign, x)


def _sign(size: Dim) -> Dim | None:
    if size == 0:
        return 0
    return 1 if less(0, size) == 1 else -1 if less(size, 0) == 1 else None


absolute_1 = consuming("Abs")
negative_1 = consuming("Neg")
