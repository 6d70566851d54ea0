"""Clusterers that can place new rows, and mixtures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import argmax, labels, linear, log_sum_exp, softmax, squared_distances
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.rule import refusal, rule

MEANS = ("KMeans", "MiniBatchKMeans", "BisectingKMeans")
MIXTURES = ("GaussianMixture", "BayesianGaussianMixture")


@rule("transform", *MEANS)
def distances(c: Conversion, estimator: Any, x: Rows) -> Var:
    return op.Sqrt(squared_distances(c, c.matrix(x), estimator.cluster_centers_))


@rule("predict", "KMeans", "MiniBatchKMeans")
def nearest_mean(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _nearest(c, c.matrix(x), estimator.cluster_centers_)


@rule("predict", "MeanShift", "AffinityPropagation")
def nearest_centre(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _nearest(c, c.matrix(x), estimator.cluster_centers_)


@refusal("AffinityPropagation")
def no_centres(estimator: Any) -> str | None:
    if getattr(estimator, "cluster_centers_", np.empty((0, 0))).shape[0] == 0:
        return "it found no centres, so every label is -1"
    return None


@rule("predict", "BisectingKMeans")
def bisected(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Down the tree of halves: at each, to the nearer centre."""
    rows = c.matrix(x)
    if hasattr(estimator, "_X_mean"):
        rows = rows - c.array(estimator._X_mean[None])
    return _descend(c, rows, estimator._bisecting_tree)


def _descend(c: Conversion, rows: Var, node: Any) -> Var:
    if node.left is None:
        return op.Cast(op.ReduceSum(rows * c.number(0), [1], keepdims=0), to=7) + np.array(int(node.label), np.int64)
    nearer = _nearest(c, rows, np.stack([node.left.center, node.right.center]))
    return op.Where(op.Cast(nearer, to=9), _descend(c, rows, node.right), _descend(c, rows, node.left))


@rule("predict", "Birch")
def birch_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    return labels(c, estimator.subcluster_labels_, _nearest(c, c.matrix(x), estimator.subcluster_centers_))


@rule("transform", "Birch")
def birch_distances(c: Conversion, estimator: Any, x: Rows) -> Var:
    return op.Sqrt(squared_distances(c, c.matrix(x), estimator.subcluster_centers_))


def _nearest(c: Conversion, rows: Var, centres: Any) -> Var:
    """The nearest centre; a row's own length does not matter for which one it is."""
    centres = np.asarray(centres, np.float64)
    products = linear(c, rows, -2 * centres.T) + c.array(np.sum(centres**2, axis=1)[None])
    return op.ArgMin(products, axis=1, keepdims=0)


@rule("predict_proba", *MIXTURES)
def mixture_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    return softmax(c.once(_weighted_log, estimator, x))


@rule("predict", *MIXTURES)
def mixture_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    return argmax(c.once(_weighted_log, estimator, x))


@rule("score_samples", *MIXTURES)
def mixture_scores(c: Conversion, estimator: Any, x: Rows) -> Var:
    return log_sum_exp(c.once(_weighted_log, estimator, x))


def _weighted_log(c: Conversion, estimator: Any, x: Rows) -> Var:
    """The log of each component's weighted density, up to what `_estimate_log_weights` and the like add."""
    rows = c.matrix(x)
    means = np.asarray(estimator.means_, np.float64)
    roots = np.asarray(estimator.precisions_cholesky_, np.float64)
    parts = []
    for place, mean in enumerate(means):
        apart = rows - c.array(mean[None])
        if estimator.covariance_type == "full":
            turned = op.MatMul(apart, c.array(roots[place]))
        elif estimator.covariance_type == "tied":
            turned = op.MatMul(apart, c.array(roots))
        else:
            turned = apart * c.array(roots[place])
        parts.append(op.ReduceSum(turned * turned, [1], keepdims=1))
    squares = op.Concat(*parts, axis=1)
    constant = estimator._estimate_log_prob(means) + estimator._estimate_log_weights()[None]
    own = np.einsum("kk->k", constant) if constant.shape[0] == constant.shape[1] else constant[0]
    return c.number(-0.5) * squares + c.array(own[None])
