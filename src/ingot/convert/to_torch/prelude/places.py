"""Shapes and places of elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def reshape_to(x: Tensor, shape: Sequence[int], allowzero: bool = False) -> Tensor:
    """`x` in a shape whose zeros stand for the sizes it has, and whose -1 is whatever is left."""
    sizes = list(shape) if allowzero else [x.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
    if -1 in sizes and x.numel() == 0:
        rest = math.prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = 0 if rest == 0 else x.numel() // rest
    return x.reshape(sizes)


def unsqueeze_at(x: Tensor, axes: Sequence[int]) -> Tensor:
    """`x` with axes of size one where the result has them."""
    rank = x.ndim + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


def slice_along(
    x: Tensor, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None, steps: Sequence[int] | None
) -> Tensor:
    """Parts of axes, backwards too."""
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = place if axes is None else axes[place]
        step = 1 if steps is None else steps[place]
        places = range(x.shape[axis])[start:end:step]
        x = x.index_select(axis, torch.tensor(list(places), dtype=torch.int64, device=x.device))
    return x


def depth_to_space(x: Tensor, block: int) -> Tensor:
    """Channels moved into blocks of space, those of a block being the slowest."""
    batch, channels, height, width = x.shape
    x = x.reshape(batch, block, block, channels // block**2, height, width).permute(0, 3, 4, 1, 5, 2)
    return x.reshape(batch, channels // block**2, height * block, width * block)


def space_to_depth(x: Tensor, block: int) -> Tensor:
    """Blocks of space moved into channels, the places in a block being the slowest."""
    batch, channels, height, width = x.shape
    x = x.reshape(batch, channels, height // block, block, width // block, block).permute(0, 3, 5, 1, 2, 4)
    return x.reshape(batch, channels * block**2, height // block, width // block)


def pad_along(
    x: Tensor, pads: Sequence[int], axes: Sequence[int] | None, mode: str, value: Tensor | None = None
) -> Tensor:
    """Elements put before and after those of some axes: one value, or the tensor's own over again."""
    axes = range(x.ndim) if axes is None else axes
    for place, axis in enumerate(axes):
        before, after, size = pads[place], pads[place + len(axes)], x.shape[axis]
        if mode == "constant":
            beside = [0, 0] * (x.ndim - 1 - axis % x.ndim)
            x = F.pad(x, [*beside, before, after], value=0 if value is None else value.item())
            continue
        places = torch.arange(-before, size + after, device=x.device)
        if mode == "edge":
            places = places.clamp(0, size - 1)
        elif mode == "wrap":
            places = places % size
        else:
            turn = max(2 * (size - 1), 1)
            places = (size - 1) - ((places % turn) - (size - 1)).abs()
        x = x.index_select(axis, places)
    return x


def counted_from_front(indices: Tensor, size: int) -> Tensor:
    """Indices of which negative ones count from the end."""
    return torch.where(indices < 0, indices + size, indices)


def gather_nd(x: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """What lies at the places that the last axis of the indices names, for each of the first `batch_dims` axes."""
    places = indices.to(torch.int64).unbind(-1)
    if not batch_dims:
        return x[places]
    grid = []
    for axis in range(batch_dims):
        shape = [1] * (indices.ndim - 1)
        shape[axis] = x.shape[axis]
        grid.append(torch.arange(x.shape[axis], device=x.device).reshape(shape))
    return x[(*grid, *places)]


def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, reduction: str = "none") -> Tensor:
    """`x` with updates at the places that the last axis of the indices names."""
    places = indices.to(torch.int64).unbind(-1)
    if reduction in ("none", "add"):
        return x.index_put(places, updates, accumulate=reduction == "add")
    count = indices.shape[-1]
    flat = torch.zeros_like(places[0])
    for place, size in zip(places, x.shape, strict=False):
        flat = flat * size + counted_from_front(place, size)
    rows = x.reshape(math.prod(x.shape[:count]), -1)
    new = updates.reshape(-1, rows.shape[1])
    how = {"mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return rows.scatter_reduce(0, flat.reshape(-1, 1).expand_as(new), new, how).reshape(x.shape)


def tensor_scatter(cache: Tensor, update: Tensor, starts: Tensor | None, axis: int, circular: bool = False) -> Tensor:
    """A cache with the update written into it along an axis, for each of the batch from its start."""
    axis, length = axis % cache.ndim, update.shape[axis]
    if starts is None:
        starts = torch.zeros(cache.shape[0], dtype=torch.int64, device=cache.device)
    places = starts.reshape(-1, 1) + torch.arange(length, device=cache.device)
    places = places % cache.shape[axis] if circular else places
    shape = [1] * cache.ndim
    shape[0], shape[axis] = -1, length
    return cache.scatter(axis, places.reshape(shape).expand_as(update), update)


def one_hot(indices: Tensor, depth: int, values: Tensor, axis: int) -> Tensor:
    """The second of two values where an index points along a new axis, the first elsewhere; everywhere if it is out."""
    places = counted_from_front(indices.to(torch.int64), depth)
    numbers = torch.arange(depth, device=indices.device)
    axis = axis % (indices.ndim + 1)
    hot = places.unsqueeze(axis) == numbers.reshape(-1, *[1] * (indices.ndim - axis))
    return torch.where(hot, values[1], values[0])


def unique(x: Tensor, axis: int | None = None, in_order: bool = True) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The distinct elements, where each is first, which of them each element is, and how often each is there."""
    values, inverse, counts = torch.unique(x, sorted=True, return_inverse=True, return_counts=True, dim=axis)
    inverse = inverse.flatten()
    places = torch.arange(inverse.numel(), device=x.device)
    first = torch.full_like(counts, inverse.numel()).scatter_reduce(0, inverse, places, "amin")
    if not in_order:
        order = first.argsort()
        rank = torch.empty_like(order).scatter(0, order, torch.arange(order.numel(), device=x.device))
        values, first, counts, inverse = (
            values.index_select(axis or 0, order),
            first[order],
            counts[order],
            rank[inverse],
        )
    return values, first, inverse, counts


def reverse_sequence(x: Tensor, lengths: Tensor, batch_axis: int, time_axis: int) -> Tensor:
    """The first elements along time turned around, for each of the batch as many as its length says."""
    shape = [1] * x.ndim
    shape[time_axis] = x.shape[time_axis]
    time = torch.arange(x.shape[time_axis], device=x.device).reshape(shape)
    shape = [1] * x.ndim
    shape[batch_axis] = x.shape[batch_axis]
    lengths = lengths.reshape(shape)
    return x.gather(time_axis, torch.where(time < lengths, lengths - 1 - time, time).expand_as(x))


def center_crop_pad(x: Tensor, shape: Sequence[int], axes: Sequence[int] | None) -> Tensor:
    """The middle of `x` in other sizes: cropped where they are smaller, zeros around where they are larger."""
    for axis, size in zip(range(x.ndim) if axes is None else axes, shape, strict=True):
        missing = size - x.shape[axis]
        if missing < 0:
            x = x.narrow(axis, -missing // 2, size)
        else:
            beside = [0, 0] * (x.ndim - 1 - axis % x.ndim)
            x = F.pad(x, [*beside, missing // 2, missing - missing // 2])
    return x
