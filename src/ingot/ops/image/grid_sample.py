"""GridSample: an image read at given places, between its pixels."""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.image.extent import require_extent
from ingot.ops.image.sampling import Floats, cubic, linear, narrowed, widened
from ingot.ops.shapes import unify
from ingot.ops.typesets import ALL, ALL_3, FLOATS, FLOATS_3, types

T1: TypeAlias = Annotated[Array, types("T1", {20: ALL_3, 22: ALL})]
T2: TypeAlias = Annotated[Array, types("T2", {20: FLOATS_3, 22: FLOATS})]
T16: TypeAlias = Annotated[Array, types("T1", ALL_3)]
Grid16: TypeAlias = Annotated[Array, types("T2", FLOATS_3)]

STEPS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
_PADDINGS = ("zeros", "border", "reflection")
CUBIC_A = -0.75
FAR = 2.0**40  # pixels outside: further than any image reaches, and still a whole number


@operator("GridSample", since=(20, 22))
def grid_sample(x: T1, grid: T2, /, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros") -> T1:
    """The values of `x` at the places in `grid`, whose last axis holds a coordinate from -1 to 1 for each axis of the
    image, the innermost first.

    -1 and 1 are the edges of the image or, with `align_corners`, the centres of its outermost pixels. Outside there
    are zeros, the border going on, or the image reflected. A place that is no number is outside.
    """
    _check(mode, padding_mode)
    spatial = x.ndim - 2
    if spatial < 1 or grid.ndim != x.ndim or grid.shape[-1] != spatial or grid.shape[0] != x.shape[0]:
        raise ShapeError(f"a grid of shape {list(grid.shape)} does not fit an input of shape {list(x.shape)}")
    shape = (*x.shape[:2], *grid.shape[1:-1])
    require_extent(shape, 8)
    if 0 in shape:
        return np.empty(shape, x.dtype)
    if 0 in x.shape:
        raise InputError(f"an image of shape {list(x.shape)} has no pixels to sample")
    places = grid.reshape(grid.shape[0], -1, spatial)[..., ::-1].astype(np.float64)
    axes = [
        _Samples(places[..., k], size, bool(align_corners), mode, padding_mode, exact=grid.dtype == np.float64)
        for k, size in enumerate(x.shape[2:])
    ]
    flat = x.reshape(*x.shape[:2], -1)
    if mode == "nearest":
        return _read(flat, x.shape[2:], axes, (0,) * spatial).reshape(shape)
    wide = widened(flat)
    total: Any = 0
    for steps in product(STEPS[mode], repeat=spatial):
        weight = np.ones(places.shape[:2])
        for axis, step in zip(axes, steps, strict=True):
            weight = weight * axis.weight(step)
        total = total + _read(wide, x.shape[2:], axes, steps) * weight[:, None]
    return narrowed(total, x.dtype, rounded=False).reshape(shape)


class _Samples:
    """Where an axis is read: pixels, `step` away from the one before each place."""

    def __init__(self, places: Floats, size: int, align_corners: bool, mode: str, padding: str, *, exact: bool) -> None:
        self.size, self.padding, self.cubic = size, padding, mode == "cubic"
        self.low, self.high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        x = (places + 1) / 2 * (size - 1) if align_corners else ((places + 1) * size - 1) / 2
        x = np.clip(np.nan_to_num(x, nan=-FAR), -FAR, FAR)
        if mode == "nearest":
            x = np.rint(x if exact else x.astype(np.float32).astype(np.float64))
        if padding == "border":
            x = np.where((x < self.low) | (x > self.high), np.clip(x, 0, size - 1), x)
        elif padding == "reflection":
            x = self._reflected(x)
        self.base = np.floor(x)
        self.beyond = x - self.base

    def weight(self, step: int) -> Floats:
        distance = self.beyond - step
        return cubic(distance, CUBIC_A) if self.cubic else linear(distance)

    def pixels(self, step: int) -> tuple[Array, Array]:
        """Which pixels, and whether they are in the image; those that are not are at its border."""
        at = self.base + step
        if self.padding == "reflection":
            at = np.trunc(self._reflected(at))
        inside = (at >= 0) & (at < self.size) if self.padding == "zeros" else np.ones(at.shape, np.bool_)
        return np.clip(at, 0, self.size - 1).astype(np.intp), inside

    def _reflected(self, x: Floats) -> Floats:
        span = self.high - self.low
        if span <= 0:
            return np.full(x.shape, self.low)
        once = np.mod(x - self.low, 2 * span)
        reflected = self.low + np.where(once > span, 2 * span - once, once)
        return np.where((x < self.low) | (x > self.high), reflected, x)


def _read(flat: Array, sizes: tuple[int, ...], axes: list[_Samples], steps: tuple[int, ...]) -> Array:
    """For each place, the pixel so many steps away in every channel; nothing, in the type's sense, outside."""
    index: Any = 0
    inside: Any = True
    for size, axis, step in zip(sizes, axes, steps, strict=True):
        at, within = axis.pixels(step)
        index = index * size + at
        inside = inside & within
    pixels = np.take_along_axis(flat, np.broadcast_to(index[:, None], (*flat.shape[:2], index.shape[1])), axis=2)
    nothing = np.asarray("", np.object_) if flat.dtype == np.object_ else np.zeros((), flat.dtype)
    return np.where(inside[:, None], pixels, nothing)


@grid_sample.infer
def infer(x: Fact, grid: Fact, /, *, align_corners: int, mode: str, padding_mode: str) -> Inferred:
    _check(mode, padding_mode)
    if x.dtype is None:
        return None
    rank = x.rank or grid.rank
    if rank is not None and rank < 3:
        raise ShapeError(f"the image has {rank} axes, expected at least 3")
    if x.rank is not None and grid.rank is not None and x.rank != grid.rank:
        raise ShapeError(f"the image has {x.rank} axes, the grid {grid.rank}")
    if rank is None:
        return TensorType(x.dtype)
    image = x.shape or (None,) * rank
    places = grid.shape or (None,) * rank
    if isinstance(places[-1], int) and places[-1] != rank - 2:
        raise ShapeError(f"the grid has {places[-1]} coordinates, the image {rank - 2} axes")
    return TensorType(x.dtype, (unify(image[0], places[0], "the batch sizes"), image[1], *places[1:-1]))


def _check(mode: str, padding: str) -> None:
    if mode not in STEPS:
        raise CheckError(f"mode is '{mode}'", hint=f"one of {', '.join(STEPS)}")
    if padding not in _PADDINGS:
        raise CheckError(f"padding_mode is '{padding}'", hint=f"one of {', '.join(_PADDINGS)}")


OLD_MODES = {"linear": "bilinear", "cubic": "bicubic"}


@operator("GridSample", since=16)
def grid_sample_16(
    x: T16, grid: Grid16, /, *, align_corners: int = 0, mode: str = "bilinear", padding_mode: str = "zeros"
) -> T16:
    """The same of images of two axes, where the modes had other names."""
    raise superseded()


@grid_sample_16.upgrade
def upgrade(op: Any, x: Value, grid: Value, /, *, mode: str, **attributes: Any) -> Any:
    today = {old: new for new, old in OLD_MODES.items()}.get(mode, mode)
    return op.GridSample(x, grid, mode=today, **attributes)
