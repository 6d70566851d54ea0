"""CausalConvWithState: a filter per channel over the present and the past, which is handed on from call to call."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.convolution import convolved, per_channel
from ingot.ops.nn.linear_attention import SMALL_FLOATS
from ingot.ops.nn.precision import widened
from ingot.ops.nn.results import dim, require_size, tensor, vector_of
from ingot.ops.shapes import require_rank, unify
from ingot.ops.typesets import types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]

ACTIVATIONS = ("none", "silu", "swish")


@operator("CausalConvWithState", since=27)
def causal_conv_with_state(
    x: T, weight: T, bias: T | None = None, past_state: T | None = None, /, *, activation: str = "none"
) -> tuple[T, T]:
    """Each channel of `x` (batch, channels, length) convolved with its filter (channels, 1, k), the last element of
    which meets the present; before `x` comes `past_state`, or zeros. Also the last k - 1 elements, for the next call.
    """
    _checked(activation)
    if x.ndim != 3 or weight.ndim != 3 or weight.shape[:2] != (x.shape[1], 1) or weight.shape[2] < 1:
        raise ShapeError(f"x has shape {list(x.shape)} and the weight {list(weight.shape)}, expected [channels, 1, k]")
    shape = (*x.shape[:2], weight.shape[2] - 1)
    past = np.zeros(shape, x.dtype) if past_state is None else past_state
    if past.shape != shape:
        raise ShapeError(f"past_state has shape {list(past.shape)}, expected {list(shape)}")
    joined = np.concatenate((past, x), axis=2)
    present = joined[:, :, x.shape[2] :]
    if not x.size:
        return x, present
    y = convolved(*widened(joined, weight), group=x.shape[1])
    if bias is not None:
        y = y + per_channel(bias, y, "the bias")
    if activation != "none":
        y = y / (1 + np.exp(-y))
    return np.asarray(y, x.dtype), present


@causal_conv_with_state.infer
def infer(
    x: Fact, weight: Fact, bias: Fact | None = None, past_state: Fact | None = None, /, *, activation: str
) -> tuple[Inferred, ...]:
    _checked(activation)
    for name, given in (("x", x), ("weight", weight)):
        require_rank(given, 3, name)
    require_size(weight, 1, 1, "weight")
    channels = unify(dim(x.shape, 1), dim(weight.shape, 0), "channels of x and weight")
    vector_of(bias, channels, "the bias")
    kernel = dim(weight.shape, 2)
    kept: Dim | None = None if kernel is None else kernel - 1
    return tensor(x.dtype, x.shape), tensor(x.dtype, (dim(x.shape, 0), channels, kept))


def _checked(activation: str) -> None:
    if activation not in ACTIVATIONS:
        raise CheckError(f"activation is '{activation}'", hint=f"one of {', '.join(ACTIVATIONS)}")
