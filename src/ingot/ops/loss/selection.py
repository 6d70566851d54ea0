"""What the losses share: the log-probability of each sample's class, weighted, and how they become one."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import Shape, TensorType, format_shape
from ingot.ops.facts import Fact
from ingot.ops.reduction.number import number_of
from ingot.ops.shapes import unify
from ingot.ops.typesets import INDICES, types
from ingot.prim.functions import FLOATING

Classes: TypeAlias = Annotated[Array, types("Tind", INDICES)]


def selected_loss(
    log_prob: Array, target: Array, weight: Array | None, ignore_index: int | None, reduction: str
) -> Array:
    """Minus the log-probability of the target class, times the weight of the class: each, their sum, or their mean.

    The mean is by the sum of weights; ignored samples have loss and weight 0. InputError if a class does not exist.
    """
    check(log_prob.shape, target.shape, None if weight is None else weight.shape, reduction)
    classes = log_prob.shape[1]
    ignored = np.zeros(target.shape, np.bool_) if ignore_index is None else target == ignore_index
    wrong = ~ignored & ((target < 0) | (target >= classes))
    if wrong.any():
        raise InputError(f"class {target[wrong].flat[0]} is not among 0 to {classes - 1}")
    index = np.where(ignored, 0, target)
    if classes == 0:  # then all samples are ignored
        picked = np.zeros(target.shape, log_prob.dtype)
    else:
        picked = np.take_along_axis(log_prob, index[:, np.newaxis], axis=1)[:, 0]
    if weight is None or classes == 0:
        weights = np.where(ignored, 0, 1).astype(log_prob.dtype)
    else:
        weights = np.where(ignored, 0, weight.astype(log_prob.dtype)[index])
    loss = np.where(ignored, 0, -picked * weights)
    match reduction:
        case "none":
            return loss
        case "sum":
            return np.asarray(np.sum(loss, dtype=log_prob.dtype))
    return np.asarray(np.sum(loss, dtype=log_prob.dtype) / np.sum(weights, dtype=log_prob.dtype))


def selected_in_primitives(
    log_prob: prim.Tensor, target: prim.Tensor, weight: prim.Tensor | None, ignore_index: int | None, reduction: str
) -> prim.Tensor:
    """The same; a class that does not exist is found as an index out of range."""
    if log_prob.dtype not in FLOATING:
        raise prim.Refused("log-probabilities of unknown sizes")
    shape = (log_prob.shape[0], *log_prob.shape[2:])
    if target.shape != shape or (weight is not None and weight.shape != log_prob.shape[1:2]):
        raise prim.Refused("numbers of samples, classes or weights that are not known to agree")
    index = prim.cast(target, DType.INT64)
    ignored = None if ignore_index is None else prim.apply("equal", index, ignore_index)
    if ignored is not None:
        index = prim.where(ignored, 0, index)
    loss = -prim.gather(log_prob, [0, index, *range(1, len(shape))], shape)
    weights = None
    if weight is not None:
        weights = prim.gather(weight, [index], shape)
        loss = loss * weights
    if ignored is not None:
        loss = prim.where(ignored, 0, loss)
        weights = None if weights is None else prim.where(ignored, 0, weights)
    if reduction == "none":
        return loss
    total = _total(loss)
    if reduction == "sum":
        return total
    if weights is not None:
        return total / _total(weights)
    if ignored is None:
        return total / number_of(shape, loss.dtype)
    counted = _total(prim.cast(prim.apply("not", ignored), DType.INT64))  # float32 cannot count beyond 2**24
    return total / prim.cast(counted, loss.dtype)


def _total(x: prim.Tensor) -> prim.Tensor:
    return prim.squeeze(prim.reduce_("add", x, range(x.rank)), range(x.rank))


def check(scores: Shape | None, target: Shape | None, weight: Shape | None, reduction: str) -> None:
    """CheckError if there is no such reduction, ShapeError if the shapes do not belong together."""
    if reduction not in ("none", "sum", "mean"):
        raise CheckError(f"reduction is '{reduction}', expected 'none', 'sum' or 'mean'")
    if scores is not None and len(scores) < 2:
        raise ShapeError(f"scores of shape [{format_shape(scores)}] have no axis of classes")
    if weight is not None and len(weight) != 1:
        raise ShapeError(f"weight has {len(weight)} axes, expected 1")
    if scores is not None and weight is not None:
        unify(scores[1], weight[0], "classes and weights")
    if scores is not None and target is not None:
        if len(target) != len(scores) - 1:
            raise ShapeError(f"classes have {len(target)} axes, expected {len(scores) - 1} for scores of {len(scores)}")
        for a, b in zip((scores[0], *scores[2:]), target, strict=True):
            unify(a, b, f"sizes in scores [{format_shape(scores)}] and classes [{format_shape(target)}]")


def loss_type(scores: Fact, target: Fact, weight: Fact | None, reduction: str) -> TensorType | None:
    """The type of the loss."""
    check(scores.shape, target.shape, None if weight is None else weight.shape, reduction)
    if scores.dtype is None:
        return None
    shape = target.shape
    if shape is None and scores.shape is not None:
        shape = (scores.shape[0], *scores.shape[2:])
    return TensorType(scores.dtype, shape if reduction == "none" else ())
