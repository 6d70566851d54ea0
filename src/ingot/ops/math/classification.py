"""IsNaN and IsInf: what kind of float it is."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.precision import widened
from ingot.ops.typesets import BOOL, FLOAT8, FLOAT32, FLOAT64, FLOATS, FLOATS_3, types

TInf: TypeAlias = Annotated[Array, types("T1", {10: FLOAT32 | FLOAT64, 20: FLOATS | FLOAT8})]
TNaN: TypeAlias = Annotated[Array, types("T1", {9: FLOATS_3, 13: FLOATS, 20: FLOATS | FLOAT8})]
T2: TypeAlias = Annotated[Array, types("T2", BOOL)]


@operator("IsNaN", since=(9, 13, 20))
def is_nan(x: TNaN, /) -> T2:
    """Whether it is not a number."""
    return np.asarray(np.isnan(widened(x)))


@operator("IsInf", since=(10, 20))
def is_inf(x: TInf, /, *, detect_negative: int = 1, detect_positive: int = 1) -> T2:
    """Whether it is an infinity, of a sign that is asked for; some float8 types have none."""
    wide = widened(x)
    found = np.zeros(x.shape, np.bool_)
    if detect_negative:
        found |= wide == -np.inf
    if detect_positive:
        found |= wide == np.inf
    return found


@is_nan.infer
@is_inf.infer
def infer(x: Fact, /, **_: int) -> Inferred:
    return TensorType(DType.BOOL, x.shape)
