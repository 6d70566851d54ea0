"""Reductions over axes, and running ones along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, constant, number, positive, rank
from ingot.convert.tensorflow.dtypes import dtype_of
from ingot.convert.tensorflow.operands import axes_of, known, sizes_of, transposed
from ingot.convert.tensorflow.rule import Site, rule
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_NARROW = (DType.INT16, DType.UINT16, DType.INT8, DType.UINT8)
"""Integers that ONNX does not reduce in all its reductions."""


@rule("Sum")
def sum_(site: Site, x: Var, axes: Var, *, keep_dims: bool = False) -> Var:
    return reduced("ReduceSum", x, axes, keep_dims)


@rule("Prod")
def prod(site: Site, x: Var, axes: Var, *, keep_dims: bool = False) -> Var:
    return reduced("ReduceProd", x, axes, keep_dims)


@rule("Max")
def max_(site: Site, x: Var, axes: Var, *, keep_dims: bool = False) -> Var:
    return reduced("ReduceMax", x, axes, keep_dims)


@rule("Min")
def min_(site: Site, x: Var, axes: Var, *, keep_dims: bool = False) -> Var:
    return reduced("ReduceMin", x, axes, keep_dims)


@rule("Mean")
def mean(site: Site, x: Var, axes: Var, *, keep_dims: bool = False) -> Var:
    if site.dtype.is_float:
        return reduced("ReduceMean", x, axes, keep_dims)
    if constant(axes) is None:
        raise UnsupportedError("a mean of integers over axes that are not known")
    along = axes_of(axes, rank(x))
    total = reduced("ReduceSum", x, axes, keep_dims)
    count = op.ReduceProd(op.Gather(op.Shape(x), np.array(along, np.int64)), keepdims=0)
    return op.Div(total, cast(count, site.dtype))


@rule("EuclideanNorm")
def euclidean_norm(site: Site, x: Var, axes: Var, *, keep_dims: bool = False) -> Var:
    return reduced("ReduceL2", x, axes, keep_dims)


@rule("All")
def all_(site: Site, x: Var, axes: Var, *, keep_dims: bool = False) -> Var:
    return cast(reduced("ReduceMin", cast(x, DType.INT32), axes, keep_dims), DType.BOOL)


@rule("Any")
def any_(site: Site, x: Var, axes: Var, *, keep_dims: bool = False) -> Var:
    held = reduced("ReduceSum", cast(x, DType.INT32), axes, keep_dims)  # a maximum of none has no value
    return op.Greater(held, number(0, DType.INT32))


@rule("ArgMax")
def argmax(site: Site, x: Var, axis: Var) -> Var:
    return _place("ArgMax", site, x, axis)


@rule("ArgMin")
def argmin(site: Site, x: Var, axis: Var) -> Var:
    return _place("ArgMin", site, x, axis)


@rule("Cumsum")
def cumsum(site: Site, x: Var, axis: Var, *, exclusive: bool = False, reverse: bool = False) -> Var:
    dtype = site.dtype
    wide = cast(x, DType.INT32) if dtype in _NARROW else x
    sums = op.CumSum(wide, cast(axis, DType.INT64), exclusive=int(exclusive), reverse=int(reverse))
    return cast(sums, dtype)


@rule("Cumprod")
def cumprod(site: Site, x: Var, axis: Var, *, exclusive: bool = False, reverse: bool = False) -> Var:
    return _running(x, axis, number(1, site.dtype), op.Mul, exclusive, reverse)


@rule("CumulativeLogsumexp")
def cumulative_logsumexp(site: Site, x: Var, axis: Var, *, exclusive: bool = False, reverse: bool = False) -> Var:
    lowest = number(np.finfo(site.dtype.numpy).min, site.dtype)

    def both(total: Var, item: Var) -> Var:
        larger, smaller = op.Max(total, item), op.Min(total, item)
        return op.Add(larger, op.Log(op.Add(number(1, site.dtype), op.Exp(op.Sub(smaller, larger)))))

    return _running(x, axis, lowest, both, exclusive, reverse)


@rule("TopKV2")
def top_k(site: Site, x: Var, k: Var) -> tuple[Var, Var]:
    count = op.Reshape(cast(k, DType.INT64), np.array([1]))
    narrow = site.dtype in (DType.BFLOAT16, DType.INT8, DType.INT16, DType.UINT8, DType.UINT16)
    wide = cast(x, DType.FLOAT32 if site.dtype.is_float else DType.INT64) if narrow else x
    values, places = op.TopK(wide, count, axis=-1, largest=1, sorted=1, outputs=2)
    return cast(values, site.dtype), _as_output(site, 1, places)


@rule("NthElement")
def nth_element(site: Site, x: Var, n: Var, *, reverse: bool = False) -> Var:
    count = op.Add(op.Reshape(cast(n, DType.INT64), np.array([1])), np.array([1]))
    values, _ = op.TopK(x, count, axis=-1, largest=int(reverse), sorted=1, outputs=2)
    return op.Gather(values, np.array(-1), axis=-1)


def reduced(name: str, x: Var, axes: Any, keep: bool) -> Var:
    """A reduction over the axes that an input names: of none, `x` itself."""
    held = constant(axes)
    if held is not None and held.size == 0:
        return x
    dtype = x.dtype or DType.FLOAT32
    wide = cast(x, DType.INT32) if dtype in _NARROW else x
    along = (
        np.array(held, np.int64).reshape(-1)
        if held is not None
        else op.Reshape(cast(axes, DType.INT64), np.array([-1]))
    )
    if held is not None and x.rank is not None:
        along = np.array(sorted(positive(int(axis), x.rank) for axis in held.ravel()), np.int64)
        if len(along) == x.rank:
            return cast(op[name](wide, keepdims=int(keep)), dtype)
    return cast(op[name](wide, along, keepdims=int(keep)), dtype)


def _place(name: str, site: Site, x: Var, axis: Var) -> Var:
    along = int(known(axis, "the axis").item())
    narrow = x.dtype in (DType.BFLOAT16, DType.INT16, DType.UINT16, DType.UINT32, DType.UINT64, DType.BOOL)
    if narrow:
        x = cast(x, DType.FLOAT32 if x.dtype is DType.BFLOAT16 else DType.INT64)
    return _as_output(site, 0, op[name](x, axis=along, keepdims=0))


def _as_output(site: Site, result: int, places: Var) -> Var:
    return cast(places, dtype_of(site.op.outputs[result].dtype))


def _running(x: Var, axis: Any, start: Any, both: Callable[[Var, Var], Var], exclusive: bool, reverse: bool) -> Var:
    """Results of all elements so far along an axis, one after another."""
    count = rank(x)
    along = axes_of(axis, count)[0]
    order = [along, *(at for at in range(count) if at != along)]
    moved = transposed(x, order)
    first = op.Expand(start, op.Slice(sizes_of(moved), [1], [count]))

    def step(total: Var, item: Var) -> tuple[Var, Var]:
        both_items = both(total, item)
        return both_items, total if exclusive else both_items

    direction = [int(reverse)]
    _, running = op.Scan([first], [moved], body=step, scan_input_directions=direction, scan_output_directions=direction)
    return transposed(running, list(np.argsort(order)))
