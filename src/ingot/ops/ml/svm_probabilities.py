"""Probabilities of classes from those of pairs, by the second method of Wu, Lin and Weng (2004), as in libsvm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from itertools import combinations
from operator import add

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.ops.ml import lower_scores
from ingot.ops.ml.post_transform import logistic
from ingot.ops.ml.rows import affordable
from ingot.prim.make_region import repeated
from ingot.prim.region import BodyArgument

_LEAST = 1e-7
"""The least probability that one of a pair wins."""

_CLOSE = 0.005
"""How far the gradient may be from its mean, divided by the number of classes."""


def _most_sweeps(classes: int) -> int:
    return max(100, classes)


def probabilities(pairs: Array, classes: int, prob_a: Sequence[float], prob_b: Sequence[float]) -> Array:
    """[rows, classes]: the probabilities of classes, from scores [rows, pairs] of which those of pairs follow."""
    affordable(len(pairs) * classes * classes, 8)
    count = pairs.shape[1]
    a, b = np.array(prob_a[:count], np.float64), np.array(prob_b[:count], np.float64)
    wins = np.clip(1 - logistic(pairs * a + b), _LEAST, 1 - _LEAST)
    r = np.zeros((len(pairs), classes, classes))
    for pair, (i, j) in enumerate(combinations(range(classes), 2)):
        r[:, i, j] = wins[:, pair]
        r[:, j, i] = 1 - wins[:, pair]
    q = -np.swapaxes(r, 1, 2) * r
    diagonal = np.arange(classes)
    q[:, diagonal, diagonal] = np.square(r).sum(axis=1)
    p = np.full((len(pairs), classes), 1 / classes)
    active = np.arange(len(pairs))
    for _ in range(_most_sweeps(classes)):
        qp = np.einsum("nij,nj->ni", q[active], p[active])
        pqp = (p[active] * qp).sum(axis=1)
        open_ = np.abs(qp - pqp[:, None]).max(axis=1, initial=0) >= _CLOSE / classes
        active, qp, pqp = active[open_], qp[open_], pqp[open_]
        if not active.size:
            break
        p[active] = _step(q[active], p[active], qp, pqp)
    return p


def _step(q: Array, p: Array, qp: Array, pqp: Array) -> Array:
    for t in range(q.shape[1]):
        diagonal = q[:, t, t]
        change = (pqp - qp[:, t]) / diagonal
        p[:, t] += change
        scale = 1 + change
        pqp = (pqp + change * (change * diagonal + 2 * qp[:, t])) / scale**2
        qp = (qp + change[:, None] * q[:, t]) / scale[:, None]
        p = p / scale[:, None]
    return p


def lower_probabilities(
    pairs: prim.Tensor, classes: int, prob_a: Sequence[float], prob_b: Sequence[float]
) -> prim.Tensor:
    """The same of float64, in a loop that ends when all rows are done."""
    count, rows = classes * (classes - 1) // 2, pairs.shape[0]
    slopes, offsets = (prim.constant(np.array(each[:count], np.float64)) for each in (prob_a, prob_b))
    lost = lower_scores.transformed(pairs * slopes + offsets, "LOGISTIC")
    wins = prim.apply("minimum", prim.apply("maximum", 1.0 - lost, _LEAST), 1 - _LEAST)
    r = {}
    for pair, (i, j) in enumerate(combinations(range(classes), 2)):
        r[i, j] = prim.squeeze(prim.slice_(wins, [0, pair], [rows, 1]), [1])
        r[j, i] = 1.0 - r[i, j]
    q = {(i, j): -r[j, i] * r[i, j] for i in range(classes) for j in range(classes) if i != j}
    for i in range(classes):
        q[i, i] = _sum([r[j, i] * r[j, i] for j in range(classes) if j != i])
    first = [prim.full(1 / classes, (rows,), DType.FLOAT64)] * classes
    p = [BodyArgument(each.dtype, each.shape, f"p{place}") for place, each in enumerate(first)]
    qp = [_sum([q[i, j] * p[j] for j in range(classes)]) for i in range(classes)]
    pqp = _sum([one * other for one, other in zip(p, qp, strict=True)])
    away = reduce(partial(prim.apply, "maximum"), [prim.apply("absolute", each - pqp) for each in qp])
    is_open = prim.apply("less_equal", _CLOSE / classes, away)
    results = [prim.where(is_open, new, old) for new, old in zip(_lower_step(q, p, qp, pqp), p, strict=True)]
    going = prim.squeeze(prim.reduce_("or", is_open, [0]), [0])
    sweep = BodyArgument(DType.INT64, (), "sweep")
    last, _ = repeated(_most_sweeps(classes), None, first, sweep, p, going, results, [], 1)
    return prim.concat([prim.unsqueeze(each, [1]) for each in last], 1)


def _lower_step(
    q: Mapping[tuple[int, int], prim.Tensor], p: Sequence[prim.Tensor], qp: Sequence[prim.Tensor], pqp: prim.Tensor
) -> list[prim.Tensor]:
    columns, gradient = list(p), list(qp)
    for t in range(len(columns)):
        change = (pqp - gradient[t]) / q[t, t]
        scale = 1.0 + change
        pqp = (pqp + change * (change * q[t, t] + 2.0 * gradient[t])) / (scale * scale)
        gradient = [(each + change * q[t, i]) / scale for i, each in enumerate(gradient)]
        columns[t] = columns[t] + change
        columns = [each / scale for each in columns]
    return columns


def _sum(terms: Sequence[prim.Tensor]) -> prim.Tensor:
    return reduce(add, terms)
