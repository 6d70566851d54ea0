"""Scalers and other maps of one feature at a time, or of a row as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import interpolated, linear, sum_rows
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.rule import rule


@rule("transform", "StandardScaler")
def standard(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    if estimator.with_mean and estimator.mean_ is not None:
        rows = rows - c.array(estimator.mean_[None])
    if estimator.with_std and estimator.scale_ is not None:
        rows = rows / c.array(estimator.scale_[None])
    return rows


@rule("transform", "RobustScaler")
def robust(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    if estimator.with_centering:
        rows = rows - c.array(estimator.center_[None])
    return rows / c.array(estimator.scale_[None]) if estimator.with_scaling else rows


@rule("transform", "MinMaxScaler")
def min_max(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x) * c.array(estimator.scale_[None]) + c.array(estimator.min_[None])
    if not estimator.clip:
        return rows
    low, high = estimator.feature_range
    return op.Clip(rows, c.number(low), c.number(high))


@rule("transform", "MaxAbsScaler")
def max_abs(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x) / c.array(estimator.scale_[None])
    return op.Clip(rows, c.number(-1), c.number(1)) if getattr(estimator, "clip", False) else rows


@rule("transform", "Normalizer")
def normalizer(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    if estimator.norm == "l1":
        norms = sum_rows(op.Abs(rows))
    elif estimator.norm == "l2":
        norms = op.Sqrt(sum_rows(rows * rows))
    else:
        norms = op.ReduceMax(op.Abs(rows), [1], keepdims=1)
    return rows / op.Where(op.Equal(norms, c.number(0)), c.number(1), norms)


@rule("transform", "Binarizer")
def binarizer(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.cast(c.matrix(x) > c.number(estimator.threshold), c.real)


@rule("transform", "KernelCenterer")
def centred_kernel(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    means = sum_rows(rows) / c.number(len(estimator.K_fit_rows_))
    return rows - c.array(estimator.K_fit_rows_[None]) - means + c.number(float(estimator.K_fit_all_))


@rule("transform", "PowerTransformer")
def power(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    parts = [_power(c, estimator.method, float(one), c.column(rows, at)) for at, one in enumerate(estimator.lambdas_)]
    columns = op.Concat(*parts, axis=1)
    return standard(c, estimator._scaler, columns) if estimator.standardize else columns


def _power(c: Conversion, method: str, exponent: float, x: Var) -> Var:
    if method == "box-cox":
        return _box_cox(c, x, exponent)
    zero, one = c.number(0), c.number(1)
    up = _box_cox(c, op.Max(x, zero) + one, exponent)
    down = op.Neg(_box_cox(c, one - op.Min(x, zero), 2 - exponent))
    return op.Where(op.IsNaN(x), x, op.Where(x >= zero, up, down))


def _box_cox(c: Conversion, x: Var, exponent: float) -> Var:
    """(x^λ − 1) / λ, without losing what is left of a small λ."""
    if exponent == 0 or abs(exponent) < np.spacing(1.0):
        return op.Log(x)
    if exponent == 1:
        return x - c.number(1)
    return (op.Pow(x, c.number(exponent)) - c.number(1)) / c.number(exponent)


@rule("transform", "QuantileTransformer")
def quantiles(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    return op.Concat(*(_quantile(c, estimator, c.column(rows, at), at) for at in range(c.width(rows))), axis=1)


def _quantile(c: Conversion, estimator: Any, x: Var, place: int) -> Var:
    quantiles, references = np.asarray(estimator.quantiles_[:, place], np.float64), np.asarray(estimator.references_)
    normal = estimator.output_distribution == "normal"
    up = interpolated(c, x, quantiles, references)
    down = op.Neg(interpolated(c, op.Neg(x), -quantiles[::-1], -references[::-1]))
    half = c.number(0.5) * (up + down)
    low, high = c.number(float(quantiles[0])), c.number(float(quantiles[-1]))
    if normal:
        half = op.Where(x - c.number(1e-7) < low, c.number(0), half)
        half = op.Where(x + c.number(1e-7) > high, c.number(1), half)
    else:
        half = op.Where(op.Equal(x, low), c.number(0), half)
        half = op.Where(op.Equal(x, high), c.number(1), half)
    half = op.Where(op.IsNaN(x), x, half)
    return _normal_quantile(c, half) if normal else half


def _normal_quantile(c: Conversion, p: Var) -> Var:
    """The normal distribution's quantile function (Wichura's AS 241), clipped as scikit-learn clips it."""
    one = c.number(1)
    q = p - c.number(0.5)
    r = c.number(0.180625) - q * q
    middle = q * _polynomial(c, r, _A) / _polynomial(c, r, _B)
    tail = op.Sqrt(op.Neg(op.Log(op.Max(op.Min(p, one - p), c.number(1e-300 if c.real == np.float64 else 1e-37)))))
    near, far = tail - c.number(1.6), tail - c.number(5)
    outside = op.Where(
        tail <= c.number(5),
        _polynomial(c, near, _C) / _polynomial(c, near, _D),
        _polynomial(c, far, _E) / _polynomial(c, far, _F),
    )
    deviate = op.Where(op.Abs(q) <= c.number(0.425), middle, op.Where(q < c.number(0), op.Neg(outside), outside))
    limit = 5.199337582605575  # −norm.ppf(1e-7 − spacing(1)), what scikit-learn clips to
    return op.Where(op.IsNaN(p), p, op.Clip(deviate, c.number(-limit), c.number(limit)))


def _polynomial(c: Conversion, x: Var, coefficients: tuple[float, ...]) -> Var:
    """Highest power first."""
    total = x * c.number(coefficients[0]) + c.number(coefficients[1])
    for coefficient in coefficients[2:]:
        total = total * x + c.number(coefficient)
    return total


# M. J. Wichura, Algorithm AS 241: the percentage points of the normal distribution (1988), routine PPND16.
_A = (
    *(2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457),
    *(13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
)
_B = (
    *(5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867),
    *(5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)
_C = (
    *(7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258),
    *(3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
)
_D = (
    *(1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459),
    *(0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
)
_E = (
    *(2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093),
    *(0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
)
_F = (
    *(2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4),
    *(0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
)


@rule("transform", "AdditiveChi2Sampler")
def additive_chi2(c: Conversion, estimator: Any, x: Rows) -> Var:
    interval = estimator.sample_interval
    if interval is None:
        interval = {1: 0.8, 2: 0.5, 3: 0.4}[estimator.sample_steps]
    rows = c.matrix(x)
    positive = op.Cast(op.Not(op.Equal(rows, c.number(0))), to=c.real)
    safe = op.Where(op.Equal(rows, c.number(0)), c.number(1), rows)
    parts = [op.Sqrt(rows * c.number(interval))]
    step = c.number(2 * interval)
    for place in range(1, estimator.sample_steps):
        factor = op.Sqrt(safe * step / c.number(np.cosh(np.pi * place * interval)))
        angle = c.number(place * interval) * op.Log(safe)
        parts += [positive * factor * op.Cos(angle), positive * factor * op.Sin(angle)]
    return op.Concat(*parts, axis=1)


@rule("transform", "RBFSampler")
def rbf_sampler(c: Conversion, estimator: Any, x: Rows) -> Var:
    angles = linear(c, c.matrix(x), estimator.random_weights_, estimator.random_offset_)
    return op.Cos(angles) * c.number((2.0 / estimator.n_components) ** 0.5)


@rule("transform", "SkewedChi2Sampler")
def skewed_chi2(c: Conversion, estimator: Any, x: Rows) -> Var:
    logs = op.Log(c.matrix(x) + c.number(estimator.skewedness))
    angles = linear(c, logs, estimator.random_weights_, estimator.random_offset_)
    return op.Cos(angles) * c.number((2.0**0.5) / estimator.n_components**0.5)
