"""Categories as numbers: one-hot, multi-hot, counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, cast
from ingot.convert.operands import rank, shape
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


def hot(x: Var, count: int, dtype: str, axis: int = -1) -> Var:
    """A 1 at each place along a new axis; places below 0 or past the end have none."""
    places = x if x.dtype is DType.INT64 else op.Cast(x, to=int(DType.INT64))
    inside = op.And(places >= np.array(0, np.int64), places < np.array(count, np.int64))
    beyond = op.Where(inside, places, np.array(count, np.int64))  # OneHot counts negative places from the back
    encoded = op.OneHot(beyond, np.array(count + 1, np.int64), np.array([0, 1], np.float32), axis=axis)
    known = op.Slice(encoded, [0], [count], [axis])
    return cast(known, dtype)


def encoded(c: Conversion, x: Var, mode: str, count: int, dtype: str, weights: Any = None) -> Var:
    """Integers as Keras' layers encode them: `int`, `one_hot`, `multi_hot` or `count`."""
    if mode == "int":
        return cast(x, dtype)
    if mode == "one_hot":
        if rank(x) and shape(x)[-1] == 1:
            return op.Squeeze(hot(x, count, dtype), [-2])
        return hot(x, count, dtype)
    if rank(x) == 0:
        x = op.Unsqueeze(x, [0])
    rows = hot(x, count, dtype)
    if mode == "multi_hot":
        return op.ReduceMax(rows, [-2], keepdims=0)
    if mode == "count":
        if weights is not None:
            rows = rows * op.Unsqueeze(c.operand(weights, dtype), [-1])
        return op.ReduceSum(rows, [-2], keepdims=0)
    raise UnsupportedError(f"output mode '{mode}'")
