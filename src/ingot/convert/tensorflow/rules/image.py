"""Colours of images, patches of them, and boxes on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, constant, number, shape
from ingot.convert.tensorflow.operands import joined, known, row, scalar, size_of, sizes_of
from ingot.convert.tensorflow.rule import Site, rule
from ingot.convert.tensorflow.rules.view import channels_back, channels_first
from ingot.convert.tensorflow.rules.window import spatial, window
from ingot.dtypes import DType
from ingot.errors import UnsupportedError

_ONE = np.array([1], np.int64)


@rule("RGBToHSV")
def rgb_to_hsv(site: Site, x: Var) -> Var:
    return op.Concat(*_hsv(x, site.dtype), axis=-1)


@rule("HSVToRGB")
def hsv_to_rgb(site: Site, x: Var) -> Var:
    hue, saturation, value = _channels(x)
    return _rgb(hue, saturation, value, site.dtype)


@rule("AdjustContrastv2")
def adjust_contrast(site: Site, x: Var, factor: Var) -> Var:
    mean = op.ReduceMean(x, [-3, -2], keepdims=1)
    return op.Add(op.Mul(op.Sub(x, mean), cast(factor, site.dtype)), mean)


@rule("AdjustSaturation")
def adjust_saturation(site: Site, x: Var, factor: Var) -> Var:
    hue, saturation, value = _hsv(x, site.dtype)
    more = op.Mul(saturation, cast(factor, site.dtype))
    return _rgb(hue, op.Clip(more, number(0, site.dtype), number(1, site.dtype)), value, site.dtype)


@rule("AdjustHue")
def adjust_hue(site: Site, x: Var, delta: Var) -> Var:
    hue, saturation, value = _hsv(x, site.dtype)
    turned = op.Add(hue, cast(delta, site.dtype))
    return _rgb(op.Sub(turned, op.Floor(turned)), saturation, value, site.dtype)


@rule("ExtractImagePatches")
def extract_image_patches(
    site: Site, x: Var, *, ksizes: list[int], strides: list[int], rates: list[int], padding: str
) -> Var:
    """Patches as channels: a convolution whose filters each have a single one."""
    first = channels_first(x, "NHWC")
    channels = shape(first)[1]
    if not isinstance(channels, int):
        raise UnsupportedError("the number of channels is not known")
    kernel, steps, spread = (spatial(each, "NHWC") for each in (ksizes, strides, rates))
    eye = np.eye(kernel[0] * kernel[1] * channels, dtype=np.float32)
    weights = eye.reshape(-1, *kernel, channels).transpose(0, 3, 1, 2)
    dtype = first.dtype or DType.FLOAT32
    wide = dtype if dtype.is_float else DType.FLOAT64
    patches = op.Conv(
        cast(first, wide),
        np.ascontiguousarray(weights).astype(wide.numpy),
        kernel_shape=kernel,
        strides=steps,
        dilations=spread,
        **window(first, padding, kernel, steps, spread, []),
    )
    return channels_back(cast(patches, dtype), "NHWC")


@rule("NonMaxSuppression", "NonMaxSuppressionV2")
def non_max_suppression(site: Site, boxes: Var, scores: Var, most: Var, overlap: Var | None = None) -> Var:
    limit = (
        np.array([site.op.get_attr("iou_threshold")], np.float32)
        if overlap is None
        else row(cast(overlap, DType.FLOAT32))
    )
    return cast(_suppressed(site, boxes, scores, most, limit, None), DType.INT32)


@rule("NonMaxSuppressionV3")
def non_max_suppression_v3(site: Site, boxes: Var, scores: Var, most: Var, overlap: Var, least: Var) -> Var:
    chosen = _suppressed(site, boxes, scores, most, row(cast(overlap, DType.FLOAT32)), row(cast(least, DType.FLOAT32)))
    return cast(chosen, DType.INT32)


@rule("NonMaxSuppressionV4")
def non_max_suppression_v4(
    site: Site,
    boxes: Var,
    scores: Var,
    most: Var,
    overlap: Var,
    least: Var,
    *,
    pad_to_max_output_size: bool = False,
) -> tuple[Var, Var]:
    chosen = _suppressed(site, boxes, scores, most, row(cast(overlap, DType.FLOAT32)), row(cast(least, DType.FLOAT32)))
    count = op.Squeeze(op.Shape(chosen), [0])
    if pad_to_max_output_size:
        chosen = _padded(chosen, row(scalar(site, most)))
    return cast(chosen, DType.INT32), cast(count, DType.INT32)


@rule("NonMaxSuppressionV5")
def non_max_suppression_v5(
    site: Site,
    boxes: Var,
    scores: Var,
    most: Var,
    overlap: Var,
    least: Var,
    sigma: Var,
    *,
    pad_to_max_output_size: bool = False,
) -> tuple[Var, Var, Var]:
    if known(sigma, "the sigma").item() != 0:
        raise UnsupportedError("scores that overlapping boxes lower")
    chosen = _suppressed(site, boxes, scores, most, row(cast(overlap, DType.FLOAT32)), row(cast(least, DType.FLOAT32)))
    chosen_scores = op.Gather(scores, chosen, axis=0)
    count = op.Squeeze(op.Shape(chosen), [0])
    if pad_to_max_output_size:
        limit = row(scalar(site, most))
        chosen, chosen_scores = _padded(chosen, limit), _padded(chosen_scores, limit)
    return cast(chosen, DType.INT32), chosen_scores, cast(count, DType.INT32)


@rule("CombinedNonMaxSuppression")
def combined_non_max_suppression(
    site: Site,
    boxes: Var,
    scores: Var,
    each: Var,
    total: Var,
    overlap: Var,
    least: Var,
    *,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
) -> tuple[Any, ...]:
    """For each image the best boxes of all classes: suppressed class by class, then the best of those left."""
    batch, count, classes = size_of(scores, 0), size_of(scores, 1), size_of(scores, 2)
    shared = size_of(boxes, 2)
    if not isinstance(shared, np.ndarray):
        raise UnsupportedError("whether classes share their boxes is not known")
    own = op.Transpose(boxes, perm=[0, 2, 1, 3])
    if shared.item() == 1:
        own = op.Expand(own, joined(batch, classes, count, np.array([4], np.int64)))
    flat = op.Reshape(own, joined(np.array([-1]), count, np.array([4], np.int64)))
    by_class = op.Transpose(scores, perm=[0, 2, 1])
    rated = op.Reshape(by_class, joined(np.array([-1]), _ONE, count))
    limit, smallest = row(cast(overlap, DType.FLOAT32)), row(cast(least, DType.FLOAT32))
    chosen = op.NonMaxSuppression(flat, rated, row(scalar(site, each)), limit, smallest)
    none = np.array(-np.inf, np.float32)
    rows = op.Reshape(by_class, joined(np.array([-1]), count))
    places = op.Gather(chosen, np.array([0, 2]), axis=1)
    sparse = op.ScatterND(op.Expand(none, sizes_of(rows)), places, op.GatherND(rows, places))
    apart = op.Reshape(sparse, joined(batch, np.array([-1])))
    wanted = row(scalar(site, total))
    if pad_per_class:
        wanted = op.Min(wanted, op.Mul(row(scalar(site, each)), classes))
    lacking = op.Max(op.Sub(wanted, size_of(apart, 1)), np.array([0], np.int64))
    apart = op.Pad(apart, joined(np.zeros(3, np.int64), lacking), none)
    best, where = op.TopK(apart, wanted, axis=1, outputs=2)
    real = op.Greater(best, none)
    safe = op.Where(real, where, np.array(0, np.int64))
    whole = op.Reshape(own, joined(batch, np.array([-1]), np.array([4], np.int64)))
    chosen_boxes = op.GatherND(whole, op.Unsqueeze(safe, [2]), batch_dims=1)
    if clip_boxes:
        chosen_boxes = op.Clip(chosen_boxes, np.float32(0), np.float32(1))
    zero = np.float32(0)
    kinds = op.Where(real, cast(op.Div(safe, count), DType.FLOAT32), zero)
    valid = op.ReduceSum(cast(real, DType.INT32), [1], keepdims=0)
    return op.Where(op.Unsqueeze(real, [2]), chosen_boxes, zero), op.Where(real, best, zero), kinds, valid


def _suppressed(site: Site, boxes: Var, scores: Var, most: Var, overlap: Any, least: Any) -> Var:
    """The places of the boxes that are kept, the best first."""
    held = None if least is None else constant(least)
    if held is not None and np.isneginf(held).all():
        least = None
    wide = [op.Unsqueeze(cast(boxes, DType.FLOAT32), [0]), op.Unsqueeze(cast(scores, DType.FLOAT32), [0, 1])]
    triples = op.NonMaxSuppression(*wide, row(scalar(site, most)), overlap, least)
    return op.Gather(triples, np.array(2), axis=1)


def _padded(x: Var, wanted: Any) -> Var:
    lacking = op.Sub(wanted, op.Shape(x))
    return op.Pad(x, joined(np.array([0], np.int64), lacking))


def _channels(x: Var) -> list[Var]:
    return list(op.Split(x, axis=-1, num_outputs=3, outputs=3))


def _hsv(x: Var, dtype: DType) -> list[Var]:
    """Hue as a share of the circle, saturation, value."""
    red, green, blue = _channels(x)
    value = op.Max(red, green, blue)
    spread = op.Sub(value, op.Min(red, green, blue))
    zero, one = number(0, dtype), number(1, dtype)
    dark, grey = op.LessOrEqual(value, zero), op.LessOrEqual(spread, zero)
    saturation = op.Where(dark, zero, op.Div(spread, op.Where(dark, one, value)))
    norm = op.Div(one, op.Mul(number(6, dtype), op.Where(grey, one, spread)))
    by_red = op.Mul(norm, op.Sub(green, blue))
    by_green = op.Add(op.Mul(norm, op.Sub(blue, red)), number(2 / 6, dtype))
    by_blue = op.Add(op.Mul(norm, op.Sub(red, green)), number(4 / 6, dtype))
    hue = op.Where(op.Equal(red, value), by_red, op.Where(op.Equal(green, value), by_green, by_blue))
    hue = op.Where(grey, zero, hue)
    return [op.Where(op.Less(hue, zero), op.Add(hue, one), hue), saturation, value]


def _rgb(hue: Var, saturation: Var, value: Var, dtype: DType) -> Var:
    def part(centre: float, sign: int) -> Var:
        apart = op.Abs(op.Sub(op.Mul(hue, number(6, dtype)), number(centre, dtype)))
        return op.Clip(
            op.Sub(apart, number(1, dtype)) if sign > 0 else op.Sub(number(2, dtype), apart),
            number(0, dtype),
            number(1, dtype),
        )

    one = number(1, dtype)
    channels = [
        op.Mul(op.Add(op.Sub(one, saturation), op.Mul(saturation, colour)), value)
        for colour in (part(3, 1), part(2, -1), part(4, -1))
    ]
    return op.Concat(*channels, axis=-1)
