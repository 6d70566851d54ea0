"""Images that are prepared: resized, cropped."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, cast, name_of
from ingot.convert.keras.images import back, first
from ingot.convert.keras.resizing import resized
from ingot.convert.keras.rule import rule
from ingot.convert.operands import rank, shape
from ingot.errors import UnsupportedError


@rule("Resizing")
def resizing(c: Conversion, layer: Any, x: Var) -> Var:
    image = first(_batched(x), layer.data_format)
    wanted = (layer.height, layer.width)
    if layer.crop_to_aspect_ratio:
        image = _cropped(image, *_box(image, wanted))
    elif layer.pad_to_aspect_ratio:
        image = _padded(c, image, wanted, layer.fill_value)
    image_of_size = resized(c, image, wanted, layer.interpolation, antialias=layer.antialias)
    image_of_size = back(image_of_size, layer.data_format)
    return cast(image_of_size if rank(x) == 4 else op.Squeeze(image_of_size, [0]), name_of(x.dtype))


@rule("CenterCrop")
def centre(c: Conversion, layer: Any, x: Var) -> Var:
    """The middle of an image; of one that is too small, as much as has the form wanted, resized."""
    image = first(_batched(cast(x, layer.compute_dtype)), layer.data_format)
    height, width = _known(image)
    if height >= layer.height and width >= layer.width:
        crop = _cropped(image, (height - layer.height) // 2, (width - layer.width) // 2, layer.height, layer.width)
    else:
        crop = _cropped(image, *_box(image, (layer.height, layer.width)))
        crop = resized(c, crop, (layer.height, layer.width), "bilinear")
    crop = back(crop, layer.data_format)
    return crop if rank(x) == 4 else op.Squeeze(crop, [0])


@rule("Equalization", "MaxNumBoundingBoxes", "RandomCrop", "Solarization")
def unchanged(c: Conversion, layer: Any, x: Any) -> Any:
    """Changed in training only."""
    return x


def _batched(x: Var) -> Var:
    return x if rank(x) == 4 else op.Unsqueeze(x, [0])


def _known(image: Var) -> tuple[int, int]:
    height, width = shape(image)[2:]
    if not isinstance(height, int) or not isinstance(width, int):
        raise UnsupportedError("what is cropped is not known, as the image's size is not")
    return height, width


def _box(image: Var, wanted: tuple[int, int]) -> tuple[int, int, int, int]:
    """The largest part of an image that has the form wanted: where it begins, and its size."""
    height, width = _known(image)
    tall = max(min(height, int(width * wanted[0] / wanted[1])), 1)
    wide = max(min(width, int(height * wanted[1] / wanted[0])), 1)
    return int((height - tall) / 2), int((width - wide) / 2), tall, wide


def _cropped(image: Var, top: int, left: int, height: int, width: int) -> Var:
    return op.Slice(image, [top, left], [top + height, left + width], [2, 3])


def _padded(c: Conversion, image: Var, wanted: tuple[int, int], fill: float) -> Var:
    """An image with as much around it as makes its form the one wanted."""
    height, width = _known(image)
    above = int((max(height, int(width * wanted[0] / wanted[1])) - height) / 2)
    beside = int((max(width, int(height * wanted[1] / wanted[0])) - width) / 2)
    pads = np.array([0, 0, above, beside, 0, 0, above, beside], np.int64)
    return op.Pad(image, pads, c.number(fill, image))
