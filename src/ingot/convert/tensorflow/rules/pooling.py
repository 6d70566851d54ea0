"""Pooling windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast
from ingot.convert.tensorflow.dtypes import dtype_of
from ingot.convert.tensorflow.operands import known, size_of
from ingot.convert.tensorflow.rule import Site, rule
from ingot.convert.tensorflow.rules.view import channels_back, channels_first
from ingot.convert.tensorflow.rules.window import explicit, spatial, window
from ingot.dtypes import DType


@rule("MaxPool", "MaxPool3D")
def max_pool(
    site: Site,
    x: Var,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    explicit_paddings: tuple[int, ...] | list[int] = (),
    data_format: str,
) -> Var:
    return _pooled("MaxPool", site, x, ksize, strides, padding, explicit_paddings, data_format)


@rule("MaxPoolV2")
def max_pool_v2(site: Site, x: Var, ksize: Var, strides: Var, *, padding: str, data_format: str) -> Var:
    kernel = known(ksize, "the window").tolist()
    return _pooled("MaxPool", site, x, kernel, known(strides, "the stride").tolist(), padding, (), data_format)


@rule("AvgPool", "AvgPool3D")
def average_pool(site: Site, x: Var, *, ksize: list[int], strides: list[int], padding: str, data_format: str) -> Var:
    """Means over what of the window lies inside."""
    return _pooled("AveragePool", site, x, ksize, strides, padding, (), data_format)


@rule("MaxPoolWithArgmax")
def max_pool_with_argmax(
    site: Site, x: Var, *, ksize: list[int], strides: list[int], padding: str, include_batch_in_index: bool = False
) -> tuple[Var, Var]:
    """Maxima, and their places: counted channels last, within each image or over all of them."""
    first = channels_first(x, "NHWC")
    kernel, steps = spatial(ksize, "NHWC"), spatial(strides, "NHWC")
    padded = window(first, padding, kernel, steps, [1, 1], [])
    values, places = op.MaxPool(first, kernel_shape=kernel, strides=steps, outputs=2, **padded)
    channels, pixels = size_of(first, 1), op.Mul(size_of(first, 2), size_of(first, 3))
    within = op.Mod(places, pixels)
    image = op.Div(places, op.Mul(channels, pixels))
    channel = op.Mod(op.Div(places, pixels), channels)
    index = op.Add(op.Mul(within, channels), channel)
    if include_batch_in_index:
        index = op.Add(index, op.Mul(image, op.Mul(channels, pixels)))
    return channels_back(values, "NHWC"), channels_back(cast(index, dtype_of(site.op.outputs[1].dtype)), "NHWC")


def _pooled(
    name: str,
    site: Site,
    x: Var,
    ksize: list[int],
    strides: list[int],
    padding: str,
    paddings: tuple[int, ...] | list[int],
    data_format: str,
) -> Var:
    first = channels_first(x, data_format)
    kernel, steps = spatial(ksize, data_format), spatial(strides, data_format)
    if ksize[1 if data_format.startswith("NC") else -1] != 1:
        return _over_channels(name, first, ksize, strides, data_format)
    pads = explicit(paddings, data_format) if padding == "EXPLICIT" else []
    attributes = window(first, padding, kernel, steps, [1] * len(kernel), pads)
    narrow = site.dtype.is_integer and site.dtype not in (DType.INT8, DType.UINT8)
    if narrow:
        first = cast(first, DType.FLOAT64)
    pooled = op[name](first, kernel_shape=kernel, strides=steps, **attributes)
    return channels_back(cast(pooled, site.dtype), data_format)


def _over_channels(name: str, first: Var, ksize: list[int], strides: list[int], data_format: str) -> Var:
    """Windows over channels alone, which may not overlap and fill them all: TensorFlow has no others."""
    width = ksize[1 if data_format.startswith("NC") else -1]
    sizes: list[Any] = [size_of(first, axis) for axis in range(4)]
    apart = op.Reshape(first, op.Concat(sizes[0], np.array([-1, width], np.int64), sizes[2], sizes[3], axis=0))
    reduce = "ReduceMax" if name == "MaxPool" else "ReduceMean"
    return channels_back(op[reduce](apart, [2], keepdims=0), data_format)
