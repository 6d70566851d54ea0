"""Linear models: scores that are weighted sums of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.ml import lower_scores
from ingot.ops.ml.element_types import NUMBERS, Float32, Label, Numbers
from ingot.ops.ml.labels import label_array, label_type
from ingot.ops.ml.post_transform import checked, transformed, two_classes
from ingot.ops.ml.rows import affordable, as_rows, feature_count, row_count
from ingot.ops.typesets import types

T1: TypeAlias = Annotated[Array, types("T1", NUMBERS)]


@operator("LinearRegressor", since=1, domain="ai.onnx.ml")
def linear_regressor(
    x: Numbers,
    /,
    *,
    coefficients: Sequence[float] | None = None,
    intercepts: Sequence[float] | None = None,
    post_transform: str = "NONE",
    targets: int = 1,
) -> Float32:
    """`x @ coefficients.T + intercepts`, one row of coefficients for each target, then transformed."""
    scores = _scores(as_rows(x), coefficients or (), intercepts, _positive(targets))
    return transformed(scores, post_transform).astype(np.float32)


@linear_regressor.infer
def infer_regressor(
    x: Fact,
    /,
    *,
    coefficients: Sequence[float] | None,
    intercepts: Sequence[float] | None,
    post_transform: str,
    targets: int,
) -> Inferred:
    checked(post_transform)
    features = feature_count(x)
    if isinstance(features, int):
        _check_counts(features, coefficients or (), intercepts, _positive(targets))
    return TensorType(DType.FLOAT32, (row_count(x), targets))


@linear_regressor.lower
def lower_regressor(
    x: prim.Tensor,
    /,
    *,
    coefficients: Sequence[float] | None,
    intercepts: Sequence[float] | None,
    post_transform: str,
    targets: int,
) -> prim.Tensor:
    scores = _lowered(x, coefficients or (), intercepts, _positive(targets))
    return prim.cast(lower_scores.transformed(scores, post_transform), DType.FLOAT32)


@operator("LinearClassifier", since=1, domain="ai.onnx.ml")
def linear_classifier(
    x: T1,
    /,
    *,
    coefficients: Sequence[float],
    classlabels_ints: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
    intercepts: Sequence[float] | None = None,
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> tuple[Label, Float32]:
    """The label of the largest score `x @ coefficients.T + intercepts` in each row, and the scores, transformed.

    One row of coefficients for two labels scores the second of them; for no labels the classes are 0 and 1.
    """
    labels = classlabels_strings or classlabels_ints or ()
    rows = as_rows(x)
    count = _class_count(coefficients, intercepts, rows.shape[1])
    _check_labels(len(labels), count)
    scores = _scores(rows, coefficients, intercepts, count)
    if count > 1:
        chosen = scores.argmax(axis=1)
        results = transformed(scores, post_transform)
    else:
        chosen = (scores[:, 0] > 0).astype(np.int64)
        single = scores[:, 0]
        results = (
            two_classes(single, post_transform, complement=True) if labels else transformed(scores, post_transform)
        )
    return label_array(labels or (0, 1))[chosen], results.astype(np.float32)


@linear_classifier.infer
def infer_classifier(
    x: Fact,
    /,
    *,
    coefficients: Sequence[float],
    classlabels_ints: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
    intercepts: Sequence[float] | None,
    multi_class: int,
    post_transform: str,
) -> tuple[Inferred, Inferred]:
    checked(post_transform)
    labels = classlabels_strings or classlabels_ints or ()
    rows, features = row_count(x), feature_count(x)
    columns: int | None = None
    if isinstance(features, int) or intercepts:
        count = _class_count(coefficients, intercepts, features if isinstance(features, int) else None)
        _check_labels(len(labels), count)
        columns = 2 if count == 1 and labels else count
    label = label_type(None if classlabels_strings else classlabels_ints, classlabels_strings)
    return TensorType(label, (rows,)), TensorType(DType.FLOAT32, (rows, columns))


@linear_classifier.lower
def lower_classifier(
    x: prim.Tensor,
    /,
    *,
    coefficients: Sequence[float],
    classlabels_ints: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
    intercepts: Sequence[float] | None,
    multi_class: int,
    post_transform: str,
) -> tuple[prim.Tensor, prim.Tensor]:
    labels = classlabels_strings or classlabels_ints or ()
    features = x.shape[-1]
    count = _class_count(coefficients, intercepts, features if isinstance(features, int) else None)
    scores = _lowered(x, coefficients, intercepts, count)
    if count > 1:
        place, results = lower_scores.greatest(scores), lower_scores.transformed(scores, post_transform)
    else:
        place = prim.cast(prim.apply("less", 0.0, prim.squeeze(scores, [1])), DType.INT64)
        two = lower_scores.two_classes(scores, post_transform, complement=True)
        results = two if labels else lower_scores.transformed(scores, post_transform)
    return lower_scores.labelled(place, labels or (0, 1)), prim.cast(results, DType.FLOAT32)


def _lowered(
    x: prim.Tensor, coefficients: Sequence[float], intercepts: Sequence[float] | None, targets: int
) -> prim.Tensor:
    rows = prim.cast(prim.unsqueeze(x, [0]) if x.rank == 1 else x, DType.FLOAT64)
    features = rows.shape[1]
    if not isinstance(features, int):
        raise prim.Refused("a statically unknown number of features")
    _check_counts(features, coefficients, intercepts, targets)
    weights = np.array(coefficients, np.float64).reshape(targets, features).T.copy()
    scores = prim.contract(rows, prim.constant(weights), "nf,ft->nt")
    return scores + prim.constant(np.array(intercepts, np.float64)) if intercepts else scores


def _scores(rows: Array, coefficients: Sequence[float], intercepts: Sequence[float] | None, targets: int) -> Array:
    """Scores in float64, so that rounding to float32 at the end is the only one."""
    _check_counts(rows.shape[1], coefficients, intercepts, targets)
    affordable(len(rows) * targets, 8)
    weights = np.array(coefficients, np.float64).reshape(targets, rows.shape[1])
    scores = rows.astype(np.float64) @ weights.T
    return scores if not intercepts else scores + np.array(intercepts, np.float64)


def _class_count(coefficients: Sequence[float], intercepts: Sequence[float] | None, features: int | None) -> int:
    if intercepts:
        count = len(intercepts)
    else:
        count = len(coefficients) // features if features else 0
    if not count or (features is not None and len(coefficients) != count * features):
        raise ShapeError(f"{len(coefficients)} coefficients are no {count or 'whole number of'} rows of {features}")
    return count


def _check_counts(
    features: int, coefficients: Sequence[float], intercepts: Sequence[float] | None, targets: int
) -> None:
    if len(coefficients) != targets * features:
        raise ShapeError(f"there are {len(coefficients)} coefficients for {targets} targets of {features} features")
    if intercepts and len(intercepts) not in (1, targets):
        raise ShapeError(f"there are {len(intercepts)} intercepts for {targets} targets")


def _check_labels(labels: int, count: int) -> None:
    if (count == 1 and labels not in (0, 2)) or (count > 1 and labels < count):
        raise CheckError(f"there are {labels} labels for {count} rows of coefficients")


def _positive(targets: int) -> int:
    if targets < 1:
        raise CheckError(f"targets is {targets}, expected at least 1")
    return targets
