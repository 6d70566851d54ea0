"""What LightGBM's scores become, by objective."""

from __future__ import annotations

import numpy as np

from ingot.builder import Var, op
from ingot.convert.boosted import Boosted
from ingot.errors import ConvertError

_IDENTITY = ("", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg", "custom", "none")
_EXP = ("poisson", "gamma", "tweedie")


def answer(boosted: Boosted, raw: Var) -> Var:
    """Of these scores, what `predict` of a booster gives with raw scores off: [batch, groups]."""
    name = boosted.objective
    steep = np.float64(boosted.parameters.get("sigmoid", 1.0))
    if name == "regression":
        return op.Sign(raw) * raw * raw if boosted.parameters.get("sqrt") else raw
    if name in _IDENTITY:
        return raw
    if name in _EXP:
        return op.Exp(raw)
    if name in ("binary", "multiclassova"):
        return op.Sigmoid(raw * steep)
    if name == "cross_entropy":
        return op.Sigmoid(raw)
    if name == "cross_entropy_lambda":
        # Softplus, which engines have in float32 only
        return op.Max(raw, np.float64(0)) + op.Log(op.Exp(op.Neg(op.Abs(raw))) + np.float64(1))
    if name == "multiclass":
        return op.Softmax(raw, axis=1)
    raise ConvertError(f"there is no rule for the objective '{name}'")


def is_classifier(boosted: Boosted) -> bool:
    return boosted.objective in ("binary", "multiclass", "multiclassova")


def chances(boosted: Boosted, scores: Var) -> Var:
    """The probabilities of classes: of two, where there is one score."""
    chance = answer(boosted, scores)
    return op.Concat(np.float64(1) - chance, chance, axis=1) if boosted.groups == 1 else chance


def label(boosted: Boosted, scores: Var) -> Var:
    """Which class it is: int64 [batch]."""
    chance = answer(boosted, scores)
    if boosted.groups == 1:
        return op.Reshape(op.Cast(chance > np.float64(0.5), to=7), [-1])
    return op.ArgMax(chance, axis=1, keepdims=0)
