"""What CatBoost's scores become, by loss."""

from __future__ import annotations

import numpy as np

from ingot.builder import Var, op
from ingot.convert.boosted import Boosted

_EXP = ("Poisson", "Tweedie")
_SIGMOID = ("Logloss", "CrossEntropy", "MultiClassOneVsAll", "MultiLogloss", "MultiCrossEntropy", "Focal")
_CLASSES = (*_SIGMOID, "MultiClass")


def answer(boosted: Boosted, raw: Var) -> Var:
    """Of these scores, what `predict` of a regressor gives by default: [batch, groups]."""
    if boosted.objective in _EXP:
        return op.Exp(raw)
    if boosted.objective == "RMSEWithUncertainty":
        mean, spread = (op.Slice(raw, [place], [place + 1], [1]) for place in (0, 1))
        return op.Concat(mean, op.Exp(spread * np.float64(2)), axis=1)
    return raw


def is_classifier(boosted: Boosted) -> bool:
    return boosted.objective in _CLASSES


def chances(boosted: Boosted, raw: Var) -> Var:
    """The probabilities of classes: of two, where there is one score."""
    if boosted.groups == 1:
        sure = op.Sigmoid(raw)
        return op.Concat(np.float64(1) - sure, sure, axis=1)
    return op.Softmax(raw, axis=1) if boosted.objective == "MultiClass" else op.Sigmoid(raw)


def label(boosted: Boosted, raw: Var) -> Var:
    """Which class it is: int64 [batch]; [batch, labels] where each row may have several."""
    if boosted.objective in ("MultiLogloss", "MultiCrossEntropy"):
        return op.Cast(raw > np.float64(0), to=7)
    if boosted.groups == 1:
        return op.Reshape(op.Cast(raw > np.float64(0), to=7), [-1])
    return op.ArgMax(raw, axis=1, keepdims=0)
