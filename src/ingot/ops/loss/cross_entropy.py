"""SoftmaxCrossEntropyLoss: how unlikely the true classes were, from scores."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.loss.older import older_loss
from ingot.ops.loss.selection import Classes, check, loss_type, selected_in_primitives, selected_loss
from ingot.ops.nn.softmax import by_last_axis
from ingot.ops.nn.through import cast, wide_of
from ingot.ops.older import dtype_of, rank_of
from ingot.ops.reduction.logarithms import finite_maximum, log_sum_exp
from ingot.ops.reduction.precision import narrowed, widened
from ingot.ops.typesets import FLOATS, FLOATS_3, types
from ingot.prim.functions import FLOATING

T: TypeAlias = Annotated[Array, types("T", {12: FLOATS_3, 13: FLOATS})]


@operator("SoftmaxCrossEntropyLoss", since=(12, 13))
def softmax_cross_entropy_loss(
    scores: T,
    labels: Classes,
    weights: T | None = None,
    /,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> tuple[T, T | None]:
    """The loss of the logarithms of the softmax of `scores` along axis 1, and these logarithms.

    Each loss is minus the logarithm that the label names, times the weight of its class; the mean is by the sum of
    weights. Samples whose label is `ignore_index` have no loss and no weight.
    """
    check(scores.shape, labels.shape, None if weights is None else weights.shape, reduction)
    wider = widened(scores)
    log_prob = wider - log_sum_exp(wider, (1,), 1)
    loss = selected_loss(log_prob, labels, weights, ignore_index, reduction)
    return narrowed(loss, scores.dtype), narrowed(log_prob, scores.dtype)


@softmax_cross_entropy_loss.infer
def infer(
    scores: Fact, labels: Fact, weights: Fact | None = None, /, *, ignore_index: int | None, reduction: str
) -> tuple[Inferred, Inferred]:
    return loss_type(scores, labels, weights, reduction), scores.type


@softmax_cross_entropy_loss.lower
def lower(
    scores: prim.Tensor,
    labels: prim.Tensor,
    weights: prim.Tensor | None = None,
    /,
    *,
    ignore_index: int | None,
    reduction: str,
) -> tuple[prim.Tensor, prim.Tensor]:
    if scores.dtype not in FLOATING:
        raise prim.Refused("scores of unknown sizes")
    shifted = scores - finite_maximum(scores, [1])
    log_prob = shifted - prim.apply("log", prim.reduce_("add", prim.apply("exp_nonpositive", shifted), [1]))
    return selected_in_primitives(log_prob, labels, weights, ignore_index, reduction), log_prob


@softmax_cross_entropy_loss.downgrade
def downgrade(
    op: Any, scores: Value, labels: Value, weights: Value | None = None, /, *, version: int, **attributes: Any
) -> Any:
    if version >= softmax_cross_entropy_loss.since[0]:
        raise UnsupportedError("bfloat16 came with version 13")
    dtype = dtype_of(scores)
    wide = wide_of(dtype)
    log_prob = by_last_axis(op, cast(op, scores, dtype, wide), 1, op.LogSoftmax, rank_of(scores))
    loss = older_loss(op, log_prob, scores, labels, weights, **attributes)
    return cast(op, loss, wide, dtype), cast(op, log_prob, wide, dtype)
