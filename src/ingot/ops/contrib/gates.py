"""GatedAdd, GatedRMSNorm, ScaledSiLU and LinearAttentionGate: numbers that others let through."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import divide_exactly
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS, last, require_vector
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.linalg.byte_products import single
from ingot.ops.math.sigmoids import log_of_one_more, logistic
from ingot.ops.nn.moments import mean_of
from ingot.ops.shapes import same
from ingot.ops.typesets import FLOAT32, types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]
M: TypeAlias = Annotated[Array, types("M", SMALL_FLOATS)]
TF: TypeAlias = Annotated[Array, types("TF", FLOAT32)]


@operator("GatedAdd", since=1, domain=MICROSOFT)
def gated_add(x: T, y: T, gate: T, /) -> T:
    """`x + y * gate`, a gate for each row; the product is rounded to the type of `x` before the sum."""
    if y.shape != x.shape or gate.shape != (*x.shape[:-1], 1):
        raise ShapeError(f"x has shape {list(x.shape)}, y {list(y.shape)} and the gate {list(gate.shape)}")
    product = (y.astype(np.float32) * gate.astype(np.float32)).astype(x.dtype)
    return np.asarray(x.astype(np.float32) + product.astype(np.float32)).astype(x.dtype)


gated_add.infer(same)


@gated_add.lower
def lower_gated_add(x: prim.Tensor, y: prim.Tensor, gate: prim.Tensor, /, *, facts: tuple[Fact, ...]) -> prim.Tensor:
    gate = prim.assume_shape(gate, (*x.shape[:-1], 1))
    return x + rounded_as(prim.assume_shape(y, x.shape) * gate, facts[0].dtype)


@operator("GatedRMSNorm", since=1, domain=MICROSOFT)
def gated_rms_norm(
    x: T, scale: T, gate: T, /, *, activation: str = "silu", epsilon: float = 9.999999747378752e-06
) -> T:
    """`x` over the root of its mean square, times `scale`, times an activation of the gate, silu or sigmoid.

    The mean is that of each run of as many elements as `scale` has. Computed in float32.
    """
    _check_activation(activation)
    if gate.shape != x.shape or scale.ndim != 1 or not scale.size or x.shape[-1] % scale.size:
        raise ShapeError(f"x has shape {list(x.shape)}, scale {list(scale.shape)} and the gate {list(gate.shape)}")
    rows = x.astype(np.float32).reshape(-1, scale.size)
    root = np.sqrt(np.mean(np.square(rows), axis=1, keepdims=True) + np.float32(epsilon))
    opening = gate.astype(np.float32)
    factor = logistic(opening) if activation == "sigmoid" else opening * logistic(opening)
    normal = (rows / root * scale.astype(np.float32)).reshape(x.shape)
    return np.asarray(normal * factor).astype(x.dtype)


@gated_rms_norm.infer
def infer_gated_rms_norm(x: Fact, scale: Fact, gate: Fact, /, *, activation: str, epsilon: float) -> Inferred:
    _check_activation(activation)
    return x.type


@gated_rms_norm.lower
def lower_gated_rms_norm(
    x: prim.Tensor, scale: prim.Tensor, gate: prim.Tensor, /, *, activation: str, epsilon: float
) -> prim.Tensor:
    count = divide_exactly(x.shape[-1], scale.shape[0])
    if scale.rank != 1 or count is None:
        raise prim.Refused(f"rows of {x.shape[-1]} in runs of {scale.shape[0]}")
    runs = prim.reshape(x, (*x.shape[:-1], count, scale.shape[0]))
    root = prim.apply("sqrt", mean_of(runs * runs, [runs.rank - 1]) + epsilon)
    normal = prim.reshape(runs / root * scale, x.shape)
    opening = prim.assume_shape(gate, x.shape)
    factor = prim.apply("sigmoid", opening)
    return normal * (factor if activation == "sigmoid" else opening * factor)


@operator("ScaledSiLU", since=1, domain=MICROSOFT)
def scaled_silu(x: T, scale: M | None = None, /, *, alpha: float = 1.0) -> T:
    """`z * sigmoid(z)` for `z = x * scale`, or `x * alpha`; each step is rounded to the type of `x`."""
    if scale is not None and scale.size != 1:
        raise InputError(f"scale has {scale.size} elements, expected 1")
    factor = np.float32(alpha) if scale is None else scale.reshape(()).astype(np.float32)
    z = (x.astype(np.float32) * factor).astype(x.dtype).astype(np.float32)
    opening = logistic(z).astype(x.dtype).astype(np.float32)
    return np.asarray(z * opening).astype(x.dtype)


scaled_silu.infer(same)


@scaled_silu.lower
def lower_scaled_silu(
    x: prim.Tensor, scale: prim.Tensor | None = None, /, *, alpha: float, facts: tuple[Fact, ...]
) -> prim.Tensor:
    z = x * alpha if scale is None else x * prim.cast(single(scale), x.dtype)
    z = rounded_as(z, facts[0].dtype)
    return z * rounded_as(prim.apply("sigmoid", z), facts[0].dtype)


@operator("LinearAttentionGate", since=1, domain=MICROSOFT)
def linear_attention_gate(a: T, dt_bias: TF, decay_scale: TF, b: T | None = None, /) -> tuple[T, T | None]:
    """`decay_scale * softplus(a + dt_bias)`, vectors for the last axis, and the sigmoid of `b`; in float32."""
    if not a.ndim or any(each.size != a.shape[-1] for each in (dt_bias, decay_scale)):
        raise ShapeError(
            f"a has shape {list(a.shape)}, dt_bias {list(dt_bias.shape)}, decay_scale {list(decay_scale.shape)}"
        )
    if b is not None and b.shape != a.shape:
        raise ShapeError(f"b has shape {list(b.shape)}, a {list(a.shape)}")
    decay = decay_scale.reshape(-1) * log_of_one_more(a.astype(np.float32) + dt_bias.reshape(-1))
    return decay.astype(a.dtype), None if b is None else logistic(b.astype(np.float32)).astype(a.dtype)


@linear_attention_gate.infer
def infer_linear_attention_gate(
    a: Fact, dt_bias: Fact, decay_scale: Fact, b: Fact | None = None, /
) -> tuple[Inferred, Inferred]:
    require_vector(dt_bias, last(a.shape), "dt_bias")
    require_vector(decay_scale, last(a.shape), "decay_scale")
    return a.type, a.type


@linear_attention_gate.lower
def lower_linear_attention_gate(
    a: prim.Tensor, dt_bias: prim.Tensor, decay_scale: prim.Tensor, b: prim.Tensor | None = None, /
) -> tuple[prim.Tensor, ...]:
    y = a + dt_bias
    softplus = prim.apply("maximum", y, 0) + prim.apply("log1p", prim.apply("exp", -prim.apply("absolute", y)))
    decay = softplus * decay_scale
    return (decay,) if b is None else (decay, prim.apply("sigmoid", b))


def rounded_as(x: prim.Tensor, dtype: DType | None) -> prim.Tensor:
    """`x`, rounded to what a narrower type holds."""
    return x if dtype is None else prim.cast(prim.cast(x, dtype), x.dtype)


def _check_activation(activation: str) -> None:
    if activation not in ("silu", "swish", "sigmoid"):
        raise CheckError(f"activation is '{activation}'", hint="one of silu, sigmoid")
