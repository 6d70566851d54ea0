"""Resize in older versions: fewer ways to set sizes and where pixels lie, and at last only Upsample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ingot.builder.literals import as_value
from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError
from ingot.ir.value import Value
from ingot.ops.image.resize import HALF_A_PIXEL_BACK, resize, resize_10, resize_11, resize_18
from ingot.ops.image.resize_axes import Axis, chosen_axes, scaled
from ingot.ops.image.resize_gathered import fixed_axes, gathered, is_present
from ingot.ops.image.resize_weights import nearest_pixels
from ingot.ops.older import constant_of, dtype_of, rank_of, shape_of

_CROP = "tf_crop_and_resize"
_ANY_LENGTH = 64
"""A whole scale repeats its pattern after each pixel: what holds for this many holds for any number."""


@resize.downgrade
def downgrade(
    op: Any,
    x: Value,
    roi: Value | None = None,
    scales: Value | None = None,
    sizes: Value | None = None,
    /,
    *,
    coordinate_transformation_mode: str,
    version: int,
    **attributes: Any,
) -> Any:
    """`half_pixel_symmetric` is `half_pixel` where sizes are what the scales make of them, with nothing cut off."""
    coordinates = coordinate_transformation_mode
    if coordinates == "half_pixel_symmetric":
        policy = attributes["keep_aspect_ratio_policy"]
        plan = fixed_axes(x, None, scales, sizes, attributes["axes"], policy)
        if not (is_present(sizes) and policy == "stretch") and not _is_whole(scales) and not _is_exact(plan):
            return _gathered(op, x, plan, "half_pixel_symmetric came with version 19", coordinates, version, attributes)
        coordinates = "half_pixel"
    return op.Resize(x, roi, scales, sizes, **_set(coordinates, attributes))


@resize_18.downgrade
def downgrade_18(
    op: Any,
    x: Value,
    roi: Value | None = None,
    scales: Value | None = None,
    sizes: Value | None = None,
    /,
    *,
    antialias: int,
    axes: Sequence[int] | None,
    coordinate_transformation_mode: str,
    keep_aspect_ratio_policy: str,
    version: int,
    **attributes: Any,
) -> Any:
    coordinates, policy = coordinate_transformation_mode, keep_aspect_ratio_policy
    region = roi if coordinates == _CROP else None
    if version < resize_18.since[0]:
        return _required(op, x, region, scales, sizes, coordinates, attributes)
    plan = fixed_axes(x, region, scales, sizes, axes, policy)
    if antialias and not _grows(scales, plan):
        attributes["antialias"] = antialias
        return _gathered(op, x, plan, "antialias came with version 18", coordinates, version, attributes)
    if policy != "stretch" and is_present(sizes):
        if plan is None or not _is_exact(plan):
            reason = f"keep_aspect_ratio_policy '{policy}' came with version 18"
            return _gathered(op, x, plan, reason, coordinates, version, attributes)
        sizes = as_value(np.asarray([axis.size for axis in plan], np.int64))
    inputs = (region, scales, sizes) if axes is None else _of_all_axes(op, x, axes, region, scales, sizes)
    return op.Resize(x, *inputs, **_set(coordinates, attributes))


def _of_all_axes(
    op: Any, x: Value, axes: Sequence[int], roi: Value | None, scales: Value | None, sizes: Value | None
) -> tuple[Any, Any, Any]:
    """Regions, scales and sizes of some axes put among those that change nothing."""
    shape = shape_of(x)
    rank = len(shape)
    chosen = chosen_axes(axes, rank)
    region: Any = None
    if roi is not None:
        ends = (*chosen, *(rank + axis for axis in chosen))
        region = _put(op, np.repeat([0, 1], rank).astype(dtype_of(roi).numpy), ends, roi)
    if scales is not None and is_present(scales):
        return region, _put(op, np.ones(rank, np.float32), chosen, scales), None
    assert sizes is not None
    known = [size for size in shape if isinstance(size, int)]
    whole = np.asarray(known, np.int64) if len(known) == rank else op.Shape(x)
    return region, None, _put(op, whole, chosen, sizes)


def _put(op: Any, whole: Any, places: Sequence[int], values: Value) -> Any:
    """A vector with some elements replaced."""
    known = constant_of(values)
    if known is None or not isinstance(whole, np.ndarray):
        return op.ScatterElements(whole, np.asarray(places, np.int64), values, axis=0)
    whole[list(places)] = known
    return whole


def _required(
    op: Any,
    x: Value,
    roi: Value | None,
    scales: Value | None,
    sizes: Value | None,
    coordinates: str,
    attributes: Mapping[str, Any],
) -> Any:
    """The version that wants all inputs, empty where they are omitted."""
    if dtype_of(x) is DType.BFLOAT16:
        raise UnsupportedError("bfloat16 came with version 13")
    region: Any = np.zeros(0, np.float32) if roi is None else roi
    if coordinates == _CROP and roi is None:
        region = np.repeat([0, 1], rank_of(x)).astype(np.float32)
    factors: Any = scales if is_present(scales) else np.zeros(0, np.float32)
    targets = sizes if is_present(sizes) else None
    return op.Resize(x, region, factors, targets, **_set(coordinates, attributes))


@resize_11.downgrade
def downgrade_11(
    op: Any,
    x: Value,
    roi: Value | None,
    scales: Value | None,
    sizes: Value | None = None,
    /,
    *,
    coordinate_transformation_mode: str,
    nearest_mode: str,
    mode: str,
    version: int,
    **attributes: Any,
) -> Any:
    """Resize-10 has pixels at `i / scale`, and of the nearest the one before where sizes grow, else the one after."""
    coordinates = coordinate_transformation_mode
    if coordinates == "tf_half_pixel_for_nn" and mode == "nearest" and nearest_mode in HALF_A_PIXEL_BACK:
        coordinates, nearest_mode = "half_pixel", HALF_A_PIXEL_BACK[nearest_mode]
    reason = f"mode '{mode}' with coordinate_transformation_mode '{coordinates}'"
    if mode == "nearest":
        reason += f" and nearest_mode '{nearest_mode}'"
    reason += " came with version 11"
    if coordinates == "tf_half_pixel_for_nn":
        raise UnsupportedError(reason)
    if is_present(sizes):
        scales = None
    elif mode == "linear" and coordinates == "asymmetric":
        return op.Resize(x, scales, mode=mode)
    plan = fixed_axes(x, roi if coordinates == _CROP else None, scales, sizes, None, "stretch")
    factors = _factors(x, scales, plan)
    if factors is not None and _is_oldest(x, factors, coordinates, mode, nearest_mode):
        return op.Resize(x, factors if scales is None else scales, mode=mode)
    attributes |= {"mode": mode, "nearest_mode": nearest_mode}
    return _gathered(op, x, plan, reason, coordinates, version, attributes)


def _factors(x: Value, scales: Value | None, plan: Sequence[Axis] | None) -> Array | None:
    """Scales that are known; where sizes are given, only such as float32 has exactly."""
    if scales is not None:
        return constant_of(scales)
    factors = np.ones(rank_of(x), np.float32)
    for axis in plan or ():
        factors[axis.axis] = axis.scale
    exact = plan is not None and all(float(factors[axis.axis]) == axis.scale for axis in plan)
    return factors if exact else None


def _is_oldest(x: Value, factors: Array, coordinates: str, mode: str, rounding: str) -> bool:
    """Whether every axis is resized as Resize-10 does it."""
    if mode != "nearest":
        return mode == "linear" and coordinates == "asymmetric"
    for scale, size in zip(factors.tolist(), shape_of(x), strict=True):
        oldest = "floor" if scale > 1 else "ceil"
        if scale == 1 or (coordinates, rounding) == ("asymmetric", oldest):
            continue
        local = coordinates in ("asymmetric", "half_pixel", "pytorch_half_pixel") and scale == int(scale)
        length = size if isinstance(size, int) else _ANY_LENGTH if local else 0
        if not length or coordinates == _CROP:
            return False
        axis = Axis(0, length, scaled(length, scale), scale)
        if not np.array_equal(nearest_pixels(axis, coordinates, rounding), nearest_pixels(axis, "asymmetric", oldest)):
            return False
    return True


@resize_10.downgrade
def downgrade_10(op: Any, x: Value, scales: Value, /, *, mode: str, version: int) -> Any:
    """Upsample only makes larger, or keeps."""
    known = constant_of(scales)
    if known is not None and (known >= 1).all():
        return op.Upsample(x, scales, mode=mode)
    reason = "Upsample makes nothing smaller"
    plan = fixed_axes(x, None, scales, None, None, "stretch")
    return _gathered(op, x, plan, reason, "asymmetric", version, {"mode": mode})


def _set(coordinates: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that differ from their defaults."""
    settings = {"coordinate_transformation_mode": coordinates, **attributes}
    return {name: value for name, value in settings.items() if value != resize.defaults[name]}


