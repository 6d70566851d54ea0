"""Estimators made of others in a row or side by side: pipelines, unions, column transformers, searches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import labels, pick
from ingot.convert.sklearn.conversion import Columns, Conversion, Rows
from ingot.convert.sklearn.rule import METHODS, children, rule
from ingot.errors import ConvertError

_NOTHING = ("passthrough", "drop", None)


@children("Pipeline")
def steps(estimator: Any) -> list[Any]:
    return [step for _, step in estimator.steps if step not in _NOTHING]


def _pipeline(method: str) -> Any:
    def written(c: Conversion, estimator: Any, x: Rows) -> Var:
        rows: Rows = x
        *before, (_, last) = estimator.steps
        for _, step in before:
            if step not in _NOTHING:
                rows = c.transform(step, rows)
        if last in _NOTHING:
            return c.matrix(rows)
        return c.call(method, last, rows)

    return written


def _inner(attribute: str, method: str) -> Any:
    def written(c: Conversion, estimator: Any, x: Rows) -> Var:
        return c.call(method, getattr(estimator, attribute), x)

    return written


_INNER = {"BaseSearchCV": "best_estimator_", "FrozenEstimator": "estimator", "SelfTrainingClassifier": "estimator_"}
"""By class, the attribute that holds the estimator whose methods it has."""

pipelines = [rule(method, "Pipeline")(_pipeline(method)) for method in METHODS]
inners = [rule(method, name)(_inner(at, method)) for name, at in _INNER.items() for method in METHODS]


@children("BaseSearchCV")
def best(estimator: Any) -> list[Any]:
    return [estimator.best_estimator_] if hasattr(estimator, "best_estimator_") else []


@children("FrozenEstimator")
def frozen(estimator: Any) -> list[Any]:
    return [estimator.estimator]


@children("SelfTrainingClassifier", "FixedThresholdClassifier", "TunedThresholdClassifierCV")
def taught(estimator: Any) -> list[Any]:
    return [estimator.estimator_]


@children("FeatureUnion")
def union_parts(estimator: Any) -> list[Any]:
    return [part for _, part in estimator.transformer_list if part not in _NOTHING]


@rule("transform", "FeatureUnion")
def union(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = []
    for name, part in estimator.transformer_list:
        if part in ("drop", None):
            continue
        block = c.matrix(x) if part == "passthrough" else c.transform(part, x)
        weight = (estimator.transformer_weights or {}).get(name)
        parts.append(block if weight is None else c.cast(block, c.real) * c.number(weight))
    return joined(c, parts)


@children("ColumnTransformer")
def column_parts(estimator: Any) -> list[Any]:
    return [part for _, part, columns in estimator.transformers_ if part not in _NOTHING and _chooses_any(columns)]


@rule("transform", "ColumnTransformer")
def column_transformer(c: Conversion, estimator: Any, x: Rows) -> Var:
    parts = []
    for name, part, columns in estimator.transformers_:
        if part in ("drop", None) or not _chooses_any(columns):
            continue
        chosen = c.select(x, list(_places(estimator, x, columns)))
        if isinstance(columns, str | int | np.integer) and isinstance(chosen, Columns):
            chosen = op.Reshape(chosen.values[0], [-1])  # one name gives a list, as text is read
        elif isinstance(columns, str | int | np.integer):
            chosen = op.Reshape(chosen, [-1])
        block = _through(c, chosen) if part == "passthrough" else c.transform(part, chosen)
        weight = (estimator.transformer_weights or {}).get(name)
        parts.append(block if weight is None else c.cast(block, c.real) * c.number(weight))
    return joined(c, parts)


def joined(c: Conversion, parts: list[Var]) -> Var:
    """Matrices side by side: of strings if all are, else of numbers."""
    if not parts:
        raise ConvertError("every column is dropped, nothing is left")
    kinds = {part.dtype for part in parts}
    if len(kinds) > 1:
        parts = [c.cast(part, c.real) for part in parts]
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=1)


def _through(c: Conversion, x: Rows) -> Var:
    if isinstance(x, Var):
        return x
    return joined(c, list(x.values))


def _chooses_any(columns: Any) -> bool:
    if isinstance(columns, str | slice | int | np.integer):
        return True
    chosen = np.asarray(columns)
    return bool(chosen.any()) if chosen.dtype == bool else bool(chosen.size)


def _places(estimator: Any, x: Rows, columns: Any) -> Iterator[int]:
    names = list(getattr(estimator, "feature_names_in_", [])) or (list(x.names) if isinstance(x, Columns) else [])
    count = len(names) or estimator.n_features_in_
    if isinstance(columns, slice):
        columns = _bounded(columns, names)
        yield from range(count)[columns]
        return
    wanted = np.asarray(columns)
    if wanted.dtype == bool:
        yield from np.flatnonzero(wanted).tolist()
        return
    for item in wanted.reshape(-1).tolist():
        yield names.index(item) if isinstance(item, str) else int(item) % count


def _bounded(columns: slice, names: list[str]) -> slice:
    """A slice between names, the last included, as one between positions."""
    if not isinstance(columns.start, str) and not isinstance(columns.stop, str):
        return columns
    first = None if columns.start is None else names.index(columns.start)
    last = None if columns.stop is None else names.index(columns.stop) + 1
    return slice(first, last, columns.step)


@rule("predict_proba", "FixedThresholdClassifier", "TunedThresholdClassifierCV")
def threshold_probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.predict_proba(estimator.estimator_, x)


@rule("decision_function", "FixedThresholdClassifier", "TunedThresholdClassifierCV")
def threshold_decision(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.decision_function(estimator.estimator_, x)


@rule("predict", "FixedThresholdClassifier", "TunedThresholdClassifierCV")
def threshold_label(c: Conversion, estimator: Any, x: Rows) -> Var:
    inner = estimator.estimator_
    method = estimator.response_method
    if method == "auto":
        method = "predict_proba" if hasattr(inner, "predict_proba") else "decision_function"
    threshold = getattr(estimator, "best_threshold_", getattr(estimator, "threshold", "auto"))
    if threshold == "auto":
        threshold = 0.5 if method == "predict_proba" else 0.0
    scores = c.call(method, inner, x)
    scores = pick(scores, 1) if method == "predict_proba" else scores
    positive = getattr(estimator, "pos_label", None)
    classes = list(estimator.classes_)
    if positive is not None and classes.index(positive) == 0:
        raise ConvertError("a threshold on the first class has no rule", hint="make it the positive class")
    high = op.Reshape(op.Cast(scores >= c.number(float(threshold)), to=7), [-1])
    return labels(c, classes, high)
