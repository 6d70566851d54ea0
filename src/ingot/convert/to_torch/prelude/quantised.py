"""Quantised numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from ingot.convert.to_torch.prelude.types import cast_to_float8


def spread(x: Tensor, like: Tensor, axis: int, block: int) -> Tensor:
    """One number for all, for each place along an axis, or for each block of it: as it meets `like`."""
    if block:
        return x.repeat_interleave(block, dim=axis).narrow(axis, 0, like.shape[axis])
    if x.ndim != 1:
        return x
    if x.numel() == 1:
        return x.reshape(())
    return x.reshape([-1 if place == axis % like.ndim else 1 for place in range(like.ndim)])


def quantize(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor | None,
    dtype: torch.dtype,
    least: int,
    most: int,
    axis: int = 1,
    block: int = 0,
    inside: torch.dtype | None = None,
) -> Tensor:
    """Multiples of a scale, counted from the zero point: the nearest that the type has."""
    inside = inside or (scale.dtype if scale.is_floating_point() else torch.float64)
    steps = (x.to(inside) / spread(scale, x, axis, block).to(inside)).to(torch.float64).round().nan_to_num(0.0)
    if zero_point is not None:
        steps = steps + spread(zero_point, x, axis, block)
    return steps.clamp(least, most).to(torch.int32).to(dtype)


def quantize_to_float8(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor | None,
    dtype: torch.dtype,
    axis: int = 1,
    block: int = 0,
    inside: torch.dtype | None = None,
    saturate: bool = True,
) -> Tensor:
    """The same in floats of eight bits."""
    steps = x.to(inside or scale.dtype) / spread(scale, x, axis, block)
    if zero_point is not None:
        steps = steps + spread(zero_point, x, axis, block).to(steps.dtype)
    return cast_to_float8(steps, dtype, saturate)


def dequantize(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor | None,
    axis: int = 1,
    block: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """What quantised numbers stand for."""
    steps = x.to(torch.float32) if x.is_floating_point() else x.to(torch.int64)
    if zero_point is not None:
        steps = steps - spread(zero_point, x, axis, block).to(steps.dtype)
    return (steps.to(torch.float32) * spread(scale, x, axis, block).to(torch.float32)).to(dtype)


def dynamic_quantize(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Bytes, with the scale and the zero point that just take the range of `x` in."""
    lowest, highest = x.min().clamp(max=0), x.max().clamp(min=0)
    scale = torch.where(highest == lowest, torch.ones_like(highest), highest - lowest) / 255
    zero_point = (-lowest / scale).round().clamp(0, 255)
    return ((x / scale).round() + zero_point).clamp(0, 255).to(torch.uint8), scale, zero_point.to(torch.uint8)


def along_last(x: Tensor, axis: int) -> Tensor:
    """Numbers along the last axis (-1) or the one before (-2), as they meet a matrix."""
    return x.unsqueeze(-1) if axis == -2 and x.ndim == 1 and x.numel() > 1 else x


def less_zero_point(x: Tensor, zero_point: Tensor, axis: int | None = None) -> Tensor:
    """Quantised numbers less their zero point: one for all, or one for each place along an axis."""
    points = zero_point.to(torch.int32)
    if points.ndim == 1 and points.numel() == 1:
        points = points.reshape(())
    elif axis == -2:
        points = along_last(points, -2)
    elif axis == 0 and points.ndim == 1:
        points = points.reshape([-1, *[1] * (x.ndim - 1)])
    return x.to(torch.int32) - points


def requantize(x: Tensor, factor: Tensor, zero_point: Tensor, dtype: torch.dtype, least: int, most: int) -> Tensor:
    """Exact sums in another scale: the nearest numbers that the type has."""
    return ((x * factor).round() + zero_point).clamp(least, most).to(torch.int32).to(dtype)
