"""MaxRoiPool: the greatest element in each cell of a grid laid over each region of interest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge, widened
from ingot.ops.nn.results import dim, require_size, tensor
from ingot.ops.nn.through import by_float32
from ingot.ops.shapes import require_rank
from ingot.ops.tensor.moved import stored
from ingot.ops.typesets import FLOATS, FLOATS_3, types
from ingot.prim.tensor import SizeReader

T: TypeAlias = Annotated[Array, types("T", {1: FLOATS_3, 22: FLOATS})]


@operator("MaxRoiPool", since=(1, 22))
def max_roi_pool(x: T, rois: T, /, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0) -> T:
    """For each region (image, x1, y1, x2, y2), scaled and rounded, both corners inside: the greatest element of each
    cell of a grid of `pooled_shape`; zero for a cell outside of the image.
    """
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise ShapeError(f"x has shape {list(x.shape)} and rois has {list(rois.shape)}, expected 4 axes and [n, 5]")
    rows, columns = _grid(pooled_shape)
    shape = (rois.shape[0], x.shape[1], rows, columns)
    refuse_huge(shape, x.dtype)
    values, regions = widened(x, rois)
    if not np.isfinite(regions).all():
        raise InputError("a region of interest is not finite")
    images = regions[:, 0].astype(np.int64)
    if images.size and not 0 <= images.min() <= images.max() < x.shape[0]:
        raise InputError(f"regions are of images {images.min()} to {images.max()}, and there are {x.shape[0]}")
    scaled = regions[:, 1:].astype(np.float64) * spatial_scale
    corners = np.clip(np.sign(scaled) * np.floor(np.abs(scaled) + 0.5), -(2**31), 2**31).astype(np.int64).tolist()
    y = np.zeros(shape, values.dtype)
    for region, (image, (x1, y1, x2, y2)) in enumerate(zip(images, corners, strict=True)):
        strips = np.zeros((x.shape[1], rows, x.shape[3]), values.dtype)
        filled = _cells(y1, y2, rows, x.shape[2])
        for row, (low, high) in filled.items():
            strips[:, row] = values[image, :, low:high].max(axis=1)
        for column, (low, high) in _cells(x1, x2, columns, x.shape[3]).items():
            y[region, :, list(filled), column] = strips[:, list(filled), low:high].max(axis=2).T
    return y.astype(x.dtype, copy=False)


@max_roi_pool.infer
def infer(x: Fact, rois: Fact, /, *, pooled_shape: Sequence[int], spatial_scale: float) -> Inferred:
    require_rank(x, 4, "x")
    require_rank(rois, 2, "rois")
    require_size(rois, 1, 5, "rois")
    return tensor(x.dtype or rois.dtype, (dim(rois.shape, 0), dim(x.shape, 1), *_grid(pooled_shape)))


@max_roi_pool.lower
def lower(
    x: prim.Tensor, rois: prim.Tensor, /, *, pooled_shape: Sequence[int], spatial_scale: float, read: SizeReader
) -> prim.Tensor:
    """The greatest of the rows of each cell, then of its columns.

    How far the largest cell reaches is read; smaller ones have their last row or column again and again.
    """
    rows, columns = _grid(pooled_shape)
    batch, channels, height, width = x.shape
    many = rois.shape[0]
    regions = prim.assume_shape(rois, (many, 5))
    corners = [_corner(regions, place, spatial_scale) for place in range(1, 5)]
    sides = [_bounds(corners[1], corners[3], rows, height), _bounds(corners[0], corners[2], columns, width)]
    image, sides = _stored(_image(regions, batch), sides)
    extents = [prim.reduce_("maximum", high - low, [0, 1]) for low, high in sides]
    least = prim.apply("minimum", prim.size(height * width), 1)
    tall, wide = read(prim.apply("maximum", prim.concat([prim.reshape(each, (1,)) for each in extents], 0), least))
    image = prim.reshape(image, (many, 1, 1, 1, 1))
    # gathered, not permuted: a view would be stored in the order of what it views
    (pixels,) = stored([prim.gather(x, [0, 3, 1, 2], (batch, height, width, channels))])
    along_rows = _places(*sides[0], tall)
    strips = prim.gather(pixels, [image, along_rows, 3, 4], (many, rows, tall, width, channels), in_range=True)
    strips = prim.squeeze(prim.reduce_("maximum", strips, [2]), [2])
    along_columns = prim.reshape(_places(*sides[1], wide), (many, 1, columns, wide, 1))
    cells = prim.gather(strips, [0, 1, along_columns, 4], (many, rows, columns, wide, channels), in_range=True)
    greatest = prim.squeeze(prim.reduce_("maximum", cells, [3]), [3])
    filled = [prim.apply("less", low, high) for low, high in sides]
    is_filled = prim.apply("and", prim.unsqueeze(filled[0], [2, 3]), prim.unsqueeze(filled[1], [1, 3]))
    (result,) = stored([prim.where(is_filled, greatest, 0.0)])
    return prim.permute(result, [0, 3, 1, 2])


def _places(low: prim.Tensor, high: prim.Tensor, extent: Dim) -> prim.Tensor:
    """The places of each cell on an axis, the last one again and again: (regions, cells, extent, 1, 1)."""
    many, cells = low.shape
    low, high = (prim.reshape(each, (many, cells, 1, 1, 1)) for each in (low, high))
    step = prim.iota((1, 1, extent, 1, 1), 2)
    return prim.apply("maximum", prim.apply("minimum", low + step, high - 1), 0)


def _corner(regions: prim.Tensor, place: int, scale: float) -> prim.Tensor:
    """A coordinate of each region, scaled and rounded, halves away from zero."""
    many = regions.shape[0]
    scaled = prim.cast(prim.slice_(regions, [0, place], [many, 1]), DType.FLOAT64) * scale
    size = prim.apply("floor", prim.apply("absolute", scaled) + 0.5)
    return prim.cast(prim.apply("copysign", prim.apply("minimum", size, 2.0**31), scaled), DType.INT64)


def _bounds(first: prim.Tensor, last: prim.Tensor, count: int, size: Dim) -> tuple[prim.Tensor, prim.Tensor]:
    """Where each of `count` cells of each region begins and ends on an axis: (regions, cells)."""
    length = prim.apply("maximum", last - first + 1, 1)
    cell = prim.iota((1, count), 1)
    low = prim.apply("maximum", first + cell * length / count, 0)
    high = prim.apply("minimum", first + ((cell + 1) * length + (count - 1)) / count, prim.size(size))
    return low, high


def _image(regions: prim.Tensor, batch: Dim) -> prim.Tensor:
    """Which image each region is of; a run reports one that there is not, and a region that is not finite."""
    many = regions.shape[0]
    image = prim.cast(prim.slice_(regions, [0, 0], [many, 1]), DType.INT64)
    largest = prim.reduce_("maximum", prim.apply("absolute", regions), [1])
    checked = prim.reshape(prim.where(prim.apply("less", largest, np.inf), image, -1), (many,))
    return prim.gather(prim.iota((batch,), 0), [checked], (many,))


def _stored(
    image: prim.Tensor, sides: Sequence[tuple[prim.Tensor, prim.Tensor]]
) -> tuple[prim.Tensor, list[tuple[prim.Tensor, prim.Tensor]]]:
    """The same as columns of one table: tensors joined are stored, and computed once for all channels."""
    (many,) = image.shape
    columns = [prim.unsqueeze(image, [1]), *(bound for side in sides for bound in side)]
    table = prim.concat(columns, 1)
    bounds: list[prim.Tensor] = []
    start: Dim = 0
    for column in columns:
        bounds.append(prim.slice_(table, [0, start], [many, column.shape[1]]))
        start = start + column.shape[1]
    return prim.reshape(bounds[0], (many,)), [(bounds[1], bounds[2]), (bounds[3], bounds[4])]


by_float32(max_roi_pool)


def _grid(pooled_shape: Sequence[int]) -> tuple[int, int]:
    if len(pooled_shape) != 2 or min(pooled_shape) < 1:
        raise CheckError(f"pooled_shape is {list(pooled_shape)}, expected two sizes of 1 or more")
    return pooled_shape[0], pooled_shape[1]


def _cells(first: int, last: int, count: int, size: int) -> dict[int, tuple[int, int]]:
    """The places each of `count` cells from `first` to `last` takes on an axis, those left out that take none."""
    length = max(last - first + 1, 1)
    bounds = (
        (cell, max(first + cell * length // count, 0), min(first - (-(cell + 1) * length // count), size))
        for cell in range(count)
    )
    return {cell: (low, high) for cell, low, high in bounds if low < high}
