"""CausalConvWithState: a filter per channel over the present and the past, which is handed on from call to call."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ir.value import Value
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.convolution import convolved, convolved_in_primitives, per_channel
from ingot.ops.nn.linear_attention import SMALL_FLOATS
from ingot.ops.nn.moments import along_channels
from ingot.ops.nn.precision import widened
from ingot.ops.nn.results import dim, require_size, tensor, vector_of
from ingot.ops.nn.sweeps import swept
from ingot.ops.nn.through import cast
from ingot.ops.nn.windows import windows
from ingot.ops.older import dtype_of, shape_of
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
    for name, fact in (("x", x), ("weight", weight)):
        require_rank(fact, 3, name)
    require_size(weight, 1, 1, "weight")
    channels = unify(dim(x.shape, 1), dim(weight.shape, 0), "channels of x and weight")
    vector_of(bias, channels, "the bias")
    kernel = dim(weight.shape, 2)
    state_size: Dim | None = None if kernel is None else kernel - 1
    if past_state is not None:
        require_rank(past_state, 3, "past_state")
        for axis, size in enumerate((dim(x.shape, 0), channels, state_size)):
            require_size(past_state, axis, size, "past_state")
    return tensor(x.dtype, x.shape), tensor(x.dtype, (dim(x.shape, 0), channels, state_size))


@causal_conv_with_state.lower
def lower(
    x: prim.Tensor,
    weight: prim.Tensor,
    bias: prim.Tensor | None = None,
    past_state: prim.Tensor | None = None,
    /,
    *,
    activation: str,
) -> tuple[prim.Tensor, prim.Tensor]:
    channels, kernel = x.shape[1], weight.shape[2]
    if not isinstance(channels, int) or not isinstance(kernel, int):
        raise prim.Refused("channels or a kernel of unknown size")
    if past_state is None:
        joined = prim.pad(x, [0, 0, kernel - 1], [0, 0, 0])
    else:
        joined = prim.concat([past_state, x], 2)
    present = prim.slice_(joined, [0, 0, x.shape[2]], [*x.shape[:2], kernel - 1])
    if x.shape[2] == 0:
        return x, present
    y = convolved_in_primitives(swept(joined, windows(1, [kernel])), weight, channels)
    if bias is not None:
        y = y + along_channels(bias, 3)
    return y if activation == "none" else y / (prim.apply("exp", -y) + 1), present


@causal_conv_with_state.downgrade
def downgrade(
    op: Any, x: Value, weight: Value, bias: Value | None = None, past_state: Value | None = None, /, *, activation: str
) -> Any:
    """One element more at the end has a window fit if `x` is empty; what it gives is cut off."""
    dtype, length = dtype_of(x), shape_of(x)[2]
    channels = next((n for n in (shape_of(x)[1], shape_of(weight)[0]) if isinstance(n, int)), None)
    kernel = shape_of(weight)[2]
    if channels is None or (past_state is None and not isinstance(kernel, int)):
        raise UnsupportedError(f"the shape of '{weight.name}' is not known")
    count = [length] if isinstance(length, int) else op.Shape(x, start=2, end=3)
    if past_state is not None:
        joined = op.Concat(past_state, x, axis=2)
    else:
        assert isinstance(kernel, int)
        joined = op.Pad(x, [0, 0, kernel - 1, 0, 0, 0])
    values = [cast(op, part, dtype, DType.FLOAT32) for part in (joined, weight, *([] if bias is None else [bias]))]
    if isinstance(length, int) and length > 0:
        y = op.Conv(*values, group=channels)
    else:
        y = op.Slice(op.Conv(*values, group=channels, pads=[0, 1]), [0], count, [2])
    if activation != "none":
        y = op.Mul(y, op.Sigmoid(y))
    return cast(op, y, DType.FLOAT32, dtype), op.Slice(joined, count, [np.iinfo(np.int64).max], [2])


def _checked(activation: str) -> None:
    if activation not in ACTIVATIONS:
        raise CheckError(f"activation is '{activation}'", hint=f"one of {', '.join(ACTIVATIONS)}")
