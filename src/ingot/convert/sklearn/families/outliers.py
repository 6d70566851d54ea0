"""Outlier detectors: isolation forests and elliptic envelopes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.forests import summed
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.families.trees import features, tree_of
from ingot.convert.sklearn.rule import rule

_KINDS = ("IsolationForest", "EllipticEnvelope")


@rule("score_samples", "IsolationForest")
def isolation(c: Conversion, estimator: Any, x: Rows) -> Var:
    """How soon rows come to be alone: the depth of their leaf, and how deep a tree of the rest would be."""
    from sklearn.ensemble._iforest import _average_path_length

    rows = c.matrix(x) if not isinstance(x, Var) else x
    groups: dict[tuple[int, ...], list[Any]] = {}
    for one, places in zip(estimator.estimators_, estimator.estimators_features_, strict=True):
        depth = np.asarray(one.tree_.compute_node_depths(), np.float64)
        length = depth + _average_path_length(one.tree_.n_node_samples) - 1
        groups.setdefault(tuple(np.asarray(places).tolist()), []).append(tree_of(one, length))
    total: Var | None = None
    for places, trees in groups.items():
        chosen = c.select(rows, places)
        part = summed(features(c, chosen), trees, [0] * len(trees), 1, c.real)
        total = part if total is None else total + part
    assert total is not None
    usual = len(estimator.estimators_) * float(_average_path_length([estimator._max_samples])[0])
    share = total / c.number(usual) if usual else total * c.number(0) + c.number(1)
    return op.Neg(op.Pow(c.number(2), op.Neg(share)))


@rule("score_samples", "EllipticEnvelope")
def envelope(c: Conversion, estimator: Any, x: Rows) -> Var:
    apart = c.matrix(x) - c.array(estimator.location_[None])
    return op.Neg(op.ReduceSum(op.MatMul(apart, c.array(estimator.get_precision())) * apart, [1], keepdims=1))


@rule("decision_function", *_KINDS, "LocalOutlierFactor")
def decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.call("score_samples", estimator, x) - c.number(float(estimator.offset_))


@rule("predict", "IsolationForest", "LocalOutlierFactor")
def isolation_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    outside = c.decision_function(estimator, x) < c.number(0)
    return op.Reshape(op.Where(outside, np.array(-1, np.int64), np.array(1, np.int64)), [-1])


@rule("predict", "EllipticEnvelope", "SGDOneClassSVM")
def envelope_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    inside = c.decision_function(estimator, x) >= c.number(0)
    return op.Reshape(op.Where(inside, np.array(1, np.int64), np.array(-1, np.int64)), [-1])
