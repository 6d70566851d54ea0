"""Resize in primitives: pixels gathered along each axis, or weighted sums of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.ops.facts import Fact
from ingot.ops.image.computed_pixels import Span, around, is_counted, nearest, weighed
from ingot.ops.image.computed_pixels import outside as computed_outside
from ingot.ops.image.resize import resize
from ingot.ops.image.resize_axes import Axis, chosen_axes, resized_axes
from ingot.ops.image.resize_computed import computed_spans, is_computed
from ingot.ops.image.resize_weights import nearest_pixels, outside, weighted_pixels
from ingot.ops.image.sampling import narrowed, narrowed_in_primitives, type_inside
from ingot.ops.tensor.moved import along, in_own_type, sizes_of
from ingot.prim.make_region import branch
from ingot.prim.tensor import SizeReader

_MOST_TERMS = 4
"""Sums of more pixels are taken in a loop."""


@resize.lower
def lower(
    x: prim.Tensor,
    roi: prim.Tensor | None = None,
    scales: prim.Tensor | None = None,
    sizes: prim.Tensor | None = None,
    /,
    *,
    antialias: int,
    axes: Sequence[int] | None,
    coordinate_transformation_mode: str,
    cubic_coeff_a: float,
    exclude_outside: int,
    extrapolation_value: float,
    keep_aspect_ratio_policy: str,
    mode: str,
    nearest_mode: str,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
    read: SizeReader,
) -> prim.Tensor:
    coordinates, dtype = coordinate_transformation_mode, inferred[0].dtype
    x = in_own_type(x, inferred[0])
    assert dtype is not None
    crop = coordinates == "tf_crop_and_resize"
    a = cubic_coeff_a if mode == "cubic" else None
    plan: Sequence[Axis | Span]
    if is_computed(facts, crop):
        radius = None if not antialias else 1 if a is None else 2
        region = roi if crop else None
        plan = computed_spans(x, region, scales, sizes, axes, keep_aspect_ratio_policy, radius, read)
        resized = {span.axis: span.size for span in plan}
        shape = tuple(resized.get(axis, size) for axis, size in enumerate(x.shape))
    else:
        shape = sizes_of(inferred[0])
        if 0 in shape:
            return prim.full(0, shape, dtype)
        corners = _numbers(facts, 1, "a region") if crop else None
        factors = _numbers(facts, 2, "scales")
        wanted = None if keep_aspect_ratio_policy == "stretch" else _numbers(facts, 3, "sizes")
        plan = _plan(x.shape, shape, factors, wanted, corners, axes, keep_aspect_ratio_policy)
    how = _Interpolation(
        coordinates, mode, nearest_mode, a, bool(antialias), bool(exclude_outside), extrapolation_value, dtype
    )
    spans = sorted((axis for axis in plan if isinstance(axis, Span)), key=lambda axis: axis.axis)
    if crop or len(spans) <= _IMAGE_AXES or len(spans) < len(plan):
        return _interpolated(x, plan, shape, how)
    return _mostly_images(x, spans, shape, how)


_IMAGE_AXES = 2
"""The last axes, which are those of an image: the others rarely change."""


@dataclass(frozen=True, slots=True)
class _Interpolation:
    """How pixels are computed; `a` is that of cubic interpolation."""

    coordinates: str
    mode: str
    rounding: str
    a: float | None
    antialias: bool
    exclude_outside: bool
    extrapolation_value: float
    dtype: DType


def _mostly_images(x: prim.Tensor, spans: Sequence[Span], shape: tuple[Dim, ...], how: _Interpolation) -> prim.Tensor:
    """Computed scales of many axes: a run in which only the last two change leaves the others alone."""
    others = spans[:-_IMAGE_AXES]
    scales = [span.scale for span in others if isinstance(span.scale, prim.Tensor)]
    if len(scales) < len(others):
        return _interpolated(x, spans, shape, how)
    is_image = prim.apply("equal", scales[0], 1.0)
    for scale in scales[1:]:
        is_image = prim.apply("and", is_image, prim.apply("equal", scale, 1.0))
    same = {span.axis for span in others}
    image = prim.assume_shape(x, tuple(shape[axis] if axis in same else size for axis, size in enumerate(x.shape)))
    then = _interpolated(image, spans[-_IMAGE_AXES:], shape, how)
    (result,) = branch(is_image, [then], [_interpolated(x, spans, shape, how)])
    return result


def _interpolated(
    x: prim.Tensor, plan: Sequence[Axis | Span], shape: tuple[Dim, ...], how: _Interpolation
) -> prim.Tensor:
    """The axes of a plan resized one after another, or all at once by the nearest pixel."""
    coordinates, dtype = how.coordinates, how.dtype
    if how.mode == "nearest":
        result = _picked(x, plan, coordinates, how.rounding, shape)
        value = narrowed(np.asarray(how.extrapolation_value), dtype.numpy, rounded=True)
    else:
        result = prim.cast(x, type_inside(dtype))
        value = np.asarray(how.extrapolation_value).astype(result.dtype.numpy)
        for axis in plan:
            if isinstance(axis, Axis):
                pixels, weights = weighted_pixels(
                    axis, coordinates, a=how.a, antialias=how.antialias, exclude_outside=how.exclude_outside
                )
                used = [k for k in range(weights.shape[1]) if weights[:, k].any()] or [0]
                result = _weighted(result, axis.axis, pixels[:, used], weights[:, used])
            elif how.antialias or how.exclude_outside:
                kernel = weighed(axis, coordinates, how.a, antialias=how.antialias, exclude_outside=how.exclude_outside)
                result = _reduced(result, axis.axis, *kernel, in_range=axis.has_pixels)
            else:
                pixels_at, weights_of = around(axis, coordinates, how.a)
                factors = [prim.cast(weight, result.dtype) for weight in weights_of]
                result = _summed(result, axis.axis, _stored(pixels_at), _stored(factors), in_range=axis.has_pixels)
    for axis in plan if coordinates == "tf_crop_and_resize" else ():
        beyond = prim.constant(outside(axis)) if isinstance(axis, Axis) else computed_outside(axis)
        result = prim.where(along(beyond, x.rank - axis.axis - 1), prim.constant(value), result)
    return result if how.mode == "nearest" else narrowed_in_primitives(result, dtype, rounded=True)


def _numbers(facts: Sequence[Fact], position: int, name: str) -> Array | None:
    """The elements of an optional input, if there are any; Refused where they are not known."""
    fact = facts[position] if position < len(facts) else None
    if fact is None or not fact.present or fact.shape == (0,):
        return None
    if fact.constant is None:
        raise prim.Refused(f"data-dependent {name}")
    return fact.constant.numpy()


def _plan(
    shape: Sequence[Dim],
    target: Sequence[Dim],
    scales: Array | None,
    sizes: Array | None,
    roi: Array | None,
    axes: Sequence[int] | None,
    policy: str,
) -> list[Axis | Span]:
    """What becomes of each axis that changes, those that shrink first, which keeps what is computed small."""
    chosen = chosen_axes(axes, len(shape))
    corners = [0.0] * len(chosen) + [1.0] * len(chosen) if roi is None else [float(corner) for corner in roi]
    if policy != "stretch" and sizes is not None:
        known = [size if isinstance(size, int) else 0 for size in shape]
        if any(known[axis] == 0 for axis in chosen):
            raise prim.Refused(f"policy '{policy}' for statically unknown sizes")
        resized = resized_axes(known, roi, scales, sizes, axes, policy)
        resized = [axis for axis in resized if roi is not None or axis.scale != 1 or axis.size != axis.length]
        return [*sorted(resized, key=lambda axis: axis.size / axis.length)]
    spans: list[Axis | Span] = []
    for position, axis in enumerate(chosen):
        length, size = shape[axis], target[axis]
        scale = None if scales is None else float(scales[position])
        start, end = corners[position], corners[position + len(chosen)]
        if length == size and scale in (None, 1.0) and (start, end) == (0.0, 1.0):
            continue
        if not isinstance(length, int) or not isinstance(size, int):
            if roi is not None:
                raise prim.Refused("a crop of statically unknown sizes")
            spans.append(Span(axis, length, size, scale))
            continue
        if length == 0:
            raise prim.Refused(f"axis {axis} without pixels")
        spans.append(Axis(axis, length, size, size / length if scale is None else scale, start, end))
    return sorted(spans, key=lambda a: a.size / a.length if isinstance(a, Axis) else _factor(a))


def _factor(span: Span) -> float:
    return span.scale if isinstance(span.scale, float) else 1.0


def _picked(
    x: prim.Tensor, plan: Sequence[Axis | Span], coordinates: str, rounding: str, shape: tuple[Dim, ...]
) -> prim.Tensor:
    """The nearest pixels, along all axes at once."""
    places: list[prim.Tensor | int] = list(range(x.rank))
    for axis in plan:
        if isinstance(axis, Axis):
            pixels = nearest_pixels(axis, coordinates, rounding)
            factor = axis.size // axis.length
            is_repeated = np.array_equal(pixels, np.arange(axis.length * factor) // max(factor, 1))
            at = prim.iota((axis.size,), 0) / factor if is_repeated else prim.constant(_narrow(pixels))
        else:
            at = nearest(axis, coordinates, rounding)
            at = at if is_counted(axis, coordinates, rounding) else _stored([at, at])[0]
        places[axis.axis] = along(at, x.rank - axis.axis - 1)
    in_range = all(isinstance(axis, Axis) or axis.has_pixels for axis in plan)
    return prim.gather(x, places, shape, in_range=in_range) if plan else x


def _narrow(pixels: Array) -> Array:
    """Pixels in four bytes each where these are enough: half as much is read of them."""
    return pixels.astype(np.int32 if pixels.max(initial=0) < 1 << 31 else np.int64)


def _weighted(x: prim.Tensor, axis: int, pixels: Array, weights: Array) -> prim.Tensor:
    """The sum of `pixels[:, k]` along an axis, each times `weights[:, k]`."""
    places, factors = _narrow(pixels), weights.astype(x.dtype.numpy)
    count = places.shape[1]
    if count <= _MOST_TERMS:
        columns = [prim.constant(places[:, k].copy()) for k in range(count)]
        return _summed(x, axis, columns, [prim.constant(factors[:, k].copy()) for k in range(count)])
    return _reduced(x, axis, prim.constant(places), prim.constant(factors))


def _reduced(
    x: prim.Tensor, axis: int, pixels: prim.Tensor, weights: prim.Tensor, *, in_range: bool = False
) -> prim.Tensor:
    """The same of rows of pixels and weights, in a loop."""
    behind = x.rank - axis - 1
    shape = (*x.shape[:axis], *pixels.shape, *x.shape[axis + 1 :])
    at = [*range(axis), along(pixels, behind), *range(axis + 2, x.rank + 1)]
    weights = prim.cast(weights, x.dtype)
    terms = prim.gather(x, at, shape, in_range=in_range) * along(weights, behind)
    return prim.squeeze(prim.reduce_("add", terms, [axis + 1]), [axis + 1])


def _stored(vectors: Sequence[prim.Tensor]) -> list[prim.Tensor]:
    """The same vectors, as parts of a tensor that is stored: every row and channel of an image reads them."""
    whole = prim.concat(list(vectors), 0)
    (size,) = vectors[0].shape
    return [prim.slice_(whole, [place * size], [size], in_range=True) for place in range(len(vectors))]


def _summed(
    x: prim.Tensor,
    axis: int,
    pixels: Sequence[prim.Tensor],
    weights: Sequence[prim.Tensor],
    *,
    in_range: bool = False,
) -> prim.Tensor:
    total: prim.Tensor | None = None
    behind = x.rank - axis - 1
    for at, weight in zip(pixels, weights, strict=True):
        shape = (*x.shape[:axis], at.shape[0], *x.shape[axis + 1 :])
        places = [*range(axis), along(at, behind), *range(axis + 1, x.rank)]
        gathered = prim.gather(x, places, shape, in_range=in_range)
        term = gathered * along(prim.cast(weight, x.dtype), behind)
        total = term if total is None else total + term
    assert total is not None
    return total
