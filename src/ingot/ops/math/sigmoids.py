"""Sigmoid, HardSigmoid, Softsign and Softplus: smooth steps, and a smooth bend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.math.elementwise import elementwise
from ingot.ops.math.legacy import consuming
from ingot.ops.math.precision import rounded
from ingot.ops.math.restated import restated
from ingot.ops.shapes import same
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {6: FLOATS_3, 13: FLOATS})]
T22: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Sigmoid", since=(6, 13))
def sigmoid(x: T, /) -> T:
    """`1 / (1 + exp(-x))`."""
    return rounded(logistic, x)


@operator("HardSigmoid", since=(6, 22))
def hard_sigmoid(x: T22, /, *, alpha: float = 0.2, beta: float = 0.5) -> T22:
    """`alpha * x + beta`, limited to 0 and 1."""
    return rounded(lambda x: np.clip(alpha * x + beta, 0, 1), x)


@operator("Softplus", since=(1, 22))
def softplus(x: T22, /) -> T22:
    """`log(exp(x) + 1)`."""
    return rounded(log_of_one_more, x)


@operator("Softsign", since=(1, 22))
def softsign(x: T22, /) -> T22:
    """`x / (1 + |x|)`; NaN at the infinities."""
    return rounded(lambda x: x / (1 + np.abs(x)), x)


sigmoid.infer(same)
hard_sigmoid.infer(same)
softplus.infer(same)
softsign.infer(same)

sigmoid.lower(elementwise("sigmoid"))


@hard_sigmoid.lower
def lower_hard_sigmoid(x: prim.Tensor, /, *, alpha: float, beta: float) -> prim.Tensor:
    return prim.apply("minimum", prim.apply("maximum", alpha * x + beta, 0), 1)


@softplus.lower
def lower_softplus(x: prim.Tensor, /) -> prim.Tensor:
    small = prim.apply("exp", -prim.apply("absolute", x))
    return prim.apply("maximum", x, 0) + prim.apply("log1p", small)


@softsign.lower
def lower_softsign(x: prim.Tensor, /) -> prim.Tensor:
    return x / (1 + prim.apply("absolute", x))


sigmoid.downgrade(restated("Sigmoid"))
hard_sigmoid.downgrade(restated("HardSigmoid"))
softplus.downgrade(restated("Softplus"))
softsign.downgrade(restated("Softsign"))


def logistic(x: Array) -> Array:
    """`1 / (1 + exp(-x))`, by way of exponentials that do not overflow."""
    e = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, e, np.ones_like(e)) / (1 + e))


def log_of_one_more(x: Array) -> Array:
    """`log(exp(x) + 1)`, by way of exponentials that do not overflow."""
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


sigmoid_1 = consuming("Sigmoid")


@operator("HardSigmoid", since=1)
def hard_sigmoid_1(
    x: T1, /, *, alpha: float = 0.2, beta: float = 0.5, consumed_inputs: Sequence[int] | None = None
) -> T1:
    """The same, of the floats of old."""
    raise superseded()


@hard_sigmoid_1.upgrade
def upgrade_hard_sigmoid(op: Any, x: Value, /, *, alpha: float, beta: float, **_: object) -> Any:
    return op.HardSigmoid(x, alpha=alpha, beta=beta)
