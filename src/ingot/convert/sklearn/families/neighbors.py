"""Nearest neighbours: distances to the rows of the fit, and what the nearest of these say."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import (
    argmax,
    class_array,
    hot,
    labels,
    linear,
    normalised,
    softmax,
    squared_distances,
)
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.kernels import kernel, minkowski
from ingot.convert.sklearn.rule import children, refusal, rule

_BY_COUNT = ("KNeighborsClassifier", "KNeighborsRegressor", "KNeighborsTransformer", "LocalOutlierFactor")
_BY_RADIUS = ("RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "RadiusNeighborsTransformer")


@refusal(*_BY_COUNT, *_BY_RADIUS, "NearestNeighbors")
def own_function(estimator: Any) -> str | None:
    if not isinstance(estimator.metric, str):
        return "its metric is a Python function"
    if callable(getattr(estimator, "weights", None)):
        return "its weights are a Python function"
    if isinstance(getattr(estimator, "classes_", None), list):
        return "several targets at once"
    return None


def distances(c: Conversion, estimator: Any, x: Rows) -> Var:
    """The distance of each row to each row of the fit."""
    if estimator.metric == "precomputed":
        return c.matrix(x)
    parameters = dict(estimator.effective_metric_params_)
    p = float(parameters.get("p", estimator.p))
    return minkowski(c, c.matrix(x), np.asarray(estimator._fit_X), estimator.effective_metric_, p, parameters)


def nearest(c: Conversion, estimator: Any, x: Rows, count: int) -> tuple[Var, Var]:
    """The distances of the nearest rows of the fit, and which these are."""
    apart = distances(c, estimator, x)
    near, which = op.TopK(apart, np.array([count], np.int64), axis=1, largest=0, outputs=2)
    if estimator.effective_metric_ == "sqeuclidean" and estimator.metric != "sqeuclidean":
        near = op.Sqrt(near)
    return near, which


def _weights(c: Conversion, estimator: Any, near: Var) -> Var:
    """1 each, or the inverse of the distance; where some are at no distance, these alone count."""
    if estimator.weights in ("uniform", None):
        return op.Where(op.IsNaN(near), c.number(0), c.number(1))
    zero = op.Equal(near, c.number(0))
    any_zero = op.ReduceMax(op.Cast(zero, to=c.real), [1], keepdims=1) > c.number(0)
    return op.Where(any_zero, op.Cast(zero, to=c.real), op.Reciprocal(op.Where(zero, c.number(1), near)))


@rule("predict_proba", "KNeighborsClassifier")
def probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    return normalised(c, c.once(_votes, estimator, x))


@rule("predict", "KNeighborsClassifier")
def label(c: Conversion, estimator: Any, x: Rows) -> Var:
    return labels(c, estimator.classes_, argmax(c.once(_votes, estimator, x)))


def _votes(c: Conversion, estimator: Any, x: Rows) -> Var:
    near, which = nearest(c, estimator, x, estimator.n_neighbors)
    known = np.eye(len(estimator.classes_))[np.asarray(estimator._y).reshape(-1)]
    cast = op.Gather(c.array(known), which, axis=0)
    return op.ReduceSum(cast * op.Unsqueeze(_weights(c, estimator, near), [2]), [1], keepdims=0)


@rule("predict", "KNeighborsRegressor")
def regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    near, which = nearest(c, estimator, x, estimator.n_neighbors)
    targets = np.asarray(estimator._y, np.float64)
    values = op.Gather(c.array(targets if targets.ndim == 2 else targets[:, None]), which, axis=0)
    weights = op.Unsqueeze(_weights(c, estimator, near), [2])
    return op.ReduceSum(values * weights, [1], keepdims=0) / op.ReduceSum(weights, [1], keepdims=0)


def _within(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Weights of all rows of the fit: zero for those out of reach."""
    away = distances(c, estimator, x)
    inside = op.Cast(away <= c.number(estimator.radius), to=c.real)
    if estimator.weights in ("uniform", None):
        return inside
    zero = op.Cast(op.Equal(away, c.number(0)), to=c.real)
    any_zero = op.ReduceMax(zero, [1], keepdims=1) > c.number(0)
    inverse = op.Reciprocal(op.Where(op.Equal(away, c.number(0)), c.number(1), away)) * inside
    return op.Where(any_zero, zero, inverse)


