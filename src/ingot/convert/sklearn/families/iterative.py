"""What transforms rows step by step until they hardly change: factors, topics, and weights of neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.sklearn.algebra import sum_rows
from ingot.convert.sklearn.conversion import Conversion, Rows
from ingot.convert.sklearn.families.neighbors import nearest
from ingot.convert.sklearn.rule import refusal, rule

_LEAST = float(np.finfo(np.float32).eps)
"""What scikit-learn divides by in place of zero in multiplicative updates."""


@refusal("NMF")
def other_descent(estimator: Any) -> str | None:
    if estimator.solver != "cd":
        return "only the solver 'cd' has a rule"
    return "shuffle draws the order of components" if estimator.shuffle else None


@rule("transform", "NMF")
def factors(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Coordinate descent from zero: component after component, until the gradients are small beside the first."""
    rows, components = c.matrix(x), np.asarray(estimator.components_, np.float64)
    l1, l2 = _penalties(estimator, components)
    count = len(components)
    squares = components @ components.T + l2 * np.eye(count)
    products = op.MatMul(rows, c.array(components.T)) - c.number(l1)
    zero, nothing = c.number(0), op.Expand(c.number(0), op.Shape(products))
    parts = [op.Slice(products, [place], [place + 1], [1]) for place in range(count)]

    def descend(_: Var, columns: Var, first: Var) -> tuple[Var, ...]:
        violation = zero
        for place in range(count):
            own = op.Slice(columns, [place], [place + 1], [1])
            slope = op.MatMul(columns, c.array(squares[:, place : place + 1])) - parts[place]
            violation = violation + op.ReduceSum(
                op.Abs(op.Where(op.Equal(own, zero), op.Min(slope, zero), slope)), keepdims=0
            )
            if squares[place, place]:
                moved = op.Max(own - slope / c.number(squares[place, place]), zero)
                here = (np.arange(count) == place)[None]
                columns = op.Where(here, moved, columns)
        first = op.Where(op.Less(first, zero), violation, first)
        going = op.And(op.Greater(first, zero), op.Greater(violation, c.number(estimator.tol) * first))
        return going, columns, first

    steps = np.int64(estimator.max_iter)
    solution: Var = op.Loop(steps, np.array(True), nothing, c.number(-1), body=descend)[0]
    return solution


@refusal("MiniBatchNMF")
def other_loss(estimator: Any) -> str | None:
    return None if estimator._beta_loss == 2 else f"beta_loss {estimator.beta_loss!r} has no rule"


