"""CausalConvWithState: a filter per channel over the present and the past, which is handed on from call to call."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, SMALL_FLOATS, last
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.convolution import convolved, convolved_in_primitives
from ingot.ops.nn.moments import along_channels
from ingot.ops.nn.precision import widened
from ingot.ops.nn.sweeps import swept
from ingot.ops.nn.windows import windows
from ingot.ops.shapes import product, require_rank
from ingot.ops.typesets import types

T: TypeAlias = Annotated[Array, types("T", SMALL_FLOATS)]


@operator("CausalConvWithState", since=1, domain=MICROSOFT)
def causal_conv_with_state(
    x: T,
    weight: T,
    bias: T | None = None,
    past_state: T | None = None,
    /,
    *,
    activation: str = "none",
    channels_last: int = 0,
    dilation: int = 1,
    ndim: int = 1,
    state_window: int = 0,
) -> tuple[T, T]:
    """Each channel of `x` convolved with its filter (channels, 1, k), whose last element meets the present.

    Before `x` comes `past_state`, or zeros; the last `(k - 1) * dilation` elements are given for the next call. `x` is
    (batch, channels, length) or, with `channels_last`, (batch, length, channels), of any number of axes.
    """
    _check(activation, dilation, ndim, state_window)
    rows = _channels_second(x) if channels_last else x
    if rows.ndim != 3 or weight.ndim != 3 or weight.shape[:2] != (rows.shape[1], 1) or weight.shape[2] < 1:
        raise ShapeError(f"x has shape {list(x.shape)} and the weight {list(weight.shape)}, expected [channels, 1, k]")
    if bias is not None and bias.shape != rows.shape[1:2]:
        raise ShapeError(f"the bias has shape {list(bias.shape)}, for {rows.shape[1]} channels")
    state_size = (weight.shape[2] - 1) * dilation
    shape = (*rows.shape[:2], state_size)
    past = np.zeros(shape, x.dtype)
    if past_state is not None:
        past = _channels_second(past_state) if channels_last else past_state
    if past.shape != shape:
        raise ShapeError(f"past_state has shape {list(past_state.shape if past_state is not None else ())}")
    joined = np.concatenate((past, rows), axis=2)
    y = rows
    if rows.size:
        y = convolved(*widened(joined, weight), group=rows.shape[1], dilations=[dilation])
        if bias is not None:
            y = y + bias.astype(y.dtype)[:, None]
        y = y if activation == "none" else y / (1 + np.exp(-y))
    present = joined[:, :, rows.shape[2] :]
    if channels_last:
        y, present = (each.swapaxes(1, 2).reshape(len(x), each.shape[2], *x.shape[2:]) for each in (y, present))
    return np.asarray(y, x.dtype), present


@causal_conv_with_state.infer
def infer(
    x: Fact,
    weight: Fact,
    /,
    *_: Fact,
    activation: str,
    channels_last: int,
    dilation: int,
    ndim: int,
    state_window: int,
) -> tuple[Inferred, Inferred]:
    _check(activation, dilation, ndim, state_window)
    require_rank(weight, 3, "weight")
    if x.dtype is None or x.shape is None:
        return x.type, None if x.dtype is None else TensorType(x.dtype)
    kernel = last(weight.shape)
    state_size: Dim | None = None if kernel is None else (kernel - 1) * dilation
    present = (x.shape[0], state_size, *x.shape[2:]) if channels_last else (*x.shape[:2], state_size)
    return x.type, TensorType(x.dtype, present)


@causal_conv_with_state.lower
def lower(
    x: prim.Tensor,
    weight: prim.Tensor,
    bias: prim.Tensor | None = None,
    past_state: prim.Tensor | None = None,
    /,
    *,
    activation: str,
    channels_last: int,
    dilation: int,
    **_: object,
) -> tuple[prim.Tensor, prim.Tensor]:
    rows = _moved(x) if channels_last else x
    channels, kernel = rows.shape[1], weight.shape[2]
    if not isinstance(channels, int) or not isinstance(kernel, int) or rows.shape[2] == 0:
        raise prim.Refused("channels or a kernel of unknown size, or no elements")
    state_size = (kernel - 1) * dilation
    weight = prim.assume_shape(weight, (channels, 1, kernel))
    if past_state is None:
        joined = prim.pad(rows, [0, 0, state_size], [0, 0, 0])
    else:
        past = _moved(past_state) if channels_last else past_state
        joined = prim.concat([prim.assume_shape(past, (*rows.shape[:2], state_size)), rows], 2)
    present = prim.slice_(joined, [0, 0, rows.shape[2]], [*rows.shape[:2], state_size])
    y = convolved_in_primitives(swept(joined, windows(1, [kernel], dilations=[dilation])), weight, channels)
    if bias is not None:
        y = y + along_channels(prim.assume_shape(bias, (channels,)), 3)
    y = y if activation == "none" else y * prim.apply("sigmoid", y)
    if not channels_last:
        return y, present
    behind = [prim.permute(each, [0, 2, 1]) for each in (y, present)]
    return prim.reshape(behind[0], x.shape), prim.reshape(behind[1], (x.shape[0], state_size, *x.shape[2:]))


def _channels_second(x: Array) -> Array:
    if x.ndim < 3:
        raise ShapeError(f"x has {x.ndim} axes, expected at least 3")
    return x.reshape(*x.shape[:2], -1).swapaxes(1, 2)


def _moved(x: prim.Tensor) -> prim.Tensor:
    channels = product(x.shape[2:])
    assert channels is not None
    return prim.permute(prim.reshape(x, (*x.shape[:2], channels)), [0, 2, 1])


def _check(activation: str, dilation: int, ndim: int, window: int) -> None:
    if activation not in ("none", "silu", "swish"):
        raise CheckError(f"activation is '{activation}'", hint="one of none, silu, swish")
    if dilation < 1:
        raise CheckError(f"dilation is {dilation}, expected at least 1")
    if ndim != 1 or window:
        raise UnsupportedError(
            f"ndim is {ndim} and state_window {window}: more is for CUDA", hint="use ndim 1 and no window"
        )
