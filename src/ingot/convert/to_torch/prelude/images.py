"""Images in other sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def resized_lengths(
    lengths: Sequence[int],
    scales: Sequence[float] | None,
    sizes: Sequence[int] | None,
    policy: str,
    spans: Sequence[float],
) -> tuple[list[int], list[float]]:
    """The new length of each axis, and the scale that leads there."""
    if scales is not None:
        wanted = [math.floor(torch.tensor(n * s * w)) for n, s, w in zip(lengths, scales, spans, strict=True)]
        return wanted, list(scales)
    factors = [size / length for size, length in zip(sizes or (), lengths, strict=True)]
    if policy == "stretch":
        return list(sizes or ()), factors
    factor = min(factors) if policy == "not_larger" else max(factors)
    return [math.floor(factor * length + 0.5) for length in lengths], [factor] * len(lengths)


def pixel_positions(length: int, size: int, scale: float, coordinates: str, start: float, end: float) -> Tensor:
    """Where each new pixel lies among the old ones."""
    i = torch.arange(size, dtype=torch.float64)
    exact = scale * length
    centred = (i + 0.5) / scale - 0.5
    if coordinates == "align_corners":
        return i * 0 if exact == 1 else i * (length - 1) / (exact - 1)
    if coordinates == "asymmetric":
        return i / scale
    if coordinates == "tf_crop_and_resize":
        if size == 1:
            return torch.full((1,), 0.5 * (start + end) * (length - 1), dtype=torch.float64)
        return start * (length - 1) + i * (end - start) * (length - 1) / (size - 1)
    if coordinates == "pytorch_half_pixel":
        return centred if size > 1 else i * 0
    if coordinates == "half_pixel_symmetric":
        return centred + length / 2 * (1 - size / exact)
    return centred


def nearest_pixels(x: Tensor, length: int, rounding: str) -> Tensor:
    """The old pixel that each position is rounded to."""
    x = x.to(torch.float32)
    if rounding == "round_prefer_floor":
        x = torch.ceil(x - 0.5)
    elif rounding == "round_prefer_ceil":
        x = torch.floor(x + 0.5)
    else:
        x = torch.floor(x) if rounding == "floor" else torch.ceil(x)
    return x.clamp(0, length - 1).to(torch.int64)


def pixel_weights(x: Tensor, length: int, stretch: float, a: float | None, antialias: bool, inside: bool) -> Tensor:
    """A matrix: the weight of each old pixel in each new one; `a` makes it cubic."""
    first = math.floor(-(1 if a is None else 2) / stretch) + 1
    steps = torch.arange(first, 2 - first)
    base = x.floor()
    distance = ((steps - (x - base).unsqueeze(1)) * stretch).abs()
    if a is None:
        weights = (1 - distance).clamp(min=0)
    else:
        near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        weights = torch.where(distance < 1, near, torch.where(distance < 2, far, torch.zeros_like(far)))
    pixels = base.unsqueeze(1) + steps
    if inside:
        weights = torch.where((pixels < 0) | (pixels >= length), torch.zeros_like(weights), weights)
    if inside or antialias:
        total = weights.sum(dim=1, keepdim=True)
        weights = weights / torch.where(total == 0, torch.ones_like(total), total)
    matrix = torch.zeros(len(x), length, dtype=torch.float64)
    return matrix.scatter_add(1, pixels.clamp(0, length - 1).to(torch.int64), weights)


def resize(
    x: Tensor,
    axes: Sequence[int],
    scales: Sequence[float] | None,
    sizes: Sequence[int] | None,
    mode: str,
    coordinates: str,
    rounding: str = "round_prefer_floor",
    a: float = -0.75,
    antialias: bool = False,
    exclude_outside: bool = False,
    policy: str = "stretch",
    roi: Sequence[float] | None = None,
    beyond: float = 0.0,
) -> Tensor:
    """Some axes in other sizes, by the nearest pixel or by linear or cubic interpolation."""
    starts, ends = (roi[: len(axes)], roi[len(axes) :]) if roi is not None else ([0.0] * len(axes), [1.0] * len(axes))
    spans = [end - start for start, end in zip(starts, ends, strict=True)]
    lengths, factors = resized_lengths([x.shape[axis] for axis in axes], scales, sizes, policy, spans)
    resized = x if mode == "nearest" else x.to(torch.float64)
    for axis, size, scale, start, end in zip(axes, lengths, factors, starts, ends, strict=True):
        length = x.shape[axis]
        if roi is None and size == length and scale == 1:
            continue
        at = pixel_positions(length, size, scale, coordinates, start, end)
        if mode == "nearest":
            resized = resized.index_select(axis, nearest_pixels(at, length, rounding).to(x.device))
        else:
            stretch = min(scale, 1.0) if antialias else 1.0
            cubic = a if mode == "cubic" else None
            matrix = pixel_weights(at, length, stretch, cubic, antialias, exclude_outside).to(x.device)
            resized = (resized.movedim(axis, -1) @ matrix.T).movedim(-1, axis)
        if roi is not None:
            out = ((at < 0) | (at > length - 1)).to(x.device)
            shape = [-1 if place == axis % x.ndim else 1 for place in range(x.ndim)]
            resized = torch.where(out.reshape(shape), torch.full_like(resized, beyond), resized)
    if mode != "nearest" and not x.is_floating_point():
        limits = torch.iinfo(x.dtype)
        resized = resized.round().clamp(limits.min, limits.max)
    return resized.to(x.dtype)