@rule("transform", "MiniBatchNMF")
def batch_factors(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Multiplicative updates from the mean of the batch, until they change little of the whole."""
    rows, components = c.matrix(x), np.asarray(estimator.components_, np.float64)
    l1, l2 = _penalties(estimator, components)
    count = len(components)
    squares, products = c.array(components @ components.T), op.MatMul(rows, c.array(components.T))
    mean = op.Sqrt(op.ReduceMean(rows, keepdims=0) / c.number(count))
    start = op.Expand(mean, op.Shape(products))

    def update(_: Var, columns: Var) -> tuple[Var, Var]:
        below = op.MatMul(columns, squares) + c.number(l1) + c.number(l2) * columns
        moved = columns * products / op.Where(op.Equal(below, c.number(0)), c.number(_LEAST), below)
        change = _length(moved - columns) / _length(moved)
        return op.Not(op.LessOrEqual(change, c.number(estimator.tol if estimator.tol > 0 else -1))), moved

    solution: Var = op.Loop(np.int64(estimator._transform_max_iter), np.array(True), start, body=update)
    return solution


@rule("transform", "LatentDirichletAllocation")
def topics(c: Conversion, estimator: Any, x: Rows) -> Var:
    """The expected topics of each document, each updated until its own mean change is small."""
    rows, words = c.matrix(x), np.asarray(estimator.exp_dirichlet_component_, np.float64)
    count = len(words)
    prior, least = c.number(estimator.doc_topic_prior_), c.number(np.finfo(estimator.components_.dtype).eps)
    ones = op.Expand(c.number(1), op.Concat(c.rows(rows), np.array([count], np.int64), axis=0))
    going = op.Expand(np.array(True), op.Concat(c.rows(rows), np.array([1], np.int64), axis=0))

    def update(_: Var, estimate: Var, weights: Var, active: Var) -> tuple[Var, ...]:
        norm = op.MatMul(weights, c.array(words)) + least
        moved = weights * op.MatMul(rows / norm, c.array(words.T)) + prior
        change = sum_rows(op.Abs(moved - estimate)) / c.number(count)
        estimate, weights = op.Where(active, moved, estimate), op.Where(active, _expected(c, moved), weights)
        active = op.And(active, op.Not(op.Less(change, c.number(estimator.mean_change_tol))))
        left = op.Greater(op.ReduceSum(op.Cast(active, to=7), keepdims=0), np.int64(0))
        return left, estimate, weights, active

    steps = np.int64(estimator.max_doc_update_iter)
    estimate: Var = op.Loop(steps, np.array(True), ones, _expected(c, ones), going, body=update)[0]
    return estimate / sum_rows(estimate)


@rule("transform", "LocallyLinearEmbedding")
def embedded(c: Conversion, estimator: Any, x: Rows) -> Var:
    """Places of the nearest rows of the fit, weighed as they make up a row: a small system for each row."""
    rows, count = c.matrix(x), estimator.n_neighbors
    _, which = nearest(c, estimator.nbrs_, x, count)
    away = op.Gather(c.array(estimator.nbrs_._fit_X), which, axis=0) - op.Unsqueeze(rows, [1])
    products = op.MatMul(away, op.Transpose(away, perm=[0, 2, 1]))
    trace = op.ReduceSum(products * c.array(np.eye(count)[None]), [1, 2])
    added = c.number(estimator.reg) * op.Where(op.Greater(trace, c.number(0)), trace, c.number(1))
    weights = _solved(c, products + added * c.array(np.eye(count)[None]), count)
    weights = weights / op.ReduceSum(weights, [1])
    places = op.Gather(c.array(estimator.embedding_), which, axis=0)
    return op.ReduceSum(places * weights, [1], keepdims=0)


def _solved(c: Conversion, matrices: Var, count: int) -> Var:
    """What positive definite matrices take to a vector of ones: [batch, count, 1], by elimination."""
    ones = op.Expand(c.number(1), op.Concat(c.rows(matrices), np.array([count, 1], np.int64), axis=0))
    wide = op.Concat(matrices, ones, axis=2)
    for place in range(count):
        row = op.Slice(wide, [place], [place + 1], [1])
        row = row / op.Slice(row, [place], [place + 1], [2])
        column = op.Slice(wide, [place], [place + 1], [2]) - c.array(np.eye(count)[place][None, :, None])
        wide = wide - column * row
    return op.Slice(wide, [count], [count + 1], [2])


def _penalties(estimator: Any, components: Any) -> tuple[float, float]:
    width = components.shape[1] * estimator.alpha_W
    return width * estimator.l1_ratio, width * (1.0 - estimator.l1_ratio)


def _length(x: Var) -> Var:
    return op.Sqrt(op.ReduceSum(x * x, keepdims=0))


def _expected(c: Conversion, counts: Var) -> Var:
    """Exp of the expected logarithms under a Dirichlet distribution of such counts."""
    return op.Exp(_digamma(c, counts) - _digamma(c, sum_rows(counts)))


def _digamma(c: Conversion, x: Var) -> Var:
    """The derivative of the logarithm of gamma, as scikit-learn approximates it."""
    total, at = c.number(0) * x, x
    for _ in range(6):
        small = op.Less(at, c.number(6))
        total = op.Where(small, total - c.number(1) / at, total)
        at = op.Where(small, at + c.number(1), at)
    inverse = c.number(1) / at
    square = inverse * inverse
    tail = square * (c.number(1 / 12) - square * (c.number(1 / 120) - square * c.number(1 / 252)))
    tiny = op.LessOrEqual(x, c.number(1e-6))
    return op.Where(
        tiny, c.number(-np.euler_gamma) - c.number(1) / x, total + op.Log(at) - c.number(0.5) * inverse - tail
    )
