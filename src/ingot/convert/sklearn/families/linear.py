"""Linear models: a product and a bias, then a link."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import above, argmax, both, labels, linear, normalised, softmax, sum_rows
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.rule import children, rule
from ingot.errors import ConvertError

REGRESSORS = (
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "Lars", "LarsCV"),
    *("LassoLars", "LassoLarsCV", "LassoLarsIC", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV"),
    *("BayesianRidge", "ARDRegression", "HuberRegressor", "TheilSenRegressor", "SGDRegressor", "LinearSVR"),
    *("PassiveAggressiveRegressor", "QuantileRegressor", "MultiTaskElasticNet", "MultiTaskElasticNetCV"),
    *("MultiTaskLasso", "MultiTaskLassoCV"),
)
CLASSIFIERS = (
    *("LogisticRegression", "LogisticRegressionCV", "RidgeClassifier", "RidgeClassifierCV", "LinearSVC"),
    *("SGDClassifier", "Perceptron", "PassiveAggressiveClassifier", "LinearDiscriminantAnalysis"),
)


@rule("predict", *REGRESSORS)
@rule("decision_function", *CLASSIFIERS)
def weighted(c: Conversion, estimator: Any, x: Rows) -> Var:
    return linear(c, c.matrix(x), np.atleast_2d(estimator.coef_).T, estimator.intercept_)


@rule("predict", *CLASSIFIERS)
def classifier(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.decision_function(estimator, x)
    if getattr(getattr(estimator, "_label_binarizer", None), "y_type_", "").startswith("multilabel"):
        return op.Cast(scores > c.number(0), to=7)
    return labels(c, estimator.classes_, above(c, scores) if c.width(scores) == 1 else argmax(scores))


@rule("predict_proba", "LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis")
def logistic(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.decision_function(estimator, x)
    return both(c, op.Sigmoid(scores)) if c.width(scores) == 1 else softmax(scores)


@rule("predict_proba", "SGDClassifier")
def stochastic(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.decision_function(estimator, x)
    two = c.width(scores) == 1
    if estimator.loss == "log_loss":
        sure = op.Sigmoid(scores)
        return both(c, sure) if two else sure / sum_rows(sure)
    if estimator.loss != "modified_huber":
        raise ConvertError(f"an SGDClassifier of loss '{estimator.loss}' has no probabilities")
    sure = (op.Clip(scores, c.number(-1), c.number(1)) + c.number(1)) / c.number(2)
    return both(c, sure) if two else normalised(c, sure, empty=1 / len(estimator.classes_))


@rule("predict", "PoissonRegressor", "GammaRegressor", "TweedieRegressor")
def generalised(c: Conversion, estimator: Any, x: Rows) -> Var:
    raw = linear(c, c.matrix(x), np.atleast_2d(estimator.coef_).T, estimator.intercept_)
    return op.Exp(raw) if type(estimator._base_loss.link).__name__ == "LogLink" else raw


@children("RANSACRegressor")
def trusted(estimator: Any) -> list[Any]:
    return [estimator.estimator_]


@rule("predict", "RANSACRegressor")
def ransac(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.predict(estimator.estimator_, x)


@rule("decision_function", "SGDOneClassSVM")
def one_class(c: Conversion, estimator: Any, x: Rows) -> Var:
    return linear(c, c.matrix(x), np.atleast_2d(estimator.coef_).T, -estimator.offset_)


@rule("score_samples", "SGDOneClassSVM")
def one_class_scores(c: Conversion, estimator: Any, x: Rows) -> Var:
    return linear(c, c.matrix(x), np.atleast_2d(estimator.coef_).T)


@rule("predict", "PLSRegression", "CCA", "PLSCanonical")
def partial_least_squares(c: Conversion, estimator: Any, x: Rows) -> Var:
    return linear(c, c.matrix(x) - c.array(estimator._x_mean), np.asarray(estimator.coef_).T, estimator.intercept_)


@rule("transform", "PLSRegression", "CCA", "PLSCanonical")
def projected(c: Conversion, estimator: Any, x: Rows) -> Var:
    centred = (c.matrix(x) - c.array(estimator._x_mean)) / c.array(estimator._x_std)
    return linear(c, centred, estimator.x_rotations_)


@rule("transform", "PLSSVD")
def projected_by_svd(c: Conversion, estimator: Any, x: Rows) -> Var:
    centred = (c.matrix(x) - c.array(estimator._x_mean)) / c.array(estimator._x_std)
    return linear(c, centred, estimator.x_weights_)


@rule("transform", "LinearDiscriminantAnalysis")
def discriminants(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    if estimator.solver == "svd":
        rows = rows - c.array(estimator.xbar_)
    return linear(c, rows, estimator.scalings_[:, : estimator._max_components])


@rule("decision_function", "QuadraticDiscriminantAnalysis")
def quadratic_decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.once(_quadratic, estimator, x)
    if len(estimator.classes_) == 2:
        return op.MatMul(scores, c.array([[-1], [1]]))
    return scores


@rule("predict_proba", "QuadraticDiscriminantAnalysis")
def quadratic_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    return softmax(c.once(_quadratic, estimator, x))


@rule("predict", "QuadraticDiscriminantAnalysis")
def quadratic_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    return labels(c, estimator.classes_, argmax(c.once(_quadratic, estimator, x)))


def _quadratic(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    parts = []
    for place in range(len(estimator.classes_)):
        scaled = estimator.rotations_[place] * np.asarray(estimator.scalings_[place]) ** -0.5
        turned = op.MatMul(rows - c.array(estimator.means_[place]), c.array(scaled))
        parts.append(sum_rows(turned * turned))
    logs = np.array([np.sum(np.log(scale)) for scale in estimator.scalings_])
    norms = op.Concat(*parts, axis=1)
    return c.number(-0.5) * (norms + c.array(logs[None])) + c.array(np.log(estimator.priors_)[None])
