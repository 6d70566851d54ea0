"""Where the pixels of a resized axis lie in the old one, and which old pixels they are made of."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ingot.ops.image.resize_axes import Axis, coordinate_precision
from ingot.ops.image.sampling import Floats, cubic, linear

Pixels = npt.NDArray[np.intp]

COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)


def nearest_pixels(axis: Axis, coordinates: str, rounding: str) -> Pixels:
    """For each output pixel, the input pixel it is."""
    x = coordinate_precision(max(axis.length, axis.size), positions(axis, coordinates))
    match rounding:
        case "round_prefer_floor":
            x = np.ceil(x - 0.5)
        case "round_prefer_ceil":
            x = np.floor(x + 0.5)
        case "floor":
            x = np.floor(x)
        case _:
            x = np.ceil(x)
    return np.clip(x, 0, axis.length - 1).astype(np.intp)


def weighted_pixels(
    axis: Axis, coordinates: str, *, a: float | None, antialias: bool, exclude_outside: bool
) -> tuple[Pixels, Floats]:
    """For each output pixel, a row of input pixels and their weights; `a` makes it cubic interpolation.

    Antialiasing stretches the kernel by as much as the image shrinks.
    """
    stretch = min(axis.scale, 1.0) if antialias else 1.0
    radius = 1 if a is None else 2
    first = math.floor(-radius / stretch) + 1
    steps = np.arange(first, 2 - first)
    x = positions(axis, coordinates)
    base = np.floor(x)
    distances = (steps - (x - base)[:, None]) * stretch
    weights = linear(distances) if a is None else cubic(distances, a)
    pixels = base[:, None] + steps
    if exclude_outside:
        weights = np.where((pixels < 0) | (pixels >= axis.length), 0.0, weights)
    if exclude_outside or antialias:
        total = weights.sum(1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
    return np.clip(pixels, 0, axis.length - 1).astype(np.intp), weights


def positions(axis: Axis, coordinates: str) -> Floats:
    """The place of each output pixel in the input, in pixels.

    The standard's data for `align_corners` takes the output as long as the scale makes it, before it is cut off.
    """
    i = np.arange(axis.size, dtype=np.float64)
    exact = axis.scale * axis.length
    centred = (i + 0.5) / axis.scale - 0.5
    match coordinates:
        case "align_corners":
            return i * 0 if exact == 1 else i * (axis.length - 1) / (exact - 1)
        case "asymmetric":
            return i / axis.scale
        case "tf_crop_and_resize":
            last = axis.length - 1
            if axis.size == 1:
                return np.full(1, 0.5 * (axis.start + axis.end) * last)
            return axis.start * last + i * (axis.end - axis.start) * last / (axis.size - 1)
        case "pytorch_half_pixel":
            return centred if axis.size > 1 else i * 0
        case "half_pixel_symmetric":
            return centred + axis.length / 2 * (1 - axis.size / exact)
    return centred


def outside(axis: Axis) -> npt.NDArray[np.bool_]:
    """Which output pixels of a crop lie outside the input."""
    x = positions(axis, "tf_crop_and_resize")
    return (x < 0) | (x > axis.length - 1)
