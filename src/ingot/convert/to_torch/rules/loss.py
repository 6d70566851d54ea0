"""Losses."""

from __future__ import annotations

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("NegativeLogLikelihoodLoss")
def negative_log_likelihood(
    _site: Site,
    scores: Operand,
    target: Operand,
    weight: Operand | None = None,
    *,
    ignore_index: int | None,
    reduction: str,
) -> Expression:
    return _loss(str(scores), target, weight, ignore_index, reduction)


@rule("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(
    site: Site,
    scores: Operand,
    labels: Operand,
    weights: Operand | None = None,
    *,
    ignore_index: int | None,
    reduction: str,
) -> Expression:
    logs = site.held(f"torch.log_softmax({scores}, dim=1)")
    return [_loss(logs, labels, weights, ignore_index, reduction), Operand(logs, site.node.outputs[-1].type)]


def _loss(scores: str, target: Operand, weight: Operand | None, ignored: int | None, reduction: str) -> str:
    if reduction not in ("none", "mean", "sum"):
        raise UnsupportedError("its reduction is none that is known")
    options = "" if weight is None else f", weight={weight}"
    options += "" if ignored is None else f", ignore_index={ignored}"
    options += "" if reduction == "mean" else f', reduction="{reduction}"'
    places = str(target) if target.dtype is DType.INT64 else f"{target}.to(torch.int64)"
    return f"F.nll_loss({scores}, {places}{options})"