@rule("predict_proba", "RadiusNeighborsClassifier")
def radius_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    known = np.eye(len(estimator.classes_))[np.asarray(estimator._y).reshape(-1)]
    shares = normalised(c, linear(c, c.once(_within, estimator, x), known))
    nobody = op.Equal(op.ReduceSum(shares, [1], keepdims=1), c.number(0))
    outlier = np.zeros((1, len(estimator.classes_)))
    if estimator.outlier_label_ is not None:
        outlier[0, np.asarray(estimator.classes_) == estimator.outlier_label_[0]] = 1
    return op.Where(nobody, c.array(outlier), shares)


@rule("predict", "RadiusNeighborsClassifier")
def radius_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    weights = c.once(_within, estimator, x)
    known = np.eye(len(estimator.classes_))[np.asarray(estimator._y).reshape(-1)]
    chosen = labels(c, estimator.classes_, argmax(linear(c, weights, known)))
    if estimator.outlier_label_ is None:
        return chosen
    nobody = op.Equal(op.ReduceSum(weights, [1], keepdims=0), c.number(0))
    return op.Where(nobody, class_array([estimator.outlier_label_[0]]), chosen)


@rule("predict", "RadiusNeighborsRegressor")
def radius_regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    weights = c.once(_within, estimator, x)
    targets = np.asarray(estimator._y, np.float64)
    total = linear(c, weights, targets if targets.ndim == 2 else targets[:, None])
    return total / op.ReduceSum(weights, [1], keepdims=1)


def _neighbours(c: Conversion, estimator: Any, x: Rows) -> tuple[Var, Var]:
    return nearest(c, estimator, x, estimator.n_neighbors)


