"""Where: of two tensors, element by element, the one that a condition selects."""

from __future__ import annotations

from math import prod
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import InputError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops import shapes
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.elementwise import elementwise
from ingot.ops.math.following import followed
from ingot.ops.math.operands import common_dtype, require_alike, require_fit
from ingot.ops.math.restated import in_type, wide_integer
from ingot.ops.older import dtype_of, shape_of
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


where.lower(elementwise("where"))


@where.downgrade
def downgrade(op: Any, condition: Value, x: Value, y: Value, /, *, version: int) -> Any:
    dtype = dtype_of(x)
    if version >= 9:
        return in_type(op, DType.FLOAT32, lambda x, y: op.Where(condition, x, y), x, y)
    if dtype is DType.BOOL:
        return op.Or(op.And(condition, x), op.And(op.Not(condition), y))
    if not dtype.is_integer:
        return _gathered(op, condition, x, y)
    wide = wide_integer(dtype)
    is_x, is_y = (op.Cast(truth, to=int(wide)) for truth in (condition, op.Not(condition)))

    def compute(x: Any, y: Any) -> Any:
        return op.Add(op.Mul(is_x, x), op.Mul(is_y, y))

    return compute(x, y) if wide is dtype else in_type(op, wide, compute, x, y)


def _gathered(op: Any, condition: Value, x: Value, y: Value) -> Any:
    """Elements of one tensor, or of the other that stands behind it, by their places; UnsupportedError if unknown."""
    shape = shapes.broadcast(*map(shape_of, (condition, x, y)))
    sizes = [size for size in shape or () if isinstance(size, int)]
    if shape is None or len(sizes) < len(shape):
        raise UnsupportedError("a choice between numbers, NaN among them, needs places, and the shape is not known")
    places: Any = op.Mul(op.Cast(op.Not(condition), to=int(DType.INT64)), np.asarray(prod(sizes), np.int64))
    for axis, size in enumerate(sizes):
        steps = np.arange(size, dtype=np.int64) * prod(sizes[axis + 1 :])
        places = op.Add(places, steps.reshape(-1, *[1] * (len(sizes) - axis - 1)))
    row = np.asarray(sizes, np.int64)
    full = [value if shape_of(value) == shape else op.Expand(value, row) for value in (x, y)]
    flat = [op.Reshape(value, [-1]) for value in full]
    return op.Gather(op.Concat(*flat, axis=0), places, axis=0)


def _chosen(condition: Dim | None, x: Dim | None, y: Dim | None) -> Dim | None:
    if condition is None:
        return x if x is not None and x == y else None
    return y if condition == 0 else x
