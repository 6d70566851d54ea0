"""GridSample in older versions, and before it was one: pixels around each place, each times its weight, added up."""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.image.grid_sample import CUBIC_A, FAR, OLD_MODES, STEPS, grid_sample, grid_sample_16
from ingot.ops.older import dtype_of, rank_of, shape_of

_WIDE = int(DType.FLOAT64)
_ZERO, _ONE, _TWO, _HALF = np.float64(0), np.float64(1), np.float64(2), np.float64(0.5)


@grid_sample.downgrade
def downgrade(op: Any, x: Value, grid: Value, /, *, mode: str, version: int, **attributes: Any) -> Any:
    """Before version 20 images have two axes."""
    if version >= grid_sample.since[0]:
        narrow = DType.BFLOAT16
        image, places = (
            op.Cast(value, to=int(DType.FLOAT32)) if dtype_of(value) is narrow else value for value in (x, grid)
        )
        result = op.GridSample(image, places, mode=mode, **attributes)
        return op.Cast(result, to=int(narrow)) if dtype_of(x) is narrow else result
    if rank_of(x) != 4:
        return _gathered(op, x, grid, mode=mode, **attributes)
    return op.GridSample(x, grid, mode=OLD_MODES.get(mode, mode), **attributes)


@grid_sample_16.downgrade
def downgrade_16(op: Any, x: Value, grid: Value, /, *, mode: str, **attributes: Any) -> Any:
    return _gathered(op, x, grid, mode={old: new for new, old in OLD_MODES.items()}.get(mode, mode), **attributes)


def _gathered(op: Any, x: Value, grid: Value, *, align_corners: int, mode: str, padding_mode: str) -> Any:
    """Places are found in float64, as the operator finds them."""
    dtype = dtype_of(x)
    inside = dtype if mode == "nearest" else _inside(dtype)
    image = x if inside is dtype else op.Cast(x, to=int(inside))
    rank = rank_of(x)
    pixels = op.Transpose(op.Reshape(image, _flat(op, x, 2, rank)), perm=[0, 2, 1])  # [N, all pixels, C]
    exact = dtype_of(grid) is DType.FLOAT64
    places = grid if exact else op.Cast(grid, to=_WIDE)
    rows = _flat(op, grid, 1, rank - 1)  # [N, all places]
    axes = []
    for axis, size in enumerate(shape_of(x)[2:], start=2):
        along = op.Reshape(op.Gather(places, np.asarray(rank - 1 - axis), axis=rank - 1), rows)
        length = np.float64(size) if isinstance(size, int) else _length(op, x, axis)
        axes.append(_Samples(op, along, length, bool(align_corners), mode, padding_mode, exact=exact))
    total: Any = None
    for steps in product(STEPS[mode], repeat=len(axes)):
        term = _read(op, pixels, axes, steps, inside)
        if mode != "nearest":
            weights = [axis.weight(step) for axis, step in zip(axes, steps, strict=True)]
            weight = reduce(op.Mul, weights)
            weight = weight if inside is DType.FLOAT64 else op.Cast(weight, to=int(inside))
            term = op.Mul(term, op.Unsqueeze(weight, [2]))
        total = term if total is None else op.Add(total, term)
    shape = op.Concat(op.Shape(x, end=2), op.Shape(grid, start=1, end=rank - 1), axis=0)
    result = op.Reshape(op.Transpose(total, perm=[0, 2, 1]), shape, allowzero=1)
    if dtype.is_integer and inside is not dtype:
        limits = np.iinfo(dtype.numpy)
        result = op.Clip(result, np.float64(limits.min), np.float64(limits.max))
    return result if inside is dtype else op.Cast(result, to=int(dtype))


def _inside(dtype: DType) -> DType:
    """The type to interpolate in."""
    if dtype.is_float and dtype.bits >= 16:
        return DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32
    if dtype.is_integer and dtype.bits <= 32:
        return DType.FLOAT64
    raise UnsupportedError(f"{dtype} cannot be interpolated")


def _flat(op: Any, x: Value, leading: int, end: int) -> Any:
    """The shape of `x` up to an axis, the others until `end` taken as one."""
    return op.Concat(op.Shape(x, end=leading), op.ReduceProd(op.Shape(x, start=leading, end=end), keepdims=1), axis=0)


