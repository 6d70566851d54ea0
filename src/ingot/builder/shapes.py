"""Shapes as values: vectors put together from numbers and values, and the reshaping they are for."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex, TypeGuard

import numpy as np

from ingot.builder.emission import emit
from ingot.builder.known import dtype_of, shape_of, tensor
from ingot.builder.literals import as_value
from ingot.builder.location import failure
from ingot.builder.operand import Traced
from ingot.dtypes import DType
from ingot.ir.value import Value


def is_integer(item: object) -> TypeGuard[SupportsIndex]:
    """Whether it is an integer known now, of Python or of numpy."""
    return isinstance(item, int | np.integer) and not isinstance(item, bool)


def vector(items: Sequence[object]) -> Value:
    """A 1-D int64 tensor of integers and of values that hold one integer each."""
    parts: list[Value] = []
    numbers: list[int] = []
    for item in items:
        if is_integer(item):
            numbers.append(index(item))
            continue
        if not isinstance(item, Traced | Value):
            raise failure(f"{item!r} among sizes or positions", hint="integers and values that hold one")
        if numbers:
            parts.append(as_value(numbers, dtype=DType.INT64))
            numbers = []
        parts.append(_one(as_value(item)))
    if numbers or not parts:
        parts.append(as_value(numbers, dtype=DType.INT64))
    known = tensor(DType.INT64, (len(items),))
    return parts[0] if len(parts) == 1 else emit("Concat", parts, {"axis": 0}, types=[known])[0]


def shape(x: Value) -> Value:
    """The sizes of `x`, a 1-D int64 tensor."""
    sizes = shape_of(x)
    return emit("Shape", [x], types=[tensor(DType.INT64, (None if sizes is None else len(sizes),))])[0]


def reshape(x: Value, sizes: Sequence[object]) -> Value:
    """`x` with other sizes: integers of which one may be -1, values that hold one size, or one value with them all."""
    if len(sizes) == 1 and isinstance(sizes[0], list | tuple):
        sizes = sizes[0]
    whole = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], Traced | Value) else None
    numbers = [index(size) for size in sizes if is_integer(size)]
    known = tuple(numbers) if len(numbers) == len(sizes) and -1 not in numbers else None
    target = as_value(whole) if whole is not None and _rank(whole) != 0 else vector(sizes)
    empty = 1 if 0 in numbers else None  # without it 0 would mean "as it was"
    result = tensor(dtype_of(x), known)
    return emit("Reshape", [x, target], {"allowzero": empty}, types=[result])[0]


def cast(x: Value, dtype: DType) -> Value:
    return emit("Cast", [x], {"to": int(dtype)}, types=[tensor(dtype, shape_of(x))])[0]


def transpose(x: Value) -> Value:
    """`x` with its axes in reverse order."""
    sizes = shape_of(x)
    return emit("Transpose", [x], types=[tensor(dtype_of(x), None if sizes is None else sizes[::-1])])[0]


def _one(value: Value) -> Value:
    if dtype_of(value) is not DType.INT64:
        value = cast(value, DType.INT64)
    if shape_of(value) == (1,):
        return value
    return emit("Reshape", [value, as_value([1], dtype=DType.INT64)], types=[tensor(DType.INT64, (1,))])[0]


def _rank(whole: object) -> int | None:
    sizes = shape_of(as_value(whole))
    return None if sizes is None else len(sizes)
