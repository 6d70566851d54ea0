"""An image file as the input of a model: in its size, its order of axes and its element type."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ingot.errors import InputError, UnsupportedError
from ingot.ir import TensorType, Value

_MODES = {3: "RGB", 1: "L", 4: "RGBA"}
"""By the number of channels, the likeliest first: an axis of 4 may well be a height."""

_MOST_PIXELS = 1 << 28


def read_image(value: Value, path: Path) -> np.ndarray[Any, Any]:
    """The image, resized to the height and width that the input has; floats are from 0 to 1.

    The channels are the axis of 1, 3 or 4 before or after height and width; an axis before all is a batch of one.
    """
    pillow = _pillow()
    type_ = value.type
    is_array = isinstance(type_, TensorType) and (type_.dtype.is_float or type_.dtype.is_integer)
    if not isinstance(type_, TensorType) or not is_array or type_.shape is None or not 2 <= len(type_.shape) <= 4:
        raise InputError(f"input '{value.name}' is {type_ or 'of unknown type'}, which no image is")
    first, channels = _layout(value.name, type_)
    height, width = _extent(type_.shape, first, channels is not None)
    with path.open("rb") as file:
        try:
            with pillow.open(file) as opened:
                image = opened.convert(_MODES[channels or 1])
        except pillow.UnidentifiedImageError:
            raise InputError(f"'{path}' is not an image that Pillow reads") from None
        except Exception as error:  # Pillow raises whatever a broken file leads it to
            raise InputError(f"'{path}' is no whole image: {error}") from None
    width, height = image.width if width is None else width, image.height if height is None else height
    if not 0 < width * height <= _MOST_PIXELS:
        raise InputError(f"input '{value.name}' is {type_}: an image has from 1 to {_MOST_PIXELS:,} pixels")
    image = image.resize((width, height))
    pixels = np.asarray(image)
    if channels is not None:
        pixels = pixels.reshape(image.height, image.width, channels)
        pixels = pixels.transpose(2, 0, 1) if first else pixels
    if len(type_.shape) > pixels.ndim:
        pixels = pixels[None]
    if type_.dtype.is_float:
        return np.asarray(pixels.astype(np.float32) / 255, type_.dtype.numpy)
    return np.ascontiguousarray(pixels.astype(type_.dtype.numpy))


def _layout(name: str, type_: TensorType) -> tuple[bool, int | None]:
    """Whether channels come first, and how many there are; None where there is no axis for them."""
    shape = type_.shape
    assert shape is not None
    if len(shape) == 2:
        return False, None
    for channels in _MODES:
        if channels in (shape[-3], shape[-1]):
            return shape[-3] == channels, channels
    if len(shape) == 3:
        return False, None
    raise InputError(f"input '{name}' is {type_}: no axis is for 1, 3 or 4 channels", hint="give --shape")


def _extent(shape: tuple[Any, ...], first: bool, channels: bool) -> tuple[int | None, int | None]:
    sizes = shape[-2:] if first or not channels else shape[-3:-1]
    height, width = (dim if isinstance(dim, int) else None for dim in sizes)
    return height, width


def _pillow() -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError:
        raise UnsupportedError("Pillow, which reads images, is not installed", hint="pip install pillow") from None