@rule("kneighbors_index", "NearestNeighbors")
def neighbour_index(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.once(_neighbours, estimator, x)[1]


@rule("kneighbors_distance", "NearestNeighbors")
def neighbour_distance(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.once(_neighbours, estimator, x)[0]


@rule("transform", "KNeighborsTransformer")
def neighbour_graph(c: Conversion, estimator: Any, x: Rows) -> Var:
    count = estimator.n_neighbors + (estimator.mode == "distance")
    near, which = nearest(c, estimator, x, count)
    chosen = hot(c, which, estimator.n_samples_fit_)
    if estimator.mode == "distance":
        chosen = chosen * op.Unsqueeze(near, [2])
    return op.ReduceSum(chosen, [1], keepdims=0)


@rule("transform", "RadiusNeighborsTransformer")
def radius_graph(c: Conversion, estimator: Any, x: Rows) -> Var:
    away = distances(c, estimator, x)
    inside = away <= c.number(estimator.radius)
    return op.Where(inside, away if estimator.mode == "distance" else c.number(1), c.number(0))


@rule("score_samples", "LocalOutlierFactor")
def outlier_scores(c: Conversion, estimator: Any, x: Rows) -> Var:
    near, which = nearest(c, estimator, x, estimator.n_neighbors_)
    reach = op.Max(near, op.Gather(c.array(estimator._distances_fit_X_[:, estimator.n_neighbors_ - 1]), which))
    density = c.number(1) / (op.ReduceMean(reach, [1], keepdims=1) + c.number(1e-10))
    return op.Neg(op.ReduceMean(op.Gather(c.array(estimator._lrd), which) / density, [1], keepdims=1))


@rule("score_samples", "KernelDensity")
def density(c: Conversion, estimator: Any, x: Rows) -> Var:
    points = np.asarray(estimator.tree_.data)
    metric = estimator.metric
    away = minkowski(c, c.matrix(x), points, metric, 2.0, dict(estimator.metric_params or {}))
    wide = float(estimator.bandwidth_)
    logs = _log_kernel(c, estimator.kernel, away, wide)
    weights = estimator.tree_.sample_weight
    total = float(len(points))
    if weights is not None:
        shares = np.asarray(weights, np.float64)
        logs, total = logs + c.array(np.log(shares)[None]), float(shares.sum())
    zero = np.zeros((1, points.shape[1]))
    return op.ReduceLogSumExp(logs, [1], keepdims=1) + c.number(_log_norm(estimator, zero, wide) - np.log(total))


def _log_norm(estimator: Any, zero: Any, wide: float) -> float:
    """The constant of the kernel: what one point alone gives at its own place, as scikit-learn computes it."""
    from sklearn.neighbors import KernelDensity

    alone = KernelDensity(bandwidth=wide, kernel=estimator.kernel, metric="euclidean").fit(zero)
    return float(alone.score_samples(zero)[0])


def _log_kernel(c: Conversion, name: str, away: Var, wide: float) -> Var:
    scaled = away / c.number(wide)
    if name == "gaussian":
        return c.number(-0.5) * scaled * scaled
    if name == "exponential":
        return op.Neg(scaled)
    inside = scaled < c.number(1)
    one = c.number(1)
    if name == "tophat":
        shape: Any = c.number(0)
    elif name == "epanechnikov":
        shape = op.Log(op.Where(inside, one - scaled * scaled, one))
    elif name == "linear":
        shape = op.Log(op.Where(inside, one - scaled, one))
    else:
        shape = op.Log(op.Where(inside, op.Cos(c.number(0.5 * np.pi) * scaled), one))
    return op.Where(inside, shape, c.number(-np.inf))


@rule("predict", "NearestCentroid")
def centroid_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    if np.allclose(estimator.class_prior_, 1 / len(estimator.classes_)):
        away = minkowski(c, c.matrix(x), estimator.centroids_, estimator.metric, 2.0, {})
        return labels(c, estimator.classes_, op.ArgMin(away, axis=1, keepdims=0))
    return labels(c, estimator.classes_, argmax(c.once(_centroid_scores, estimator, x)))


@rule("decision_function", "NearestCentroid")
def centroid_decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    scores = c.once(_centroid_scores, estimator, x)
    return op.MatMul(scores, c.array([[-1], [1]])) if len(estimator.classes_) == 2 else scores


@rule("predict_proba", "NearestCentroid")
def centroid_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    return softmax(c.once(_centroid_scores, estimator, x))


def _centroid_scores(c: Conversion, estimator: Any, x: Rows) -> Var:
    scale = np.asarray(estimator.within_class_std_dev_, np.float64).copy()
    scale[scale == 0] = 1
    away = squared_distances(c, c.matrix(x) / c.array(scale[None]), estimator.centroids_ / scale)
    return op.Neg(away) + c.array(2 * np.log(estimator.class_prior_)[None])


@rule("predict_proba", "LabelPropagation", "LabelSpreading")
def propagated(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    if estimator.kernel == "knn":
        away = squared_distances(c, rows, estimator.X_)
        count = np.array([estimator.n_neighbors], np.int64)
        _, which = op.TopK(away, count, axis=1, largest=0, outputs=2)
        total = op.ReduceSum(op.Gather(c.array(estimator.label_distributions_), which, axis=0), [1], keepdims=0)
    else:
        values = kernel(c, "rbf", rows, estimator.X_, gamma=float(estimator.gamma))
        total = linear(c, values, estimator.label_distributions_)
    return total / op.ReduceSum(total, [1], keepdims=1)


@rule("predict", "LabelPropagation", "LabelSpreading")
def propagated_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    return labels(c, estimator.classes_, argmax(c.predict_proba(estimator, x)))


@children("Isomap")
def embedding_parts(estimator: Any) -> list[Any]:
    return [estimator.kernel_pca_]


@rule("transform", "Isomap")
def isomap(c: Conversion, estimator: Any, x: Rows) -> Var:
    """The shortest way to each row of the fit, through the nearest ones; then kernel PCA of these."""
    count = estimator.n_neighbors
    near, which = nearest(c, estimator.nbrs_, x, count)
    ways = op.Gather(c.array(estimator.dist_matrix_), which, axis=0) + op.Unsqueeze(near, [2])
    shortest = op.ReduceMin(ways, [1], keepdims=0)
    return c.transform(estimator.kernel_pca_, c.number(-0.5) * shortest * shortest)


@refusal("Isomap")
def by_radius(estimator: Any) -> str | None:
    return "neighbours within a radius have no rule" if estimator.n_neighbors is None else None
