"""Pieces that many rules are made of: linear maps, links, distances, the class with the highest score."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.conversion import Conversion
from ingot.dtypes import Array


def linear(c: Conversion, x: Var, weights: Any, bias: Any = None) -> Var:
    """`x @ weights + bias`, the weights one column a result."""
    product = op.MatMul(x, c.array(weights))
    if bias is None or not np.any(np.asarray(bias)):
        return product
    return product + c.array(np.atleast_1d(bias))


def labels(c: Conversion, classes: Any, index: Var) -> Var:
    """The classes at these positions."""
    del c
    return op.Gather(class_array(classes), index, axis=0)


def class_array(classes: Any) -> Array:
    """Classes as a constant: integers as int64, strings as strings, others as they are."""
    array = np.asarray(classes)
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    if array.dtype.kind in "US" or array.dtype == object:
        flat = array.reshape(-1).tolist()
        if all(isinstance(item, int | np.integer | bool | np.bool_) for item in flat):
            return array.astype(np.int64)
        return np.array([*(str(item) for item in flat), None], object)[:-1].reshape(array.shape)
    return array


def argmax(scores: Var) -> Var:
    """Where each row has its largest element, the first of equal ones: shape [batch]."""
    return op.ArgMax(scores, axis=1, keepdims=0)


def above(c: Conversion, scores: Var, threshold: float = 0.0) -> Var:
    """1 where the one score of a row is above the threshold, else 0: int64 of shape [batch]."""
    return op.Reshape(op.Cast(scores > c.number(threshold), to=7), [-1])


def both(c: Conversion, probability: Var) -> Var:
    """The probabilities of two classes, from that of the second."""
    return op.Concat(c.number(1) - probability, probability, axis=1)


def sum_rows(x: Var) -> Var:
    return op.ReduceSum(x, [1], keepdims=1)


def normalised(c: Conversion, x: Var, *, empty: float | None = None) -> Var:
    """Rows divided by their sums; rows that sum to zero become `empty` everywhere, or stay."""
    total = sum_rows(x)
    zero = op.Equal(total, c.number(0))
    divided = x / op.Where(zero, c.number(1), total)
    return divided if empty is None else op.Where(zero, c.number(empty), divided)


def squared_distances(c: Conversion, x: Var, points: Any) -> Var:
    """Squared Euclidean distances of rows to points, by products: as scikit-learn computes them itself."""
    rows = c.array(points)
    norms = c.array(np.sum(np.asarray(rows, np.float64) ** 2, axis=1)[None])
    products = op.MatMul(x, c.array(rows.T))
    return op.Max(sum_rows(x * x) - c.number(2) * products + norms, c.number(0))


def exact_squared_distances(c: Conversion, x: Var, points: Any) -> Var:
    """The same by differences, exactly zero for equal rows; takes batch × points × features numbers."""
    apart = op.Unsqueeze(x, [1]) - c.array(points)[None]
    return op.ReduceSum(apart * apart, [2], keepdims=0)


def softmax(x: Var) -> Var:
    return op.Softmax(x, axis=1)


def log_sum_exp(x: Var) -> Var:
    return op.ReduceLogSumExp(x, [1], keepdims=1)


def pick(x: Var, place: int) -> Var:
    """Column `place`, with two axes."""
    return op.Slice(x, [place], [place + 1], [1])


def hot(c: Conversion, places: Var, count: int) -> Var:
    """Each place as a row that is 1 there and 0 elsewhere: one axis more. Engines have OneHot of float32."""
    return c.cast(op.OneHot(places, np.array(count, np.int64), np.array([0, 1], np.float32), axis=-1), c.real)


def interpolated(c: Conversion, x: Var, xp: Any, fp: Any) -> Var:
    """numpy.interp of each element of `x`, of shape [batch, 1]: linear between points, level outside."""
    xs, ys = np.asarray(xp, np.float64), np.asarray(fp, np.float64)
    if len(xs) == 1:
        return x * c.number(0) + c.number(float(ys[0]))
    clipped = op.Min(op.Max(x, c.number(float(xs[0]))), c.number(float(xs[-1])))
    inner = c.array(xs[1:-1][None])  # how many of these lie at or below says which segment it is
    place = op.ReduceSum(op.Cast(clipped >= inner, to=7), [1], keepdims=1) if len(xs) > 2 else op.Cast(x * 0, to=7)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where(np.diff(xs) > 0, np.diff(ys) / np.diff(xs), 0)
    start, value, slope = (op.Gather(c.array(part), place) for part in (xs[:-1], ys[:-1], slopes))
    between = value + slope * (clipped - start)
    return op.Where(op.Equal(clipped, c.number(float(xs[-1]))), c.number(float(ys[-1])), between)
