"""Comparisons, logic, and choices by them."""

from __future__ import annotations

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.tensorflow.operands import sizes_of
from ingot.convert.tensorflow.rule import Site, rule
from ingot.dtypes import DType


@rule("NotEqual")
def not_equal(site: Site, x: Var, y: Var) -> Var:
    return op.Not(op.Equal(x, y))


@rule("ApproximateEqual")
def approximate_equal(site: Site, x: Var, y: Var, *, tolerance: float = 1e-5) -> Var:
    return op.Less(op.Abs(op.Sub(x, y)), number(tolerance, x.dtype or DType.FLOAT32))


@rule("Select")
def select(site: Site, condition: Var, yes: Var, no: Var) -> Var:
    """A vector of conditions chooses rows."""
    if rank(condition) == 1 and rank(yes) > 1:
        condition = op.Unsqueeze(condition, list(range(1, rank(yes))))
    return op.Where(condition, yes, no)


@rule("Where")
def where(site: Site, x: Var) -> Var:
    """The places that are not zero, one a row."""
    held = x if x.dtype is DType.BOOL else op.Not(op.Equal(x, number(0, x.dtype or DType.FLOAT32)))
    if rank(x) == 0:
        return op.Reshape(op.NonZero(op.Reshape(held, np.array([1]))), np.array([-1, 0]), allowzero=1)
    return op.Transpose(op.NonZero(held), perm=[1, 0])


@rule("InTopK", "InTopKV2")
def in_top_k(site: Site, predictions: Var, targets: Var, k: Var | None = None) -> Var:
    """Whether fewer than `k` classes are above the target; a target that is not finite is in none."""
    count = k if k is not None else np.array(site.op.get_attr("k"), np.int64)
    own = op.GatherElements(predictions, op.Unsqueeze(cast(targets, DType.INT64), [-1]), axis=1)
    above = op.ReduceSum(cast(op.Greater(predictions, own), DType.INT64), [1], keepdims=0)
    finite = op.Not(op.Or(op.IsInf(own), op.IsNaN(own)))
    return op.And(op.Less(above, cast(count, DType.INT64)), op.Squeeze(finite, [1]))


def like(x: Var, value: object, dtype: DType) -> Var:
    """A tensor of one number, as large as `x`."""
    return op.Expand(number(value, dtype), sizes_of(x))
