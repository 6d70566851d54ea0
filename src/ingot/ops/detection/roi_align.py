"""RoiAlign: regions of an image, each pooled to one size, read between the pixels."""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, ShapeError, UnsupportedError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.image.extent import require_extent
from ingot.ops.nn.through import again, through_float32
from ingot.ops.shapes import require_rank, unify
from ingot.ops.typesets import FLOATS, FLOATS_3, INT64, types

T1: TypeAlias = Annotated[Array, types("T1", {16: FLOATS_3, 22: FLOATS})]
T2: TypeAlias = Annotated[Array, types("T2", INT64)]
T10: TypeAlias = Annotated[Array, types("T1", FLOATS_3)]


@operator("RoiAlign", since=(16, 22))
def roi_align(
    x: T1,
    rois: T1,
    batch_indices: T2,
    /,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> T1:
    """For each region `[x1, y1, x2, y2]` of its image, a grid of bins, each the mean or the largest of its samples.

    A bin has `sampling_ratio` samples each way, or as many as it spans pixels. A sample is interpolated linearly; for
    the largest, the four weighted pixels count by themselves. Further than one pixel outside the image is zero.
    """
    _check(coordinate_transformation_mode, mode, output_height, output_width, sampling_ratio)
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 4 or batch_indices.shape != rois.shape[:1]:
        raise ShapeError(
            f"shapes {list(x.shape)}, {list(rois.shape)} and {list(batch_indices.shape)} of image, regions and indices"
        )
    if ((batch_indices < 0) | (batch_indices >= x.shape[0])).any():
        raise InputError(f"batch_indices has an index outside a batch of {x.shape[0]}")
    regions = rois.astype(np.float64) * spatial_scale
    if not np.isfinite(regions).all():
        raise InputError("rois holds numbers that are not finite")
    half_pixel = coordinate_transformation_mode == "half_pixel"
    shape = (len(rois), x.shape[1], output_height, output_width)
    require_extent(shape, 8)
    result = np.zeros(shape)
    if 0 in x.shape[1:]:
        return result.astype(x.dtype)
    for place, (region, batch) in enumerate(zip(regions.tolist(), batch_indices.tolist(), strict=True)):
        x1, y1, x2, y2 = (corner - 0.5 if half_pixel else corner for corner in region)
        rows = _Samples(y1, y2, output_height, x.shape[2], sampling_ratio, at_least=0.0 if half_pixel else 1.0)
        columns = _Samples(x1, x2, output_width, x.shape[3], sampling_ratio, at_least=0.0 if half_pixel else 1.0)
        require_extent((4, x.shape[1], rows.count * output_height, columns.count * output_width), 8)
        if rows.count and columns.count:
            result[place] = _pooled(x[batch].astype(np.float64), rows, columns, mode)
    return result.astype(x.dtype)


class _Samples:
    """The samples along one side of a region: `count` for each bin, each between pixels `low` and `high`."""

    def __init__(self, start: float, end: float, bins: int, size: int, ratio: int, *, at_least: float) -> None:
        extent = max(end - start, at_least) if at_least else end - start
        width = extent / bins
        self.bins = bins
        self.count = ratio if ratio > 0 else max(math.ceil(width), 0)
        require_extent((self.count, bins), 8)
        steps = np.arange(bins)[:, None] + (np.arange(self.count) + 0.5) / max(self.count, 1)
        at = (start + steps * width).reshape(-1)
        inside = (at >= -1) & (at <= size)
        at = np.clip(at, 0, size - 1)
        self.low = np.floor(at).astype(np.intp)
        self.high = np.minimum(self.low + 1, size - 1)
        self.after = np.where(inside, at - self.low, 0.0)
        self.before = np.where(inside, 1.0 - self.after, 0.0)


def _pooled(image: Array, rows: _Samples, columns: _Samples, mode: str) -> Array:
    corners = []
    for row, height in ((rows.low, rows.before), (rows.high, rows.after)):
        for column, width in ((columns.low, columns.before), (columns.high, columns.after)):
            corners.append(image[:, row[:, None], column] * (height[:, None] * width))
    bins = (image.shape[0], rows.bins, rows.count, columns.bins, columns.count)
    if mode == "avg":
        total: Array = sum(corners[1:], corners[0])
        return np.asarray(total.reshape(bins).mean(axis=(2, 4)))
    return np.asarray(np.maximum.reduce(corners).reshape(bins).max(axis=(2, 4)))


@roi_align.infer
def infer(
    x: Fact,
    rois: Fact,
    batch_indices: Fact,
    /,
    *,
    coordinate_transformation_mode: str,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    **_: object,
) -> Inferred:
    _check(coordinate_transformation_mode, mode, output_height, output_width, sampling_ratio)
    require_rank(x, 4, "the image")
    require_rank(rois, 2, "rois")
    require_rank(batch_indices, 1, "batch_indices")
    if rois.shape is not None:
        unify(rois.shape[1], 4, "the numbers of a region and")
    count = unify(
        rois.shape[0] if rois.shape is not None else None,
        batch_indices.shape[0] if batch_indices.shape is not None else None,
        "the numbers of regions and indices",
    )
    channels = x.shape[1] if x.shape is not None else None
    return None if x.dtype is None else TensorType(x.dtype, (count, channels, output_height, output_width))


@roi_align.lower
def lower(
    x: prim.Tensor,
    rois: prim.Tensor,
    batch_indices: prim.Tensor,
    /,
    *,
    coordinate_transformation_mode: str,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
) -> prim.Tensor:
    """Samples (regions, rows, samples, columns, samples, channels); a run reports a region that is not finite."""
    if not sampling_ratio or 0 in x.shape[1:]:
        raise prim.Refused("as many samples as a region spans pixels, or none")
    regions = prim.cast(rois, DType.FLOAT64) * spatial_scale
    finite = prim.apply("less", prim.reduce_("maximum", prim.apply("absolute", regions), [1]), np.inf)
    images = prim.where(prim.squeeze(finite, [1]), prim.cast(batch_indices, DType.INT64), -1)
    half_pixel = coordinate_transformation_mode == "half_pixel"
    corners = [prim.slice_(regions, [0, i], [rois.shape[0], 1]) - (0.5 if half_pixel else 0.0) for i in range(4)]
    sides = []
    for axis, bins in ((1, output_height), (0, output_width)):
        start, extent = corners[axis], corners[axis + 2] - corners[axis]
        extent = extent if half_pixel else prim.apply("maximum", extent, 1.0)
        shape = (1, bins, sampling_ratio) if axis else (1, 1, 1, bins, sampling_ratio)
        sides.append(_sampled(start, extent, bins, shape, x.shape[3 - axis]))
    last = prim.permute(x, [0, 2, 3, 1])
    whole = (rois.shape[0], output_height, sampling_ratio, output_width, sampling_ratio, x.shape[1])
    image = prim.reshape(images, (rois.shape[0], 1, 1, 1, 1, 1))
    parts = [
        prim.gather(last, [image, row, column, 5], whole) * prim.cast(height * width, x.dtype)
        for row, height in sides[0]
        for column, width in sides[1]
    ]
    if mode == "avg":
        total = prim.reduce_("add", parts[0] + parts[1] + parts[2] + parts[3], [2, 4]) / sampling_ratio**2
    else:
        pairs = [prim.apply("maximum", *parts[i : i + 2]) for i in (0, 2)]
        total = prim.reduce_("maximum", prim.apply("maximum", *pairs), [2, 4])
    return prim.permute(prim.squeeze(total, [2, 4]), [0, 3, 1, 2])


def _sampled(
    start: prim.Tensor, extent: prim.Tensor, bins: int, shape: tuple[int, ...], size: Dim
) -> list[tuple[prim.Tensor, prim.Tensor]]:
    """The pixels before and after each sample along one side, and their weights; `shape` ends in bins and samples."""
    ones = (1,) * (6 - len(shape))
    steps = np.arange(bins)[:, None] + (np.arange(shape[-1]) + 0.5) / shape[-1]
    begin, width = (prim.reshape(each, (start.shape[0], 1, 1, 1, 1, 1)) for each in (start, extent / bins))
    at = begin + prim.constant(steps.reshape((*shape, *ones))) * width
    most = prim.cast(prim.size(size), DType.FLOAT64)
    inside = prim.apply(
        "and", prim.apply("less_equal", prim.scalar(-1.0, at.dtype), at), prim.apply("less_equal", at, most)
    )
    at = prim.apply("minimum", prim.apply("maximum", at, 0.0), most - 1.0)
    low = prim.apply("floor", at)
    high = prim.apply("minimum", low + 1.0, most - 1.0)
    after = prim.where(inside, at - low, 0.0)
    before = prim.where(inside, 1.0 - after, 0.0)
    return [(prim.cast(low, DType.INT64), before), (prim.cast(high, DType.INT64), after)]


def _check(coordinates: str, mode: str, height: int, width: int, ratio: int) -> None:
    if coordinates not in ("half_pixel", "output_half_pixel"):
        raise CheckError(
            f"coordinate_transformation_mode is '{coordinates}'", hint="one of half_pixel, output_half_pixel"
        )
    if mode not in ("avg", "max"):
        raise CheckError(f"mode is '{mode}'", hint="one of avg, max")
    if height < 1 or width < 1 or ratio < 0:
        raise CheckError(f"an output of {height} by {width} pixels, with a sampling_ratio of {ratio}")


@roi_align.downgrade
def downgrade(op: Any, *inputs: Value, coordinate_transformation_mode: str, version: int, **attributes: Any) -> Any:
    if version >= roi_align.since[0]:
        mode = {"coordinate_transformation_mode": coordinate_transformation_mode}
        return through_float32(op, roi_align, inputs, {**attributes, **mode}, version=version)
    if coordinate_transformation_mode == "half_pixel":
        raise UnsupportedError("regions smaller than a pixel, which half_pixel keeps so, are made one pixel large")
    return again(op, roi_align_10, inputs, attributes, version=version)


@operator("RoiAlign", since=10)
def roi_align_10(
    x: T10,
    rois: T10,
    batch_indices: T2,
    /,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> T10:
    """The same, where coordinates are not shifted by half a pixel."""
    raise superseded()


@roi_align_10.upgrade
def upgrade(op: Any, x: Value, rois: Value, batch_indices: Value, /, **attributes: Any) -> Any:
    return op.RoiAlign(x, rois, batch_indices, coordinate_transformation_mode="output_half_pixel", **attributes)
