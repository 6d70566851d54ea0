"""What mixtures of experts are made of: counts of who goes where, and products in groups of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.torch.operands import known_shape
from ingot.convert.torch.rule import Site, rule
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_END = np.iinfo(np.int64).max


@rule("aten.histc.default")
def histc(site: Site, x: Var, bins: int = 100, low: Any = 0, high: Any = 0) -> Var:
    """How many elements lie in each of equal bins; those outside in none, the largest allowed in the last."""
    dtype = site.dtype
    flat = op.Reshape(x, [-1])
    if low == high:
        raise UnsupportedError("histc between the least and the largest of its elements")
    first, last = number(low, dtype), number(high, dtype)
    inside = op.And(op.GreaterOrEqual(flat, first), op.LessOrEqual(flat, last))
    part = op.Div(op.Mul(op.Sub(flat, first), number(bins, dtype)), number(high - low, dtype))
    safe = op.Where(inside, part, number(0, dtype))
    places = op.Min(cast(op.Floor(safe), DType.INT64), np.array(bins - 1, np.int64))
    return op.ScatterElements(np.zeros(bins, dtype.numpy), places, cast(inside, dtype), axis=0, reduction="add")


@rule("aten.bincount.default")
def bincount(site: Site, x: Var, weights: Var | None = None, minlength: int = 0) -> Var:
    """How often each number occurs, or the sum of its weights."""
    places = cast(x, DType.INT64)
    ends = op.Concat(op.Reshape(places, [-1]), np.array([minlength - 1], np.int64), axis=0)
    size = op.Add(op.ReduceMax(ends, [0], keepdims=1), np.array([1], np.int64))
    ones = op.Expand(number(1, site.dtype), op.Shape(places)) if weights is None else cast(weights, site.dtype)
    return op.ScatterElements(op.Expand(number(0, site.dtype), size), places, ones, axis=0, reduction="add")


@rule("aten._grouped_mm.default", "transformers.grouped_mm_fallback.default")
def grouped_mm(
    site: Site, x: Var, weights: Var, offs: Var | None = None, bias: Var | None = None, out_dtype: Any = None
) -> Var:
    """Rows up to the first of `offs` by the first matrix, up to the second by the second; zeros after the last."""
    count = known_shape(weights)[0]
    if rank(x) != 2 or rank(weights) != 3 or offs is None or bias is not None or not isinstance(count, int):
        raise UnsupportedError("grouped_mm other than of rows by a stack of matrices")
    ends = cast(offs, DType.INT64)
    first: Any = np.array([0], np.int64)
    parts = []
    for at in range(count):
        last = op.Slice(ends, [at], [at + 1])
        parts.append(op.MatMul(op.Slice(x, first, last, [0]), op.Gather(weights, np.array(at, np.int64))))
        first = last
    rest = op.Slice(x, first, [_END], [0])
    nothing = op.Concat(op.Shape(rest, start=0, end=1), op.Shape(weights, start=2), axis=0)
    parts.append(op.Expand(number(0, site.dtype), nothing))
    return cast(op.Concat(*parts, axis=0), site.dtype)
