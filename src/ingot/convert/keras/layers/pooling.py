"""Pools: of windows, of everything, and of as many windows as there are to be results."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, cast
from ingot.convert.keras.images import back, first, padding, tuple_of
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank, shape
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("BasePooling")
def pooling(c: Conversion, layer: Any, x: Var) -> Var:
    return pooled(x, layer.pool_mode, layer.pool_size, layer.strides, layer.padding, layer.data_format)


def pooled(x: Var, mode: str, window: Any, strides: Any, pads: str, data_format: str) -> Var:
    """A pool of windows; padding is not counted."""
    count = rank(x) - 2
    window = tuple_of(window, count)
    steps = window if strides is None else tuple_of(strides, count)
    image = first(x, data_format)
    more = padding(image, pads, window, steps, [1] * count)
    around = np.array(more.get("pads", [0, 0]), np.int64).reshape(2, -1)
    if mode == "average" and keras.backend.backend() == "torch" and (around[0] != around[1]).any():
        wide = np.concatenate([np.zeros((2, 2), np.int64), around], axis=1).reshape(-1)
        image, more = op.Pad(image, wide, mode="edge"), {}  # on PyTorch uneven padding counts, as what is next to it
    operator = op.MaxPool if mode == "max" else op.AveragePool
    return back(operator(image, kernel_shape=window, strides=steps, **more), data_format)


@rule("GlobalAveragePooling1D")
def global_average_of_steps(c: Conversion, layer: Any, x: Var, mask: Var | None = None) -> Var:
    """The mean of the time steps that the mask counts."""
    keep = int(layer.keepdims)
    axis = 1 if layer.data_format == "channels_last" else 2
    if mask is None:
        return op.ReduceMean(x, [axis], keepdims=keep)
    counted = op.Unsqueeze(cast(mask, DType.BOOL), [2 if axis == 1 else 1])
    assert x.dtype is not None
    unmasked = op.Where(counted, x, c.number(0, x))
    total = op.ReduceSum(op.Cast(counted, to=int(x.dtype)), [axis], keepdims=keep)
    return op.ReduceSum(unmasked, [axis], keepdims=keep) / total


@rule("GlobalAveragePooling2D", "GlobalAveragePooling3D")
def global_average(c: Conversion, layer: Any, x: Var) -> Var:
    return op.ReduceMean(x, _places(layer, x), keepdims=int(layer.keepdims))


@rule("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D")
def global_max(c: Conversion, layer: Any, x: Var) -> Var:
    return op.ReduceMax(x, _places(layer, x), keepdims=int(layer.keepdims))


def _places(layer: Any, x: Var) -> list[int]:
    count = rank(x)
    return list(range(1, count - 1)) if layer.data_format == "channels_last" else list(range(2, count))


@rule("BaseAdaptiveAveragePooling")
def adaptive_average(c: Conversion, layer: Any, x: Var) -> Var:
    return adaptive(c, x, "average", layer.output_size, layer.data_format)


@rule("BaseAdaptiveMaxPooling")
def adaptive_max(c: Conversion, layer: Any, x: Var) -> Var:
    return adaptive(c, x, "max", layer.output_size, layer.data_format)


def adaptive(c: Conversion, x: Var, mode: str, output_size: Any, data_format: str) -> Var:
    """A pool to a number of results: of equal windows where they divide the image, else axis by axis."""
    image = first(x, data_format)
    count = rank(x) - 2
    wanted = tuple_of(output_size, count)
    sizes = [size for size in shape(image)[2:] if isinstance(size, int)]
    if len(sizes) != count:
        raise UnsupportedError("how large the windows are is not known, as the image's size is not")
    if all(size % out == 0 for size, out in zip(sizes, wanted, strict=True)):
        window = [size // out for size, out in zip(sizes, wanted, strict=True)]
        operator = op.MaxPool if mode == "max" else op.AveragePool
        return back(operator(image, kernel_shape=window, strides=window), data_format)
    for axis, (size, out) in enumerate(zip(sizes, wanted, strict=True), start=2):
        image = _along(c, image, mode, axis, size, out)
    return back(image, data_format)


def _along(c: Conversion, image: Var, mode: str, axis: int, size: int, out: int) -> Var:
    """The pool of one axis: by a table of the elements of each window."""
    starts = [place * size // out for place in range(out)]
    ends = [-(-(place + 1) * size // out) for place in range(out)]
    width = max(end - start for start, end in zip(starts, ends, strict=True))
    table = np.array(
        [[min(start + place, end - 1) for place in range(width)] for start, end in zip(starts, ends, strict=True)]
    )
    windows = op.Gather(image, table.astype(np.int64), axis=axis)
    if mode == "max":
        return op.ReduceMax(windows, [axis + 1], keepdims=0)
    assert image.dtype is not None
    weights = np.array(
        [
            [float(start + place < end) / (end - start) for place in range(width)]
            for start, end in zip(starts, ends, strict=True)
        ]
    )
    shaped = weights.reshape(out, width, *(1,) * (rank(image) - axis - 1)).astype(image.dtype.numpy)
    return op.ReduceSum(windows * c.constant(shaped, "weights"), [axis + 1], keepdims=0)
