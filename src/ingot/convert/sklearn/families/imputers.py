"""Missing values: found, and filled in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.families.composition import joined
from ingot.convert.sklearn.rule import rule
from ingot.dtypes import DType


@rule("transform", "SimpleImputer")
def simple(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts: list[Var] = []
    for place, value in enumerate(np.asarray(estimator.statistics_, object).tolist()):
        if isinstance(value, float) and np.isnan(value) and not estimator.keep_empty_features:
            continue  # a column that was all missing is left out
        column = c.column(x, place)
        filler = np.array(str(value), object) if column.dtype is DType.STRING else c.number(float(value))
        if column.dtype is not DType.STRING:
            column = c.cast(column, c.real)
        parts.append(op.Where(_missing(c, column, estimator.missing_values), filler, column))
    if estimator.add_indicator:
        parts.append(c.cast(c.transform(estimator.indicator_, x), c.real))
    return joined(c, parts)


@rule("transform", "MissingIndicator")
def indicator(c: Conversion, estimator: Any, x: Rows) -> Var:
    chosen = np.asarray(estimator.features_).tolist()
    parts = []
    for place in chosen:
        column = c.column(x, place)
        column = column if column.dtype is DType.STRING else c.cast(column, c.real)
        parts.append(_missing(c, column, estimator.missing_values))
    return joined(c, parts)


def _missing(c: Conversion, column: Var, value: Any) -> Var:
    if isinstance(value, float) and np.isnan(value):
        return column != column if column.dtype is DType.STRING else op.IsNaN(column)
    if column.dtype is DType.STRING:
        return op.Equal(column, np.array(str(value), object))
    return op.Equal(column, c.number(float(value)))


@rule("transform", "KNNImputer")
def nearest(c: Conversion, estimator: Any, x: Rows) -> Var:
    """The mean of the nearest rows that have the value; distances skip what either row lacks."""
    rows = c.matrix(x)
    fitted = np.asarray(estimator._fit_X, np.float64)
    lacks = np.isnan(fitted) if np.isnan(estimator.missing_values) else fitted == estimator.missing_values
    known = np.where(lacks, 0, fitted)
    empty = _missing(c, rows, estimator.missing_values)
    here = op.Where(empty, c.number(0), rows)
    present = op.Cast(op.Not(empty), to=c.real)
    there = (~lacks).astype(np.float64)
    shared = op.MatMul(present, c.array(there.T))
    squares = (
        op.MatMul(here * here, c.array(there.T))
        - c.number(2) * op.MatMul(here, c.array(known.T))
        + op.MatMul(present, c.array((known**2).T))
    )
    features = fitted.shape[1]
    never = op.Equal(shared, c.number(0))
    scaled = op.Max(squares, c.number(0)) * c.number(features) / op.Where(never, c.number(1), shared)
    distance = op.Where(never, c.number(np.inf), op.Sqrt(scaled))
    valid = np.asarray(estimator._valid_mask)
    parts = [_filled(c, estimator, here, empty, distance, known, lacks, at) for at in np.flatnonzero(valid).tolist()]
    if estimator.keep_empty_features:
        whole = dict(zip(np.flatnonzero(valid).tolist(), parts, strict=True))
        zero = c.filled(x, c.array([0]))
        parts = [whole.get(at, zero) for at in range(features)]
    if estimator.add_indicator:
        parts.append(c.cast(c.transform(estimator.indicator_, x), c.real))
    return joined(c, parts)


def _filled(
    c: Conversion, estimator: Any, here: Var, empty: Var, distance: Var, known: Any, lacks: Any, at: int
) -> Var:
    column, missing = c.column(here, at), op.Slice(empty, [at], [at + 1], [1])
    donors = np.flatnonzero(~lacks[:, at])
    mean = float(known[donors, at].mean()) if len(donors) else 0.0
    if not len(donors):
        return op.Where(missing, c.number(mean), column)
    count = min(estimator.n_neighbors, len(donors))
    away = op.Gather(distance, donors, axis=1)
    near, which = op.TopK(away, np.array([count], np.int64), axis=1, largest=0, outputs=2)
    values = op.Gather(c.array(known[donors, at]), which)
    weights = op.Where(op.IsInf(near), c.number(0), c.number(1))
    if estimator.weights == "distance":
        exact = op.Equal(near, c.number(0))
        any_exact = op.ReduceMax(op.Cast(exact, to=c.real), [1], keepdims=1) > c.number(0)
        inverse = op.Reciprocal(op.Where(exact, c.number(1), near))
        weights = op.Where(any_exact, op.Cast(exact, to=c.real), op.Where(op.IsInf(near), c.number(0), inverse))
    total = op.ReduceSum(weights, [1], keepdims=1)
    none = op.Equal(total, c.number(0))
    mean_of_near = op.ReduceSum(values * weights, [1], keepdims=1) / op.Where(none, c.number(1), total)
    return op.Where(missing, op.Where(none, c.number(mean), mean_of_near), column)
