"""The domain of these operators, and what several of them share."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, ShapeError
from ingot.ir.types import Shape
from ingot.ops.define import Operator
from ingot.ops.facts import Fact
from ingot.ops.typesets import BFLOAT16, FLOAT32, INT8, UINT8, tensors, types

MICROSOFT = "com.microsoft"

HALF = tensors(DType.FLOAT16)
SMALL_FLOATS = FLOAT32 | HALF | BFLOAT16
BYTES = INT8 | UINT8

Scale: TypeAlias = Annotated[Array, types("", FLOAT32)]


def may_omit(operator: Operator, *names: str) -> None:
    """Mark inputs that a node may leave out though others must follow, which no Python signature says."""
    operator.inputs = tuple(
        replace(formal, optional=True) if formal.name in names else formal for formal in operator.inputs
    )


def scalar(x: Array, name: str) -> Any:
    """The only element of a tensor, as float64; InputError if it has another number of them."""
    if x.size != 1:
        raise InputError(f"{name} has {x.size} elements, expected 1")
    return x.reshape(()).astype(np.float64)


def last(shape: Shape | None, axis: int = -1) -> Dim | None:
    """One size of a shape, None where it is unknown."""
    return None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis]


def require_vector(x: Fact | None, size: Dim | None, name: str) -> None:
    """ShapeError unless `x` may be a vector of that size."""
    if x is None or x.shape is None:
        return
    if len(x.shape) != 1:
        raise ShapeError(f"{name} has {len(x.shape)} axes, expected 1")
    if isinstance(size, int) and isinstance(x.shape[0], int) and x.shape[0] != size:
        raise ShapeError(f"{name} has {x.shape[0]} elements, expected {size}")
