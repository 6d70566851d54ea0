"""Decompositions and projections: linear maps to fewer features, and those that are nearly so."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import linear, sum_rows
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.kernels import pairwise_kernel
from ingot.convert.sklearn.rule import refusal, rule


@rule("transform", "PCA", "IncrementalPCA")
def principal(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    if estimator.mean_ is not None:
        rows = rows - c.array(estimator.mean_[None])
    weights = np.asarray(estimator.components_, np.float64)
    if estimator.whiten:
        scale = np.sqrt(np.asarray(estimator.explained_variance_, np.float64))[:, None]
        weights = weights / np.maximum(scale, np.finfo(np.float64).eps)
    return linear(c, rows, weights.T)


@rule("transform", "TruncatedSVD", "NeighborhoodComponentsAnalysis", "GaussianRandomProjection")
@rule("transform", "SparseRandomProjection")
def projected(c: Conversion, estimator: Any, x: Rows) -> Var:
    components = estimator.components_
    return linear(c, c.matrix(x), (components.toarray() if hasattr(components, "toarray") else components).T)


@rule("transform", "FastICA")
def independent(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    if estimator.whiten:
        rows = rows - c.array(estimator.mean_[None])
    return linear(c, rows, estimator.components_.T)


@rule("transform", "FactorAnalysis")
def factors(c: Conversion, estimator: Any, x: Rows) -> Var:
    weights = estimator.components_
    scaled = weights / estimator.noise_variance_
    covariance = np.linalg.inv(np.eye(len(weights)) + scaled @ weights.T)
    return linear(c, c.matrix(x) - c.array(estimator.mean_[None]), (covariance @ scaled).T)


@rule("transform", "SparsePCA", "MiniBatchSparsePCA")
def sparse_principal(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Ridge regression on the components has a closed form: one matrix."""
    parts = np.asarray(estimator.components_, np.float64)
    solve = np.linalg.solve(parts @ parts.T + estimator.ridge_alpha * np.eye(len(parts)), parts)
    return linear(c, c.matrix(x) - c.array(estimator.mean_[None]), solve.T)


@refusal("DictionaryLearning", "MiniBatchDictionaryLearning", "SparseCoder")
def iterative_code(estimator: Any) -> str | None:
    if estimator.transform_algorithm == "threshold":
        return None
    return f"transform solves a problem for every row by '{estimator.transform_algorithm}', step by step to convergence"


@rule("transform", "DictionaryLearning", "MiniBatchDictionaryLearning", "SparseCoder")
def thresholded_code(c: Conversion, estimator: Any, x: Rows) -> Var:
    words = np.asarray(getattr(estimator, "components_", getattr(estimator, "dictionary", None)), np.float64)
    alpha = estimator.transform_alpha
    if alpha is None:
        alpha = getattr(estimator, "alpha", 1.0)
    code = linear(c, c.matrix(x), words.T)
    shrunk = op.Sign(code) * op.Max(op.Abs(code) - c.number(float(alpha)), c.number(0))
    if estimator.positive_code:
        shrunk = op.Max(shrunk, c.number(0))
    if not estimator.split_sign:
        return shrunk
    return op.Concat(op.Max(shrunk, c.number(0)), op.Neg(op.Min(shrunk, c.number(0))), axis=1)


@rule("transform", "KernelPCA")
def kernel_principal(c: Conversion, estimator: Any, x: Rows) -> Var:
    kernel = pairwise_kernel(c, estimator, c.matrix(x), estimator.X_fit_)
    centre = estimator._centerer
    means = sum_rows(kernel) / c.number(len(centre.K_fit_rows_))
    centred = kernel - c.array(centre.K_fit_rows_[None]) - means + c.number(float(centre.K_fit_all_))
    values = np.asarray(estimator.eigenvalues_)
    scale = np.where(values != 0, 1 / np.sqrt(np.where(values != 0, values, 1)), 0)
    return linear(c, centred, estimator.eigenvectors_ * scale)


@rule("transform", "Nystroem")
def nystroem(c: Conversion, estimator: Any, x: Rows) -> Var:
    kernel = pairwise_kernel(c, estimator, c.matrix(x), estimator.components_)
    return linear(c, kernel, estimator.normalization_.T)


@rule("transform", "BernoulliRBM")
def hidden_units(c: Conversion, estimator: Any, x: Rows) -> Var:
    return op.Sigmoid(linear(c, c.matrix(x), estimator.components_.T, estimator.intercept_hidden_))


@rule("transform", "FeatureAgglomeration")
def agglomerated(c: Conversion, estimator: Any, x: Rows) -> Var:
    groups = np.asarray(estimator.labels_)
    rows = c.matrix(x)
    count = int(groups.max()) + 1
    if estimator.pooling_func is np.mean:
        weights = np.zeros((len(groups), count))
        weights[np.arange(len(groups)), groups] = 1 / np.bincount(groups)[groups]
        return linear(c, rows, weights)
    reduce = {np.max: op.ReduceMax, np.min: op.ReduceMin, np.sum: op.ReduceSum}[estimator.pooling_func]
    parts = [reduce(op.Gather(rows, np.flatnonzero(groups == at), axis=1), [1], keepdims=1) for at in range(count)]
    return op.Concat(*parts, axis=1)


@refusal("FeatureAgglomeration")
def unknown_pooling(estimator: Any) -> str | None:
    known = (np.mean, np.max, np.min, np.sum)
    return None if estimator.pooling_func in known else "its pooling function is one of Python"
