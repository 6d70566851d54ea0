"""Images: channels first and last, and how much a convolution or pool pads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot.builder import Var, op
from ingot.convert.operands import rank, shape
from ingot.convert.windows import same_padding
from ingot.passes.layout import channels_last


def first(x: Var, data_format: str) -> Var:
    """An image with its channels first."""
    count = rank(x)
    return op.Transpose(x, perm=[0, count - 1, *range(1, count - 1)]) if data_format == "channels_last" else x


def back(x: Var, data_format: str) -> Var:
    """An image with its channels first, as the layer has it."""
    return op.Transpose(x, perm=list(channels_last(rank(x)))) if data_format == "channels_last" else x


def tuple_of(value: Any, count: int) -> list[int]:
    """An option that is one number for all axes, or one for each."""
    return [int(value)] * count if isinstance(value, int) else [int(each) for each in value]


def padding(
    x: Var, mode: str, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> dict[str, Any]:
    """The attributes that pad an image, channels first, as Keras' `padding` says: numbers where these are known."""
    if mode == "valid":
        return {}
    if mode == "causal":
        return {"pads": [(window[0] - 1) * dilations[0], 0]}
    return same_padding(shape(x)[2:], window, strides, dilations)
