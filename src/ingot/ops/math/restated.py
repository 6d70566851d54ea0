"""The same operator in an older version, by way of a type that version takes where theirs is newer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.dtypes import Array, DType
from ingot.ir.value import Value
from ingot.ops.define import Rule
from ingot.ops.older import dtype_of

CAST_OF_BFLOAT16 = 13
"""The version that brought bfloat16: before it, not even Cast takes it."""


def restated(name: str) -> Rule:
    """The rule of an operator of floats whose older versions mean the same: bfloat16 goes through float32."""

    def rule(op: Any, *inputs: Value, version: int, **attributes: Any) -> Any:
        def compute(*values: Any) -> Any:
            return op[name](*values, **attributes)

        if version >= CAST_OF_BFLOAT16 and dtype_of(inputs[0]) is DType.BFLOAT16:
            return in_type(op, DType.FLOAT32, compute, *inputs)
        return compute(*inputs)

    return rule


def in_type(op: Any, dtype: DType, compute: Callable[..., Any], *values: Value) -> Any:
    """What `compute` makes of the values cast to `dtype`, in the element type of the first again."""
    own = dtype_of(values[0])
    return op.Cast(compute(*(op.Cast(value, to=int(dtype)) for value in values)), to=int(own))


def in_float32(op: Any, compute: Callable[..., Any], *values: Value) -> Any:
    """What `compute` makes of the values; floats of less than four bytes are computed with in float32."""
    if dtype_of(values[0]).bits < 32:
        return in_type(op, DType.FLOAT32, compute, *values)
    return compute(*values)


def wide_float(dtype: DType) -> DType:
    """The type in which `in_float32` computes."""
    return DType.FLOAT32 if dtype.bits < 32 else dtype


def number(value: float, dtype: DType) -> Array:
    """One number of an element type, for a node to read."""
    return np.asarray(value).astype(dtype.numpy)


def held(constant: Array, dtype: DType) -> Array | None:
    """Numbers in another float type; None where one of them would be rounded, or is NaN."""
    with np.errstate(over="ignore"):
        cast = constant.astype(dtype.numpy)
    return cast if np.array_equal(cast.astype(np.float64), constant.astype(np.float64)) else None


def wide_integer(dtype: DType) -> DType:
    """The integers of at least four bytes that hold all of a narrower type, and wrap around to the same bits."""
    if dtype.bits >= 32:
        return dtype
    return DType.UINT32 if is_unsigned(dtype) else DType.INT32


def is_unsigned(dtype: DType) -> bool:
    return dtype.name.startswith("UINT")
