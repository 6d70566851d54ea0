"""MaxRoiPool: the greatest element in each cell of a grid laid over each region of interest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.precision import refuse_huge, widened
from ingot.ops.nn.results import dim, require_size, tensor
from ingot.ops.nn.through import by_float32
from ingot.ops.shapes import require_rank
from ingot.ops.typesets import FLOATS, FLOATS_3, types

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
