"""Support vector machines, kernel ridge, Gaussian processes: kernels with points kept from the fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import above, argmax, both, labels, linear, normalised
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.gaussian import evaluated
from ingot.convert.sklearn.kernels import kernel, pairwise_kernel
from ingot.convert.sklearn.rule import refusal, rule

MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


@refusal(*MACHINES, "KernelRidge", "KernelPCA", "Nystroem", "LabelPropagation", "LabelSpreading")
def own_kernel(estimator: Any) -> str | None:
    return None if isinstance(estimator.kernel, str) else "its kernel is a Python function"


@rule("predict", "SVR", "NuSVR")
def regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _one_value(c, estimator, x)


@rule("decision_function", "OneClassSVM")
def one_class(c: Conversion, estimator: Any, x: Rows) -> Var:
    return _one_value(c, estimator, x)


@rule("score_samples", "OneClassSVM")
def one_class_scores(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.decision_function(estimator, x) + c.number(float(np.ravel(estimator.offset_)[0]))


@rule("predict", "OneClassSVM")
def one_class_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    inside = c.decision_function(estimator, x) > c.number(0)
    return op.Reshape(op.Where(inside, np.array(1, np.int64), np.array(-1, np.int64)), [-1])


def _kernel(c: Conversion, estimator: Any, x: Rows) -> Var:
    return kernel(
        c,
        estimator.kernel,
        c.matrix(x),
        estimator.support_vectors_,
        gamma=float(estimator._gamma),
        coef0=float(estimator.coef0),
        degree=float(estimator.degree),
    )


def _dual(estimator: Any) -> Any:
    coefficients = estimator._dual_coef_
    return coefficients.toarray() if hasattr(coefficients, "toarray") else np.asarray(coefficients)


def _one_value(c: Conversion, estimator: Any, x: Rows) -> Var:
    values = _kernel(c, estimator, x)
    if estimator.kernel == "precomputed":
        values = op.Gather(values, np.asarray(estimator.support_, np.int64), axis=1)
    return linear(c, values, _dual(estimator).T, estimator._intercept_)


def _pairs(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Libsvm's decision values, one for each pair of classes, the sign as it has it: positive for the first."""
    values = _kernel(c, estimator, x)
    if estimator.kernel == "precomputed":
        values = op.Gather(values, np.asarray(estimator.support_, np.int64), axis=1)
    count = len(estimator.classes_)
    dual = _dual(estimator)
    ends = np.cumsum([0, *estimator._n_support])
    columns = []
    for first in range(count):
        for second in range(first + 1, count):
            weights = np.zeros(dual.shape[1])
            weights[ends[first] : ends[first + 1]] = dual[second - 1, ends[first] : ends[first + 1]]
            weights[ends[second] : ends[second + 1]] = dual[first, ends[second] : ends[second + 1]]
            columns.append(weights)
    return linear(c, values, np.stack(columns, axis=1), estimator._intercept_)


@rule("decision_function", "SVC", "NuSVC")
def decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    pairs = c.once(_pairs, estimator, x)
    count = len(estimator.classes_)
    if count == 2:
        return op.Neg(pairs)
    if estimator.decision_function_shape == "ovo":
        return pairs
    return one_against_rest(c, op.Cast(pairs < c.number(0), to=c.real), op.Neg(pairs), count)


def one_against_rest(c: Conversion, second: Var, confidence: Var, count: int) -> Var:
    """Votes of pairs with the sum of confidences, squeezed below a vote, to break ties: as scikit-learn does.

    `second` is 1 where the second of a pair wins; `confidence` is positive for the second.
    """
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    to_first, to_second, signs = (np.zeros((len(pairs), count)) for _ in range(3))
    for place, (i, j) in enumerate(pairs):
        to_first[place, i], to_second[place, j] = 1, 1
        signs[place, i], signs[place, j] = -1, 1
    votes = linear(c, second, to_second) + linear(c, c.number(1) - second, to_first)
    sums = linear(c, confidence, signs)
    return votes + sums / (c.number(3) * (op.Abs(sums) + c.number(1)))


