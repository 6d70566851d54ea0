"""Gelu and its kin: numbers scaled by how probable smaller ones are, with a bias, or by an approximation."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array
from ingot.errors import ShapeError
from ingot.ops.contrib.domain import MICROSOFT, last, require_vector
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.math.gates import gelu as standard_gelu
from ingot.ops.math.sigmoids import logistic
from ingot.ops.nn.precision import wide
from ingot.ops.shapes import same
from ingot.ops.typesets import FLOATS, types

T: TypeAlias = Annotated[Array, types("T", FLOATS)]


@operator("Gelu", since=1, domain=MICROSOFT)
def gelu(x: T, /) -> T:
    """`x` times the share of the normal distribution below it."""
    return np.asarray(standard_gelu.evaluate(x))


@operator("BiasGelu", since=1, domain=MICROSOFT)
def bias_gelu(x: T, bias: T, /) -> T:
    """The same of `x + bias`, a vector for the last axis."""
    return np.asarray(standard_gelu.evaluate(_biased(x, bias)), x.dtype)


@operator("FastGelu", since=1, domain=MICROSOFT)
def fast_gelu(x: T, bias: T | None = None, /) -> T:
    """`y / 2 * (1 + tanh(0.797885 * y + 0.035677 * y**3))` for `y = x + bias`."""
    y = _biased(x, bias)
    return np.asarray(0.5 * y * (1 + np.tanh(0.7978845608028654 * y + 0.035677408136300125 * y**3)), x.dtype)


@operator("QuickGelu", since=1, domain=MICROSOFT)
def quick_gelu(x: T, /, *, alpha: float = 1.7020000219345093) -> T:
    """`x` times the sigmoid of `alpha * x`."""
    y = x.astype(wide(x.dtype))
    return np.asarray(y * logistic(y * y.dtype.type(alpha)), x.dtype)


gelu.infer(same)
quick_gelu.infer(same)


@bias_gelu.infer
@fast_gelu.infer
def infer(x: Fact, bias: Fact | None = None, /) -> Inferred:
    require_vector(bias, last(x.shape), "the bias")
    return x.type


@gelu.lower
def lower_gelu(x: prim.Tensor, /) -> prim.Tensor:
    return _standard(x)


@bias_gelu.lower
def lower_bias_gelu(x: prim.Tensor, bias: prim.Tensor, /) -> prim.Tensor:
    return _standard(x + bias)


@fast_gelu.lower
def lower_fast_gelu(x: prim.Tensor, bias: prim.Tensor | None = None, /) -> prim.Tensor:
    y = x if bias is None else x + bias
    inner = y * (y * y * 0.035677408136300125 + 0.7978845608028654)
    return y * 0.5 * (prim.apply("tanh", inner) + 1)


@quick_gelu.lower
def lower_quick_gelu(x: prim.Tensor, /, *, alpha: float) -> prim.Tensor:
    return x * prim.apply("sigmoid", x * alpha)


def _standard(x: prim.Tensor) -> prim.Tensor:
    activated: prim.Tensor = standard_gelu.rules["lower"](x, approximate="none")
    return activated


def _biased(x: Array, bias: Array | None) -> Array:
    """The sum in the type to compute in; ShapeError unless the bias is a vector for the last axis."""
    y = x.astype(wide(x.dtype))
    if bias is None:
        return y
    if bias.ndim != 1 or not x.ndim or bias.size != x.shape[-1]:
        raise ShapeError(f"the bias has shape {list(bias.shape)}, the input {list(x.shape)}")
    return np.asarray(y + bias.astype(y.dtype))
