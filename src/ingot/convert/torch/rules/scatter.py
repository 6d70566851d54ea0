"""Putting elements along one axis: by an index for each, by rows, or into a slice."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.elementary import floor_divided
from ingot.convert.operands import cast, number, positive, rank
from ingot.convert.torch.operands import operand
from ingot.convert.torch.rule import Site, rule
from ingot.convert.torch.sizes import Extent, as_row
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_END = np.iinfo(np.int64).max


@rule("aten.scatter.src", "aten.scatter.value", "aten.scatter.reduce", "aten.scatter.value_reduce")
def scatter(site: Site, x: Var, dim: int, index: Var, source: Any, *, reduce: str | None = None) -> Var:
    reduction = {None: "none", "add": "add", "multiply": "mul"}[reduce]
    return _scattered(site, x, dim, index, source, reduction)


@rule("aten.scatter_add.default")
def scatter_add(site: Site, x: Var, dim: int, index: Var, source: Var) -> Var:
    return _scattered(site, x, dim, index, source, "add")


@rule("aten.scatter_reduce.two")
def scatter_reduce(
    site: Site, x: Var, dim: int, index: Var, source: Var, reduce: str, *, include_self: bool = True
) -> Var:
    """Elements put where the index points, joined with what is there and with each other."""
    dtype = site.dtype
    if dtype is DType.BOOL:
        if reduce == "mean":
            raise UnsupportedError("the mean of bools")
        wide, parts = cast(x, DType.INT32), cast(source, DType.INT32)
        return cast(_reduced_into(site, wide, dim, index, parts, _OF_BOOLS[reduce], include_self), dtype)
    return _reduced_into(site, x, dim, index, source, reduce, include_self)


_OF_BOOLS = {"sum": "amax", "prod": "amin", "amax": "amax", "amin": "amin"}


def _reduced_into(site: Site, x: Var, dim: int, index: Var, source: Var, reduce: str, include_self: bool) -> Var:
    dtype = x.dtype
    assert dtype is not None
    kind = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}[reduce]
    start = x
    if not include_self:
        neutral = {"add": 0, "mul": 1, "max": _limit(dtype, -1), "min": _limit(dtype, 1)}[kind]
        start = _scattered(site, x, dim, index, neutral, "none")
    scattered = _scattered(site, start, dim, index, source, kind)
    if reduce != "mean":
        return scattered
    ones = op.Expand(number(1, dtype), op.Shape(x))
    counts = ones if include_self else _scattered(site, ones, dim, index, 0, "none")
    counts = _scattered(site, counts, dim, index, 1, "add")
    if dtype.is_float:
        return op.Div(scattered, counts)
    return floor_divided(scattered, counts, dtype)


@rule("aten.index_add.default")
def index_add(site: Site, x: Var, dim: int, index: Var, source: Var, *, alpha: Any = 1) -> Var:
    if site.dtype is DType.BOOL:
        raise UnsupportedError("index_add of bools")
    source = cast(source, site.dtype)
    if alpha != 1:
        source = op.Mul(source, operand(alpha, site.dtype))
    if rank(x) == 0:
        row = op.Reshape(source, [-1])
        total = op.ScatterElements(op.Reshape(x, [1]), op.Reshape(index, [-1]), row, reduction="add")
        return op.Reshape(total, np.zeros(0, np.int64))
    axis = positive(dim, rank(x))
    index = op.Unsqueeze(index, [0]) if rank(index) == 0 else index
    shape = [1] * rank(x)
    shape[axis] = -1
    spread = op.Expand(op.Reshape(index, shape), op.Shape(source))
    return op.ScatterElements(x, spread, source, axis=axis, reduction="add")


@rule("aten.index_copy.default")
def index_copy(site: Site, x: Var, dim: int, index: Var, source: Var) -> Var:
    if rank(x) == 0:
        return op.Identity(source)
    axis = positive(dim, rank(x))
    shape = [1] * rank(x)
    shape[axis] = -1
    spread = op.Expand(op.Reshape(index, shape), op.Shape(source))
    return op.ScatterElements(x, spread, cast(source, site.dtype), axis=axis)


@rule("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
def index_fill(site: Site, x: Var, dim: int, index: Var, value: Any) -> Var:
    axis = positive(dim, max(rank(x), 1))
    if rank(x) == 0:
        return operand(value, site.dtype) if not isinstance(value, Var) else cast(value, site.dtype)
    shape = [1] * rank(x)
    shape[axis] = -1
    sizes = op.Shape(x)
    many = op.Reshape(op.Size(index), [1])
    wanted = op.ScatterElements(sizes, np.array([axis]), many)
    spread = op.Expand(op.Reshape(index, shape), wanted)
    return op.ScatterElements(x, spread, op.Expand(operand(value, site.dtype), wanted), axis=axis)


@rule("aten.select_scatter.default")
def select_scatter(site: Site, x: Var, source: Var, dim: int, index: Extent) -> Var:
    axis = positive(dim, rank(x))
    return _put_slice(site, x, op.Unsqueeze(source, [axis]), axis, as_row(index))


@rule("aten.slice_scatter.default")
def slice_scatter(
    site: Site,
    x: Var,
    source: Var,
    dim: int = 0,
    start: Extent | None = None,
    end: Extent | None = None,
    step: Extent = 1,
) -> Var:
    axis = positive(dim, rank(x))
    every = op.Range(np.array(0), op.Squeeze(op.Shape(x, start=axis, end=axis + 1), [0]), np.array(1))
    first, last = as_row(0 if start is None else start), as_row(_END if end is None else end)
    return _put_slice(site, x, source, axis, op.Slice(every, first, last, [0], as_row(step)))


def _scattered(site: Site, x: Var, dim: int, index: Var, source: Any, reduction: str) -> Var:
    if rank(x) == 0 or rank(index) == 0:
        row = op.Reshape(x, [1]) if rank(x) == 0 else x
        where = op.Reshape(index, [1])
        part = op.Reshape(source, [1]) if isinstance(source, Var) else source
        scattered = _scattered(site, row, 0, where, part, reduction)
        return op.Reshape(scattered, np.zeros(0, np.int64)) if rank(x) == 0 else scattered
    dtype = x.dtype
    assert dtype is not None
    if isinstance(source, Var):
        starts = np.zeros(rank(x), np.int64)
        updates = op.Slice(cast(source, dtype), starts, op.Shape(index))  # torch lets the source be larger
    else:
        updates = op.Expand(operand(source, dtype), op.Shape(index))
    if dtype is DType.BOOL and reduction != "none":
        wide = op.ScatterElements(
            cast(x, DType.INT32), index, cast(updates, DType.INT32), axis=dim, reduction=reduction
        )
        return cast(wide, DType.BOOL)
    return op.ScatterElements(x, index, updates, axis=dim, reduction=reduction)


def _put_slice(site: Site, x: Var, source: Var, axis: int, places: Any) -> Var:
    """`source` put at places along one axis."""
    order = [axis, *(each for each in range(rank(x)) if each != axis)]
    moved = op.Transpose(x, perm=order) if axis else x
    part = cast(source, site.dtype)
    part = op.Transpose(part, perm=order) if axis else part
    size = op.Shape(x, start=axis, end=axis + 1)
    places = op.Where(op.Less(places, np.array(0)), op.Add(places, size), places)
    wanted = op.Concat(op.Shape(places), op.Slice(op.Shape(moved), [1], [_END]), axis=0)
    scattered = op.ScatterND(moved, op.Unsqueeze(places, [-1]), op.Expand(part, wanted))
    return op.Transpose(scattered, perm=[order.index(each) for each in range(rank(x))]) if axis else scattered


def _limit(dtype: DType, sign: int) -> Any:
    if dtype.is_float:
        return sign * np.inf
    limits = np.iinfo(dtype.numpy)
    return limits.max if sign > 0 else limits.min
