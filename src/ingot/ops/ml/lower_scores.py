"""Scores in primitives: what becomes of them, those of two classes from one, and the label of the greatest."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np

from ingot import prim
from ingot.dtypes import DType
from ingot.ops.ml.post_transform import checked
from ingot.ops.reduction.places import place_of


def transformed(scores: prim.Tensor, transform: str) -> prim.Tensor:
    """Scores, a row for each example, transformed as by `post_transform.transformed`."""
    match checked(transform):
        case "LOGISTIC":
            return prim.apply("sigmoid", scores)
        case "SOFTMAX":
            away = scores - prim.reduce_("maximum", scores, [1])
            exponentials = prim.apply("exp", away)
            return exponentials / prim.reduce_("add", exponentials, [1])
        case "SOFTMAX_ZERO":
            return _softmax_zero(scores)
        case "PROBIT":
            return _probit(scores)
    return scores


def two_classes(score: prim.Tensor, transform: str, *, complement: bool) -> prim.Tensor:
    """Scores of two classes from that of the second, [rows, 1], as by `post_transform.two_classes`."""
    opposites = transform in ("LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO") or (transform == "NONE" and not complement)
    second = prim.cast(prim.iota((score.shape[0], 2), 1), DType.BOOL)
    both = prim.expand(score, (score.shape[0], 2))
    return transformed(prim.where(second, both, -both if opposites else 1.0 - both), transform)


def greatest(scores: prim.Tensor) -> prim.Tensor:
    """The column of the greatest score of each row, the first of equals: int64 [rows]."""
    return prim.squeeze(place_of(scores, 1, "maximum"), [1])


def labelled(place: prim.Tensor, labels: Sequence[int] | Sequence[str]) -> prim.Tensor:
    """The label at each place; Refused where they are strings."""
    if isinstance(labels[0], str):
        raise prim.Refused("labels that are strings")
    if list(labels) == list(range(len(labels))):
        return place
    return prim.gather(prim.constant(np.array(labels, np.int64)), [place], place.shape, in_range=True)


def _softmax_zero(x: prim.Tensor) -> prim.Tensor:
    peak = prim.reduce_("maximum", x, [1])
    far = prim.apply("less", 1e-7, prim.apply("absolute", x))
    exponentials = prim.where(far, prim.apply("exp", x - peak), x * prim.apply("exp", -peak))
    total = prim.reduce_("add", exponentials, [1])
    nothing = prim.apply("equal", total, 0.0)
    return prim.where(nothing, 0.5, exponentials / prim.where(nothing, 1.0, total))


def _probit(x: prim.Tensor) -> prim.Tensor:
    centred = 2.0 * x - 1.0
    log = prim.apply("log", (1.0 - centred) * (1.0 + centred))
    half = 2 / (pi * 0.147) + log * 0.5
    root = prim.apply("sqrt", prim.apply("sqrt", half * half - log / 0.147) - half)
    root = prim.where(prim.apply("equal", log, float("-inf")), float("inf"), root)
    return sqrt(2.0) * prim.apply("copysign", root, centred)
