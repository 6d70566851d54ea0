"""Multi-layer perceptrons."""

from __future__ import annotations

from typing import Any

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import argmax, both, labels, linear, softmax
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.rule import rule
from ingot.errors import ConvertError


@rule("predict", "MLPRegressor")
def regressor(c: Conversion, estimator: Any, x: Rows) -> Var:
    return c.once(_forward, estimator, x)


@rule("predict_proba", "MLPClassifier")
def probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    activations = c.once(_forward, estimator, x)
    return both(c, activations) if c.width(activations) == 1 else activations


@rule("predict", "MLPClassifier")
def label(c: Conversion, estimator: Any, x: Rows) -> Var:
    activations = c.once(_forward, estimator, x)
    if estimator._label_binarizer.y_type_.startswith("multilabel"):
        return op.Cast(activations > c.number(0.5), to=7)
    if c.width(activations) == 1:
        return labels(c, estimator.classes_, op.Reshape(op.Cast(activations > c.number(0.5), to=7), [-1]))
    return labels(c, estimator.classes_, argmax(activations))


def _forward(c: Conversion, estimator: Any, x: Rows) -> Var:
    activations = c.matrix(x)
    last = len(estimator.coefs_) - 1
    for place, (weights, bias) in enumerate(zip(estimator.coefs_, estimator.intercepts_, strict=True)):
        activations = linear(c, activations, weights, bias)
        activations = _activated(c, estimator.out_activation_ if place == last else estimator.activation, activations)
    return activations


def _activated(c: Conversion, name: str, x: Var) -> Var:
    if name == "identity":
        return x
    if name == "softmax":
        return softmax(x)
    if name == "relu":
        return op.Max(x, c.number(0))
    if name in ("tanh", "logistic"):
        return op.Tanh(x) if name == "tanh" else op.Sigmoid(x)
    if name == "exp":
        return op.Exp(x)
    raise ConvertError(f"there is no rule for the activation '{name}'")
