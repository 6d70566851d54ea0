"""ConstantOfShape: one value in every place."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.tensor import Tensor
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.tensor.follow import followed, numbers, sizes, tensor
from ingot.ops.typesets import (
    BOOL,
    FLOAT4,
    FLOAT8,
    FLOAT8E8M0,
    INT2S,
    INT4S,
    INT64,
    NUMERIC,
    NUMERIC_3,
    types,
)

_20 = NUMERIC | BOOL | FLOAT8
_21 = _20 | INT4S
_23 = _21 | FLOAT4
_24 = _23 | FLOAT8E8M0
T1: TypeAlias = Annotated[Array, types("T1", INT64)]
T2: TypeAlias = Annotated[
    Array, types("T2", {9: NUMERIC_3 | BOOL, 20: _20, 21: _21, 23: _23, 24: _24, 25: _24 | INT2S})
]


@operator("ConstantOfShape", since=(9, 20, 21, 23, 24, 25))
def constant_of_shape(shape: T1, /, *, value: Tensor | None = None) -> T2:
    """A tensor of `shape` filled with the one element of `value`, in its type; with float32 zeros if there is none."""
    if shape.ndim != 1:
        raise InputError(f"shape has {shape.ndim} axes, expected 1")
    fill = _fill(value)
    return np.full(affordable(shape.tolist(), fill.dtype), fill.reshape(()), fill.dtype)


@constant_of_shape.infer
def infer(shape: Fact, /, *, value: Tensor | None) -> Inferred:
    dtype = DType.FLOAT32 if value is None else value.dtype
    wanted = sizes(shape)
    if wanted is None:
        return tensor(dtype, None)
    if any(isinstance(size, int) and size < 0 for size in wanted):
        raise ShapeError(f"a size is negative: {wanted}")

    def filled() -> Array | None:
        target = numbers(shape)
        if target is None or value is None or target.prod(dtype=np.float64) > 256:
            return None
        return np.full(target.tolist(), int(_fill(value).reshape(())), np.object_)

    return followed(dtype, tuple(wanted), filled)


def _fill(value: Tensor | None) -> Array:
    if value is None:
        return np.zeros(1, np.float32)
    if value.size != 1:
        raise CheckError(f"value has {value.size} elements, expected 1")
    return value.numpy()
