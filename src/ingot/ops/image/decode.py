"""ImageDecoder: the pixels of a compressed image, by Pillow."""

from __future__ import annotations

import io
import warnings
from importlib import import_module
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.image.extent import require_extent
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import UINT8, types

T1: TypeAlias = Annotated[Array, types("T1", UINT8)]
T2: TypeAlias = Annotated[Array, types("T2", UINT8)]

_CHANNELS = {"RGB": 3, "BGR": 3, "Grayscale": 1}
_FORMATS = ("BMP", "JPEG", "JPEG2000", "TIFF", "PNG", "WEBP", "PPM")


@operator("ImageDecoder", since=20)
def image_decoder(encoded_stream: T1, /, *, pixel_format: str = "RGB") -> T2:
    """The image that the bytes of a file hold, `[height, width, channels]`; without pixels if it cannot be decoded.

    Read are BMP, JPEG, JPEG 2000, TIFF, PNG, WebP and the portable pixmaps. InputError for one out of all proportion.
    """
    channels = _channels(pixel_format)
    if encoded_stream.ndim != 1:
        raise ShapeError(f"the stream has {encoded_stream.ndim} axes, expected 1")
    try:
        pillow: Any = import_module("PIL.Image")
    except ImportError:
        raise UnsupportedError("Pillow, which decodes images, is not installed", hint="pip install pillow") from None
    nothing = np.empty((0, 0, channels), np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", pillow.DecompressionBombWarning)
        try:
            image = pillow.open(io.BytesIO(encoded_stream.tobytes()), formats=_FORMATS)
            require_extent((image.height, image.width, 4), 1)
            pixels = np.array(image.convert("L" if channels == 1 else "RGB"))
        except (pillow.DecompressionBombError, pillow.DecompressionBombWarning) as error:
            raise InputError(f"the image is too large: {error}") from None
        except InputError:
            raise
        except Exception:  # the standard: an image that cannot be decoded for whatever reason is empty
            return nothing
    if channels == 1:
        return pixels[:, :, None]
    return np.ascontiguousarray(pixels[:, :, ::-1]) if pixel_format == "BGR" else pixels


@image_decoder.infer
def infer(encoded_stream: Fact, /, *, pixel_format: str) -> Inferred:
    require_rank(encoded_stream, 1, "the stream")
    return TensorType(DType.UINT8, (None, None, _channels(pixel_format)))


def _channels(pixel_format: str) -> int:
    if pixel_format not in _CHANNELS:
        raise CheckError(f"pixel_format is '{pixel_format}'", hint=f"one of {', '.join(_CHANNELS)}")
    return _CHANNELS[pixel_format]
