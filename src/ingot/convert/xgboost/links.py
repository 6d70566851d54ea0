"""What XGBoost's scores become, by objective."""

from __future__ import annotations

import numpy as np

from ingot.builder import Var, op
from ingot.convert.boosted import Boosted
from ingot.errors import ConvertError

_IDENTITY = (
    *("reg:squarederror", "reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror"),
    *("reg:linear", "reg:expectileerror", "binary:logitraw", "rank:ndcg", "rank:map", "rank:pairwise"),
)
_SIGMOID = ("binary:logistic", "reg:logistic")
_EXP = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")
_SOFTMAX = ("multi:softprob", "multi:softmax")


def answer(boosted: Boosted, raw: Var) -> Var:
    """Of these scores, what `predict` of a booster gives with its margin off: [batch, groups].

    For multi:softmax, whose `predict` gives the class, it is the probabilities.
    """
    name = boosted.objective
    if name in _IDENTITY:
        return raw
    if name in _SIGMOID:
        return op.Sigmoid(raw)
    if name in _EXP:
        return op.Exp(raw)
    if name in _SOFTMAX:
        return op.Softmax(raw, axis=1)
    if name == "binary:hinge":
        return op.Cast(raw > np.float64(0), to=11)
    raise ConvertError(f"there is no rule for the objective '{name}'")


def is_classifier(boosted: Boosted) -> bool:
    """Whether a booster is a classifier."""
    return boosted.objective in (*_SOFTMAX, "binary:logistic", "binary:hinge", "binary:logitraw")


def chances(boosted: Boosted, scores: Var) -> Var:
    """The probabilities of classes: of two, where there is one score."""
    chance = answer(boosted, scores)
    if boosted.objective in _SOFTMAX:
        return chance
    return op.Concat(np.float64(1) - chance, chance, axis=1)


def label(boosted: Boosted, scores: Var) -> Var:
    """The class: int64 [batch], or [batch, targets] where there are several."""
    chance = answer(boosted, scores)
    if boosted.objective in _SOFTMAX:
        return op.ArgMax(chance, axis=1, keepdims=0)
    above = op.Cast(chance > np.float64(0.5), to=7)
    return op.Reshape(above, [-1]) if boosted.groups == 1 else above
