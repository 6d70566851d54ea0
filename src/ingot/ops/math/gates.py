"""Gelu, Swish, SwiGLU, HardSwish and Mish: a number times a step that it opens itself.

Minus infinity times a closed gate is NaN, as the formulas have it.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ir.types import Shape, TensorType
from ingot.ops import shapes
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.error_function import erfc
from ingot.ops.math.operands import common_dtype, require_alike
from ingot.ops.math.precision import narrowed, rounded
from ingot.ops.math.sigmoids import log_of_one_more, logistic
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


def _require_one_shape(a: Shape, b: Shape) -> None:
    known = [(x, y) for x, y in zip(a, b, strict=False) if isinstance(x, int) and isinstance(y, int)]
    if len(a) != len(b) or any(x != y for x, y in known):
        raise ShapeError(f"gate and value differ in shape: {[*a]} and {[*b]}")
