"""Images in other sizes, with the interpolations of Keras."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import keras
import numpy as np

from ingot.builder import Var, op
from ingot.convert.keras.conversion import Conversion, as_array, cast, name_of
from ingot.convert.operands import shape
from ingot.dtypes import Array
from ingot.errors import UnsupportedError


def resized(c: Conversion, image: Var, sizes: Sequence[Any], interpolation: str, *, antialias: bool = False) -> Var:
    """An image, channels first, of other height and width: integers, or values that hold one."""
    if interpolation == "nearest":
        return _by_operator(
            image, sizes, mode="nearest", coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_ceil"
        )
    if interpolation == "bilinear" and not antialias:
        return _by_operator(image, sizes, mode="linear", coordinate_transformation_mode="half_pixel")
    own = shape(image)[2:]
    if not all(isinstance(size, int) for size in [*own, *sizes]):
        raise UnsupportedError(f"interpolation '{interpolation}' of an image whose size is not known")
    dtype = name_of(image.dtype)
    tall = c.constant(_matrix(int(own[0]), int(sizes[0]), interpolation, antialias).astype(dtype), "rows")  # type: ignore[arg-type]
    wide = c.constant(_matrix(int(own[1]), int(sizes[1]), interpolation, antialias).T.astype(dtype), "columns")  # type: ignore[arg-type]
    return op.MatMul(tall, op.MatMul(image, wide))


def _by_operator(image: Var, sizes: Sequence[Any], **attributes: Any) -> Var:
    parts = [size if isinstance(size, Var) else np.array([size], np.int64) for size in sizes]
    wanted = op.Concat(op.Shape(image, start=0, end=2), *parts, axis=0)
    real = image if image.dtype is not None and image.dtype.is_float else cast(image, "float32")
    resized_image: Var = op.Resize(real, None, None, wanted, **attributes)
    return resized_image


@cache
def _matrix(size: int, wanted: int, interpolation: str, antialias: bool) -> Array:
    """Interpolation is linear: the matrix that Keras' own makes of one axis."""
    unit = np.eye(size, dtype=np.float32)[None, :, :, None]
    columns = keras.ops.image.resize(
        unit, (wanted, size), interpolation=interpolation, antialias=antialias, data_format="channels_last"
    )
    return as_array(columns)[0, :, :, 0]
