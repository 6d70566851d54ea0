"""Shape and Size: how large a tensor is."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator
from ingot.ops.facts import Fact, Inferred, integers
from ingot.ops.shapes import product
from ingot.ops.tensor.follow import guarded
from ingot.ops.tensor.moved import holding, sizes_of
from ingot.ops.typesets import ALL, ALL_3, ALL_19, ALL_21, ALL_23, ALL_24, ALL_25, INT64, types

T: TypeAlias = Annotated[
    Array, types("T", {1: ALL_3, 13: ALL, 19: ALL_19, 21: ALL_21, 23: ALL_23, 24: ALL_24, 25: ALL_25})
]
T1: TypeAlias = Annotated[Array, types("T1", INT64)]

_PART_SINCE = 15
_FAR = 2**31 - 1


@operator("Shape", since=(1, 13, 15, 19, 21, 23, 24, 25))
def shape(x: T, /, *, start: Annotated[int, Since(15)] = 0, end: Annotated[int | None, Since(15)] = None) -> T1:
    """The size of each axis, from `start` to before `end`, which count from the back where they are negative."""
    return np.array(x.shape[start:end], np.int64)


@shape.infer
def infer_shape(x: Fact, /, *, start: int, end: int | None) -> Inferred:
    if x.shape is None:
        return TensorType(DType.INT64, (None,))
    sizes = x.shape[start:end]
    return integers(DType.INT64, (len(sizes),), sizes)


@shape.lower
def lower_shape(x: prim.Tensor, /, *, start: int, end: int | None, facts: tuple[Fact, ...]) -> prim.Tensor:
    return holding(sizes_of(facts[0])[start:end])


@shape.downgrade
def downgrade(op: Any, x: Value, /, *, start: int, end: int | None, version: int) -> Any:
    if version >= _PART_SINCE:
        raise UnsupportedError("it does not take this element type")
    return op.Slice(op.Shape(x), [start], [_FAR if end is None else end], [0])


@operator("Size", since=(1, 13, 19, 21, 23, 24, 25))
def size(x: T, /) -> T1:
    """The number of elements."""
    return np.array(x.size, np.int64)


@size.infer
def infer_size(x: Fact, /) -> Inferred:
    sizes = x.shape
    count = None if sizes is None else guarded(lambda: product(sizes))
    return integers(DType.INT64, (), [count])


@size.lower
def lower_size(x: prim.Tensor, /, *, facts: tuple[Fact, ...]) -> prim.Tensor:
    return prim.size(prim.count(sizes_of(facts[0])))
