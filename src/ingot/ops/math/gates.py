"""Gelu, Swish, SwiGLU, HardSwish and Mish: a number times a step that it opens itself.

Minus infinity times a closed gate is NaN, as the formulas have it.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ir.value import Value
from ingot.ops import shapes
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.error_function import erfc
from ingot.ops.math.operands import common_dtype, require_alike
from ingot.ops.math.precision import narrowed, rounded
from ingot.ops.math.restated import in_float32, number, wide_float
from ingot.ops.math.sigmoids import log_of_one_more, logistic
from ingot.ops.older import dtype_of
from ingot.ops.typesets import FLOATS, FLOATS_3, types

T: TypeAlias = Annotated[Array, types("T", FLOATS)]
T22: TypeAlias = Annotated[Array, types("T", {14: FLOATS_3, 22: FLOATS})]


@operator("Gelu", since=20)
def gelu(x: T, /, *, approximate: str = "none") -> T:
    """`x` times the share of the normal distribution below it.

    With `approximate` "tanh" that share is estimated as `(1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2`.
    """
    _require_known(approximate)
    wide = x.astype(np.float64)
    if approximate == "tanh":
        share = 0.5 * (1 + np.tanh(sqrt(2 / pi) * (wide + 0.044715 * wide**3)))
    else:
        share = 0.5 * erfc(-wide / sqrt(2))
    return narrowed(wide * share, x.dtype)


@gelu.lower
def lower_gelu(x: prim.Tensor, /, *, approximate: str) -> prim.Tensor:
    if approximate == "tanh":  # half of one more than the tanh of a number is the sigmoid of twice the number
        return x * prim.apply("sigmoid", x * (x * x * (sqrt(8 / pi) * 0.044715) + sqrt(8 / pi)))
    return x * 0.5 * (prim.apply("erf", x * sqrt(0.5)) + 1)


@gelu.downgrade
def downgrade_gelu(op: Any, x: Value, /, *, approximate: str) -> Any:
    dtype = wide_float(dtype_of(x))

    def compute(x: Any) -> Any:
        if approximate == "tanh":
            cube = op.Mul(op.Mul(x, x), op.Mul(x, number(0.044715, dtype)))
            share = op.Tanh(op.Mul(op.Add(x, cube), number(sqrt(2 / pi), dtype)))
        else:
            share = op.Erf(op.Mul(x, number(sqrt(0.5), dtype)))
        return op.Mul(op.Mul(x, number(0.5, dtype)), op.Add(share, number(1, dtype)))

    return in_float32(op, compute, x)


@gelu.infer
def infer_gelu(x: Fact, /, *, approximate: str) -> Inferred:
    _require_known(approximate)
    return x.type


def _require_known(approximate: str) -> None:
    shapes.require(approximate in ("none", "tanh"), f"approximate is '{approximate}', it must be 'none' or 'tanh'")


@operator("Swish", since=24)
def swish(x: T, /, *, alpha: float = 1.0) -> T:
    """`x` times the sigmoid of `alpha * x`."""
    return rounded(lambda x: x * logistic(alpha * x), x)


@operator("HardSwish", since=(14, 22))
def hard_swish(x: T22, /) -> T22:
    """`x` times `x / 6 + 1/2`, the latter limited to 0 and 1."""
    return rounded(lambda x: x * np.clip(x / 6 + 0.5, 0, 1), x)


@operator("Mish", since=(18, 22))
def mish(x: T22, /) -> T22:
    """`x * tanh(log(exp(x) + 1))`."""
    return rounded(lambda x: x * np.tanh(log_of_one_more(x)), x)


swish.infer(shapes.same)
hard_swish.infer(shapes.same)
mish.infer(shapes.same)


@swish.lower
def lower_swish(x: prim.Tensor, /, *, alpha: float) -> prim.Tensor:
    return x * prim.apply("sigmoid", x if alpha == 1 else alpha * x)


@hard_swish.lower
def lower_hard_swish(x: prim.Tensor, /) -> prim.Tensor:
    return x * prim.apply("minimum", prim.apply("maximum", x * (1 / 6) + 0.5, 0), 1)


@mish.lower
def lower_mish(x: prim.Tensor, /) -> prim.Tensor:
    """With e = exp(x) the tanh is n / (n + 2) where n = e * (e + 2); from 20 on it rounds to one, also in float64."""
    e = prim.apply("exp", prim.apply("minimum", x, 20))
    n = e * (e + 2)
    return x * (n / (n + 2))


@swish.downgrade
def downgrade_swish(op: Any, x: Value, /, *, alpha: float) -> Any:
    slope = number(alpha, wide_float(dtype_of(x)))
    return in_float32(op, lambda x: op.Mul(x, op.Sigmoid(x if alpha == 1 else op.Mul(x, slope))), x)


@hard_swish.downgrade
def downgrade_hard_swish(op: Any, x: Value, /, *, version: int) -> Any:
    if version >= 14:
        return in_float32(op, op.HardSwish, x)
    if dtype_of(x) is DType.FLOAT64:  # finer than the attributes of HardSigmoid
        zero, half, one, six = (number(value, DType.FLOAT64) for value in (0, 0.5, 1, 6))
        return op.Mul(x, op.Clip(op.Add(op.Div(x, six), half), zero, one))
    return in_float32(op, lambda x: op.Mul(x, op.HardSigmoid(x, alpha=1 / 6, beta=0.5)), x)


@mish.downgrade
def downgrade_mish(op: Any, x: Value, /, *, version: int) -> Any:
    if version >= 18:
        return in_float32(op, op.Mish, x)
    return in_float32(op, lambda x: op.Mul(x, op.Tanh(op.Softplus(x))), x)


@operator("SwiGLU", since=28)
def swiglu(a: T, b: T, /, *, alpha: float = 1.0) -> T:
    """Swish of `a`, the gate, times `b`, which has the same shape."""
    _require_one_shape(a.shape, b.shape)
    require_alike(a, b)
    return rounded(lambda a, b: a * logistic(alpha * a) * b, a, b)


@swiglu.infer
def infer_swiglu(a: Fact, b: Fact, /, *, alpha: float) -> Inferred:
    dtype = common_dtype(a, b)
    shape = b.shape if a.shape is None else a.shape
    if a.shape is not None and b.shape is not None:
        _require_one_shape(a.shape, b.shape)
        shape = tuple(shapes.unify(x, y) for x, y in zip(a.shape, b.shape, strict=True))
    return None if dtype is None else TensorType(dtype, shape)


@swiglu.lower
def lower_swiglu(a: prim.Tensor, b: prim.Tensor, /, *, alpha: float) -> prim.Tensor:
    if a.shape != b.shape:
        raise prim.Refused(f"shapes {list(map(str, a.shape))} and {list(map(str, b.shape))} that may differ")
    return a * prim.apply("sigmoid", alpha * a) * b


@swiglu.downgrade
def downgrade_swiglu(op: Any, a: Value, b: Value, /, *, alpha: float) -> Any:
    return in_float32(op, lambda a, b: op.Mul(op.Swish(a, alpha=alpha), b), a, b)


def _require_one_shape(a: Shape, b: Shape) -> None:
    known = [(x, y) for x, y in zip(a, b, strict=False) if isinstance(x, int) and isinstance(y, int)]
    if len(a) != len(b) or any(x != y for x, y in known):
        raise ShapeError(f"gate and value differ in shape: {[*a]} and {[*b]}")
