"""GridSample in primitives: the pixels around each place gathered, and weighted by their distance."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from itertools import product

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ops.facts import Fact
from ingot.ops.image.grid_sample import CUBIC_A, FAR, STEPS, grid_sample
from ingot.ops.image.sampling import cubic_in_primitives, narrowed_in_primitives, type_inside
from ingot.ops.tensor.moved import in_own_type, sizes_of, stored

_MOST_PIXELS = 16
"""A place between more pixels than this is left to the reference: each is an expression of its own."""


@grid_sample.lower
def lower(
    x: prim.Tensor,
    grid: prim.Tensor,
    /,
    *,
    align_corners: int,
    mode: str,
    padding_mode: str,
    facts: tuple[Fact, ...],
    inferred: tuple[Fact, ...],
) -> prim.Tensor:
    """Places are computed in float64, pixels in the type of the image; an image without any is read outside."""
    spatial = x.rank - 2
    dtype, shape = inferred[0].dtype, sizes_of(inferred[0])
    assert dtype is not None
    grid = prim.assume_shape(grid, (x.shape[0], *grid.shape[1:-1], spatial))
    if len(STEPS[mode]) ** spatial > _MOST_PIXELS:
        raise prim.Refused(f"mode '{mode}' of {spatial} axes")
    exact = facts[1].dtype is DType.FLOAT64
    axes = [
        _Samples(_places(grid, spatial - 1 - axis), size, bool(align_corners), mode, padding_mode, exact=exact)
        for axis, size in enumerate(x.shape[2:])
    ]
    image = in_own_type(x, inferred[0]) if mode == "nearest" else prim.cast(x, type_inside(dtype))
    last = x.rank - 1
    channels_last = prim.permute(image, [0, *range(2, x.rank), 1])
    sampled = _sampled(channels_last, axes, STEPS[mode], (shape[0], *shape[2:], shape[1]))
    result = prim.permute(sampled, [0, last, *range(1, last)])
    return result if mode == "nearest" else narrowed_in_primitives(result, dtype, rounded=False)


def _places(grid: prim.Tensor, position: int) -> prim.Tensor:
    """One of the coordinates of each place, in float64, with an axis for the channels."""
    starts = (*(0,) * (grid.rank - 1), position)
    return prim.slice_(prim.cast(grid, DType.FLOAT64), starts, (*grid.shape[:-1], 1))


def _sampled(x: prim.Tensor, axes: Sequence[_Samples], steps: Sequence[int], shape: tuple[Dim, ...]) -> prim.Tensor:
    """For each place, the pixels around it in every channel, the last axis, weighted; zero outside.

    Places, weights, and what is inside, are stored: each is that of all channels.
    """
    around = list(product(steps, repeat=len(axes)))
    pixels = [dict(zip(steps, stored([axis.pixels(step) for step in steps]), strict=True)) for axis in axes]
    gathered = [
        prim.gather(x, [0, *(at[step] for at, step in zip(pixels, offsets, strict=True)), x.rank - 1], shape)
        for offsets in around
    ]
    inside = [_all(axes, offsets) for offsets in around]
    if inside[0] is not None:
        flags = stored([flag for flag in inside if flag is not None])
        gathered = [prim.where(flag, pixel, 0) for flag, pixel in zip(flags, gathered, strict=True)]
    if len(around) == 1:
        return gathered[0]
    weights = stored([prim.cast(_weight(axes, offsets), x.dtype) for offsets in around])
    return reduce(operator.add, (pixel * weight for pixel, weight in zip(gathered, weights, strict=True)))


def _all(axes: Sequence[_Samples], steps: Sequence[int]) -> prim.Tensor | None:
    """Whether the pixels so many steps away are in the image along all axes; None if all are."""
    flags = [flag for axis, step in zip(axes, steps, strict=True) if (flag := axis.inside(step)) is not None]
    return reduce(lambda one, other: prim.apply("and", one, other), flags) if flags else None


def _weight(axes: Sequence[_Samples], steps: Sequence[int]) -> prim.Tensor:
    return reduce(operator.mul, (axis.weight(step) for axis, step in zip(axes, steps, strict=True)))


class _Samples:
    """Where an axis is read: pixels, `step` away from the one before each place."""

    def __init__(
        self, places: prim.Tensor, size: Dim, align_corners: bool, mode: str, padding: str, *, exact: bool
    ) -> None:
        self.size = prim.cast(prim.size(size), DType.FLOAT64)
        self.padding, self.cubic = padding, mode == "cubic"
        self.low, self.high = (
            (prim.scalar(0.0, DType.FLOAT64), self.size - 1.0)
            if align_corners
            else (prim.scalar(-0.5, DType.FLOAT64), self.size - 0.5)
        )
        x = (places + 1.0) / 2.0 * (self.size - 1.0) if align_corners else ((places + 1.0) * self.size - 1.0) / 2.0
        x = prim.where(prim.apply("is_nan", x), -FAR, x)
        x = prim.apply("minimum", prim.apply("maximum", x, -FAR), FAR)
        if mode == "nearest":
            x = prim.apply("round", x if exact else prim.cast(prim.cast(x, DType.FLOAT32), DType.FLOAT64))
        if padding == "border":
            x = prim.where(self._beyond(x), self._clipped(x), x)
        elif padding == "reflection":
            x = self._reflected(x)
        self.base = prim.apply("floor", x)
        self.beyond = x - self.base

    def weight(self, step: int) -> prim.Tensor:
        distance = self.beyond - float(step)
        if self.cubic:
            return cubic_in_primitives(distance, CUBIC_A)
        return prim.apply("maximum", 1.0 - prim.apply("absolute", distance), 0.0)

    def pixels(self, step: int) -> prim.Tensor:
        """Which pixels; those that are not in the image are at its border."""
        at = self.base + float(step)
        if self.padding == "reflection":
            at = prim.apply("truncate", self._reflected(at))
        return prim.cast(self._clipped(at), DType.INT64)

    def inside(self, step: int) -> prim.Tensor | None:
        """Whether they are in the image, if they may not be."""
        if self.padding != "zeros":
            return None
        at = self.base + float(step)
        return prim.apply("and", prim.apply("less_equal", 0.0, at), prim.apply("less", at, self.size))

    def _beyond(self, x: prim.Tensor) -> prim.Tensor:
        return prim.apply("or", prim.apply("less", x, self.low), prim.apply("less", self.high, x))

    def _clipped(self, x: prim.Tensor) -> prim.Tensor:
        return prim.apply("minimum", prim.apply("maximum", x, 0.0), self.size - 1.0)

    def _reflected(self, x: prim.Tensor) -> prim.Tensor:
        span = self.high - self.low
        period = span * 2.0
        once = prim.apply("remainder", x - self.low, period)
        once = prim.where(prim.apply("less", once, 0.0), once + period, once)
        reflected = self.low + prim.where(prim.apply("less", span, once), period - once, once)
        reflected = prim.where(self._beyond(x), reflected, x)
        return prim.where(prim.apply("less_equal", span, 0.0), self.low, reflected)
