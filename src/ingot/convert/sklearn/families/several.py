"""Several targets or classes, an estimator for each: one against the rest, pairs, codes, chains."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import above, argmax, both, labels, linear, normalised, pick, squared_distances
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.families.vectors import one_against_rest
from ingot.convert.sklearn.rule import children, refusal, rule

_MANY = ("OneVsRestClassifier", "OneVsOneClassifier", "OutputCodeClassifier", "MultiOutputClassifier")


@children(*_MANY, "MultiOutputRegressor", "RegressorChain", "ClassifierChain")
def each(estimator: Any) -> list[Any]:
    return list(estimator.estimators_)


@rule("predict", "_ConstantPredictor")
@rule("decision_function", "_ConstantPredictor")
def constant(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.filled(x, c.array(np.asarray(estimator.y_, np.float64).reshape(-1)[:1]))


@rule("predict_proba", "_ConstantPredictor")
def constant_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    sure = float(np.asarray(estimator.y_).reshape(-1)[0])
    return c.filled(x, c.array([1 - sure, sure]))


def _confidence(c: Conversion, estimator: Any, x: Rows) -> Var:
    """How sure a binary estimator is of its second class."""
    from sklearn.base import is_regressor

    if is_regressor(estimator):
        return c.predict(estimator, x)
    if c.can("decision_function", estimator):
        return c.decision_function(estimator, x)
    return pick(c.predict_proba(estimator, x), 1)


def _threshold(estimator: Any) -> float:
    from sklearn.base import is_classifier

    return 0.0 if hasattr(estimator, "decision_function") and is_classifier(estimator) else 0.5


@rule("predict", "OneVsRestClassifier")
def rest_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = op.Concat(*(_confidence(c, one, x) for one in estimator.estimators_), axis=1)
    threshold = _threshold(estimator.estimators_[0])
    if estimator.label_binarizer_.y_type_ == "multiclass":
        return labels(c, estimator.classes_, argmax(scores))
    if estimator.multilabel_:
        return op.Cast(scores > c.number(threshold), to=7)
    return labels(c, estimator.classes_, above(c, scores, threshold))


@rule("predict_proba", "OneVsRestClassifier")
def rest_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = [pick(c.predict_proba(one, x), 1) for one in estimator.estimators_]
    if len(parts) == 1:
        return both(c, parts[0])
    whole = op.Concat(*parts, axis=1)
    return whole if estimator.multilabel_ else normalised(c, whole)


@rule("decision_function", "OneVsRestClassifier")
def rest_decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = [c.decision_function(one, x) for one in estimator.estimators_]
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=1)


@refusal("OneVsOneClassifier")
def precomputed(estimator: Any) -> str | None:
    return None if estimator.pairwise_indices_ is None else "its kernel is computed beforehand"


@rule("decision_function", "OneVsOneClassifier")
def pair_decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    sure = op.Concat(*(_confidence(c, one, x) for one in estimator.estimators_), axis=1)
    won = [c.cast(op.Reshape(c.predict(one, x), [-1, 1]), c.real) for one in estimator.estimators_]
    count = len(estimator.classes_)
    scores = one_against_rest(c, op.Concat(*won, axis=1), sure, count)
    return pick(scores, 1) if count == 2 else scores


@rule("predict", "OneVsOneClassifier")
def pair_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.decision_function(estimator, x)
    if len(estimator.classes_) == 2:
        return labels(c, estimator.classes_, above(c, scores, _threshold(estimator.estimators_[0])))
    return labels(c, estimator.classes_, argmax(scores))


@rule("predict", "OutputCodeClassifier")
def code_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    code = op.Concat(*(_confidence(c, one, x) for one in estimator.estimators_), axis=1)
    away = squared_distances(c, code, estimator.code_book_)
    return labels(c, estimator.classes_, op.ArgMin(away, axis=1, keepdims=0))


@rule("predict", "MultiOutputRegressor")
def targets(c: Conversion, estimator: Any, x: Rows) -> Var:
    return op.Concat(*(c.predict(one, x) for one in estimator.estimators_), axis=1)


@rule("predict", "MultiOutputClassifier")
def target_labels(c: Conversion, estimator: Any, x: Rows) -> Var:
    return op.Concat(*(op.Unsqueeze(c.predict(one, x), [1]) for one in estimator.estimators_), axis=1)


@rule("predict_proba", "MultiOutputClassifier")
def target_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = [c.predict_proba(one, x) for one in estimator.estimators_]
    most = max(c.width(part) for part in parts)
    wide = [_widened(c, part, most) for part in parts]
    return op.Concat(*(op.Unsqueeze(part, [0]) for part in wide), axis=0)


def _widened(c: Conversion, x: Var, width: int) -> Var:
    return x if c.width(x) == width else linear(c, x, np.eye(c.width(x), width))


def _chain(c: Conversion, estimator: Any, x: Rows, method: str) -> Var:
    """Each estimator sees what those before it in the chain say; columns come back in the order of the targets."""
    rows = c.matrix(x)
    previous: list[Var] = []
    answers: list[Var] = []
    passing = getattr(estimator, "chain_method_", "predict")
    for one in estimator.estimators_:
        seen = op.Concat(rows, *previous, axis=1) if previous else rows
        previous.append(_answer(c, one, seen, passing))
        answers.append(_answer(c, one, seen, method))
    order = np.argsort(np.asarray(estimator.order_)).tolist()
    return op.Concat(*(answers[place] for place in order), axis=1)


def _answer(c: Conversion, estimator: Any, x: Var, method: str) -> Var:
    chances = c.call(method, estimator, x)
    if method == "predict_proba":
        return pick(chances, 1)
    return c.cast(op.Reshape(chances, [-1, 1]), c.real)


@rule("predict", "RegressorChain", "ClassifierChain")
def chain(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _chain(c, estimator, x, "predict")


@rule("predict_proba", "ClassifierChain")
def chain_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _chain(c, estimator, x, "predict_proba")


@rule("decision_function", "ClassifierChain")
def chain_decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _chain(c, estimator, x, "decision_function")
