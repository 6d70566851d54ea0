"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.torch.operands import operand
from ingot.convert.torch.rule import Site, rule
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("aten.mm.default", "aten.bmm.default", "aten.matmul.default", "aten.mv.default", "aten.dot.default")
def product(site: Site, x: Var, y: Var) -> Var:
    return _product(x, y, site.dtype)


@rule("aten.linear.default")
def linear(site: Site, x: Var, weight: Var, bias: Var | None = None) -> Var:
    """X W' + b; of a matrix, the one operator that takes a weight as torch stores it."""
    if rank(weight) == 1:
        product = op.MatMul(x, weight)
        return product if bias is None else op.Add(product, bias)
    if rank(x) == 2 and site.dtype.is_float:
        return op.Gemm(x, weight, bias, transB=1)
    product = _product(x, op.Transpose(weight, perm=[1, 0], name=f"{weight.name}.T"), site.dtype)
    return product if bias is None else op.Add(product, bias)


@rule("aten.addmm.default")
def addmm(site: Site, bias: Var, x: Var, y: Var, *, beta: Any = 1, alpha: Any = 1) -> Var:
    if site.dtype.is_float and rank(bias) <= 2:
        return (
            op.Gemm(x, y, bias, alpha=float(alpha), beta=float(beta))
            if beta
            else _scaled(_product(x, y, site.dtype), alpha, site)
        )
    return _plus(bias, _product(x, y, site.dtype), beta, alpha, site)


@rule("aten.baddbmm.default", "aten.addmv.default")
def baddbmm(site: Site, bias: Var, x: Var, y: Var, *, beta: Any = 1, alpha: Any = 1) -> Var:
    return _plus(bias, _product(x, y, site.dtype), beta, alpha, site)


@rule("aten.addbmm.default")
def addbmm(site: Site, bias: Var, x: Var, y: Var, *, beta: Any = 1, alpha: Any = 1) -> Var:
    return _plus(bias, op.ReduceSum(_product(x, y, site.dtype), [0], keepdims=0), beta, alpha, site)


@rule("aten.einsum.default")
def einsum(site: Site, equation: str, operands: Sequence[Var], **_: Any) -> Var:
    if not site.dtype.is_float and site.dtype is not DType.INT64:
        raise UnsupportedError(f"einsum of {site.dtype}")
    return op.Einsum(*operands, equation=equation.replace(" ", ""))


@rule("aten._cdist_forward.default", "aten.cdist.default")
def cdist(site: Site, x: Var, y: Var, p: float = 2.0, *_: Any) -> Var:
    """The distance of each row of one matrix to each of another."""
    away = op.Sub(op.Unsqueeze(x, [-2]), op.Unsqueeze(y, [-3]))
    return distance(away, p, site.dtype)


@rule("aten._pdist_forward.default")
def pdist(site: Site, x: Var, p: float = 2.0) -> Var:
    """The distance of each pair of rows, the first row's with all below it first."""
    import numpy as np

    count = site.argument(0).shape[0]
    if not isinstance(count, int):
        raise UnsupportedError("pdist of a number of rows that is not known")
    above, below = np.triu_indices(count, 1)
    away = op.Sub(op.Gather(x, above), op.Gather(x, below))
    return distance(away, p, site.dtype)


def distance(away: Var, p: float, dtype: DType) -> Var:
    """The p-norm along the last axis."""
    size = op.Abs(away)
    if p == 0:
        there = cast(op.Not(op.Equal(away, number(0, dtype))), dtype)
        return op.ReduceSum(there, [-1], keepdims=0)
    if p == 1:
        return op.ReduceSum(size, [-1], keepdims=0)
    if p == 2:
        return op.ReduceL2(away, [-1], keepdims=0)
    if p == float("inf"):
        return op.ReduceMax(size, [-1], keepdims=0)
    total = op.ReduceSum(op.Pow(size, number(p, dtype)), [-1], keepdims=0)
    return op.Pow(total, number(1 / p, dtype))


def _product(x: Var, y: Var, dtype: DType) -> Var:
    if dtype.is_float or dtype in (DType.INT32, DType.INT64, DType.UINT32, DType.UINT64):
        return op.MatMul(x, y)
    return cast(op.MatMul(cast(x, DType.INT64), cast(y, DType.INT64)), dtype)


def _scaled(x: Var, factor: Any, site: Site) -> Var:
    return x if isinstance(factor, int | float) and factor == 1 else op.Mul(x, operand(factor, site.dtype))


def _plus(bias: Var, x: Var, beta: Any, alpha: Any, site: Site) -> Var:
    product = _scaled(x, alpha, site)
    return product if beta == 0 else op.Add(_scaled(bias, beta, site), product)
