"""Inverse: the matrices that undo others."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.elimination import MOST_INVERTED, inverses, stacked
from ingot.ops.nn.precision import wide
from ingot.ops.shapes import unify
from ingot.ops.typesets import FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Inverse", since=1, domain=MICROSOFT)
def inverse(x: T, /) -> T:
    """The inverse of each matrix that the last two axes hold; InputError if one has none."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"the input has shape {list(x.shape)}, its last two axes are no square")
    try:
        return np.linalg.inv(x.astype(wide(x.dtype))).astype(x.dtype)
    except np.linalg.LinAlgError:
        raise InputError("a matrix is singular and has no inverse") from None


@inverse.lower
def lower(x: prim.Tensor, /) -> prim.Tensor:
    stack = stacked(x, MOST_INVERTED)
    if stack.shape[-1] == 0:
        return x
    computed = prim.cast(stack, DType.FLOAT32) if x.dtype is DType.FLOAT16 else stack
    return prim.reshape(prim.cast(inverses(computed), x.dtype), x.shape)


@inverse.infer
def infer(x: Fact, /) -> Inferred:
    if x.shape is not None:
        if len(x.shape) < 2:
            raise ShapeError(f"the input has {len(x.shape)} axes, expected at least 2")
        unify(x.shape[-1], x.shape[-2], "the sides of the matrices")
    return x.type
