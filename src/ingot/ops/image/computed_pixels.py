"""Where the pixels of a resized axis lie in the old one, in primitives, for statically unknown sizes."""

from __future__ import annotations

from math import ceil

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dims import Dim, maximum
from ingot.dtypes import DType
from ingot.ops.image.resize_axes import EXACT
from ingot.ops.image.sampling import cubic_in_primitives, linear_in_primitives

_MOST_EXACT_FACTOR = 15
"""Up to this, half a pixel over a factor is more than a position is ever rounded by."""


@dataclass(frozen=True, slots=True)
class Span:
    """An axis of `length` pixels that is to have `size`; without a `scale`, that is one by the other."""

    axis: int
    length: Dim
    size: Dim
    scale: float | prim.Tensor | None
    region: tuple[prim.Tensor, prim.Tensor] | None = None
    """Where a crop starts and ends, from 0 to 1, in float64."""
    has_pixels: bool = False
    """Whether it is certain that there are input pixels wherever there are output pixels."""
    before: Dim | None = None
    """How many pixels before the nearest one to the left have a weight, where that depends on the scale."""


def nearest(span: Span, coordinates: str, rounding: str) -> prim.Tensor:
    """For each output pixel, the input pixel it is; in an input without pixels, one that is outside."""
    factor = _whole_factor(span)
    if factor is not None and is_counted(span, coordinates, rounding):
        return prim.iota((span.size,), 0) / factor
    x = positions(span, coordinates)
    near = prim.cast(prim.cast(x, DType.FLOAT32), DType.FLOAT64)
    x = prim.where(prim.apply("less", prim.size(maximum(span.length, span.size)), EXACT), near, x)
    match rounding:
        case "round_prefer_floor":
            x = prim.apply("ceil", x - 0.5)
        case "round_prefer_ceil":
            x = prim.apply("floor", x + 0.5)
        case _:
            x = prim.apply(rounding, x)
    return prim.cast(_inside(x, span), DType.INT64)


def around(span: Span, coordinates: str, a: float | None) -> tuple[list[prim.Tensor], list[prim.Tensor]]:
    """For each output pixel, the input pixels around it and their weights in float64; `a` makes it cubic interpolation.

    In an input without pixels, they are outside.
    """
    x = positions(span, coordinates)
    base = prim.apply("floor", x)
    beyond = x - base
    steps = (0.0, 1.0) if a is None else (-1.0, 0.0, 1.0, 2.0)
    pixels = [prim.cast(_inside(base + step, span), DType.INT64) for step in steps]
    if a is None:
        return pixels, [1.0 - beyond, beyond]
    return pixels, [cubic_in_primitives(beyond - step, a) for step in steps]


def weighed(
    span: Span, coordinates: str, a: float | None, *, antialias: bool, exclude_outside: bool
) -> tuple[prim.Tensor, prim.Tensor]:
    """For each output pixel a row of input pixels, and their weights in float64; see `weighted_pixels`.

    Refused where `antialias` needs more of them than is known.
    """
    radius = 1 if a is None else 2
    before: Dim | None = radius - 1
    if antialias:
        before = span.before if not isinstance(span.scale, float) else ceil(radius / min(span.scale, 1.0)) - 1
    if before is None:
        raise prim.Refused("antialias of statically unknown sizes")
    x = positions(span, coordinates)
    base = prim.apply("floor", x)
    shape = (span.size, 2 * before + 2)
    steps = prim.cast(prim.iota(shape, 1), DType.FLOAT64) - _real(before)
    distances = steps - prim.unsqueeze(x - base, [1])
    if antialias:
        distances = distances * prim.apply("minimum", _scale(span), 1.0)
    pixels = prim.unsqueeze(base, [1]) + steps
    weights = linear_in_primitives(distances) if a is None else cubic_in_primitives(distances, a)
    if exclude_outside:
        is_inside = prim.apply(
            "and", prim.apply("less_equal", 0.0, pixels), prim.apply("less", pixels, _real(span.length))
        )
        weights = prim.where(is_inside, weights, 0.0)
    if exclude_outside or antialias:
        total = prim.reduce_("add", weights, [1])
        weights = weights / prim.where(prim.apply("equal", total, 0.0), 1.0, total)
    return prim.cast(_inside(pixels, span), DType.INT64), weights


def outside(span: Span) -> prim.Tensor:
    """Which output pixels of a crop lie outside the input."""
    x = positions(span, "tf_crop_and_resize")
    return prim.apply("or", prim.apply("less", x, 0.0), prim.apply("less", _real(span.length - 1), x))


def _scale(span: Span) -> prim.Tensor:
    if span.scale is None:
        return _real(span.size) / _real(span.length)
    return span.scale if isinstance(span.scale, prim.Tensor) else prim.scalar(span.scale, DType.FLOAT64)


def positions(span: Span, coordinates: str) -> prim.Tensor:
    """The place of each output pixel in the input, in pixels; see `resize_weights.positions`."""
    i = prim.cast(prim.iota((span.size,), 0), DType.FLOAT64)
    length, size = _real(span.length), _real(span.size)
    scale = _scale(span)
    exact = scale * length
    centred = (i + 0.5) / scale - 0.5
    match coordinates:
        case "align_corners":
            return prim.where(prim.apply("equal", exact, 1.0), 0.0, i * (length - 1.0) / (exact - 1.0))
        case "asymmetric":
            return i / scale
        case "pytorch_half_pixel":
            return prim.where(prim.apply("less", 1.0, size), centred, 0.0)
        case "half_pixel_symmetric":
            return centred + length / 2.0 * (1.0 - size / exact)
        case "half_pixel":
            return centred
        case "tf_crop_and_resize" if span.region is not None:
            start, end = span.region
            last = length - 1.0
            along = start * last + i * (end - start) * last / prim.apply("maximum", size - 1.0, 1.0)
            return prim.where(prim.apply("equal", size, 1.0), (start + end) * 0.5 * last, along)
    raise prim.Refused(f"{coordinates} of statically unknown sizes")


def _real(dim: Dim) -> prim.Tensor:
    return prim.cast(prim.size(dim), DType.FLOAT64)


def _inside(x: prim.Tensor, span: Span) -> prim.Tensor:
    return prim.apply("minimum", prim.apply("maximum", x, 0.0), _real(span.length - 1))


def is_counted(span: Span, coordinates: str, rounding: str) -> bool:
    """Whether the nearest pixel is the quotient of an index and a number, which costs nothing to compute."""
    return _whole_factor(span) is not None and _counts(coordinates, rounding)


def _whole_factor(span: Span) -> int | None:
    """How many times larger an axis becomes, if that is a whole number."""
    for factor in range(1, _MOST_EXACT_FACTOR + 1):
        if span.size == span.length * factor and (span.scale is None or span.scale == factor):
            return factor
    return None


def _counts(coordinates: str, rounding: str) -> bool:
    """Whether, for a whole factor, the pixel is the quotient of the index and it."""
    if coordinates == "asymmetric":
        return rounding == "floor"
    return "half_pixel" in coordinates and rounding.startswith("round")
