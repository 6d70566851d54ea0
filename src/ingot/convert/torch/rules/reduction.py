"""Reductions over axes, and running ones along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.torch.operands import axes_of
from ingot.convert.torch.rule import Site, rule
from ingot.dtypes import DType

_SMALL = (DType.BOOL, DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)
"""What most reductions of ONNX do not take."""


@rule("aten.sum.dim_IntList", "aten.sum.default")
def sum_(site: Site, x: Var, axes: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Var:
    return reduced("ReduceSum", cast(x, site.dtype), axes, keepdim)


@rule("aten.mean.dim", "aten.mean.default")
def mean(site: Site, x: Var, axes: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Var:
    return reduced("ReduceMean", cast(x, site.dtype), axes, keepdim)


@rule("aten.prod.dim_int", "aten.prod.default")
def prod(site: Site, x: Var, axes: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Var:
    return reduced("ReduceProd", cast(x, site.dtype), axes, keepdim)


@rule("aten.amax.default", "aten.max.default")
def amax(site: Site, x: Var, axes: Any = None, keepdim: bool = False) -> Var:
    return reduced("ReduceMax", x, axes, keepdim)


@rule("aten.amin.default", "aten.min.default")
def amin(site: Site, x: Var, axes: Any = None, keepdim: bool = False) -> Var:
    return reduced("ReduceMin", x, axes, keepdim)


@rule("aten.any.default", "aten.any.dim", "aten.any.dims")
def any_(site: Site, x: Var, axes: Any = None, keepdim: bool = False) -> Var:
    return cast(reduced("ReduceMax", cast(cast(x, DType.BOOL), DType.INT32), axes, keepdim), site.dtype)


@rule("aten.all.default", "aten.all.dim", "aten.all.dims")
def all_(site: Site, x: Var, axes: Any = None, keepdim: bool = False) -> Var:
    return cast(reduced("ReduceMin", cast(cast(x, DType.BOOL), DType.INT32), axes, keepdim), site.dtype)


@rule("aten.max.dim")
def max_dim(site: Site, x: Var, dim: int, keepdim: bool = False) -> Any:
    return reduced("ReduceMax", x, [dim], keepdim), _place("ArgMax", x, dim, keepdim)


@rule("aten.min.dim")
def min_dim(site: Site, x: Var, dim: int, keepdim: bool = False) -> Any:
    return reduced("ReduceMin", x, [dim], keepdim), _place("ArgMin", x, dim, keepdim)


@rule("aten.argmax.default")
def argmax(site: Site, x: Var, dim: int | None = None, keepdim: bool = False) -> Var:
    return _place("ArgMax", x, dim, keepdim)


@rule("aten.argmin.default")
def argmin(site: Site, x: Var, dim: int | None = None, keepdim: bool = False) -> Var:
    return _place("ArgMin", x, dim, keepdim)


@rule("aten.var.correction", "aten.var.dim")
def var(site: Site, x: Var, axes: Any = None, *more: Any, **options: Any) -> Var:
    keepdim, correction = _moment_options(more, options)
    return variance(x, axes, correction, keepdim, site.dtype)


@rule("aten.std.correction", "aten.std.dim")
def std(site: Site, x: Var, axes: Any = None, *more: Any, **options: Any) -> Var:
    keepdim, correction = _moment_options(more, options)
    return op.Sqrt(variance(x, axes, correction, keepdim, site.dtype))


@rule("aten.var_mean.correction")
def var_mean(site: Site, x: Var, axes: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    freedom = 1 if correction is None else correction
    return variance(x, axes, freedom, keepdim, site.dtype), reduced("ReduceMean", x, axes, keepdim)


@rule("aten.logsumexp.default")
def logsumexp(site: Site, x: Var, axes: Any, keepdim: bool = False) -> Var:
    return reduced("ReduceLogSumExp", cast(x, site.dtype), axes, keepdim)


def _cumulative(op_type: str) -> Any:
    def write(site: Site, x: Var, dim: int, *, dtype: Any = None) -> Var:
        x = cast(x, site.dtype)
        return op.Identity(x) if rank(x) == 0 else op[op_type](x, np.array(dim, np.int64))

    return write


cumulative = [rule("aten.cumsum.default")(_cumulative("CumSum")), rule("aten.cumprod.default")(_cumulative("CumProd"))]


@rule("aten.linalg_vector_norm.default")
def vector_norm(
    site: Site, x: Var, order: float = 2, axes: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Var:
    x = cast(x, site.dtype)
    if order == 1:
        return reduced("ReduceL1", x, axes, keepdim)
    if order == 2:
        return reduced("ReduceL2", x, axes, keepdim)
    sizes = op.Abs(x)
    if order == float("inf"):
        return reduced("ReduceMax", sizes, axes, keepdim)
    if order == float("-inf"):
        return reduced("ReduceMin", sizes, axes, keepdim)
    if order == 0:
        there = cast(op.Not(op.Equal(x, number(0, site.dtype))), site.dtype)
        return reduced("ReduceSum", there, axes, keepdim)
    total = reduced("ReduceSum", op.Pow(sizes, number(order, site.dtype)), axes, keepdim)
    return op.Pow(total, number(1 / order, site.dtype))


def reduced(op_type: str, x: Var, axes: int | Sequence[int] | None, keepdim: bool = False) -> Var:
    """A reduction over axes, all where none are given; of bools and small integers by way of larger ones."""
    if x.dtype in _SMALL:
        return cast(reduced(op_type, cast(x, DType.INT32), axes, keepdim), x.dtype)
    if rank(x) == 0:
        return op[op_type](op.Unsqueeze(x, [0]), np.array([0]), keepdims=0)
    reduced_axes = np.array(axes_of(axes, rank(x)), np.int64)
    return op[op_type](x, reduced_axes, keepdims=int(keepdim))


def variance(x: Var, axes: Any, correction: Any, keepdim: bool, dtype: DType) -> Var:
    """The mean square distance to the mean, the count lessened by `correction`."""
    x = cast(x, dtype)
    if rank(x) == 0:
        x, axes, keepdim = op.Unsqueeze(x, [0]), [0], False
    over = axes_of(axes, rank(x))
    away = op.Sub(x, op.ReduceMean(x, np.array(over, np.int64), keepdims=1))
    squares = op.Mul(away, away)
    if correction == 0:
        return op.ReduceMean(squares, np.array(over, np.int64), keepdims=int(keepdim))
    total = op.ReduceSum(squares, np.array(over, np.int64), keepdims=int(keepdim))
    count = op.ReduceProd(op.Gather(op.Shape(x), np.array(over, np.int64)), keepdims=0)
    lessened = op.Sub(cast(count, dtype), number(correction, dtype))
    return op.Div(total, op.Max(lessened, number(0, dtype)))


def _moment_options(more: tuple[Any, ...], options: dict[str, Any]) -> tuple[bool, Any]:
    """Whether to keep the axes, and the correction: of the overload with `unbiased` by place, or by name."""
    if more:
        unbiased, keepdim = (*more, False)[:2]
        return bool(keepdim), int(unbiased)
    correction = options.get("correction")
    if "unbiased" in options:
        correction = int(options["unbiased"])
    return bool(options.get("keepdim", False)), 1 if correction is None else correction


def _place(op_type: str, x: Var, dim: int | None, keepdim: bool) -> Var:
    """Where the extreme is, the first of several."""
    if x.dtype is DType.BOOL:
        x = cast(x, DType.UINT8)
    count = rank(x)
    if count == 0 or dim is None:
        flat = op.Reshape(x, [-1])
        place = op[op_type](flat, axis=0, keepdims=0)
        return op.Reshape(place, [1] * count) if keepdim and count else place
    return op[op_type](x, axis=dim, keepdims=int(keepdim))
