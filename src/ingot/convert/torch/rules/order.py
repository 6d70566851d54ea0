"""Orders among elements: sorted, the largest, the one in the middle, and where a value would stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, positive, rank
from ingot.convert.torch.rule import Site, rule
from ingot.convert.torch.sizes import Extent, as_row
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("aten.sort.default", "aten.sort.stable")
def sort(site: Site, x: Var, *args: Any, **options: Any) -> Any:
    if args and isinstance(args[0], bool) and site.node.target._overloadname == "stable":
        args = args[1:]
    dim = args[0] if args else options.get("dim", -1)
    descending = args[1] if len(args) > 1 else options.get("descending", False)
    if rank(x) == 0:
        return op.Identity(x), _zero(x)
    return _top(x, _size(x, dim), dim, descending)


@rule("aten.topk.default")
def topk(site: Site, x: Var, k: Extent, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    if rank(x) == 0:
        return op.Identity(x), _zero(x)
    return _top(x, as_row(k), dim, largest)


@rule("aten.argsort.default")
def argsort(site: Site, x: Var, dim: int = -1, descending: bool = False) -> Var:
    order: Var = sort(site, x, dim, descending)[1]
    return order


@rule("aten.kthvalue.default")
def kthvalue(site: Site, x: Var, k: Extent, dim: int = -1, keepdim: bool = False) -> Any:
    return _kth(x, as_row(k), dim, keepdim)


@rule("aten.median.dim")
def median_dim(site: Site, x: Var, dim: int, keepdim: bool = False) -> Any:
    """The one in the middle, or before it."""
    return _kth(x, _middle(x, dim), dim, keepdim) if rank(x) else (op.Identity(x), _zero(x))


@rule("aten.median.default")
def median(site: Site, x: Var) -> Var:
    flat = op.Reshape(x, [-1])
    middle: Var = _kth(flat, _middle(flat, 0), 0, False)[0]
    return middle


@rule("aten.bucketize.Tensor", "aten.searchsorted.Tensor")
def searchsorted(site: Site, x: Var, y: Var, *, out_int32: bool = False, right: bool = False, **more: Any) -> Var:
    """How many boundaries lie below each value, or not above it."""
    bucketized = "bucketize" in str(site.node.target)
    values, edges = (x, y) if bucketized else (y, x)
    if more.get("sorter") is not None or (rank(edges) > 1):
        raise UnsupportedError("searchsorted with a sorter or in rows of their own")
    wide = op.Unsqueeze(values, [-1])
    dtype = site.promoted(0, 1)
    below = "GreaterOrEqual" if (right or more.get("side") == "right") else "Greater"
    counted = op[below](cast(wide, dtype), cast(edges, dtype))
    return op.ReduceSum(cast(counted, site.dtype), [-1], keepdims=0)


def _kth(x: Var, k: Any, dim: int, keepdim: bool) -> Any:
    if rank(x) == 0:
        return op.Identity(x), _zero(x)
    axis = positive(dim, rank(x))
    last = np.array([-1] if keepdim else -1, np.int64)
    return tuple(op.Gather(each, last, axis=axis) for each in _top(x, k, axis, False))


def _middle(x: Var, dim: int) -> Var:
    return op.Div(op.Add(_size(x, dim), np.array([1])), np.array([2]))


def _size(x: Var, dim: int) -> Var:
    return op.Shape(x, start=dim, end=dim + 1 or None)


def _zero(x: Var) -> Var:
    return op.Expand(np.array(0, np.int64), op.Shape(x))


def _top(x: Var, count: Any, dim: int, largest: bool) -> Any:
    if x.dtype is DType.BOOL:
        values, places = op.TopK(cast(x, DType.INT32), count, axis=dim, largest=int(largest), outputs=2)
        return cast(values, DType.BOOL), places
    return op.TopK(x, count, axis=dim, largest=int(largest), outputs=2)