@rule("predict", "SVC", "NuSVC")
def label(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Libsvm counts the votes of pairs; ties go to the first class, unless `break_ties` asks for confidences."""
    count = len(estimator.classes_)
    if estimator.break_ties and count > 2 and estimator.decision_function_shape == "ovr":
        return labels(c, estimator.classes_, argmax(c.decision_function(estimator, x)))
    pairs = c.once(_pairs, estimator, x)
    if count == 2:
        return labels(c, estimator.classes_, above(c, op.Neg(pairs)))
    first = op.Cast(pairs > c.number(0), to=c.real)
    names = [(i, j) for i in range(count) for j in range(i + 1, count)]
    to_first, to_second = (np.zeros((len(names), count)) for _ in range(2))
    for place, (i, j) in enumerate(names):
        to_first[place, i], to_second[place, j] = 1, 1
    votes = linear(c, first, to_first) + linear(c, c.number(1) - first, to_second)
    return labels(c, estimator.classes_, argmax(votes))


@rule("predict_proba", "SVC", "NuSVC")
def probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Platt's sigmoid of each pair, coupled as libsvm does: Wu, Lin and Weng's second method, a fixed-point loop."""
    pairs = c.once(_pairs, estimator, x)
    count = len(estimator.classes_)
    sure = op.Sigmoid(op.Neg(pairs * c.array(estimator.probA_[None]) + c.array(estimator.probB_[None])))
    sure = op.Clip(sure, c.number(1e-7), c.number(1 - 1e-7))
    return _coupled(c, sure, count)


def _coupled(c: Conversion, sure: Var, count: int) -> Var:
    """Minimise Σ (r_ji p_i − r_ij p_j)² over probabilities by libsvm's updates, up to 100 rounds."""
    first, second = (np.zeros((count * (count - 1) // 2, count * count)) for _ in range(2))
    place = 0
    for i in range(count):
        for j in range(i + 1, count):
            first[place, i * count + j] = 1
            second[place, j * count + i] = 1
            place += 1
    matrix = op.Reshape(linear(c, sure, first) + linear(c, c.number(1) - sure, second), [-1, count, count])
    turned = op.Transpose(matrix, perm=[0, 2, 1])
    eye = c.array(np.eye(count)[None])
    diagonal = op.ReduceSum(turned * turned, [2], keepdims=1)
    q = eye * diagonal - (c.number(1) - eye) * (turned * matrix)
    start = op.Expand(
        c.array(np.full((1, count, 1), 1 / count)), op.Concat(op.Shape(sure, start=0, end=1), [count, 1], axis=0)
    )
    epsilon = 0.005 / count

    def body(_: Var, p: Var) -> Any:
        qp = op.MatMul(q, p)
        pqp = op.ReduceSum(p * qp, [1], keepdims=1)
        worst = op.ReduceMax(op.Abs(qp - pqp), [1], keepdims=1)
        moved = p
        for t in range(count):
            one = c.array((np.arange(count) == t).astype(np.float64).reshape(1, count, 1))
            own = op.ReduceSum(qp * one, [1], keepdims=1)
            corner = c.number(1) * op.ReduceSum(
                op.ReduceSum(q * c.array(np.diag(np.arange(count) == t)[None]), [1], keepdims=1), [2], keepdims=1
            )
            diff = (pqp - own) / corner
            column = op.MatMul(q, one)
            grown = c.number(1) + diff
            moved = (moved + diff * one) / grown
            pqp = (pqp + diff * (diff * corner + c.number(2) * own)) / (grown * grown)
            qp = (qp + diff * column) / grown
        done = worst < c.number(epsilon)
        return op.Where(done, p, moved)

    return op.Reshape(op.Loop(np.array(max(100, count), np.int64), None, start, body=body), [-1, count])


@rule("predict", "KernelRidge")
def ridge(c: Conversion, estimator: Any, x: Rows) -> Var:
    values = pairwise_kernel(c, estimator, c.matrix(x), estimator.X_fit_)
    dual = np.asarray(estimator.dual_coef_)
    return linear(c, values, dual if dual.ndim == 2 else dual[:, None])


@rule("predict", "GaussianProcessRegressor")
def process(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    if not hasattr(estimator, "X_train_"):
        return c.filled(x, c.array(np.zeros(1)))
    values = evaluated(c, estimator.kernel_, rows, estimator.X_train_)
    alpha = np.asarray(estimator.alpha_)
    mean = linear(c, values, alpha if alpha.ndim == 2 else alpha[:, None])
    return mean * c.array(np.atleast_1d(estimator._y_train_std)) + c.array(np.atleast_1d(estimator._y_train_mean))


@rule("predict_proba", "GaussianProcessClassifier")
def process_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    inner = estimator.base_estimator_
    rows = c.matrix(x)
    if estimator.n_classes_ == 2:
        return both(c, _positive(c, inner, rows))
    return normalised(c, op.Concat(*(_positive(c, one, rows) for one in inner.estimators_), axis=1))


@rule("predict", "GaussianProcessClassifier")
def process_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    inner = estimator.base_estimator_
    rows = c.matrix(x)
    if estimator.n_classes_ == 2:
        mean = _latent(c, inner, rows)[0]
        return labels(c, estimator.classes_, above(c, mean))
    scores = op.Concat(*(_positive(c, one, rows) for one in inner.estimators_), axis=1)
    return labels(c, estimator.classes_, argmax(scores))


@refusal("GaussianProcessClassifier")
def pairwise(estimator: Any) -> str | None:
    one = estimator.n_classes_ == 2 or estimator.multi_class == "one_vs_rest"
    return None if one else "multi_class='one_vs_one' has no rule"


def _latent(c: Conversion, inner: Any, rows: Var) -> tuple[Var, Var]:
    values = evaluated(c, inner.kernel_, rows, inner.X_train_)
    mean = linear(c, values, np.asarray(inner.y_train_ - inner.pi_)[:, None])
    return mean, values


_LAMBDAS = np.array([0.41, 0.4, 0.37, 0.44, 0.39])[:, None]
_COEFS = np.array([-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654])[:, None]
"""Williams and Barber's approximation of the logistic sigmoid by error functions, as scikit-learn has it."""


def _positive(c: Conversion, inner: Any, rows: Var) -> Var:
    mean, values = _latent(c, inner, rows)
    root = np.asarray(inner.W_sr_, np.float64)
    solve = np.linalg.solve(np.asarray(inner.L_, np.float64), np.diag(root))
    v = linear(c, values, solve.T)
    own = evaluated(c, inner.kernel_, rows, None)
    variance = own - op.ReduceSum(v * v, [1], keepdims=1)
    alpha = c.number(1) / (c.number(2) * variance)
    gamma = c.array(_LAMBDAS.T) * mean
    integral = op.Sqrt(c.number(np.pi) / alpha) * op.Erf(gamma * op.Sqrt(alpha / (alpha + c.array((_LAMBDAS**2).T))))
    integral = integral / (c.number(2) * op.Sqrt(variance * c.number(2 * np.pi)))
    weighted = linear(c, integral, _COEFS)
    return weighted + c.number(0.5 * float(_COEFS.sum()))
