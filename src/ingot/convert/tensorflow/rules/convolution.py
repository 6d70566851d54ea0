"""Convolutions: their filters have channels last, and so may what they read."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import rank, shape
from ingot.convert.tensorflow.rule import Site, rule
from ingot.convert.tensorflow.rules.view import channels_back, channels_first
from ingot.convert.tensorflow.rules.window import explicit, spatial, window
from ingot.errors import UnsupportedError


@rule("Conv2D", "Conv3D")
def convolution(
    site: Site,
    x: Var,
    filters: Var,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: tuple[int, ...] | list[int] = (),
    data_format: str,
    dilations: list[int],
) -> Var:
    first = channels_first(x, data_format)
    axes = rank(filters) - 2
    sizes = shape(filters)
    weights = op.Transpose(filters, perm=[axes + 1, axes, *range(axes)])
    channels, own = shape(first)[1], sizes[axes]
    if not isinstance(own, int) or not isinstance(channels, int):
        raise UnsupportedError("the number of channels is not known")
    return _convolved(first, weights, channels // own, strides, padding, explicit_paddings, data_format, dilations)


@rule("DepthwiseConv2dNative")
def depthwise(
    site: Site,
    x: Var,
    filters: Var,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: tuple[int, ...] | list[int] = (),
    data_format: str,
    dilations: list[int],
) -> Var:
    """A filter of its own, or several, for each channel."""
    height, width, channels, many = _known_sizes(shape(filters))
    turned = op.Transpose(filters, perm=[2, 3, 0, 1])
    weights = op.Reshape(turned, np.array([channels * many, 1, height, width], np.int64))
    first = channels_first(x, data_format)
    return _convolved(first, weights, channels, strides, padding, explicit_paddings, data_format, dilations)


@rule("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def transposed_convolution(
    site: Site,
    sizes: Var,
    filters: Var,
    x: Var,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: tuple[int, ...] | list[int] = (),
    data_format: str,
    dilations: list[int],
) -> Var:
    """What a convolution would have read to give `x`, of the sizes given."""
    first = channels_first(x, data_format)
    axes = rank(filters) - 2
    weights = op.Transpose(filters, perm=[axes + 1, axes, *range(axes)])
    kernel = _known_sizes(shape(filters)[:axes])
    steps, spread = spatial(strides, data_format), spatial(dilations, data_format)
    wanted = site.elements(sizes)
    attributes: dict[str, Any] = {"strides": steps, "dilations": spread, "kernel_shape": kernel}
    explicit_pads = explicit(explicit_paddings, data_format) if padding == "EXPLICIT" else None
    attributes |= _transposed_padding(first, wanted, kernel, steps, spread, padding, explicit_pads, data_format)
    return channels_back(op.ConvTranspose(first, weights, **attributes), data_format)


def _transposed_padding(
    x: Var,
    wanted: Any,
    kernel: list[int],
    steps: list[int],
    spread: list[int],
    padding: str,
    explicit_pads: list[int] | None,
    data_format: str,
) -> dict[str, Any]:
    """The padding that makes a transposed convolution as large as wanted, where that is known in numbers."""
    if explicit_pads is not None:
        return {"pads": explicit_pads}
    whole = (
        None if wanted is None else spatial(list(wanted), data_format) if len(wanted) > len(kernel) else list(wanted)
    )
    before, after, more = [], [], []
    for at, size in enumerate(shape(x)[2:]):
        target = None if whole is None else whole[at]
        if size is None or target is None:
            return {"auto_pad": "SAME_UPPER"} if padding == "SAME" else {}
        spare = (size - 1) * steps[at] + (kernel[at] - 1) * spread[at] + 1 - target
        if not isinstance(spare, int):
            return {"auto_pad": "SAME_UPPER"} if padding == "SAME" else {}
        before.append(max(spare, 0) // 2)
        after.append(max(spare, 0) - max(spare, 0) // 2)
        more.append(max(-spare, 0))
    attributes: dict[str, Any] = {"pads": before + after} if any(before + after) else {}
    return {**attributes, "output_padding": more} if any(more) else attributes


def _convolved(
    x: Var,
    weights: Var,
    group: int,
    strides: list[int],
    padding: str,
    paddings: tuple[int, ...] | list[int],
    data_format: str,
    dilations: list[int],
) -> Var:
    kernel = _known_sizes(shape(weights)[2:])
    steps, spread = spatial(strides, data_format), spatial(dilations, data_format)
    pads = explicit(paddings, data_format) if padding == "EXPLICIT" else []
    convolved = op.Conv(
        x,
        weights,
        kernel_shape=kernel,
        strides=steps,
        dilations=spread,
        group=group,
        **window(x, padding, kernel, steps, spread, pads),
    )
    return channels_back(convolved, data_format)


def _known_sizes(sizes: Any) -> list[int]:
    if not all(isinstance(size, int) for size in sizes):
        raise UnsupportedError("the size of the filters is not known")
    return [int(size) for size in sizes]
