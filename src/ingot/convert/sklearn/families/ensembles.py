"""Ensembles of any estimators: voting, stacking, bagging, AdaBoost, calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import above, argmax, interpolated, labels, linear, normalised, pick, softmax
from ingot.convert.sklearn.conversion import Columns, Conversion, Rows
from ingot.convert.sklearn.families.composition import joined
from ingot.convert.sklearn.families.encoders import positions
from ingot.convert.sklearn.rule import children, refusal, rule
from ingot.errors import ConvertError


@children("VotingClassifier", "VotingRegressor", "BaggingClassifier", "BaggingRegressor")
@children("AdaBoostClassifier", "AdaBoostRegressor")
def members(estimator: Any) -> list[Any]:
    return list(estimator.estimators_)


@children("StackingClassifier", "StackingRegressor")
def stacked_members(estimator: Any) -> list[Any]:
    return [*estimator.estimators_, estimator.final_estimator_]


@children("CalibratedClassifierCV")
def calibrated_members(estimator: Any) -> list[Any]:
    return [one.estimator for one in estimator.calibrated_classifiers_]


def _shares(estimator: Any) -> Any:
    weights = estimator._weights_not_none
    count = len(estimator.estimators_)
    shares = np.ones(count) if weights is None else np.asarray(weights, np.float64)
    return shares / shares.sum()


def _weighted(c: Conversion, parts: list[Var], weights: Any) -> Var:
    total: Var | None = None
    for part, weight in zip(parts, weights, strict=True):
        term = part * c.number(float(weight))
        total = term if total is None else total + term
    assert total is not None
    return total


@rule("predict", "VotingRegressor")
def voting_regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _weighted(c, [c.predict(one, x) for one in estimator.estimators_], _shares(estimator))


@rule("transform", "VotingRegressor")
def voting_columns(c: Conversion, estimator: Any, x: Rows) -> Var:
    return joined(c, [c.predict(one, x) for one in estimator.estimators_])


@rule("predict_proba", "VotingClassifier")
def voting_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _weighted(c, [c.predict_proba(one, x) for one in estimator.estimators_], _shares(estimator))


@rule("predict", "VotingClassifier")
def voting_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    if estimator.voting == "soft":
        return labels(c, estimator.classes_, argmax(c.predict_proba(estimator, x)))
    count = len(estimator.classes_)
    votes = [op.Gather(c.array(np.eye(count)), c.predict(one, x), axis=0) for one in estimator.estimators_]
    return labels(c, estimator.classes_, argmax(_weighted(c, votes, _shares(estimator) * len(votes))))


@rule("transform", "VotingClassifier")
def voting_rows(c: Conversion, estimator: Any, x: Rows) -> Var:
    if estimator.voting == "soft":
        return joined(c, [c.predict_proba(one, x) for one in estimator.estimators_])
    return joined(c, [op.Unsqueeze(c.predict(one, x), [1]) for one in estimator.estimators_])


@rule("transform", "StackingClassifier", "StackingRegressor")
def stacking_rows(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = []
    two = len(getattr(estimator, "classes_", ())) == 2
    for one, method in zip(estimator.estimators_, estimator.stack_method_, strict=True):
        part = c.call(method, one, x)
        if method == "predict" and part.rank == 1:
            part = op.Unsqueeze(part, [1])
        parts.append(pick(part, 1) if method == "predict_proba" and two else part)
    if estimator.passthrough:
        parts.append(c.matrix(x))
    return joined(c, [c.cast(part, c.real) for part in parts])


@rule("predict", "StackingRegressor")
def stacking_regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.predict(estimator.final_estimator_, c.transform(estimator, x))


@rule("predict", "StackingClassifier")
def stacking_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    return labels(c, estimator.classes_, c.predict(estimator.final_estimator_, c.transform(estimator, x)))


@rule("predict_proba", "StackingClassifier")
def stacking_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.predict_proba(estimator.final_estimator_, c.transform(estimator, x))


@rule("decision_function", "StackingClassifier")
def stacking_decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.decision_function(estimator.final_estimator_, c.transform(estimator, x))


def _bag(c: Conversion, estimator: Any, x: Rows) -> list[tuple[Any, Rows]]:
    whole = x if isinstance(x, Columns) else c.matrix(x)
    return [
        (one, c.select(whole, np.asarray(places).tolist()))
        for one, places in zip(estimator.estimators_, estimator.estimators_features_, strict=True)
    ]


@rule("predict", "BaggingRegressor")
def bagging_regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = [c.predict(one, rows) for one, rows in _bag(c, estimator, x)]
    return _weighted(c, parts, [1 / len(parts)] * len(parts))


@rule("predict_proba", "BaggingClassifier")
def bagging_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    count = estimator.n_classes_
    parts = []
    for one, rows in _bag(c, estimator, x):
        known = np.asarray(one.classes_, np.int64)
        if not c.can("predict_proba", one):
            parts.append(op.Gather(c.array(np.eye(count)), c.predict(one, rows), axis=0))
            continue
        part = c.predict_proba(one, rows)
        parts.append(part if len(known) == count else linear(c, part, np.eye(count)[known]))
    return _weighted(c, parts, [1 / len(parts)] * len(parts))


@rule("decision_function", "BaggingClassifier")
def bagging_decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = [c.decision_function(one, rows) for one, rows in _bag(c, estimator, x)]
    return _weighted(c, parts, [1 / len(parts)] * len(parts))


@rule("decision_function", "AdaBoostClassifier")
def adaboost_decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    count = estimator.n_classes_
    table = np.where(np.eye(count) > 0, 1.0, -1 / (count - 1))
    parts = []
    for one in estimator.estimators_:
        predicted = c.predict(one, x)
        places = (
            predicted
            if predicted.dtype is not None and _is_range(estimator)
            else positions(c, predicted, estimator.classes_)
        )
        parts.append(op.Gather(c.array(table), places, axis=0))
    weights = np.asarray(estimator.estimator_weights_[: len(parts)], np.float64)
    total = _weighted(c, parts, weights / weights.sum())
    return op.MatMul(total, c.array([[-1], [1]])) if count == 2 else total


def _is_range(estimator: Any) -> bool:
    classes = np.asarray(estimator.classes_)
    return classes.dtype.kind in "iu" and classes.tolist() == list(range(len(classes)))


@rule("predict_proba", "AdaBoostClassifier")
def adaboost_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.decision_function(estimator, x)
    count = estimator.n_classes_
    if count == 2:
        return softmax(op.Concat(op.Neg(scores), scores, axis=1) / c.number(2))
    return softmax(scores / c.number(count - 1))


@rule("predict", "AdaBoostClassifier")
def adaboost_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.decision_function(estimator, x)
    return labels(c, estimator.classes_, above(c, scores) if estimator.n_classes_ == 2 else argmax(scores))


@rule("predict", "AdaBoostRegressor")
def adaboost_regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    """The weighted median of what the members give."""
    count = len(estimator.estimators_)
    weights = np.asarray(estimator.estimator_weights_[:count], np.float64)
    parts = op.Concat(*(c.predict(one, x) for one in estimator.estimators_), axis=1)
    sorted_, order = op.TopK(parts, np.array([count], np.int64), axis=1, largest=0, outputs=2)
    running = op.CumSum(op.Gather(c.array(weights), order), np.array(1, np.int64))
    enough = op.Cast(running >= c.number(0.5 * float(weights.sum())), to=c.real)
    first = op.ArgMax(enough, axis=1, keepdims=1)
    return op.GatherElements(sorted_, first, axis=1)


@refusal("CalibratedClassifierCV")
def unknown_method(estimator: Any) -> str | None:
    return None if estimator.method in ("sigmoid", "isotonic") else f"method '{estimator.method}' has no rule"


@rule("predict_proba", "CalibratedClassifierCV")
def calibrated_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = [_calibrated(c, one, x) for one in estimator.calibrated_classifiers_]
    return _weighted(c, parts, [1 / len(parts)] * len(parts))


@rule("predict", "BaggingClassifier", "CalibratedClassifierCV")
def likeliest_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    return labels(c, estimator.classes_, argmax(c.predict_proba(estimator, x)))


def _calibrated(c: Conversion, one: Any, x: Rows) -> Var:
    count = len(one.classes)
    known = [int(np.flatnonzero(np.asarray(one.classes) == name)[0]) for name in one.estimator.classes_]
    if hasattr(one.estimator, "decision_function"):
        scores = c.decision_function(one.estimator, x)
    else:
        scores = c.predict_proba(one.estimator, x)
        scores = pick(scores, 1) if count == 2 else scores
    if count == 2:
        second = _calibration(c, one.calibrators[0], scores)
        return op.Concat(c.number(1) - second, second, axis=1)
    columns: list[Var | None] = [None] * count
    for place, (which, calibrator) in enumerate(zip(known, one.calibrators, strict=False)):
        columns[which] = _calibration(c, calibrator, pick(scores, place))
    zero = pick(scores, 0) * c.number(0)
    whole = op.Concat(*(zero if column is None else column for column in columns), axis=1)
    return op.Clip(normalised(c, whole, empty=1 / count), c.number(0), c.number(1))


def _calibration(c: Conversion, calibrator: Any, scores: Var) -> Var:
    if type(calibrator).__name__ == "_SigmoidCalibration":
        return op.Sigmoid(op.Neg(scores * c.number(float(calibrator.a_)) + c.number(float(calibrator.b_))))
    if type(calibrator).__name__ == "IsotonicRegression":
        return c.predict(calibrator, scores)
    raise ConvertError(f"there is no rule for the calibrator {type(calibrator).__name__}")


@refusal("IsotonicRegression")
def raises_outside(estimator: Any) -> str | None:
    return "out_of_bounds='raise' refuses rows, which no model does" if estimator.out_of_bounds == "raise" else None


@rule("predict", "IsotonicRegression")
@rule("transform", "IsotonicRegression")
def isotonic(c: Conversion, estimator: Any, x: Rows) -> Var:
    column = op.Reshape(c.matrix(x), [-1, 1])
    known, values = np.asarray(estimator.X_thresholds_), np.asarray(estimator.y_thresholds_)
    fitted = interpolated(c, column, known, values)
    if estimator.out_of_bounds == "nan":
        outside = op.Or(column < c.number(float(known[0])), column > c.number(float(known[-1])))
        return op.Where(outside, c.number(np.nan), fitted)
    return fitted