def _length(op: Any, x: Value, axis: int) -> Any:
    return op.Cast(op.Gather(op.Shape(x), np.asarray(axis)), to=_WIDE)


class _Samples:
    """Where an axis is read: pixels, `step` away from the one before each place."""

    def __init__(
        self, op: Any, places: Any, length: Any, align_corners: bool, mode: str, padding: str, *, exact: bool
    ) -> None:
        self.op, self.length, self.padding, self.cubic = op, length, padding, mode == "cubic"
        self.last = op.Sub(length, _ONE)
        self.low = _ZERO if align_corners else -_HALF
        self.high = self.last if align_corners else op.Sub(length, _HALF)
        moved = op.Add(places, _ONE)
        if align_corners:
            x = op.Mul(op.Mul(moved, _HALF), self.last)
        else:
            x = op.Mul(op.Sub(op.Mul(moved, length), _ONE), _HALF)
        x = op.Clip(op.Where(op.IsNaN(x), np.float64(-FAR), x), np.float64(-FAR), np.float64(FAR))
        if mode == "nearest":
            x = op.Round(x if exact else op.Cast(op.Cast(x, to=int(DType.FLOAT32)), to=_WIDE))
        if padding == "border":
            x = op.Where(self._beyond(x), op.Clip(x, _ZERO, self.last), x)
        elif padding == "reflection":
            x = self._reflected(x)
        self.base = op.Floor(x)
        self.past = op.Sub(x, self.base)

    def weight(self, step: int) -> Any:
        """The weight of a pixel `step` away: linear, or a cubic in its distance."""
        op = self.op
        distance = op.Sub(np.float64(step), self.past) if step > 0 else op.Sub(self.past, np.float64(step))
        if not self.cubic:
            return op.Sub(_ONE, distance)
        a = CUBIC_A
        factors = (a + 2, -(a + 3), 0.0, 1.0) if step in (0, 1) else (a, -5 * a, 8 * a, -4 * a)
        result: Any = np.float64(factors[0])
        for factor in factors[1:]:
            result = op.Add(op.Mul(result, distance), np.float64(factor))
        return result

    def pixels(self, step: int) -> tuple[Any, Any]:
        """Which pixels, as float64, and whether they are in the image; None where all are assumed to be."""
        op = self.op
        at = op.Add(self.base, np.float64(step)) if step else self.base
        inside = None
        if self.padding == "reflection":
            at = op.Cast(op.Cast(self._reflected(at), to=int(DType.INT64)), to=_WIDE)
        elif self.padding == "zeros":
            inside = op.And(op.Not(op.Less(at, _ZERO)), op.Less(at, self.length))
        return op.Clip(at, _ZERO, self.last), inside

    def _beyond(self, x: Any) -> Any:
        return self.op.Or(self.op.Less(x, self.low), self.op.Greater(x, self.high))

    def _reflected(self, x: Any) -> Any:
        """Of a single pixel there is nothing to reflect: wherever its places come to, they are clipped to it."""
        op = self.op
        span = op.Max(op.Sub(self.high, self.low), _ONE)
        there_and_back = op.Mul(span, _TWO)
        far = op.Sub(x, self.low)
        once = op.Sub(far, op.Mul(op.Floor(op.Div(far, there_and_back)), there_and_back))
        reflected = op.Add(op.Where(op.Greater(once, span), op.Sub(there_and_back, once), once), self.low)
        return op.Where(self._beyond(x), reflected, x)


def _read(op: Any, pixels: Any, axes: list[_Samples], steps: tuple[int, ...], dtype: DType) -> Any:
    """For each place, [N, places, C], the pixel so many steps away; nothing, in the type's sense, outside."""
    index: Any = None
    within: Any = None
    for axis, step in zip(axes, steps, strict=True):
        at, inside = axis.pixels(step)
        index = at if index is None else op.Add(op.Mul(index, axis.length), at)
        within = inside if within is None else op.And(within, inside)
    values = op.GatherND(pixels, op.Unsqueeze(op.Cast(index, to=int(DType.INT64)), [2]), batch_dims=1)
    if within is None:
        return values
    nothing = np.asarray("", np.object_) if dtype is DType.STRING else np.zeros((), dtype.numpy)
    return op.Where(op.Unsqueeze(within, [2]), values, nothing)
