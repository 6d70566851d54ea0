"""ConstantOfShape: one value in every place."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.limit import affordable
from ingot.ops.shapes import is_natural, require_rank
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
from ingot.prim.functions import STORED

_FLOAT8_SINCE = 19
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
    require_rank(shape, 1, "shape")
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


constant_of_shape.sized_by("shape")


@constant_of_shape.lower
def lower(shape: prim.Tensor, /, *, value: Tensor | None, facts: tuple[Fact, ...]) -> prim.Tensor:
    fill = _fill(value)
    dtype = DType.of(fill.dtype)
    if dtype not in STORED:
        raise prim.Refused(f"elements of {dtype}")
    wanted = sizes(facts[0])
    if wanted is None or None in wanted:
        raise prim.Refused("sizes that are computed while the model runs")
    natural = tuple(size for size in wanted if size is not None and is_natural(size))
    if len(natural) < len(wanted):
        raise prim.Refused(f"sizes {list(map(str, wanted))}, of which one may be negative")
    return prim.full(fill.item(), natural, dtype)


@constant_of_shape.downgrade
def downgrade(op: Any, shape: Value, /, *, value: Tensor | None, version: int) -> Any:
    fill = _fill(value)
    if version < constant_of_shape.since[0]:
        return op.Expand(fill.reshape(()), shape)
    dtype = DType.of(fill.dtype)
    if version < _FLOAT8_SINCE and dtype is not DType.BFLOAT16:
        raise UnsupportedError(f"{dtype} came later")
    wide = op.ConstantOfShape(shape, value=Tensor(fill.astype(np.float32)))
    return op.Cast(wide, to=int(dtype), saturate=None if dtype is DType.BFLOAT16 else 0)


def _fill(value: Tensor | None) -> Array:
    if value is None:
        return np.zeros(1, np.float32)
    if value.size != 1:
        raise CheckError(f"value has {value.size} elements, expected 1")
    return value.numpy()
