"""Activations, and losses of logits."""

from __future__ import annotations

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, rank
from ingot.convert.tensorflow.rule import Site, rule
from ingot.dtypes import DType


@rule("Relu")
def relu(site: Site, x: Var) -> Var:
    return op.Relu(x) if site.dtype.is_float else op.Max(x, number(0, site.dtype))


@rule("Relu6")
def relu6(site: Site, x: Var) -> Var:
    return op.Clip(x, number(0, site.dtype), number(6, site.dtype))


@rule("Selu")
def selu(site: Site, x: Var) -> Var:
    return op.Selu(x, alpha=1.6732632423543772, gamma=1.0507009873554805)


@rule("LeakyRelu")
def leaky_relu(site: Site, x: Var, *, alpha: float = 0.2) -> Var:
    return op.LeakyRelu(x, alpha=alpha)


@rule("Softmax")
def softmax(site: Site, x: Var) -> Var:
    return op.Softmax(x, axis=-1)


@rule("LogSoftmax")
def log_softmax(site: Site, x: Var) -> Var:
    return op.LogSoftmax(x, axis=-1)


@rule("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(site: Site, logits: Var, labels: Var) -> tuple[Var, Var]:
    """The loss of each row, and its gradient."""
    logs = op.LogSoftmax(logits, axis=-1)
    loss = op.Neg(op.ReduceSum(op.Mul(labels, logs), [-1], keepdims=0))
    return loss, op.Sub(op.Exp(logs), labels)


@rule("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(site: Site, logits: Var, labels: Var) -> tuple[Var, Var]:
    logs = op.LogSoftmax(logits, axis=-1)
    places = op.Unsqueeze(cast(labels, DType.INT64), [-1])
    loss = op.Neg(op.Squeeze(op.GatherElements(logs, places, axis=-1), [-1]))
    depth = op.Shape(logits, start=rank(logits) - 1)
    hot = op.OneHot(cast(labels, DType.INT64), depth, np.array([0, 1], site.dtype.numpy), axis=-1)
    return loss, op.Sub(op.Exp(logs), hot)


@rule("L2Loss")
def l2_loss(site: Site, x: Var) -> Var:
    return op.Mul(op.ReduceSumSquare(x, keepdims=0), number(0.5, site.dtype))
