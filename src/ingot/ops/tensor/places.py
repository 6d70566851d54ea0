"""Places in tensors, found by the operators of old versions: sizes, counts, indices from the front, flat indices."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.ops.older import constant_of, dtype_of, shape_of

MOST_COUNTED = 1 << 16
"""How many numbers are written into a model at most; more are counted when it runs."""

_RANGE_SINCE = 11
_AXES_COMPUTED_SINCE = 13


def size(op: Any, value: Value, axis: int) -> Any:
    """The size of an axis, as a tensor of one element or, where it is known, a number."""
    known = shape_of(value)[axis]
    return known if isinstance(known, int) else op.Gather(op.Shape(value), [axis], axis=0)


def counted(op: Any, value: Value, axis: int, version: int) -> Any:
    """0, 1, 2, ... as many as an axis has elements."""
    return count_to(op, size(op, value, axis), version)


def count_to(op: Any, count: Any, version: int) -> Any:
    """0, 1, 2, ... up to before `count`, a number or an int64 tensor of one element."""
    if isinstance(count, int) and count <= MOST_COUNTED:
        return np.arange(count, dtype=np.int64)
    if version >= _RANGE_SINCE:
        return op.Range(np.int64(0), op.Reshape(one(count), np.empty(0, np.int64)), np.int64(1))
    ones = op.ConstantOfShape(one(count), value=Tensor(np.ones(1, np.float32)))
    return op.Squeeze(op.NonZero(ones), axes=[0])


def spread(op: Any, numbers: Any, axes: list[int], version: int) -> Any:
    """Numbers in a row with axes of one element put in, so that in the result they are `axes`."""
    if isinstance(numbers, np.ndarray):
        return np.expand_dims(numbers, tuple(axes))
    return op.Unsqueeze(numbers, axes) if version >= _AXES_COMPUTED_SINCE else op.Unsqueeze(numbers, axes=axes)


def scaled(op: Any, numbers: Any, by: Any) -> Any:
    """Each number times one."""
    if isinstance(by, int) and by == 1:
        return numbers
    if isinstance(by, int) and isinstance(numbers, np.ndarray):
        return numbers * by
    return op.Mul(numbers, one(by))


def one(number: Any) -> Any:
    """A number as a tensor of one element; a tensor as it is."""
    return np.array([number], np.int64) if isinstance(number, int) else number


def natural(op: Any, number: Any) -> Any:
    """An int64 tensor of one element, 0 if it is negative; before version 12 there was no largest of integers."""
    return op.Mul(number, op.Cast(op.Greater(number, np.zeros(1, np.int64)), to=int(DType.INT64)))


def times(op: Any, factors: Iterable[Any]) -> Any:
    """The product of numbers and tensors of one element: a number where all are."""
    known, others = 1, []
    for factor in factors:
        if isinstance(factor, int):
            known *= factor
        else:
            others.append(factor)
    if not others:
        return known
    result = others[0]
    for factor in others[1:]:
        result = op.Mul(result, factor)
    return result if known == 1 else op.Mul(result, one(known))


def joined(op: Any, numbers: list[Any]) -> Any:
    """Numbers and tensors of one element, one behind the other."""
    if all(isinstance(number, int) for number in numbers):
        return np.array(numbers, np.int64)
    return op.Concat(*map(one, numbers), axis=0)


def from_front(op: Any, indices: Value, size: Any) -> Any:
    """Indices as int64, those that count from the back of an axis of `size` made to count from its front."""
    known = constant_of(indices)
    if known is not None and (known >= 0).all():
        return known.astype(np.int64)
    wide = indices if dtype_of(indices) is DType.INT64 else op.Cast(indices, to=int(DType.INT64))
    return op.Where(op.Less(wide, np.array([0], np.int64)), op.Add(wide, one(size)), wide)


def flat_places(op: Any, data: Value, indices: Value, depth: int) -> Any:
    """Coordinates in the first `depth` axes, along the last axis of `indices`, as indices of these axes taken as one.

    It is for versions before 13, which have the axes of a sum in the model.
    """
    sizes = [size(op, data, axis) for axis in range(depth)]
    steps = [times(op, sizes[axis + 1 :]) for axis in range(depth)]
    at = from_front(op, indices, joined(op, sizes))
    if depth > 1:
        at = op.Mul(at, joined(op, steps))
    return op.ReduceSum(at, axes=[len(shape_of(indices)) - 1], keepdims=0)


def rows(op: Any, data: Value, count: int) -> Any:
    """A tensor with its first `count` axes taken as one, for versions before 13.

    A size of 0 in a shape copies the one at the same place, so that several other axes stay where they are at first;
    of these, none may have no elements where the first ones are not known.
    """
    if count == 1:
        return data
    shape = shape_of(data)
    if len(shape) == count:
        return op.Reshape(data, [-1])
    if len(shape) == count + 1:
        return op.Flatten(data, axis=count)
    leading = [dim for dim in shape[:count] if isinstance(dim, int)]
    total = prod(leading) if len(leading) == count else 0
    flat = op.Reshape(data, [1] * (count - 1) + [total or -1] + [0] * (len(shape) - count))
    return op.Squeeze(flat, axes=list(range(count - 1)))
