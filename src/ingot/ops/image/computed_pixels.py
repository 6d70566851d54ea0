"""Where the pixels of a resized axis lie in the old one, in primitives, for statically unknown sizes."""

from __future__ import annotations

from ingot import prim
from ingot.dataclass import dataclass
from ingot.dims import Dim, maximum
from ingot.dtypes import DType
from ingot.ops.image.resize_axes import EXACT
from ingot.ops.image.sampling import cubic_in_primitives

_MOST_EXACT_FACTOR = 15
"""Up to this, half a pixel over a factor is more than a position is ever rounded by."""


@dataclass(frozen=True, slots=True)
class Span:
    """An axis of `length` pixels that is to have `size`; without a `scale`, that is one by the other."""

    axis: int
    length: Dim
    size: Dim
    scale: float | None


def nearest(span: Span, coordinates: str, rounding: str) -> prim.Tensor:
    """For each output pixel, the input pixel it is; in an input without pixels, one that is outside."""
    factor = _whole_factor(span)
    if factor is not None and _counts(coordinates, rounding):
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


def positions(span: Span, coordinates: str) -> prim.Tensor:
    """The place of each output pixel in the input, in pixels; see `resize_weights.positions`."""
    i = prim.cast(prim.iota((span.size,), 0), DType.FLOAT64)
    length, size = _real(span.length), _real(span.size)
    scale = size / length if span.scale is None else prim.scalar(span.scale, DType.FLOAT64)
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
    raise prim.Refused(f"{coordinates} of statically unknown sizes")


def _real(dim: Dim) -> prim.Tensor:
    return prim.cast(prim.size(dim), DType.FLOAT64)


def _inside(x: prim.Tensor, span: Span) -> prim.Tensor:
    return prim.apply("minimum", prim.apply("maximum", x, 0.0), _real(span.length - 1))


def _whole_factor(span: Span) -> int | None:
    """How many times larger an axis becomes, if that is a whole number."""
    for factor in range(1, _MOST_EXACT_FACTOR + 1):
        if span.size == span.length * factor and span.scale in (None, factor):
            return factor
    return None


def _counts(coordinates: str, rounding: str) -> bool:
    """Whether, for a whole factor, the pixel is the quotient of the index and it."""
    if coordinates == "asymmetric":
        return rounding == "floor"
    return "half_pixel" in coordinates and rounding.startswith("round")
