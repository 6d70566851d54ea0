"""GridSample in primitives: the pixels around each place gathered, and weighted by their distance."""

from __future__ import annotations

from itertools import product

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ops.facts import Fact
from ingot.ops.image.grid_sample import CUBIC_A, FAR, STEPS, grid_sample
from ingot.ops.image.sampling import cubic_in_primitives, narrowed_in_primitives, type_inside
from ingot.ops.tensor.moved import in_own_type, sizes_of

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
    if mode == "nearest":
        return _read(in_own_type(x, inferred[0]), axes, (0,) * spatial, shape)
    wide = prim.cast(x, type_inside(dtype))
    total: prim.Tensor | None = None
    for steps in product(STEPS[mode], repeat=spatial):
        term = _read(wide, axes, steps, shape)
        for axis, step in zip(axes, steps, strict=True):
            term = term * prim.cast(axis.weight(step), wide.dtype)
        total = term if total is None else total + term
    assert total is not None
    return narrowed_in_primitives(total, dtype, rounded=False)


def _places(grid: prim.Tensor, position: int) -> prim.Tensor:
    """One of the coordinates of each place, in float64, with an axis for the channels."""
    starts = (*(0,) * (grid.rank - 1), position)
    part = prim.slice_(prim.cast(grid, DType.FLOAT64), starts, (*grid.shape[:-1], 1))
    return prim.reshape(part, (grid.shape[0], 1, *grid.shape[1:-1]))


def _read(x: prim.Tensor, axes: list[_Samples], steps: tuple[int, ...], shape: tuple[Dim, ...]) -> prim.Tensor:
    """For each place, the pixel so many steps away in every channel; zero outside."""
    coordinates = [axis.pixels(step) for axis, step in zip(axes, steps, strict=True)]
    result = prim.gather(x, [0, 1, *(at for at, _ in coordinates)], shape)
    for _, inside in coordinates:
        if inside is not None:
            result = prim.where(inside, result, 0)
    return result


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

    def pixels(self, step: int) -> tuple[prim.Tensor, prim.Tensor | None]:
        """Which pixels, and whether they are in the image, if they may not be; those that are not are at its border."""
        at = self.base + float(step)
        if self.padding == "reflection":
            at = prim.apply("truncate", self._reflected(at))
        inside = None
        if self.padding == "zeros":
            inside = prim.apply("and", prim.apply("less_equal", 0.0, at), prim.apply("less", at, self.size))
        return prim.cast(self._clipped(at), DType.INT64), inside

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
