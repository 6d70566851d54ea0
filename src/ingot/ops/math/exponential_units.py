"""Elu, Selu and Celu: straight above zero, an exponential that levels off below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.math.precision import rounded
from ingot.ops.shapes import same
from ingot.ops.typesets import FLOAT32, FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", {6: FLOATS_3, 22: FLOATS})]
TCelu: TypeAlias = Annotated[Array, types("T", {12: FLOAT32, 28: FLOATS})]
T1: TypeAlias = Annotated[Array, types("T", FLOATS_3)]


@operator("Elu", since=(6, 22))
def elu(x: T, /, *, alpha: float = 1.0) -> T:
    """`alpha * (exp(x) - 1)` where `x` is below zero, else `x`."""
    return rounded(lambda x: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x), x)


@operator("Selu", since=(6, 22))
def selu(x: T, /, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> T:
    """`gamma` times `x` above zero, `gamma * alpha` times `exp(x) - 1` below; the defaults keep the variance."""
    return rounded(lambda x: gamma * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))), x)


@operator("Celu", since=(12, 28))
def celu(x: TCelu, /, *, alpha: float = 1.0) -> TCelu:
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`, whose slope is one on both sides of zero."""
    divisor = np.float32(alpha)  # numpy's, which divides by zero as IEEE 754 does
    return rounded(lambda x: np.maximum(x, 0) + np.minimum(alpha * np.expm1(x / divisor), 0), x)


elu.infer(same)
selu.infer(same)
celu.infer(same)


@operator("Elu", since=1)
def elu_1(x: T1, /, *, alpha: float = 1.0, consumed_inputs: Sequence[int] | None = None) -> T1:
    """The same, of the floats of old."""
    raise superseded()


@elu_1.upgrade
def upgrade_elu(op: Any, x: Value, /, *, alpha: float, **_: object) -> Any:
    return op.Elu(x, alpha=alpha)


@operator("Selu", since=1)
def selu_1(
    x: T1, /, *, alpha: float = 1.6732, gamma: float = 1.0507, consumed_inputs: Sequence[int] | None = None
) -> T1:
    """The same, with shorter defaults."""
    raise superseded()


@selu_1.upgrade
def upgrade_selu(op: Any, x: Value, /, *, alpha: float, gamma: float, **_: object) -> Any:
    return op.Selu(x, alpha=alpha, gamma=gamma)
