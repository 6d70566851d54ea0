"""Tensors made of numbers and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.tensorflow.operands import scalar, sizes_of, vector, zero
from ingot.convert.tensorflow.rule import Site, rule
from ingot.dtypes import DType


@rule("Fill")
def fill(site: Site, sizes: Var, value: Var) -> Var:
    return op.Expand(value, vector(site, sizes))


@rule("Empty")
def empty(site: Site, sizes: Var) -> Var:
    return op.Expand(number(0, site.dtype), vector(site, sizes))


@rule("ZerosLike")
def zeros_like(site: Site, x: Any) -> Any:
    return op.Expand(zero(site.dtype), sizes_of(x))


@rule("OnesLike")
def ones_like(site: Site, x: Var) -> Var:
    return op.Expand(number(1, site.dtype), sizes_of(x))


@rule("Range")
def range_(site: Site, start: Var, limit: Var, delta: Var) -> Var:
    own = (DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32, DType.FLOAT64)
    wide = site.dtype if site.dtype in own else DType.FLOAT32 if site.dtype.is_float else DType.INT64
    return cast(op.Range(cast(start, wide), cast(limit, wide), cast(delta, wide)), site.dtype)


@rule("LinSpace")
def lin_space(site: Site, start: Var, stop: Var, num: Var) -> Var:
    count = scalar(site, num)
    places = cast(op.Range(np.array(0, np.int64), count, np.array(1, np.int64)), site.dtype)
    steps = op.Max(op.Sub(cast(count, site.dtype), number(1, site.dtype)), number(1, site.dtype))
    spaced = op.Add(start, op.Mul(places, op.Div(op.Sub(stop, start), steps)))
    last = op.And(op.Equal(places, steps), op.Greater(steps, number(0, site.dtype)))
    return op.Where(last, stop, spaced)


@rule("OneHot")
def one_hot(site: Site, indices: Var, depth: Var, on: Var, off: Var, *, axis: int = -1) -> Var:
    """`on` where the class is the index; none for an index that is no class."""
    count = rank(indices) + 1
    place = axis + count if axis < 0 else axis
    classes = op.Range(np.array(0, np.int64), scalar(site, depth), np.array(1, np.int64))
    sizes = [1] * count
    sizes[place] = -1
    here = op.Equal(op.Unsqueeze(cast(indices, DType.INT64), [place]), op.Reshape(classes, np.array(sizes, np.int64)))
    return op.Where(here, on, off)
