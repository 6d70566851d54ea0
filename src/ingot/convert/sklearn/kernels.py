"""Kernels between rows and points, by the names scikit-learn has for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import exact_squared_distances, squared_distances
from ingot.convert.sklearn.conversion import Conversion
from ingot.errors import ConvertError


def pairwise_kernel(c: Conversion, estimator: Any, x: Var, points: Any) -> Var:
    """The kernel that an estimator names, with its `gamma`, `coef0` and `degree`."""
    gamma = getattr(estimator, "gamma_", getattr(estimator, "gamma", None))
    return kernel(
        c,
        estimator.kernel,
        x,
        points,
        gamma=1.0 / np.shape(points)[1] if gamma is None else float(gamma),
        coef0=1.0 if getattr(estimator, "coef0", None) is None else float(estimator.coef0),
        degree=3.0 if getattr(estimator, "degree", None) is None else float(estimator.degree),
        plain_gamma=gamma is None,
    )


def kernel(
    c: Conversion,
    name: str,
    x: Var,
    points: Any,
    *,
    gamma: float,
    coef0: float = 0.0,
    degree: float = 3.0,
    plain_gamma: bool = False,
) -> Var:
    """A kernel of every row with every point; `plain_gamma` says that gamma is only a default, which chi2 has as 1."""
    dense = points.toarray() if hasattr(points, "toarray") else np.asarray(points)
    if name == "precomputed":
        return x
    if name in ("linear", "poly", "polynomial", "sigmoid", "cosine"):
        if name == "cosine":
            norms = np.linalg.norm(dense, axis=1, keepdims=True)
            dense = dense / np.where(norms == 0, 1, norms)
            lengths = op.Sqrt(op.ReduceSum(x * x, [1], keepdims=1))
            x = x / op.Where(op.Equal(lengths, c.number(0)), c.number(1), lengths)
        products = op.MatMul(x, c.array(dense.T))
        if name in ("linear", "cosine"):
            return products
        moved = products * c.number(gamma) + c.number(coef0)
        return op.Tanh(moved) if name == "sigmoid" else op.Pow(moved, c.number(degree))
    if name == "rbf":
        return op.Exp(squared_distances(c, x, dense) * c.number(-gamma))
    if name == "laplacian":
        apart = op.Abs(op.Unsqueeze(x, [1]) - c.array(dense)[None])
        return op.Exp(op.ReduceSum(apart, [2], keepdims=0) * c.number(-gamma))
    if name in ("chi2", "additive_chi2"):
        return _chi2(c, name, x, dense, 1.0 if plain_gamma else gamma)
    raise ConvertError(f"there is no rule for the kernel '{name}'")


def _chi2(c: Conversion, name: str, x: Var, points: Any, gamma: float) -> Var:
    rows, other = op.Unsqueeze(x, [1]), c.array(points)[None]
    apart, total = rows - other, rows + other
    empty = op.Equal(total, c.number(0))
    terms = op.Where(empty, c.number(0), apart * apart / op.Where(empty, c.number(1), total))
    negated = op.Neg(op.ReduceSum(terms, [2], keepdims=0))
    return negated if name == "additive_chi2" else op.Exp(negated * c.number(gamma))


def minkowski(c: Conversion, x: Var, points: Any, metric: str, p: float, parameters: dict[str, Any]) -> Var:
    """Distances by one of scikit-learn's metrics."""
    if metric == "minkowski" and parameters.get("w") is None:
        metric = {1.0: "manhattan", 2.0: "euclidean"}.get(p, "chebyshev" if np.isinf(p) else metric)
    if metric in ("euclidean", "l2"):
        return op.Sqrt(exact_squared_distances(c, x, points))
    if metric == "sqeuclidean":
        return exact_squared_distances(c, x, points)
    if metric == "cosine":
        return op.Max(c.number(1) - kernel(c, "cosine", x, points, gamma=1.0), c.number(0))
    apart = op.Unsqueeze(x, [1]) - c.array(points)[None]
    if metric in ("manhattan", "cityblock", "l1"):
        return op.ReduceSum(op.Abs(apart), [2], keepdims=0)
    if metric == "chebyshev":
        return op.ReduceMax(op.Abs(apart), [2], keepdims=0)
    if metric == "canberra":
        total = op.Abs(op.Unsqueeze(x, [1])) + c.array(np.abs(points))[None]
        empty = op.Equal(total, c.number(0))
        terms = op.Where(empty, c.number(0), op.Abs(apart) / op.Where(empty, c.number(1), total))
        return op.ReduceSum(terms, [2], keepdims=0)
    if metric == "minkowski":
        powers = op.Pow(op.Abs(apart), c.number(p))
        if parameters.get("w") is not None:
            powers = powers * c.array(parameters["w"])
        return op.Pow(op.ReduceSum(powers, [2], keepdims=0), c.number(1 / p))
    if metric == "seuclidean":
        return op.Sqrt(op.ReduceSum(apart * apart / c.array(parameters["V"]), [2], keepdims=0))
    if metric == "mahalanobis":
        inverse = parameters["VI"] if "VI" in parameters else np.linalg.inv(parameters["V"])
        return op.Sqrt(op.ReduceSum(op.MatMul(apart, c.array(inverse)) * apart, [2], keepdims=0))
    if metric == "hamming":
        differ = op.Cast(op.Not(op.Equal(apart, c.number(0))), to=c.real)
        return op.ReduceMean(differ, [2], keepdims=0)
    raise ConvertError(f"there is no rule for the metric '{metric}'")
