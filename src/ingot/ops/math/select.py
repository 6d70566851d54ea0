"""Where: of two tensors, element by element, the one that a condition says."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.following import followed
from ingot.ops.math.operands import common_dtype, require_alike, require_fit
from ingot.ops.typesets import ALL, ALL_3, BOOL, types

B: TypeAlias = Annotated[Array, types("B", BOOL)]
T: TypeAlias = Annotated[Array, types("T", {9: ALL_3, 16: ALL})]


@operator("Where", since=(9, 16))
def where(condition: B, x: T, y: T, /) -> T:
    """`x` where the condition is true, `y` where it is false; all three are broadcast."""
    if condition.dtype != np.bool_:
        raise InputError(f"the condition is {condition.dtype}, it must be bool")
    require_alike(x, y)
    require_fit(condition, x, y)
    return np.where(condition, x, y)


@where.infer
def infer(condition: Fact, x: Fact, y: Fact, /) -> Inferred:
    return followed(common_dtype(x, y), _chosen, condition, x, y, with_unknown=True)


def _chosen(condition: Dim | None, x: Dim | None, y: Dim | None) -> Dim | None:
    if condition is None:
        return x if x is not None and x == y else None
    return y if condition == 0 else x
