"""Convolution and maximum pooling: windows of an array, as views of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def paddings(
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: int = 0,
) -> list[tuple[int, int]]:
    """How much to put before and behind each spatial axis."""
    rank = len(sizes)
    pairs = [(0, 0)] * rank if not pads else list(zip(pads[:rank], pads[rank:], strict=True))
    for axis in range(rank):
        extent = (kernel[axis] - 1) * dilations[axis] + 1
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            windows = -(-sizes[axis] // strides[axis])
            missing = max((windows - 1) * strides[axis] + extent - sizes[axis], 0)
            small, large = missing // 2, missing - missing // 2
            pairs[axis] = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
        elif ceil_mode:
            before, behind = pairs[axis]
            rest = (sizes[axis] + before + behind - extent) % strides[axis]
            last = sizes[axis] + before + behind - extent - rest + strides[axis]
            if rest and last < sizes[axis] + before:
                pairs[axis] = (before, behind + strides[axis] - rest)
    return pairs


def sliding_windows(
    x: Array,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: Sequence[tuple[int, int]],
    fill: Any,
) -> Array:
    """The windows of `x`: its first two axes, then places of windows, then places inside of a window."""
    padded = np.pad(x, [(0, 0), (0, 0), *padding], constant_values=fill)
    extents = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(padded, extents, tuple(range(2, x.ndim)))
    steps = [slice(None, None, step) for step in (*strides, *dilations)]
    return view[(slice(None), slice(None), *steps)]


def conv(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,  # noqa: ARG001
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Each window of `x` times each filter of `w`, summed, plus the bias of the filter."""
    rank = x.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    padding = paddings(x.shape[2:], w.shape[2:], strides, dilations, pads, auto_pad)
    windows = sliding_windows(x, w.shape[2:], strides, dilations, padding, 0)
    inside = [1, *range(2 + rank, 2 + 2 * rank)]
    groups = zip(np.split(windows, group, axis=1), np.split(w, group), strict=True)
    sums = [np.tensordot(part, filters, (inside, list(range(1, w.ndim)))) for part, filters in groups]
    y = np.moveaxis(np.concatenate(sums, axis=-1), -1, 1)
    return y if b is None else y + b.reshape(-1, *[1] * rank)


def max_pool(
    x: Array,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    storage_order: int = 0,
    strides: Sequence[int] | None = None,
) -> tuple[Array, Array]:
    """The largest element of each window, and where it is among all elements of `x`."""
    rank = x.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    padding = paddings(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    lowest = -np.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min
    windows = sliding_windows(x, kernel_shape, strides, dilations, padding, lowest)
    flat = windows.reshape(*windows.shape[: 2 + rank], -1)
    best = flat.argmax(-1)
    spatial = np.arange(np.prod(x.shape[2:])).reshape(x.shape[2:], order="F" if storage_order else "C")
    numbers = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * rank) * spatial.size + spatial
    places = sliding_windows(numbers, kernel_shape, strides, dilations, padding, 0).reshape(flat.shape)
    chosen = best[..., None]
    return np.take_along_axis(flat, chosen, -1)[..., 0], np.take_along_axis(places, chosen, -1)[..., 0]


def average_pool(
    x: Array,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """The mean of each window; padding counts as zeros if `count_include_pad`, or else not at all."""
    rank = x.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    padding = paddings(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    windows = sliding_windows(x, kernel_shape, strides, dilations, padding, 0)
    inside = tuple(range(2 + rank, 2 + 2 * rank))
    counted = np.ones((1, 1, *x.shape[2:]), x.dtype)
    if count_include_pad:
        plain = paddings(x.shape[2:], kernel_shape, strides, dilations, pads, auto_pad)
        counted = np.pad(counted, [(0, 0), (0, 0), *plain], constant_values=1)
        more = [(0, all_of[1] - own[1]) for all_of, own in zip(padding, plain, strict=True)]
        counts = sliding_windows(counted, kernel_shape, strides, dilations, more, 0).sum(inside)
    else:
        counts = sliding_windows(counted, kernel_shape, strides, dilations, padding, 0).sum(inside)
    means: Array = windows.sum(inside, dtype=x.dtype) / counts
    return means


__all__ = ["average_pool", "conv", "max_pool"]
