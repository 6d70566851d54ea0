"""A loss of log-probabilities in the operators of version 11, before there was one for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.loss.selection import check
from ingot.ops.nn.through import cast, wide_of
from ingot.ops.older import dtype_of, rank_of, shape_of


def older_loss(
    op: Any,
    log_prob: Any,
    scores: Value,
    target: Value,
    weight: Value | None,
    /,
    *,
    ignore_index: int | None,
    reduction: str,
) -> Any:
    """What `selected_loss` computes; `log_prob` has the shape of `scores`, and its type widened."""
    check(shape_of(scores), None, None, reduction)
    if shape_of(scores)[1] == 0:
        raise UnsupportedError("there are no classes, only samples to ignore")
    wide = wide_of(dtype_of(scores))
    zero, one = (np.asarray(number, wide.numpy) for number in (0, 1))
    ignored, index = None, target
    limits = np.iinfo(dtype_of(target).numpy)
    if ignore_index is not None and limits.min <= ignore_index <= limits.max:
        place = np.asarray(ignore_index, limits.dtype)
        ignored = op.Equal(target, place)
        index = op.Where(ignored, np.zeros((), place.dtype), target)
    picked = op.Squeeze(op.GatherElements(log_prob, op.Unsqueeze(index, axes=[1]), axis=1), axes=[1])
    loss = op.Neg(picked)
    weights = None
    if weight is not None:
        weights = op.Gather(cast(op, weight, dtype_of(weight), wide), index, axis=0)
        loss = op.Mul(loss, weights)
    if ignored is not None:
        loss = op.Where(ignored, zero, loss)
    if reduction == "none":
        return loss
    over = {"axes": list(range(rank_of(scores) - 1)), "keepdims": 0}
    if reduction == "mean" and ignored is None and weights is None:
        return op.ReduceMean(loss, **over)
    total = op.ReduceSum(loss, **over)
    if reduction == "sum":
        return total
    if ignored is not None:
        weights = op.Where(ignored, zero, one if weights is None else weights)
    return op.Div(total, op.ReduceSum(weights, **over))
