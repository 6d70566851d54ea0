"""Segments: rows that an index puts together, reduced."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.tensorflow.operands import joined, row, scalar, sizes_of
from ingot.convert.tensorflow.rule import Site, rule
from ingot.dtypes import DType

_ONE = np.array([1], np.int64)


@rule("SegmentSum")
def segment_sum(site: Site, x: Var, segments: Var) -> Var:
    return _sorted(site, x, segments, "add", 0, None)


@rule("SegmentProd")
def segment_prod(site: Site, x: Var, segments: Var) -> Var:
    return _sorted(site, x, segments, "mul", 1, None)


@rule("SegmentMean")
def segment_mean(site: Site, x: Var, segments: Var) -> Var:
    return _mean(site, x, segments, None, 1)


@rule("SegmentMax", "SegmentMin")
def segment_extreme(site: Site, x: Var, segments: Var) -> Var:
    """Zero for a segment without rows."""
    largest = site.op.type == "SegmentMax"
    extremes = _sorted(site, x, segments, "max" if largest else "min", _extreme(site.dtype, not largest), None)
    filled = _rows(op.Expand(number(1, DType.INT64), sizes_of(segments)), segments, "add", 0, None, DType.INT64)
    if rank(x) > 1:
        filled = op.Unsqueeze(filled, list(range(1, rank(x))))
    return op.Where(op.Equal(filled, np.array(0, np.int64)), number(0, site.dtype), extremes)


@rule("UnsortedSegmentSum")
def unsorted_sum(site: Site, x: Var, segments: Var, count: Var) -> Var:
    return _unsorted(site, x, segments, count, "add", 0)


@rule("UnsortedSegmentProd")
def unsorted_prod(site: Site, x: Var, segments: Var, count: Var) -> Var:
    return _unsorted(site, x, segments, count, "mul", 1)


@rule("UnsortedSegmentMax")
def unsorted_max(site: Site, x: Var, segments: Var, count: Var) -> Var:
    return _unsorted(site, x, segments, count, "max", _extreme(site.dtype, False))


@rule("UnsortedSegmentMin")
def unsorted_min(site: Site, x: Var, segments: Var, count: Var) -> Var:
    return _unsorted(site, x, segments, count, "min", _extreme(site.dtype, True))


@rule("SparseSegmentSum", "SparseSegmentSumWithNumSegments")
def sparse_segment_sum(site: Site, x: Var, rows: Var, segments: Var, count: Var | None = None) -> Var:
    return _sorted(site, op.Gather(x, rows, axis=0), segments, "add", 0, count)


@rule("SparseSegmentMean", "SparseSegmentMeanWithNumSegments")
def sparse_segment_mean(site: Site, x: Var, rows: Var, segments: Var, count: Var | None = None) -> Var:
    return _mean(site, op.Gather(x, rows, axis=0), segments, count, 1)


@rule("SparseSegmentSqrtN", "SparseSegmentSqrtNWithNumSegments")
def sparse_segment_sqrt_n(site: Site, x: Var, rows: Var, segments: Var, count: Var | None = None) -> Var:
    return _mean(site, op.Gather(x, rows, axis=0), segments, count, 0.5)


def _extreme(dtype: DType, largest: bool) -> Any:
    limits = np.iinfo(dtype.numpy) if dtype.is_integer else np.finfo(dtype.numpy)
    return limits.max if largest else limits.min


def _sorted(site: Site, x: Var, segments: Var, how: str, start: Any, count: Var | None) -> Var:
    return _rows(x, segments, how, start, None if count is None else scalar(site, count), site.dtype)


def _rows(x: Var, segments: Var, how: str, start: Any, count: Any, dtype: DType) -> Var:
    """Rows put together; as many as the largest index needs where the number is not stated."""
    places = cast(segments, DType.INT64)
    first = op.Add(op.ReduceMax(places, keepdims=1), _ONE) if count is None else row(cast(count, DType.INT64))
    sizes = joined(first, op.Slice(sizes_of(x), [1], [rank(x)])) if rank(x) > 1 else first
    return op.ScatterND(op.Expand(number(start, dtype), sizes), op.Unsqueeze(places, [-1]), x, reduction=how)


def _unsorted(site: Site, x: Var, segments: Var, count: Var, how: str, start: Any) -> Var:
    """Rows of a negative index go to one row more, which is cut off."""
    inner = rank(segments)
    places = cast(segments, DType.INT64)
    if inner != 1:
        places = op.Reshape(places, np.array([-1]))
        tail = [op.Slice(sizes_of(x), [inner], [rank(x)])] if rank(x) > inner else []
        x = op.Reshape(x, joined(np.array([-1]), *tail))
    total = row(scalar(site, count))
    safe_places = op.Where(op.Less(places, np.array(0, np.int64)), total, places)
    rows = _rows(x, safe_places, how, start, op.Add(total, _ONE), site.dtype)
    return op.Slice(rows, [0], total, [0])


def _mean(site: Site, x: Var, segments: Var, count: Var | None, power: float) -> Var:
    total = _sorted(site, x, segments, "add", 0, count)
    limit = None if count is None else scalar(site, count)
    ones = op.Expand(number(1, site.dtype), sizes_of(segments))
    counts = _rows(ones, segments, "add", 0, limit, site.dtype)
    counts = op.Max(counts, number(1, site.dtype))
    if power != 1:
        counts = op.Sqrt(counts)
    return op.Div(total, op.Unsqueeze(counts, list(range(1, rank(x)))) if rank(x) > 1 else counts)
