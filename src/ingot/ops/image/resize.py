"""Resize: an image in other sizes, by the nearest pixel or by linear or cubic interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dtypes import Array
from ingot.errors import CheckError, UnsupportedError
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.define import Since, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.image.extent import require_extent
from ingot.ops.image.resize_axes import chosen_axes, resized_axes, resized_shape
from ingot.ops.image.resize_weights import COORDINATES, nearest_pixels, outside, weighted_pixels
from ingot.ops.image.sampling import narrowed, widened
from ingot.ops.typesets import ALL, ALL_3, FLOAT32, FLOATS_3, INT64, types

T1: TypeAlias = Annotated[Array, types("T1", ALL)]
T2: TypeAlias = Annotated[Array, types("T2", FLOATS_3)]
T11: TypeAlias = Annotated[Array, types("T1", ALL_3)]
T10: TypeAlias = Annotated[Array, types("T", ALL_3)]
Scales: TypeAlias = Annotated[Array, types("", FLOAT32)]
Sizes: TypeAlias = Annotated[Array, types("", INT64)]

_MODES = ("nearest", "linear", "cubic")
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_POLICIES = ("stretch", "not_larger", "not_smaller")


@operator("Resize", since=19)
def resize(
    x: T1,
    roi: T2 | None = None,
    scales: Scales | None = None,
    sizes: Sizes | None = None,
    /,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> T1:
    """The tensor with its axes (or only those in `axes`) brought to `sizes`, or multiplied by `scales` and cut off.

    Each output pixel lies somewhere in the input: `coordinate_transformation_mode` says where. Its value is that of the
    nearest pixel, or a mean of those around, weighted by distance; beyond the edge the edge goes on.
    """
    _check(coordinate_transformation_mode, mode, nearest_mode, keep_aspect_ratio_policy, antialias)
    crop = coordinate_transformation_mode == "tf_crop_and_resize"
    plan = resized_axes(x.shape, roi if crop else None, scales, sizes, axes, keep_aspect_ratio_policy)
    shape = list(x.shape)
    for axis in plan:
        shape[axis.axis] = axis.size
    require_extent(shape, x.dtype.itemsize if mode == "nearest" else 8)
    if 0 in shape:
        return np.empty(shape, x.dtype)
    changing = [axis for axis in plan if crop or axis.scale != 1 or axis.size != axis.length]
    result = x if mode == "nearest" else widened(x)
    for axis in sorted(changing, key=lambda axis: axis.size / axis.length):  # shrinking first keeps what is held small
        if mode == "nearest":
            pixels = nearest_pixels(axis, coordinate_transformation_mode, nearest_mode)
            result = np.take(result, pixels, axis.axis)
            continue
        pixels, weights = weighted_pixels(
            axis,
            coordinate_transformation_mode,
            a=cubic_coeff_a if mode == "cubic" else None,
            antialias=bool(antialias),
            exclude_outside=bool(exclude_outside),
        )
        result = _weighted(result, axis.axis, pixels, weights)
    if crop:
        beyond_value = np.asarray(extrapolation_value)
        if mode == "nearest" and x.dtype != np.object_:
            beyond_value = narrowed(beyond_value, x.dtype, rounded=True)
        result = result.copy()
        for axis in changing:
            beyond = outside(axis)
            if beyond.any() and x.dtype == np.object_:
                raise CheckError("a crop of strings reaches outside, where only numbers are")
            np.moveaxis(result, axis.axis, 0)[beyond] = beyond_value
    return result if mode == "nearest" else narrowed(result, x.dtype, rounded=True)


def _weighted(x: Array, axis: int, pixels: Array, weights: Array) -> Array:
    """The sum of `pixels[:, k]` along an axis, each times `weights[:, k]`."""
    behind = (1,) * (x.ndim - axis - 1)
    total: Array | None = None
    for k in range(pixels.shape[1]):
        if weights[:, k].any():
            term = np.take(x, pixels[:, k], axis) * weights[:, k].reshape(-1, *behind)
            total = term if total is None else total + term
    return np.take(x, pixels[:, 0], axis) * 0 if total is None else total


@resize.infer
def infer(
    x: Fact,
    roi: Fact | None = None,
    scales: Fact | None = None,
    sizes: Fact | None = None,
    /,
    *,
    antialias: int,
    axes: Sequence[int] | None,
    coordinate_transformation_mode: str,
    keep_aspect_ratio_policy: str,
    mode: str,
    nearest_mode: str,
    **_: object,
) -> Inferred:
    _check(coordinate_transformation_mode, mode, nearest_mode, keep_aspect_ratio_policy, antialias)
    _check_target(scales, sizes)
    if x.dtype is None or x.shape is None:
        return x.type
    chosen = chosen_axes(axes, len(x.shape))
    if coordinate_transformation_mode == "tf_crop_and_resize" and scales is not None and _is_present(scales):
        return TensorType(x.dtype, tuple(None if i in chosen else size for i, size in enumerate(x.shape)))
    return TensorType(x.dtype, resized_shape(x.shape, scales, sizes, chosen, keep_aspect_ratio_policy))


def _check_target(scales: Fact | None, sizes: Fact | None) -> None:
    """CheckError where both scales and sizes have elements, and where neither can have any."""
    if not any(fact is not None and _is_present(fact) for fact in (scales, sizes)):
        raise CheckError("neither scales nor sizes is given", hint="give one of them")
    if all(fact is not None and _is_filled(fact) for fact in (scales, sizes)):
        raise CheckError("both scales and sizes are given", hint="leave one of them out")


def _is_present(fact: Fact) -> bool:
    """Whether a tensor may have elements."""
    return fact.present and fact.shape != (0,)


def _is_filled(fact: Fact) -> bool:
    """Whether a tensor is known to have elements."""
    return fact.present and fact.shape is not None and all(isinstance(size, int) and size > 0 for size in fact.shape)


def _check(coordinates: str, mode: str, rounding: str, policy: str, antialias: int) -> None:
    for name, value, choices in (
        ("coordinate_transformation_mode", coordinates, COORDINATES),
        ("mode", mode, _MODES),
        ("nearest_mode", rounding, _ROUNDINGS),
        ("keep_aspect_ratio_policy", policy, _POLICIES),
    ):
        if value not in choices:
            raise CheckError(f"{name} is '{value}'", hint=f"one of {', '.join(choices)}")
    if antialias and mode == "nearest":
        raise CheckError("mode 'nearest' has no antialias")


@operator("Resize", since=(13, 18))
def resize_18(
    x: T1,
    roi: T2 | None = None,
    scales: Scales | None = None,
    sizes: Sizes | None = None,
    /,
    *,
    antialias: Annotated[int, Since(18)] = 0,
    axes: Annotated[Sequence[int] | None, Since(18)] = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: Annotated[str, Since(18)] = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> T1:
    """The same without `half_pixel_symmetric`."""
    raise superseded()


@resize_18.upgrade
def upgrade_18(op: Any, x: Value, /, *others: Value | None, **attributes: Any) -> Any:
    return op.Resize(x, *others, **attributes)


@operator("Resize", since=11)
def resize_11(
    x: T11,
    roi: T2,
    scales: Scales,
    sizes: Sizes | None = None,
    /,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> T11:
    """The same, where an empty tensor stands for scales that are not given."""
    raise superseded()


HALF_A_PIXEL_BACK = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}
"""floor(v) is floor((v - 1/2) + 1/2), and rounding v, halves down, is ceil(v - 1/2)."""


@resize_11.upgrade
def upgrade_11(
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
    **attributes: Any,
) -> Any:
    """The coordinates that went away lie half a pixel further, which rounding the other way makes up for."""
    if coordinate_transformation_mode == "tf_half_pixel_for_nn":
        if mode != "nearest" or nearest_mode not in HALF_A_PIXEL_BACK:
            raise UnsupportedError(
                f"tf_half_pixel_for_nn with mode '{mode}' and nearest_mode '{nearest_mode}' has no newer equivalent",
                hint="it has one with mode 'nearest' and nearest_mode 'floor' or 'round_prefer_floor'",
            )
        coordinate_transformation_mode, nearest_mode = "half_pixel", HALF_A_PIXEL_BACK[nearest_mode]
    if coordinate_transformation_mode != "tf_crop_and_resize":
        roi = None
    if sizes is not None:
        scales = None
    return op.Resize(
        x,
        roi,
        scales,
        sizes,
        coordinate_transformation_mode=coordinate_transformation_mode,
        nearest_mode=nearest_mode,
        mode=mode,
        **attributes,
    )


@operator("Resize", since=10)
def resize_10(x: T10, scales: Scales, /, *, mode: str = "nearest") -> T10:
    """Output pixel `i` lies at `i / scale`; the nearest is the one before where sizes grow, the one after elsewhere."""
    raise superseded()


@resize_10.upgrade
def upgrade_10(op: Any, x: Value, scales: Value, /, *, mode: str) -> Any:
    if mode == "linear":
        return op.Resize(x, None, scales, mode=mode, coordinate_transformation_mode="asymmetric")
    if mode != "nearest":
        raise CheckError(f"mode is '{mode}'", hint="one of nearest, linear")
    shrinks, grows = True, True
    if isinstance(scales.constant, Tensor):
        known = scales.constant.numpy()
        shrinks, grows = bool((known < 1).any()), bool((known > 1).any())
    one = np.ones(1, np.float32)
    result: Any = x
    if grows or not shrinks:
        up = op.Max(scales, one) if shrinks else scales
        result = op.Resize(result, None, up, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    if shrinks:
        down = op.Min(scales, one) if grows else scales
        result = op.Resize(result, None, down, coordinate_transformation_mode="asymmetric", nearest_mode="ceil")
    return result
