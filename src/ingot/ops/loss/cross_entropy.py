"""SoftmaxCrossEntropyLoss: how unlikely the true classes were, from scores."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from ingot.dtypes import Array
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.loss.selection import Classes, check, loss_type, selected_loss
from ingot.ops.reduction.logarithms import log_sum_exp
from ingot.ops.reduction.precision import narrowed, widened
from ingot.ops.typesets import FLOATS, FLOATS_3, types

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
