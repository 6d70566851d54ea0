"""Layers that only move elements: reshaping, flattening, permuting, repeating, cropping, padding, upsampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion
from ingot.convert.keras.images import back, first
from ingot.convert.keras.resizing import resized
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank, shape


@rule("Reshape")
def reshaped(c: Conversion, layer: Any, x: Var) -> Var:
    return op.Reshape(x, [0, *(int(size) for size in layer.target_shape)])


@rule("Flatten")
def flattened(c: Conversion, layer: Any, x: Var) -> Var:
    """All but the batch as one axis, channels last whatever they were."""
    if rank(x) == 1:
        return op.Unsqueeze(x, [1])
    if layer.data_format == "channels_first" and rank(x) > 2:
        x = op.Transpose(x, perm=[0, *range(2, rank(x)), 1])
    return x if rank(x) == 2 else op.Flatten(x, axis=1)


@rule("Permute")
def permuted(c: Conversion, layer: Any, x: Var) -> Var:
    return op.Transpose(x, perm=[0, *layer.dims])


@rule("RepeatVector")
def repeated(c: Conversion, layer: Any, x: Var) -> Var:
    return op.Tile(op.Unsqueeze(x, [1]), [1, layer.n, 1])


@rule("Cropping1D", "Cropping2D", "Cropping3D")
def cropped(c: Conversion, layer: Any, x: Var) -> Var:
    pairs = [layer.cropping] if isinstance(layer.cropping[0], int) else list(layer.cropping)
    start = 2 if getattr(layer, "data_format", "channels_last") == "channels_first" else 1
    axes = [axis for axis, (before, after) in enumerate(pairs, start=start) if before or after]
    if not axes:
        return x
    begins = [pairs[axis - start][0] for axis in axes]
    ends = [-pairs[axis - start][1] or np.iinfo(np.int64).max for axis in axes]
    return op.Slice(x, begins, ends, axes)


@rule("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def padded(c: Conversion, layer: Any, x: Var) -> Var:
    pairs = [layer.padding] if isinstance(layer.padding[0], int) else list(layer.padding)
    axes = _spatial(layer, x)
    wide = np.zeros((2, rank(x)), np.int64)
    wide[:, axes] = np.array(pairs, np.int64).T
    return op.Pad(x, wide.reshape(-1), c.number(0, x))


@rule("UpSampling1D", "UpSampling2D", "UpSampling3D")
def upsampled(c: Conversion, layer: Any, x: Var) -> Var:
    factors = [layer.size] if isinstance(layer.size, int) else list(layer.size)
    data_format = getattr(layer, "data_format", "channels_last")
    interpolation = getattr(layer, "interpolation", "nearest")
    image = first(x, data_format)
    if interpolation == "nearest":
        scales = np.array([1, 1, *factors], np.float32)
        enlarged = op.Resize(
            image, None, scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"
        )
        return back(enlarged, data_format)
    sizes = shape(image)[2:]
    wanted: Sequence[Any] = [
        size * factor if isinstance(size, int) else op.Shape(image, start=place, end=place + 1) * factor
        for place, (size, factor) in enumerate(zip(sizes, factors, strict=True), start=2)
    ]
    return back(resized(c, image, wanted, interpolation), data_format)


def _spatial(layer: Any, x: Var) -> list[int]:
    if getattr(layer, "data_format", "channels_last") == "channels_first":
        return list(range(2, rank(x)))
    return list(range(1, rank(x) - 1))
