"""Elu, Selu and Celu: straight above zero, an exponential that levels off below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.math.precision import rounded
from ingot.ops.math.restated import in_float32, number, restated
from ingot.ops.older import dtype_of
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


@elu.lower
def lower_elu(x: prim.Tensor, /, *, alpha: float) -> prim.Tensor:
    return prim.where(prim.apply("less", x, 0), alpha * prim.apply("expm1", x), x)


@selu.lower
def lower_selu(x: prim.Tensor, /, *, alpha: float, gamma: float) -> prim.Tensor:
    return gamma * prim.where(prim.apply("less", 0, x), x, alpha * prim.apply("expm1", x))


@celu.lower
def lower_celu(x: prim.Tensor, /, *, alpha: float) -> prim.Tensor:
    curve = alpha * prim.apply("expm1", x / alpha)
    return prim.apply("maximum", x, 0) + prim.apply("minimum", curve, 0)


elu.downgrade(restated("Elu"))
selu.downgrade(restated("Selu"))


@celu.downgrade
def downgrade_celu(op: Any, x: Value, /, *, alpha: float, version: int) -> Any:
    dtype = dtype_of(x)
    if version >= 12 and dtype.bits < 32:
        return in_float32(op, lambda x: op.Celu(x, alpha=alpha), x)
    slope = number(alpha, dtype)
    inner = op.Div(x, slope)
    # Elu is exact close to zero, but straight above it, where only the inner number of a negative alpha comes to bear.
    curve = op.Elu(inner, alpha=1.0) if alpha >= 0 else op.Sub(op.Exp(inner), number(1, dtype))
    return op.Sub(op.Relu(x), op.Relu(op.Neg(op.Mul(curve, slope))))


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
