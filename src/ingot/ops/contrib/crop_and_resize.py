"""CropAndResize: regions of images, each brought to one size."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT, last
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOATS_3, INT32, types

T1: TypeAlias = Annotated[Array, types("T1", FLOATS_3)]
T2: TypeAlias = Annotated[Array, types("T2", INT32)]


@operator("CropAndResize", since=1, domain=MICROSOFT)
def crop_and_resize(
    x: T1,
    rois: T1,
    batch_indices: T2,
    crop_size: T2,
    /,
    *,
    extrapolation_value: float = 0.0,
    mode: str = "bilinear",
) -> T1:
    """For each region (y1, x1, y2, x2), 0 and 1 being the first and the last pixel, `crop_size` samples of its image.

    The corners of a region are samples. Those outside of the image are `extrapolation_value`.
    """
    _check(mode)
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 4 or batch_indices.shape != rois.shape[:1]:
        shapes = [list(each.shape) for each in (x, rois, batch_indices)]
        raise ShapeError(f"images, regions and their images of shapes {shapes} do not go together")
    if crop_size.size != 2 or crop_size.min() < 1:
        raise InputError(f"crop_size is {crop_size.reshape(-1).tolist()}, expected two sizes of at least 1")
    batch, channels, *sizes = x.shape
    if batch_indices.size and not 0 <= batch_indices.min() <= batch_indices.max() < batch:
        raise InputError(
            f"batch_indices go from {batch_indices.min()} to {batch_indices.max()}, there are {batch} images"
        )
    counts = [int(size) for size in crop_size.reshape(-1)]
    refuse_huge((len(rois), channels, *counts), np.dtype(np.float64))
    if 0 in sizes:
        return np.full((len(rois), channels, *counts), extrapolation_value, x.dtype)
    wide = rois.astype(np.float32 if x.dtype == np.float16 else x.dtype)
    rows, columns = (
        _places(wide[:, i], wide[:, i + 2], size, n) for i, size, n in zip((0, 1), sizes, counts, strict=True)
    )
    inside = (_within(rows, sizes[0])[:, :, None] & _within(columns, sizes[1])[:, None, :])[:, None]
    image = batch_indices[:, None, None, None], np.arange(channels)[None, :, None, None]

    def pixels(y: Array, z: Array) -> Array:
        at_y, at_z = (np.clip(each, 0, size - 1).astype(np.intp) for each, size in ((y, sizes[0]), (z, sizes[1])))
        return x[(*image, at_y[:, None, :, None], at_z[:, None, None, :])].astype(wide.dtype)

    if mode == "nearest":
        y = pixels(_rounded(rows), _rounded(columns))
    else:
        beyond_y = (rows - np.floor(rows))[:, None, :, None]
        beyond_z = (columns - np.floor(columns))[:, None, None, :]
        upper, lower = (
            (left := pixels(row, np.floor(columns))) + (pixels(row, np.ceil(columns)) - left) * beyond_z
            for row in (np.floor(rows), np.ceil(rows))
        )
        y = upper + (lower - upper) * beyond_y
    return np.asarray(np.where(inside, y, extrapolation_value), x.dtype)


@crop_and_resize.infer
def infer(x: Fact, rois: Fact, batch_indices: Fact, crop_size: Fact, /, *, mode: str, **_: object) -> Inferred:
    _check(mode)
    require_rank(x, 4, "x")
    require_rank(rois, 2, "rois")
    sizes: list[int] | list[None] = crop_size.integers or [None, None]
    if len(sizes) != 2:
        raise ShapeError(f"crop_size has {len(sizes)} elements, expected 2")
    if last(rois.shape) not in (None, 4) and isinstance(last(rois.shape), int):
        raise ShapeError(f"rois have {last(rois.shape)} numbers each, expected 4")
    count = last(rois.shape, 0)
    count = last(batch_indices.shape, 0) if count is None else count
    return None if x.dtype is None else TensorType(x.dtype, (count, last(x.shape, 1), *sizes))


@crop_and_resize.lower
def lower(
    x: prim.Tensor,
    rois: prim.Tensor,
    batch_indices: prim.Tensor,
    crop_size: prim.Tensor,
    /,
    *,
    extrapolation_value: float,
    mode: str,
    facts: tuple[Fact, ...],
) -> prim.Tensor:
    counts = facts[3].integers
    if counts is None or len(counts) != 2 or min(counts) < 1:
        raise prim.Refused("crops of a size unknown until a run")
    regions = rois.shape[0]
    rois = prim.assume_shape(rois, (regions, 4))
    if 0 in x.shape:
        raise prim.Refused("images without pixels")
    shape = (regions, *counts, x.shape[1])
    channels_last = prim.permute(x, [0, 2, 3, 1])
    places = []
    for axis, count in enumerate(counts):
        ends = [prim.slice_(rois, [0, axis + more], [regions, 1]) for more in (0, 2)]
        coordinates = _places_in_primitives(ends[0], ends[1], x.shape[2 + axis], count)
        places.append(prim.reshape(coordinates, (regions, *((count, 1) if axis == 0 else (1, count)), 1)))
    image = prim.reshape(prim.assume_shape(batch_indices, (regions,)), (regions, 1, 1, 1))
    inside = prim.apply("and", *(_is_within(at, x.shape[2 + axis]) for axis, at in enumerate(places)))

    def pixels(*at: prim.Tensor) -> prim.Tensor:
        bounded = [prim.where(inside, each, 0.0) for each in at]
        return prim.gather(channels_last, [image, *(prim.cast(each, DType.INT64) for each in bounded), 3], shape)

    if mode == "nearest":
        y = pixels(*(prim.apply("floor", at + 0.5) for at in places))
    else:
        (low_y, high_y), (low_z, high_z) = ((prim.apply("floor", at), prim.apply("ceil", at)) for at in places)
        rows = []
        for row in (low_y, high_y):
            left = pixels(row, low_z)
            rows.append(left + (pixels(row, high_z) - left) * (places[1] - low_z))
        y = rows[0] + (rows[1] - rows[0]) * (places[0] - low_y)
    return prim.permute(prim.where(inside, y, extrapolation_value), [0, 3, 1, 2])


def _check(mode: str) -> None:
    if mode not in ("bilinear", "nearest"):
        raise CheckError(f"mode is '{mode}'", hint="one of bilinear, nearest")


def _places(start: Array, end: Array, size: int, count: int) -> Array:
    """Where `count` samples of each region lie, in pixels: (regions, count)."""
    one = start.dtype.type
    if count == 1:
        return np.asarray((one(0.5) * (start + end) * one(size - 1))[:, None])
    step = (end - start) * one(size - 1) / one(count - 1)
    places = start[:, None] * one(size - 1) + np.arange(count, dtype=start.dtype) * step[:, None]
    places[:, -1] = end * one(size - 1)
    return np.asarray(places)


def _places_in_primitives(start: prim.Tensor, end: prim.Tensor, size: Dim, count: int) -> prim.Tensor:
    reach = prim.cast(prim.size(size - 1), start.dtype)
    if count == 1:
        return (start + end) * 0.5 * reach
    step = (end - start) * reach / float(count - 1)
    number = prim.iota((1, count), 1)
    places = start * reach + prim.cast(number, start.dtype) * step
    return prim.where(prim.apply("equal", number, count - 1), end * reach, places)


def _within(places: Array, size: int) -> Array:
    return np.asarray((places >= 0) & (places <= size - 1))


def _is_within(places: prim.Tensor, size: Dim) -> prim.Tensor:
    zero, reach = prim.scalar(0.0, places.dtype), prim.cast(prim.size(size - 1), places.dtype)
    return prim.apply("and", prim.apply("less_equal", zero, places), prim.apply("less_equal", places, reach))


def _rounded(places: Array) -> Array:
    """The nearest pixels, of two the one further on."""
    return np.asarray(np.floor(places + places.dtype.type(0.5)))
