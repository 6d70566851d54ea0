"""What a converted estimator gives: the outputs, named and shaped as skl2onnx has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.conversion import Conversion, two_axes
from ingot.errors import ConvertError


@dataclass(frozen=True, slots=True)
class Output:
    """An output: how it is written, and what the original gives for it."""

    name: str
    write: Callable[[Conversion, Any, Any], Var]
    expected: Callable[[Any, Any], Any]
    is_map: bool = False


def outputs_of(model: Any, *, zipmap: bool, raw_scores: bool) -> list[Output]:
    """The outputs of an estimator by what it is; ConvertError if it neither predicts nor transforms."""
    kind = _kind(model)
    if kind == "classifier":
        return _classifier(model, zipmap, raw_scores)
    if kind == "outlier_detector":
        return [_column("label", "predict"), _column("scores", "decision_function")]
    if kind == "density":
        return [_column("label", "predict"), _method("probabilities", "predict_proba")]
    if kind == "clusterer":
        scores = [_method("scores", "transform")] if hasattr(model, "transform") else []
        return [_method("label", "predict"), *scores]
    if hasattr(model, "predict") and kind == "regressor":
        return [_method("variable", "predict")]
    if hasattr(model, "kneighbors") and not hasattr(model, "transform"):
        return _neighbours()
    for method in ("transform", "predict", "score_samples"):
        if hasattr(model, method):
            return [_method("variable", method)]
    raise ConvertError(f"a {type(model).__name__} neither predicts nor transforms", hint="what it found is in its fit")


def _kind(model: Any) -> str | None:
    from sklearn.base import is_classifier, is_clusterer, is_outlier_detector, is_regressor

    if is_classifier(model):
        return "classifier"
    if is_regressor(model):
        return "regressor"
    if is_outlier_detector(model) and hasattr(model, "decision_function"):
        return "outlier_detector"
    if hasattr(model, "predict") and hasattr(model, "weights_") and hasattr(model, "predict_proba"):
        return "density"
    if is_clusterer(model) and hasattr(model, "predict"):
        return "clusterer"
    return None


def _method(name: str, method: str) -> Output:
    return Output(
        name,
        lambda conversion, model, x: conversion.call(method, model, x),
        lambda model, x: two_axes(getattr(model, method)(x), method, x),
    )


def _column(name: str, method: str) -> Output:
    """An output of shape [batch, 1], labels too."""

    def write(conversion: Conversion, model: Any, x: Any) -> Var:
        return op.Reshape(conversion.call(method, model, x), [-1, 1])

    return Output(name, write, lambda model, x: np.asarray(getattr(model, method)(x)).reshape(-1, 1))


def _classifier(model: Any, zipmap: bool, raw_scores: bool) -> list[Output]:
    method = "predict_proba"
    if raw_scores or not hasattr(model, method):
        method = "decision_function"
    if isinstance(_classes(model), list):
        return [_method("label", "predict"), *(_several(method) if hasattr(model, method) else [])]
    if not hasattr(model, method):
        return [_label()]
    scores = _method("probabilities", method) if method == "predict_proba" else _scores(model)
    return [_label(), _zipped(model, scores) if zipmap else scores]


def _label() -> Output:
    """The class of each row, also where an estimator gives a column of them."""

    def expected(model: Any, x: Any) -> Any:
        predicted = np.asarray(model.predict(x))
        return predicted.reshape(-1) if predicted.ndim == 2 and predicted.shape[1] == 1 else predicted

    return Output("label", lambda conversion, model, x: conversion.predict(model, x), expected)


def _neighbours() -> list[Output]:
    """Which rows of the fit are nearest, and how far."""
    return [
        Output(
            "index",
            lambda conversion, model, x: conversion.call("kneighbors_index", model, x),
            lambda model, x: model.kneighbors(x)[1],
        ),
        Output(
            "distance",
            lambda conversion, model, x: conversion.call("kneighbors_distance", model, x),
            lambda model, x: model.kneighbors(x)[0],
        ),
    ]


def _classes(model: Any) -> Any:
    """The classes of an estimator, a list of them where it has several targets."""
    return getattr(model, "classes_", None)


def _scores(model: Any) -> Output:
    """Decision values, one for each class: for two classes the one value, with either sign."""
    classes = _classes(model)
    two = classes is not None and len(classes) == 2

    def write(conversion: Conversion, model: Any, x: Any) -> Var:
        values = conversion.decision_function(model, x)
        return op.Concat(op.Neg(values), values, axis=1) if two and conversion.width(values) == 1 else values

    def expected(model: Any, x: Any) -> Any:
        values = two_axes(model.decision_function(x), "decision_function", x)
        return np.concatenate([-values, values], axis=1) if two and values.shape[1] == 1 else values

    return Output("probabilities", write, expected)


def _several(method: str) -> list[Output]:
    """The probabilities of several targets, stacked: shape [targets, batch, classes], as many classes as the most."""

    def expected(model: Any, x: Any) -> Any:
        parts = getattr(model, method)(x)
        return stacked([np.asarray(part) for part in parts]) if isinstance(parts, list) else parts

    return [Output("probabilities", lambda conversion, model, x: conversion.call(method, model, x), expected)]


def stacked(parts: list[Any]) -> Any:
    """Matrices of the same rows one above another, the narrower ones with zeros on their right."""
    most = max(part.shape[1] for part in parts)
    return np.stack([np.pad(part, ((0, 0), (0, most - part.shape[1]))) for part in parts])


def _zipped(model: Any, scores: Output) -> Output:
    """Each row of scores as a map from class to score."""
    classes = np.asarray(_classes(model))
    if classes.dtype.kind in "OUS":
        keys: dict[str, Any] = {"classlabels_strings": [str(name) for name in classes.tolist()]}
    else:
        keys = {"classlabels_int64s": [int(number) for number in classes.tolist()]}
    [labels] = keys.values()

    def write(conversion: Conversion, model: Any, x: Any) -> Var:
        values = conversion.cast(scores.write(conversion, model, x), np.float32)
        dictionaries: Var = op.domain("ai.onnx.ml").ZipMap(values, **keys)
        return dictionaries

    def expected(model: Any, x: Any) -> Any:
        return [dict(zip(labels, row, strict=True)) for row in scores.expected(model, x).tolist()]

    return Output(scores.name, write, expected, is_map=True)
