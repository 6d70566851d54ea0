"""NegativeLogLikelihoodLoss: how unlikely the true classes were, from log-probabilities."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from ingot import prim
from ingot.dtypes import Array
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.loss.older import older_loss
from ingot.ops.loss.selection import Classes, loss_type, selected_in_primitives, selected_loss
from ingot.ops.nn.through import cast, through_float32, wide_of
from ingot.ops.older import dtype_of
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


@negative_log_likelihood_loss.lower
def lower(
    log_prob: prim.Tensor,
    target: prim.Tensor,
    weight: prim.Tensor | None = None,
    /,
    *,
    ignore_index: int | None,
    reduction: str,
) -> prim.Tensor:
    return selected_in_primitives(log_prob, target, weight, ignore_index, reduction)


@negative_log_likelihood_loss.downgrade
def downgrade(
    op: Any, log_prob: Value, target: Value, weight: Value | None = None, /, *, version: int, **attributes: Any
) -> Any:
    if version >= negative_log_likelihood_loss.since[0]:
        inputs = (log_prob, target, weight)
        return through_float32(op, negative_log_likelihood_loss, inputs, attributes, version=version)
    dtype = dtype_of(log_prob)
    wide = wide_of(dtype)
    loss = older_loss(op, cast(op, log_prob, dtype, wide), log_prob, target, weight, **attributes)
    return cast(op, loss, wide, dtype)
