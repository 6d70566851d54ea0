"""Images in other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, number, shape
from ingot.convert.tensorflow.operands import joined, known, size_of, vector
from ingot.convert.tensorflow.rule import Site, rule
from ingot.convert.tensorflow.rules.view import channels_back, channels_first
from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError


@rule("ResizeBilinear")
def resize_bilinear(
    site: Site, x: Var, size: Var, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Var:
    return _resized(site, cast(x, site.dtype), size, align_corners, half_pixel_centers, mode="linear")


@rule("ResizeNearestNeighbor")
def resize_nearest(
    site: Site, x: Var, size: Var, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Var:
    rounded = "round_prefer_ceil" if align_corners or half_pixel_centers else "floor"
    return _resized(site, x, size, align_corners, half_pixel_centers, mode="nearest", nearest_mode=rounded)


@rule("ResizeBicubic")
def resize_bicubic(
    site: Site, x: Var, size: Var, *, align_corners: bool = False, half_pixel_centers: bool = False
) -> Var:
    """With centres of pixels by Keys' kernel, whose weights outside are spread over those inside."""
    return _resized(
        site,
        cast(x, site.dtype),
        size,
        align_corners,
        half_pixel_centers,
        mode="cubic",
        cubic_coeff_a=-0.5 if half_pixel_centers else -0.75,
        exclude_outside=int(half_pixel_centers),
    )


@rule("ResizeArea")
def resize_area(site: Site, x: Var, size: Var, *, align_corners: bool = False) -> Var:
    """Means over the area of each new pixel: a product with the shares of the old ones in it."""
    height, width = (int(each) for each in known(size, "the size"))
    rows, columns = shape(x)[1], shape(x)[2]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise UnsupportedError("the size of the image is not known")
    image = cast(x, DType.FLOAT32)
    down = op.Einsum(_shares(rows, height, align_corners), image, equation="ij,bjwc->biwc")
    return op.Einsum(_shares(columns, width, align_corners), down, equation="ij,bhjc->bhic")


@rule("CropAndResize")
def crop_and_resize(
    site: Site,
    image: Var,
    boxes: Var,
    owner: Var,
    size: Var,
    *,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Var:
    """Boxes of images, each sampled on a grid of the size given."""
    image = cast(image, DType.FLOAT32)
    height, width = (int(each) for each in known(size, "the size of a crop"))
    ys, inside_y = _grid(image, boxes, 1, height)
    xs, inside_x = _grid(image, boxes, 2, width)
    inside = op.And(op.Unsqueeze(inside_y, [2]), op.Unsqueeze(inside_x, [1]))
    if method == "nearest":
        pixels = _pixels(image, owner, op.Floor(op.Add(ys, np.float32(0.5))), op.Floor(op.Add(xs, np.float32(0.5))))
    else:
        top, left = op.Floor(ys), op.Floor(xs)
        bottom, right = op.Ceil(ys), op.Ceil(xs)
        down = op.Unsqueeze(op.Sub(ys, top), [2, 3])
        along = op.Unsqueeze(op.Sub(xs, left), [1, 3])
        upper = _between(_pixels(image, owner, top, left), _pixels(image, owner, top, right), along)
        lower = _between(_pixels(image, owner, bottom, left), _pixels(image, owner, bottom, right), along)
        pixels = _between(upper, lower, down)
    return op.Where(op.Unsqueeze(inside, [3]), pixels, np.float32(extrapolation_value))


def _resized(site: Site, x: Var, size: Var, corners: bool, centres: bool, **how: Any) -> Var:
    where = "align_corners" if corners else "half_pixel" if centres else "asymmetric"
    first = channels_first(x, "NHWC")
    dtype = first.dtype or DType.FLOAT32
    wide = cast(first, DType.FLOAT32) if dtype in (DType.INT64, DType.INT16, DType.UINT16) else first
    wanted = vector(site, size)
    if isinstance(wanted, np.ndarray):
        how["axes"] = [2, 3]
    else:  # not every runtime takes sizes of some axes that it does not know before
        wanted = joined(size_of(first, 0), size_of(first, 1), wanted)
    resized = op.Resize(wide, None, None, wanted, coordinate_transformation_mode=where, **how)
    return cast(channels_back(resized, "NHWC"), site.dtype)


def _shares(have: int, want: int, corners: bool) -> Array:
    """How much of each old pixel is in each new one; rows sum to one."""
    scale = (have - 1) / (want - 1) if corners and want > 1 else have / want
    shares = np.zeros((want, have), np.float32)
    for at in range(want):
        low, high = at * scale, (at + 1) * scale
        for old in range(int(np.floor(low)), int(np.ceil(high))):
            shares[at, min(old, have - 1)] += max(min(old + 1, high) - max(old, low), 0.0)
        shares[at] /= scale
    return shares


def _grid(image: Var, boxes: Var, axis: int, count: int) -> tuple[Var, Var]:
    """Places along an axis of the image, one row a box, moved inside; and which of them were."""
    last = cast(op.Sub(size_of(image, axis), np.array([1], np.int64)), DType.FLOAT32)
    low = op.Slice(boxes, [axis - 1], [axis], [1])
    high = op.Slice(boxes, [axis + 1], [axis + 2], [1])
    if count > 1:
        step = op.Div(op.Mul(op.Sub(high, low), last), np.float32(count - 1))
        places = op.Add(op.Mul(low, last), op.Mul(step, np.arange(count, dtype=np.float32)[None]))
    else:
        places = op.Mul(op.Mul(np.float32(0.5), op.Add(low, high)), last)
    inside = op.And(op.GreaterOrEqual(places, np.float32(0)), op.LessOrEqual(places, last))
    return op.Max(op.Min(places, last), np.float32(0)), inside


def _pixels(image: Var, owner: Var, rows: Var, columns: Var) -> Var:
    """The pixels of the images that own them, on the grid of rows and columns."""
    zeros = op.Mul(op.Unsqueeze(rows, [2]), number(0, DType.FLOAT32))
    flat = op.Mul(op.Unsqueeze(columns, [1]), number(0, DType.FLOAT32))
    grid = op.Add(zeros, flat)
    parts = [
        op.Add(op.Unsqueeze(cast(owner, DType.FLOAT32), [1, 2]), grid),
        op.Add(op.Unsqueeze(rows, [2]), grid),
        op.Add(op.Unsqueeze(columns, [1]), grid),
    ]
    places = op.Concat(*(op.Unsqueeze(part, [3]) for part in parts), axis=3)
    return op.GatherND(image, cast(places, DType.INT64))


def _between(one: Var, other: Var, weight: Var) -> Var:
    return op.Add(one, op.Mul(op.Sub(other, one), weight))
