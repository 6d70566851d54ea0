"""Estimators that do not look at their input."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var
from ingot.convert.sklearn.algebra import class_array
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.rule import refusal, rule


@rule("predict", "DummyRegressor")
def regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.filled(x, c.array(np.asarray(estimator.constant_).reshape(-1)))


@refusal("DummyClassifier")
def random(estimator: Any) -> str | None:
    if estimator.strategy in ("uniform", "stratified"):
        return f"strategy '{estimator.strategy}' answers at random"
    return "several targets at once" if isinstance(estimator.n_classes_, list) else None


@rule("predict", "DummyClassifier")
def label(c: Conversion, estimator: Any, x: Rows) -> Var:
    predicted = np.asarray(estimator.predict(np.zeros((1, 1))))
    return c.filled(x, class_array(predicted)).reshape(-1)


@rule("predict_proba", "DummyClassifier")
def probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.filled(x, c.array(np.asarray(estimator.predict_proba(np.zeros((1, 1))))[0]))
