"""NegativeLogLikelihoodLoss: how unlikely the true classes were, from log-probabilities."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from ingot.dtypes import Array
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.loss.selection import Classes, loss_type, selected_loss
from ingot.ops.reduction.precision import narrowed, widened
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {12: FLOATS_3, 22: FLOATS})]


@operator("NegativeLogLikelihoodLoss", since=(12, 13, 22))
def negative_log_likelihood_loss(
    log_prob: T,
    target: Classes,
    weight: T | None = None,
    /,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> T:
    """Minus the element of axis 1 that the target names, times the weight of that class; summed or averaged.

    The mean is by the sum of weights. Samples whose target is `ignore_index` have no loss and no weight.
    """
    loss = selected_loss(widened(log_prob), target, weight, ignore_index, reduction)
    return narrowed(loss, log_prob.dtype)


@negative_log_likelihood_loss.infer
def infer(
    log_prob: Fact, target: Fact, weight: Fact | None = None, /, *, ignore_index: int | None, reduction: str
) -> Inferred:
    return loss_type(log_prob, target, weight, reduction)