def _is_whole(scales: Value | None) -> bool:
    """Whether scales are known to be whole numbers."""
    known = None if scales is None or not is_present(scales) else constant_of(scales)
    return known is not None and bool((known == np.round(known)).all())


def _is_exact(plan: Sequence[Axis] | None) -> bool:
    """Whether all sizes are what the scales make of them, with nothing cut off."""
    return plan is not None and all(axis.size == axis.scale * axis.length for axis in plan)


def _grows(scales: Value | None, plan: Sequence[Axis] | None) -> bool:
    """Whether no axis gets smaller."""
    known = None if scales is None or not is_present(scales) else constant_of(scales)
    if known is not None:
        return bool((known >= 1).all())
    return plan is not None and all(axis.scale >= 1 for axis in plan)


def _gathered(
    op: Any,
    x: Value,
    plan: Sequence[Axis] | None,
    reason: str,
    coordinates: str,
    version: int,
    attributes: Mapping[str, Any],
) -> Any:
    """The last resort, for sizes that are known; UnsupportedError with the reason where they are not."""
    if plan is None:
        raise UnsupportedError(
            f"{reason}, and the sizes are not known before the model runs",
            hint="give the inputs fixed sizes, and the scales or sizes as constants",
        )
    if not plan:
        return op.Identity(x)
    nearest = attributes.get("nearest_mode")
    names = ("mode", "cubic_coeff_a", "antialias", "exclude_outside", "extrapolation_value")
    return gathered(
        op,
        x,
        plan,
        coordinates=coordinates,
        rounding=lambda axis: nearest or ("floor" if axis.scale >= 1 else "ceil"),
        version=version,
        **{name: attributes[name] for name in names if name in attributes},
    )
