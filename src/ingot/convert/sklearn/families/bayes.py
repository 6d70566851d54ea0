"""Naive Bayes: the log likelihood of each class, summed over features."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import argmax, labels, linear, softmax
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.rule import rule

KINDS = ("GaussianNB", "MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB")


@rule("predict", *KINDS)
def label(c: Conversion, estimator: Any, x: Rows) -> Var:
    return labels(c, estimator.classes_, argmax(c.once(_likelihood, estimator, x)))


@rule("predict_proba", *KINDS)
def probabilities(c: Conversion, estimator: Any, x: Rows) -> Var:
    return softmax(c.once(_likelihood, estimator, x))


def _likelihood(c: Conversion, estimator: Any, x: Rows) -> Var:
    rows = c.matrix(x)
    kinds = {kind.__name__ for kind in type(estimator).__mro__}
    if "GaussianNB" in kinds:
        return _gaussian(c, estimator, rows)
    if "CategoricalNB" in kinds:
        return _categorical(c, estimator, rows)
    prior = estimator.class_log_prior_
    if "ComplementNB" in kinds:
        return linear(c, rows, estimator.feature_log_prob_.T, prior if len(estimator.classes_) == 1 else None)
    if "BernoulliNB" in kinds:
        if estimator.binarize is not None:
            rows = c.cast(rows > c.number(estimator.binarize), c.real)
        absent = np.log(1 - np.exp(estimator.feature_log_prob_))
        return linear(c, rows, (estimator.feature_log_prob_ - absent).T, prior + absent.sum(axis=1))
    return linear(c, rows, estimator.feature_log_prob_.T, prior)


def _gaussian(c: Conversion, estimator: Any, rows: Var) -> Var:
    """By differences: squares of large means would cancel."""
    apart = op.Unsqueeze(rows, [1]) - c.array(estimator.theta_[None])
    scaled = op.ReduceSum(apart * apart / c.array(estimator.var_[None]), [2], keepdims=0)
    bias = np.log(estimator.class_prior_) - 0.5 * np.sum(np.log(2 * np.pi * estimator.var_), axis=1)
    return scaled * c.number(-0.5) + c.array(bias[None])


def _categorical(c: Conversion, estimator: Any, rows: Var) -> Var:
    total: Var | None = None
    whole = op.Cast(rows, to=7)
    for place, table in enumerate(estimator.feature_log_prob_):
        part = op.Gather(c.array(np.asarray(table).T), op.Reshape(c.column(whole, place), [-1]), axis=0)
        total = part if total is None else total + part
    assert isinstance(total, Var)
    return total + c.array(estimator.class_log_prior_[None])
