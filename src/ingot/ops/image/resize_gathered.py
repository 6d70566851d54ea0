"""A resize whose sizes are known before the model runs, as gathers and weighted sums, which every version has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.image.resize_axes import Axis, chosen_axes, resized_axes
from ingot.ops.image.resize_weights import nearest_pixels, outside, weighted_pixels
from ingot.ops.older import constant_of, dtype_of, shape_of

_REDUCED_AXES_AS_INPUT_SINCE = 13
_ROUND_SINCE = 11


def is_present(value: Value | None) -> bool:
    """Whether an input is there, and not the empty tensor that stands for none."""
    return value is not None and shape_of(value) != (0,)


def fixed_axes(
    x: Value,
    roi: Value | None,
    scales: Value | None,
    sizes: Value | None,
    axes: Sequence[int] | None,
    policy: str,
) -> list[Axis] | None:
    """What becomes of each axis that changes; None where that is not known before the model runs."""
    shape = shape_of(x)
    chosen = chosen_axes(axes, len(shape))
    region = None if roi is None else constant_of(roi)
    constants = [None if value is None or not is_present(value) else constant_of(value) for value in (scales, sizes)]
    if (roi is not None and region is None) or all(numbers is None for numbers in constants):
        return None
    factors, targets = constants
    if roi is None and policy == "stretch":  # an axis that keeps its size need not be known
        numbers = targets if factors is None else factors
        assert numbers is not None
        own = [1 if factors is not None else shape[axis] for axis in chosen]
        resized = [i for i, number in enumerate(numbers) if number != own[i]]
        chosen = tuple(chosen[i] for i in resized)
        factors, targets = (None if numbers is None else numbers[resized] for numbers in (factors, targets))
    lengths = [size if isinstance(size, int) else 0 for size in shape]
    if any(lengths[axis] == 0 for axis in chosen):
        return None
    return resized_axes(lengths, region, factors, targets, chosen, policy) if chosen else []


def gathered(
    op: Any,
    x: Value,
    plan: Sequence[Axis],
    *,
    coordinates: str,
    mode: str,
    rounding: Callable[[Axis], str],
    version: int,
    cubic_coeff_a: float = -0.75,
    antialias: int = 0,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
) -> Any:
    """The axes of a plan resized one after another; UnsupportedError for a type that cannot be interpolated so."""
    dtype = dtype_of(x)
    inside = dtype if mode == "nearest" else _inside(dtype, version)
    result: Any = x if inside is dtype else op.Cast(x, to=int(inside))
    rank = len(shape_of(x))
    for axis in sorted(plan, key=lambda axis: axis.size / axis.length):
        if mode == "nearest":
            result = op.Gather(result, nearest_pixels(axis, coordinates, rounding(axis)), axis=axis.axis)
            continue
        pixels, weights = weighted_pixels(
            axis,
            coordinates,
            a=cubic_coeff_a if mode == "cubic" else None,
            antialias=bool(antialias),
            exclude_outside=bool(exclude_outside),
        )
        used = weights.any(0)
        pixels, weights = pixels[:, used], weights[:, used].astype(inside.numpy)
        behind = (1,) * (rank - axis.axis - 1)
        terms = op.Mul(op.Gather(result, pixels, axis=axis.axis), weights.reshape(*weights.shape, *behind))
        result = _summed(op, terms, axis.axis + 1, version)
    if coordinates == "tf_crop_and_resize":
        for axis in plan:
            beyond = outside(axis)
            if beyond.any():
                mask = beyond.reshape(-1, *(1,) * (rank - axis.axis - 1))
                result = op.Where(mask, np.asarray(extrapolation_value).astype(inside.numpy), result)
    return result if inside is dtype else _narrowed(op, result, dtype)


def _summed(op: Any, x: Any, axis: int, version: int) -> Any:
    if version >= _REDUCED_AXES_AS_INPUT_SINCE:
        return op.ReduceSum(x, [axis], keepdims=0)
    return op.ReduceSum(x, axes=[axis], keepdims=0)


def _inside(dtype: DType, version: int) -> DType:
    """The type to interpolate in."""
    if dtype.is_float and dtype.bits >= 16:
        return DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32
    if dtype.is_integer and dtype.bits <= 32 and version >= _ROUND_SINCE:
        return DType.FLOAT64
    raise UnsupportedError(f"{dtype} cannot be interpolated")


def _narrowed(op: Any, x: Any, dtype: DType) -> Any:
    """Interpolated numbers in the type of the image; integers are rounded, and end where their type does."""
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        x = op.Clip(op.Round(x), np.float64(limits.min), np.float64(limits.max))
    return op.Cast(x, to=int(dtype))
